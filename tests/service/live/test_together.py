"""Changes of many requests that are made together: each has its own outcome."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from running import at_work, front, read, run, shown, state_of, told

from toplist.service.errors import Refused, StoreUnavailable
from toplist.service.live.together import Changed, Together
from toplist.service.wire import ListReply, ListRequest


class Transactions:
    """Notes what it is given, and loses its state with the first unexpected error."""

    def __init__(self) -> None:
        self.commits = self
        self.loop = asyncio.get_running_loop()
        self.rows: list[list[Any]] = []
        self.failed: list[BaseException] = []
        self.waiting: list[Any] = []

    def clock(self) -> int:
        return 7

    def fail_change(self, problem: BaseException) -> None:
        self.failed.append(problem)

    def write_together(self, rows: list[Any], waiting: list[Any]) -> None:
        self.rows.append(rows)
        self.waiting += waiting


def test_one_that_fails_leaves_the_others_and_one_that_cannot_be_made_so_is_told_at_once() -> None:
    made: list[tuple[int, str]] = []

    def change(now: int, what: str) -> Changed[str] | None:
        made.append((now, what))
        if what == "refused":
            raise Refused("no")
        return None if what == "absent" else (f"made {what}", [f"row of {what}"])  # type: ignore[list-item]

    async def play() -> None:
        transactions: Any = Transactions()
        together = Together(transactions, change)
        first, refused, absent, left, last = (
            together.ask(what) for what in ("first", "refused", "absent", "left", "last")
        )
        left.cancel()  # its client has left
        await asyncio.sleep(0)
        assert made == [(7, "first"), (7, "refused"), (7, "absent"), (7, "last")]
        assert transactions.rows == [["row of first", "row of last"]]
        assert transactions.waiting == [(first, "made first"), (last, "made last")]
        assert not first.done()
        assert await absent is None
        with pytest.raises(Refused, match="no") as raised:
            await refused
        assert transactions.failed == [raised.value]
        await asyncio.sleep(0)
        assert len(transactions.rows) == 1  # each change is made once

    run(play())


def test_lists_and_reports_of_one_turn_are_in_one_commit(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            replies = [await shown(service) for _ in range(4)]
            before = service.commit_counts.commits, service.commit_counts.changes
            reports = [told(service, reply, 1, final=True) for reply in replies]
            lists = [service.lists.make("front", ListRequest()) for _ in range(3)]
            outcomes = await asyncio.gather(*reports, *lists, told(service, replies[0], 9), return_exceptions=True)
            assert isinstance(outcomes.pop(), Refused)  # there is no such position
            assert not any(isinstance(each, BaseException) for each in outcomes)
            assert (service.commit_counts.commits, service.commit_counts.changes) == (before[0] + 1, before[1] + 7)
            assert service.impressions.learned == {"final": 4}

    run(play())


def test_a_change_that_breaks_the_state_stops_those_behind_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await shown(service)
            state = state_of(service)
            before, add, turns = state.last_seq, state.add_impression, iter(range(10))

            def break_second(impression: Any) -> None:
                if next(turns) == 1:
                    raise OSError("broken")
                add(impression)

            monkeypatch.setattr(state, "add_impression", break_second)
            outcomes = await asyncio.gather(*(shown(service) for _ in range(3)), return_exceptions=True)
            assert [type(each) for each in outcomes[1:]] == [OSError, StoreUnavailable]
            assert service.transactions.loaded_state is not state
            assert isinstance(outcomes[0], ListReply)  # it was made before, and is committed
            assert await read(service, lambda reader: reader.last_seq()) == before + 1

    run(play())
