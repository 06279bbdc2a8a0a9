"""Group commit: nobody is answered before the commit, many share one, and order is kept."""

import asyncio
import threading
from collections.abc import Sequence
from itertools import count
from typing import Any

import pytest
from running import run

from toplist.service.errors import StoreUnavailable
from toplist.service.store import group_commit
from toplist.service.store.group_commit import GroupCommit
from toplist.service.store.row_kinds import EventRow, Row


class Slow:
    """A store whose commits wait for a sign, or fail."""

    is_far = False

    def __init__(self) -> None:
        self.written: list[list[int]] = []
        self.may_commit = threading.Semaphore(0)
        self.fails = False

    def write(self, rows: Sequence[Row]) -> None:
        self.written.append([row.seq for row in rows if isinstance(row, EventRow)])

    def commit(self) -> None:
        self.may_commit.acquire()
        if self.fails:
            raise OSError("disk full")


def event(seq: int) -> EventRow:
    return EventRow(seq, 0, 1, 1, "list", None, b"{}")


def test_what_comes_while_a_commit_is_under_way_goes_into_the_next() -> None:
    async def play() -> None:
        store: Any = Slow()
        writer = GroupCommit(store, lambda _: None)
        first = writer.write([event(1), event(2)])
        also = writer.write([event(3)])
        await asyncio.sleep(0.01)
        later = [writer.write([event(seq)]) for seq in (4, 5, 6)]
        nothing = writer.write([])  # waits for all before it
        await asyncio.sleep(0.01)
        assert not first.done()
        assert [row.seq for row in writer.pending_events()] == [1, 2, 3, 4, 5, 6]
        store.may_commit.release()
        await asyncio.gather(first, also)
        assert not any(one.done() for one in (*later, nothing))
        store.may_commit.release()
        await asyncio.gather(*later, nothing)
        assert store.written == [[1, 2, 3], [4, 5, 6]]
        assert (writer.counts.commits, writer.counts.changes, writer.pending) == (2, 6, False)
        await writer.write([])  # without rows there is nothing to commit
        await writer.drain()
        assert writer.counts.commits == 2
        writer.close()

    run(play())


@pytest.mark.parametrize(
    ("is_far", "turns", "pause"),
    [
        pytest.param(True, 3, 3600.0, id="a commit starts once all callers are back"),
        pytest.param(False, 1, 3600.0, id="those join whose requests are there"),
    ],
)
def test_a_commit_gathers_those_who_ask_again(
    is_far: bool, turns: int, pause: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "GATHER_SECONDS", pause)
    callers = group_commit.GATHERED

    async def play() -> None:
        store: Any = Slow()
        store.is_far = is_far
        for _ in range(3):
            store.may_commit.release()
        writer, numbers = GroupCommit(store, lambda _: None), count(1)

        async def ask_twice(pause: int) -> None:
            await writer.write([event(next(numbers))])
            for _ in range(pause):
                await asyncio.sleep(0)
            await writer.write([event(next(numbers))])

        await asyncio.gather(*(ask_twice(turns * number) for number in range(callers)))
        assert list(map(len, store.written)) == [callers, callers]
        await writer.abort()

    run(play())


def test_a_commit_far_away_gathers_as_many_as_usual_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "GATHER_SECONDS", 0.2)
    many = 2 * group_commit.GATHERED

    async def play() -> None:
        store: Any = Slow()
        store.is_far = True
        store.may_commit.release(100)
        writer, numbers = GroupCommit(store, lambda _: None), count(1)

        def ask(times: int) -> list[asyncio.Future[None]]:
            return [writer.write([event(next(numbers))]) for _ in range(times)]

        await asyncio.gather(*ask(many))
        await asyncio.gather(*ask(2))  # the others do not come back in time
        some = ask(2)
        await asyncio.sleep(0.01)
        await asyncio.gather(*some, *ask(many - 3))  # as many as in the last commit is not yet as many as usual
        assert list(map(len, store.written)) == [many, 2, many - 1]
        monkeypatch.setattr(group_commit, "GATHER_SECONDS", 0.001)
        for _ in range(3 * many):  # the others have gone
            await asyncio.gather(*ask(1))
        monkeypatch.setattr(group_commit, "GATHER_SECONDS", 3600.0)
        for _ in range(3):  # a single caller does not wait
            await asyncio.wait_for(asyncio.gather(*ask(1)), 30.0)
        await writer.drain()
        writer.close()

    run(play())


def test_a_commit_on_this_machine_starts_once_the_loop_is_idle() -> None:
    async def play() -> None:
        store: Any = Slow()
        writer = GroupCommit(store, lambda _: None)
        first = [writer.write([event(seq)]) for seq in range(1, group_commit.GATHERED + 1)]
        await asyncio.sleep(0.01)
        later = writer.write([event(group_commit.GATHERED + 1)])  # nobody else comes
        store.may_commit.release()
        await asyncio.gather(*first)
        store.may_commit.release()
        await asyncio.wait_for(later, 10.0)
        assert list(map(len, store.written)) == [group_commit.GATHERED, 1]
        await writer.abort()

    run(play())


def test_a_failed_commit_fails_its_batch_and_all_behind_it_and_then_it_goes_on() -> None:
    async def play() -> None:
        store: Any = Slow()
        failures: list[bool] = []
        writer = GroupCommit(store, lambda _: failures.append(first.done()))
        first = writer.write([event(1)])
        await asyncio.sleep(0.01)
        behind = writer.write([event(2)])
        behind.cancel()  # its client has left
        also = writer.write([event(3)])
        store.fails = True
        store.may_commit.release()
        for one in (first, also):
            with pytest.raises(StoreUnavailable, match="disk full"):
                await one
        assert failures == [False]  # memory is dropped before anybody is told
        assert not writer.pending
        assert writer.failures == 1
        store.fails = False
        again = writer.write([event(2)])
        store.may_commit.release()
        await again
        assert store.written == [[1], [2]]
        await writer.drain()
        writer.close()

    run(play())
