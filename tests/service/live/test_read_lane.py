"""Costly reads take turns: one at a time, callers one after the other, and for a share of the time at most."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from running import at_work, front, run, shown, told

from toplist.ranker import LoggedRanker
from toplist.service.errors import TooManyReads
from toplist.service.http.history import Histories
from toplist.service.live.read_lane import ReadLane


class Turns:
    """A lane whose time is set by hand, and what its turns did."""

    def __init__(self, share: float = 0.25, most_waiting: int = 4) -> None:
        self.now = 0.0
        self.later: list[tuple[float, Callable[[], None]]] = []  # when to call what
        self.lane = ReadLane(share, most_waiting, lambda: self.now, self._call_later)
        self.log: list[tuple[str, float]] = []  # who began a turn, and when

    def _call_later(self, seconds: float, call: Callable[[], None]) -> None:
        self.later.append((self.now + seconds, call))

    async def read(self, by: str, seconds: float, work: Awaitable[Any] | None = None) -> None:
        async with self.lane.turn(by):
            self.log.append((by, self.now))
            if work is not None:
                await work
            self.now += seconds

    async def pass_time(self) -> None:
        """Let all waiting reads have their turns."""
        await settle()
        while self.later:
            self.now, call = self.later.pop(0)
            call()
            await settle()


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_turns_come_one_at_a_time_and_rest_so_that_they_take_their_share() -> None:
    async def play() -> None:
        turns = Turns(share=0.25)
        reads = [asyncio.create_task(turns.read("page", 0.1)) for _ in range(3)]
        await turns.pass_time()
        assert all(read.done() for read in reads)
        assert [at for _, at in turns.log] == pytest.approx([0.0, 0.4, 0.8])  # 0.1 s of work in each 0.4 s

    run(play())


def test_a_read_after_a_pause_need_not_wait() -> None:
    async def play() -> None:
        turns = Turns(share=0.25)
        await turns.read("page", 0.1)
        turns.now = 0.4
        await turns.read("page", 0.1)
        assert not turns.later
        assert [at for _, at in turns.log] == pytest.approx([0.0, 0.4])

    run(play())


def test_a_turn_of_one_step_ends_when_its_caller_waits() -> None:
    """A large list takes its turn to be read and made, and not until it is on disk."""

    async def play() -> None:
        turns = Turns(share=0.25)
        disk = asyncio.Event()

        async def make(by: str) -> None:
            await turns.lane.step(by)
            turns.log.append((by, turns.now))
            turns.now += 0.1
            await disk.wait()

        lists = [asyncio.create_task(make("page")) for _ in range(3)]
        await turns.pass_time()
        assert [at for _, at in turns.log] == pytest.approx([0.0, 0.4, 0.8])
        disk.set()
        await asyncio.gather(*lists)

    run(play())


def test_work_that_was_done_counts_as_a_turn() -> None:
    async def play() -> None:
        turns = Turns(share=0.25)

        async def receive(by: str) -> None:
            await turns.lane.charge(by, 0.1)
            turns.log.append((by, turns.now))

        bodies = [asyncio.create_task(receive("page")) for _ in range(3)]
        await turns.pass_time()
        assert all(body.done() for body in bodies)
        assert [at for _, at in turns.log] == pytest.approx([0.0, 0.3, 0.6])  # the time itself passed before

    run(play())


def test_callers_have_their_turns_one_after_the_other() -> None:
    """A dashboard waits for one read of a flood, not for all of them."""

    async def play() -> None:
        turns = Turns(most_waiting=10)
        reads = [asyncio.create_task(turns.read("flood", 0.1)) for _ in range(6)]
        await settle()
        reads += [asyncio.create_task(turns.read(by, 0.1)) for by in ("dashboard", "dashboard", "operator")]
        await turns.pass_time()
        assert all(read.done() for read in reads)
        order = [by for by, _ in turns.log]
        assert order == ["flood"] * 2 + ["dashboard", "operator", "flood", "dashboard"] + ["flood"] * 3

    run(play())


def test_too_many_waiting_reads_of_one_caller_are_refused_and_those_of_others_are_not() -> None:
    async def play() -> None:
        turns = Turns(most_waiting=4)
        gate = asyncio.Event()
        reads = [asyncio.create_task(turns.read("flood", 0.1, gate.wait()))]
        await settle()
        reads += [asyncio.create_task(turns.read("flood", 0.1)) for _ in range(4)]
        await settle()
        with pytest.raises(TooManyReads, match="4 estimates, explanations and histories wait"):
            await turns.read("flood", 0.1)
        reads.append(asyncio.create_task(turns.read("dashboard", 0.1)))
        gate.set()
        await turns.pass_time()
        assert all(read.done() and read.exception() is None for read in reads)
        assert (turns.lane.waiting, len(turns.log)) == (0, 6)

    run(play())


@pytest.mark.parametrize("granted", [False, True])
def test_a_client_that_leaves_keeps_no_turn(granted: bool) -> None:
    async def play() -> None:
        turns = Turns()
        gate = asyncio.Event()
        first = asyncio.create_task(turns.read("page", 0.1, gate.wait()))
        await settle()
        leaves = asyncio.create_task(turns.read("page", 0.1))
        stays = asyncio.create_task(turns.read("page", 0.1))
        await settle()
        if granted:  # it leaves when its turn has come, before it goes on
            gate.set()
            await settle()
            assert first.done()
            turns.now, call = turns.later.pop(0)
            call()
        leaves.cancel()
        gate.set()
        await turns.pass_time()
        with suppress(asyncio.CancelledError):
            await leaves
        assert stays.done()
        assert (turns.lane.waiting, len(turns.log)) == (0, 2)

    run(play())


def test_a_failed_read_ends_its_turn() -> None:
    async def play() -> None:
        turns = Turns()
        with pytest.raises(ZeroDivisionError):
            async with turns.lane.turn("page"):
                raise ZeroDivisionError
        await turns.read("page", 0.1)
        assert len(turns.log) == 1

    run(play())


def test_learners_are_copied_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many estimates, explanations and next lists are asked for at once, one thread works for them."""
    at_once: list[int] = []
    copying: list[object] = []
    inner = LoggedRanker.of.__func__  # type: ignore[attr-defined]

    def noted(cls: type[LoggedRanker], *given: Any, **more: Any) -> LoggedRanker:
        copying.append(given)
        at_once.append(len(copying))
        made: LoggedRanker = inner(cls, *given, **more)
        copying.pop()
        return made

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            reply = await shown(service)
            await told(service, reply, 1, final=True)
            monkeypatch.setattr(LoggedRanker, "of", classmethod(noted))
            asked = [service.queries.estimates("front", by="page") for _ in range(5)]
            asked += [service.queries.next_list("front", by="page") for _ in range(5)]  # type: ignore[misc]
            asked += [service.queries.explanation(reply.impression, by="page") for _ in range(5)]  # type: ignore[misc]
            answers = await asyncio.gather(*asked)
            assert len(answers) == len(at_once) == 15
            assert max(at_once) == 1

    run(play())


def test_every_page_of_a_history_is_a_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toplist.service.log.export.EVENTS_PER_PAGE", 10)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for _ in range(20):
                await told(service, await shown(service), 1, final=True)
            turns: list[str] = []
            inner = service.queries.lane.turn

            def noted(by: str) -> Any:
                turns.append(by)
                return inner(by)

            monkeypatch.setattr(service.queries.lane, "turn", noted)
            history = await Histories(service).of("front", "page")
            assert (history.lists, history.complete) == (20, True)
            assert set(turns) == {"page"}
            assert len(turns) >= 5  # 40 events and more, and the end

    run(play())


def test_histories_at_the_same_time_count_every_list_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toplist.service.log.export.EVENTS_PER_PAGE", 10)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            for _ in range(20):
                await told(service, await shown(service), 1, final=True)
            histories = Histories(service)
            await histories.of("front")
            for _ in range(20):
                await told(service, await shown(service), 1, final=True)
            found = await asyncio.gather(*(histories.of("front", by) for by in ("a", "b", "a")))
            assert [one.lists for one in found] == [40, 40, 40]

    run(play())
