"""A request that waits while the state is dropped: nothing is written from what was never committed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from running import Clock, at_work, check, events, front, items, read, run, shown, state_of, told
from test_slow_reads import GatedStore, gated, loads_a_learner
from test_uncommitted import held

from toplist.service.errors import StoreUnavailable
from toplist.service.live import learners
from toplist.service.live.learner_load import LearnerLoad
from toplist.service.live.learners import LoadedLearner
from toplist.service.live.service import Service
from toplist.service.store.group_commit import GroupCommit
from toplist.service.store.row_kinds import Row

MOST_WRITES = 200  # of a test; more of them go round in a circle


@pytest.fixture(autouse=True)
def few_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that never gives way fails instead of going on for ever; every event is worth a snapshot."""
    write, count = GroupCommit.write, 0

    def counted(commits: GroupCommit, rows: list[Row]) -> asyncio.Future[None]:
        nonlocal count
        count += 1
        assert count < MOST_WRITES, "a loop of writes"
        return write(commits, rows)

    monkeypatch.setattr(GroupCommit, "write", counted)
    monkeypatch.setattr(learners, "WORTH_A_SNAPSHOT", 1)


@asynccontextmanager
async def dropped_beside(service: Service, waiting: asyncio.Task[Any], gate: asyncio.Event) -> AsyncIterator[None]:
    """Context between a failed commit, while a request waits in a read, and the end of that read."""
    await gated(service).reached.wait()
    async with held(service) as disk:
        disk.full = True
        with pytest.raises(StoreUnavailable):
            await shown(service, segment="a")
        disk.full = False
        yield
        gate.set()
        await asyncio.wait([waiting])


@pytest.mark.parametrize("is_reloaded", [False, True])
def test_learners_with_a_failed_event_leave_no_snapshot(is_reloaded: bool, tmp_path: Path) -> None:
    """A list of another segment needs their room; loaded again first, the commits no longer know the failed event."""
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock, learner_bytes=0, open_store=GatedStore) as service:
            await front(service)
            await shown(service, segment="a")
            (learner,) = state_of(service).learners
            last = learner.seq
            gate = gated(service).hold()  # looks for the learner of b
            listing = asyncio.create_task(shown(service, segment="b"))
            async with dropped_beside(service, listing, gate):
                if is_reloaded:
                    clock.pass_(1)
                    await service.queries.rankings()
            assert isinstance(listing.exception(), StoreUnavailable)
            clock.pass_(1)
            await service.queries.rankings()
            assert await read(service, lambda reader: reader.last_seq()) == last
            policy = learner.ranking.settings.policy_seq
            assert await read(service, lambda reader: reader.snapshot(learner.id, policy)) is None
            for segment in "aba":
                assert (await told(service, await shown(service, segment=segment), 1, final=True)).counted
            assert check(tmp_path / "db", await service.beliefs()) == []
        assert check(tmp_path / "db") == []

    run(play())


def test_a_learner_that_cannot_be_loaded_into_a_dropped_state_is_not_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()

    def broken(*_: Any) -> None:
        raise ValueError("it cannot be read")

    async def play() -> None:
        async with at_work(tmp_path / "db", clock, learner_bytes=0, open_store=GatedStore) as service:
            await front(service)
            for segment in "baa":  # the second list of a evicts b
                await shown(service, segment=segment)
            before = await events(service)
            gate = gated(service).hold(loads_a_learner, before=True)
            listing = asyncio.create_task(shown(service, segment="b"))
            with monkeypatch.context() as patch:
                async with dropped_beside(service, listing, gate):
                    patch.setattr(LearnerLoad, "__call__", broken)
            assert isinstance(listing.exception(), StoreUnavailable)
            clock.pass_(1)
            assert await events(service) == before
            assert not service.quarantined
            await shown(service, segment="b")

    run(play())


def test_a_request_is_not_refused_for_a_list_that_was_never_committed(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock, open_store=GatedStore) as service:
            await front(service)
            gate = gated(service).hold()  # looks for the request
            listing = asyncio.create_task(shown(service, request_id="q", positions=1))
            await gated(service).reached.wait()
            async with held(service) as disk:
                disk.full = True
                with pytest.raises(StoreUnavailable):
                    await shown(service, request_id="q")
                disk.full = False
            clock.pass_(1)
            gate.set()
            made = await listing
            assert len(made.items) == 1
            assert await shown(service, request_id="q", positions=1) == made

    run(play())


def test_a_store_is_released_even_if_a_snapshot_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise ValueError("no snapshot")

    async def play() -> None:
        service = Service(tmp_path / "db", Clock(), open_store=GatedStore)
        await service.start()
        await front(service)
        await shown(service)
        with monkeypatch.context() as patch:
            patch.setattr(LoadedLearner, "snapshot", broken)
            with pytest.raises(ValueError, match="no snapshot"):
                await service.stop()
        assert not service.transactions.is_open
        async with at_work(tmp_path / "db", open_store=GatedStore) as other:
            assert len((await shown(other)).items) == 3

    run(play())


def test_a_state_follows_the_events_of_the_log_and_not_its_own(tmp_path: Path) -> None:
    """What a server that may only read hands over is not written, and another's event gets its number."""

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            transactions = service.transactions
            before = state_of(service).loaded_mark
            transactions.follow(before._replace(seq=state_of(service).last_seq))  # it was loaded earlier
            loaded = await transactions.state()
            mark = loaded.loaded_mark
            assert mark.seq == loaded.last_seq
            transactions.follow(mark)
            assert transactions.loaded_state is loaded
            own = loaded.next_seq()
            transactions.follow(mark)
            assert transactions.loaded_state is loaded
            transactions.follow(mark._replace(seq=own))
            assert transactions.loaded_state is None
            await service.items.put("front", items(1, first=100))

    run(play())
