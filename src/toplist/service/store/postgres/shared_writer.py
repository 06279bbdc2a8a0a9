"""Commits of several parts of a store in one transaction, of which a fenced part fails alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any

import psycopg

from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.session import Fenced, MovedOn, Refusal, Session


class Share:
    """What one part writes in a transaction that it may share with others."""

    __slots__ = ("is_done", "part", "problem", "statements")

    def __init__(self, part: int, statements: Sequence[Statement]) -> None:
        self.part, self.statements = part, statements
        self.is_done = False
        self.problem: BaseException | None = None  # why it was not committed

    def end(self, problem: BaseException | None = None) -> None:
        """It is committed, or failed."""
        self.is_done, self.problem = True, problem


class SharedWriter:
    """Commits what the threads of several parts hand over: one connection, one transaction for all that wait.

    Whichever thread finds the connection free commits for all that wait, as in the group commits of databases: a part
    that is alone waits for no other thread.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.waiting: list[Share] = []
        self._waiting_lock = Lock()
        self.writing = Lock()
        self.fenced = 0  # commits of parts that another server had taken over, since the start
        self.moved = 0  # and of those to which the owner of a divided ranking had written

    def commit(self, share: Share) -> None:
        """Commit what a part writes; durable when this returns.

        `Fenced` and `Refusal` say that nothing of it was written; after other errors the outcome may be unknown.
        """
        with self._waiting_lock:
            self.waiting.append(share)
        with self.writing:
            if not share.is_done:
                with self._waiting_lock:
                    shares, self.waiting = self.waiting, []
                try:
                    self._commit(shares)
                except BaseException as problem:  # Ctrl-C, for one; whether they were committed is unknown
                    _end([each for each in shares if not each.is_done], problem)
                    raise
        if share.problem is not None:
            raise share.problem

    def _commit(self, shares: list[Share]) -> None:
        shares.sort(key=lambda share: share.part)  # rows of parts are locked in one order everywhere
        while shares:
            try:
                self.session.run([statement for share in shares for statement in share.statements])
            except Fenced as fenced:  # nothing was written; the others try again without it
                over = [share for share in shares if share.part == fenced.part] or shares
                self.count(fenced, len(over))
                _end(over, fenced)
                shares = [share for share in shares if not share.is_done]
            except Refusal as refusal:  # the database took none of it, because of one of them
                if len(shares) == 1:
                    _end(shares, refusal)
                    return
                for share in shares:
                    self._commit([share])
                return
            except Exception as problem:
                _end(shares, problem)
                return
            else:
                _end(shares, None)
                return

    def run_alone(self, share: Share, work: Callable[[psycopg.Connection[tuple[Any, ...]]], None]) -> None:
        """Commit what takes several round trips, beside no other part."""
        with self.writing:
            try:
                with self.session.transaction() as connection:
                    for statement in share.statements:
                        connection.execute(statement.text, statement.values or None)
                    work(connection)
            except Fenced as fenced:
                self.count(fenced)
                raise

    def count(self, fenced: Fenced, commits: int = 1) -> None:
        """Count commits that failed so."""
        if isinstance(fenced, MovedOn):
            self.moved += commits
        else:
            self.fenced += commits

    def close(self) -> None:
        """Close the connection."""
        self.session.close()


def _end(shares: list[Share], problem: BaseException | None) -> None:
    for share in shares:
        share.end(problem)
