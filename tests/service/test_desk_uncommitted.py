"""What is not committed yet counts: changes of one ranking beside each other while the disk is slow."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from desks import at_work, front, learned, run, shown, told

from toplist.service.desk import Desk
from toplist.service.rebuild import differences
from toplist.service.shapes import ListReply, RankingChange
from toplist.service.store.migrations import migrate


class Disk:
    """A disk whose commits wait until they may go on."""

    def __init__(self, desk: Desk) -> None:
        assert desk._store is not None
        self._commit = desk._store.commit
        self._go = threading.Event()
        self._go.set()
        desk._store.commit = self.commit  # type: ignore[method-assign]

    def commit(self) -> None:
        self._go.wait(10)
        self._commit()

    def hold(self) -> None:
        self._go.clear()

    def go_on(self) -> None:
        self._go.set()


@asynccontextmanager
async def held(desk: Desk) -> AsyncIterator[Disk]:
    """The disk of a desk, which goes on at the end, whatever happened."""
    disk = Disk(desk)
    try:
        yield disk
    finally:
        disk.go_on()


async def changed(desk: Desk, policy: str) -> None:
    """Until a ranking has another policy, in memory at least."""
    while desk.ranking("front").policy != policy:
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("train", [False, True])
def test_a_learner_that_is_not_committed_when_the_policy_changes_is_the_only_one_of_its_key(
    key: str | None, train: bool, tmp_path: Path
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk, held(desk) as disk:
            await front(desk)
            patch = asyncio.create_task(desk.change_ranking("front", RankingChange(policy="cascade-ucb1", train=train)))
            made: list[asyncio.Task[ListReply]] = []
            if train:
                await changed_at_its_last_step(desk, made, disk, key)
            else:
                disk.hold()
                made.append(asyncio.create_task(shown(desk, key=key)))
            await changed(desk, "cascade-ucb1")
            made.append(asyncio.create_task(shown(desk, key=key)))
            await asyncio.sleep(0.01)
            disk.go_on()
            await patch
            replies = await asyncio.gather(*made)
            for reply in replies:
                assert (await told(desk, reply, 1, final=True)).counted
            expected = 2 if train else 1  # what the old policy showed is of no use for one that starts anew
            assert await learned(desk, key) == expected
            assert desk._store is not None
            assert [row.key for row in desk._store.learners(1, 0, 10)] == [key]
            assert differences(tmp_path / "db", desk.states()) == []
        async with at_work(tmp_path / "db") as desk:
            assert await learned(desk, key) == expected

    async def changed_at_its_last_step(
        desk: Desk, made: list[asyncio.Task[ListReply]], disk: Disk, key: str | None
    ) -> None:
        """A list is made after training has read the store, which it does once nothing is left to commit."""
        inner, began = desk._trained, asyncio.Event()

        async def trained(*given: object) -> object:
            snapshots = await inner(*given)  # type: ignore[arg-type]
            disk.hold()
            made.append(asyncio.create_task(shown(desk, key=key)))
            await asyncio.sleep(0.01)
            began.set()
            return snapshots

        desk._trained = trained  # type: ignore[method-assign, assignment]
        await began.wait()

    run(play())


def test_no_key_is_one_key_for_the_tables(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "db", isolation_level=None)
    migrate(connection)
    connection.execute("INSERT INTO learners VALUES (1, 1, NULL), (2, 2, NULL), (3, 1, 'k')")
    with pytest.raises(sqlite3.IntegrityError):
        connection.execute("INSERT INTO learners VALUES (4, 1, NULL)")
    connection.close()
