"""Snapshots of large learners are compressed in another thread, and written only if they are still true."""

import asyncio
import threading
from pathlib import Path

import pytest
from running import Clock, at_work, check, front, learned, ranking_of, read, run, shown, state_of, told
from test_uncommitted import held

from toplist.ranker.snapshot import State
from toplist.service.errors import StoreUnavailable
from toplist.service.live import learners
from toplist.service.live.service import Service
from toplist.service.store.row_kinds import SnapshotRow
from toplist.service.wire import RankingChange


class Packing:
    """Holds the compressing of snapshots until it may go on, and notes where it is done."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.gate = threading.Event()
        self.on_loop: list[bool] = []
        pack = State.packed

        def packed(state: State) -> bytes:
            on_loop = threading.current_thread() is threading.main_thread()
            self.on_loop.append(on_loop)
            assert on_loop or self.gate.wait(30)
            return pack(state)

        monkeypatch.setattr(State, "packed", packed)
        monkeypatch.setattr(learners, "SNAPSHOT_EVERY", 3)
        monkeypatch.setattr(learners, "LARGE", 0)

    async def reached(self) -> None:
        while not self.on_loop:
            await asyncio.sleep(0.001)


@pytest.fixture
def packing(monkeypatch: pytest.MonkeyPatch) -> Packing:
    return Packing(monkeypatch)


async def written(service: Service) -> SnapshotRow | None:
    """The snapshot of the first learner, once all that is being compressed is written."""
    large = state_of(service).learners.large_snapshots
    while not large.is_idle:
        await asyncio.sleep(0.001)
    await service.transactions.settle()
    ranking = ranking_of(service)
    (learner, *_) = await read(service, lambda reader: reader.learners(ranking.id, 0, 1))
    return await read(service, lambda reader: reader.snapshot(learner.id, ranking.settings.policy_seq))


async def visit(service: Service, times: int = 1) -> None:
    for _ in range(times):
        assert (await told(service, await shown(service, segment="a"), 1, final=True)).counted


def test_others_are_served_while_a_snapshot_is_compressed(packing: Packing, tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", Clock()) as service:
            await front(service)
            await visit(service, 2)
            (learner,) = state_of(service).learners
            await packing.reached()
            await visit(service, 3)  # a second snapshot waits for the first
            assert packing.on_loop == [False]
            packing.gate.set()
            kept = await written(service)
            assert kept is not None
            assert kept.seq < learner.seq
            await visit(service)
            later = await written(service)
            assert later is not None
            assert later.seq > kept.seq
            assert True not in packing.on_loop
            assert service.transactions.work.taken == 0
        packing.gate.set()
        async with at_work(tmp_path / "db") as service:
            assert await learned(service, "a") == 6
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_a_learner_that_leaves_the_memory_is_compressed_in_another_thread(
    packing: Packing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learners, "SNAPSHOT_EVERY", 1000)
    monkeypatch.setattr(learners, "WORTH_A_SNAPSHOT", 1)
    packing.gate.set()

    async def play() -> None:
        async with at_work(tmp_path / "db", Clock(), learner_bytes=0) as service:
            await front(service)
            await visit(service, 2)
            await shown(service, segment="b")
            await shown(service, segment="b")
            assert await written(service) is not None
            assert packing.on_loop
            assert True not in packing.on_loop
            assert await learned(service, "a") == 2
            monkeypatch.setattr(learners, "LARGE", 1 << 20)  # what is left is written as the service ends

    run(play())


@pytest.mark.parametrize("what", ["a failed commit", "a new policy", "a deleted segment", "a deleted ranking"])
def test_a_snapshot_that_is_no_longer_true_is_not_written(what: str, packing: Packing, tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            await visit(service, 2)
            loaded = state_of(service)
            (learner,) = loaded.learners
            await packing.reached()
            if what == "a failed commit":
                async with held(service) as disk:
                    disk.full = True
                    with pytest.raises(StoreUnavailable):
                        await shown(service)
                    disk.full = False
            elif what == "a new policy":
                await service.rankings.change("front", RankingChange(policy="dcm-kl-ucb", train=False))
            elif what == "a deleted segment":
                await service.segments.delete("front", "a")
            else:
                await service.rankings.delete("front")
            before = service.transactions.commits.last_seq
            packing.gate.set()
            while not loaded.learners.large_snapshots.is_idle:
                await asyncio.sleep(0.001)
            assert not service.transactions.commits.pending
            assert service.transactions.commits.last_seq == before
            clock.pass_(1)
            await service.queries.rankings()
            kept = await read(service, lambda reader: reader.snapshot(learner.id, learner.ranking.settings.policy_seq))
            assert kept is None
        assert check(tmp_path / "db") == []

    run(play())
