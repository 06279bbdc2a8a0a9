"""Makes the changes of many requests together: those of one turn of the event loop, one after the other.

A request passes through so much code that, whenever the next one comes to the same place, the caches of the processor
have lost it: a list or a report by itself takes almost twice as long as behind one of the same kind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from toplist.service.live.transaction import Transactions
from toplist.service.store.group_commit import Waiting
from toplist.service.store.row_kinds import Row

Reply = TypeVar("Reply")
Changed = tuple[Reply, list[Row]]


class Together(Generic[Reply]):
    """Makes changes of one kind, and hands over the rows of many at once.

    Parameters
    ----------
    transactions : Transactions
        The state and its commits.
    change : callable
        Makes one change: gets the time and the arguments of `ask`, and returns the reply and the rows; or None, and has
        changed nothing, if not all that it needs is in memory.
    """

    def __init__(self, transactions: Transactions, change: Callable[..., Changed[Reply] | None]) -> None:
        self._transactions, self._change = transactions, change
        self._asked: list[tuple[asyncio.Future[Reply | None], tuple[Any, ...]]] = []

    def ask(self, *arguments: Any) -> asyncio.Future[Reply | None]:
        """Ask for a change; the future has the reply once it is committed, or None if it could not be made so."""
        loop = self._transactions.commits.loop
        if not self._asked:
            loop.call_soon(self._change_all)
        reply: asyncio.Future[Reply | None] = loop.create_future()
        self._asked.append((reply, arguments))
        return reply

    def _change_all(self) -> None:
        asked, self._asked = self._asked, []
        now = self._transactions.clock()
        rows: list[Row] = []
        waiting: list[Waiting] = []
        for future, arguments in asked:
            if future.done():  # its client has left
                continue
            changed, problem = self._attempt(now, arguments)
            if changed is not None:
                waiting.append((future, changed[0]))
                rows += changed[1]
            elif problem is not None:
                future.set_exception(problem)
            else:
                future.set_result(None)
        if waiting:
            self._transactions.commits.write_together(rows, waiting)

    def _attempt(self, now: int, arguments: tuple[Any, ...]) -> tuple[Changed[Reply] | None, BaseException | None]:
        """The outcome of a change, or its error; its traceback must not hold the future, which will hold the error."""
        try:
            return self._change(now, *arguments), None
        except BaseException as problem:
            self._transactions.fail_change(problem)
            return None, problem
