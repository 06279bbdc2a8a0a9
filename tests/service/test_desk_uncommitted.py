"""What is not committed yet counts: changes of one ranking beside each other while the disk is slow."""

import asyncio
import io
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import httpx
import pytest
from desks import Clock, at_work, front, items, learned, run, shown, told

from toplist.service.config import Settings
from toplist.service.errors import NotFound, Refused, StoreUnavailable
from toplist.service.http.app import make_app
from toplist.service.http.logs import Log
from toplist.service.live import learners
from toplist.service.live.service import Desk
from toplist.service.log import replay
from toplist.service.log.verify import differences
from toplist.service.store.migrations import SCRIPTS, migrate
from toplist.service.store.sqlite import connect
from toplist.service.wire import ListReply, RankingChange, RankingSpec


class Disk:
    """A disk whose commits wait until they may go on."""

    def __init__(self, desk: Desk) -> None:
        assert desk._store is not None
        self._store, self._commit = desk._store, desk._store.commit
        self._go = threading.Event()
        self._go.set()
        self.full = False  # what was held back cannot be committed
        desk._store.commit = self.commit  # type: ignore[method-assign]

    def commit(self) -> None:
        self._go.wait(10)
        if self.full:
            self._store._roll_back()
            raise StoreUnavailable("The disk is full.")
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


def caller(desk: Desk) -> httpx.AsyncClient:
    """Somebody who asks it through its API."""
    transport = httpx.ASGITransport(make_app(desk, Settings(), Log("none", io.StringIO())))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost:8600/v1")


async def changed(desk: Desk, policy: str) -> None:
    """Until a ranking has another policy, in memory at least."""
    while desk._ranking("front").spec.policy != policy:
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("train", [False, True])
def test_a_learner_that_is_not_committed_when_the_policy_changes_is_the_only_one_of_its_key(
    key: str | None, train: bool, tmp_path: Path
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk, held(desk) as disk:
            await front(desk)
            await shown(desk, key="another")  # without a list there is nothing to train from
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
            assert [row.key for row in desk._store.learners(1, 0, 10)] == ["another", key]
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


def test_a_ranking_whose_only_learner_is_not_committed_is_served_already(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk, held(desk) as disk:
            await front(desk)
            patch = asyncio.create_task(desk.change_ranking("front", RankingChange(policy="cascade-ucb1", train=False)))
            disk.hold()
            listing = asyncio.create_task(shown(desk, key="a"))
            await changed(desk, "cascade-ucb1")
            with pytest.raises(Refused):
                await shown(desk, key="b", among=["nothing"])
            assert desk._memory is not None
            assert desk._memory.rankings["front"].served
            disk.go_on()
            await asyncio.gather(patch, listing)

    run(play())


def test_a_store_with_several_learners_without_a_key_keeps_the_one_that_was_served(tmp_path: Path) -> None:
    connection = connect(tmp_path / "db", reads=False)
    migrate(connection, SCRIPTS[:1])
    connection.execute("INSERT INTO learners VALUES (1, 1, NULL), (2, 2, NULL), (3, 1, NULL), (4, 1, 'k'), (5, 1, 'l')")
    migrate(connection)
    assert connection.execute("SELECT id FROM learners ORDER BY id").fetchall() == [(1,), (2,), (4,), (5,)]
    connection.close()


def test_no_key_is_one_key_for_the_tables(tmp_path: Path) -> None:
    connection = connect(tmp_path / "db", reads=False)
    migrate(connection)
    connection.execute("INSERT INTO learners VALUES (1, 1, NULL), (2, 2, NULL), (3, 1, 'k')")
    with pytest.raises(apsw.ConstraintError):
        connection.execute("INSERT INTO learners VALUES (4, 1, NULL)")
    connection.close()


def test_a_learner_whose_events_are_being_forgotten_is_not_loaded_from_what_is_left(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock, hot_bytes=1) as desk, held(desk) as disk:
            await front(desk, retention=100.0)
            for key in "a" * 20 + "b":
                await told(desk, await shown(desk, key=key), 1, final=True)
            clock.pass_(1000)
            await shown(desk, key="c")
            disk.hold()
            retaining = asyncio.create_task(desk.retain())
            await asyncio.sleep(0.05)
            assert desk._memory is not None
            assert {learner.key for learner in desk._memory.learners} >= {"a", "b"}
            disk.go_on()
            assert await retaining == 21
            assert await learned(desk, "a") == 20
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_a_learner_is_loaded_from_one_moment_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as desk, held(desk) as disk:
            await front(desk, retention=100.0)
            for _ in range(20):
                await told(desk, await shown(desk), 1, final=True)
            clock.pass_(1000)
            await shown(desk, key="c")
            disk.hold()
            retaining = asyncio.create_task(desk.retain())
            await asyncio.sleep(0.05)
            memory, store = desk._memory, desk._store
            assert memory is not None
            assert store is not None
            memory.learners.forget(memory.rankings["front"])  # as another policy does
            snapshot = store.snapshot

            def slowly(*given: Any) -> Any:
                found = snapshot(*given)
                disk.go_on()
                while store._writer.in_transaction:  # the events go between two reads
                    time.sleep(0.005)
                return found

            monkeypatch.setattr(store, "snapshot", slowly)
            assert await learned(desk) == 20
            monkeypatch.undo()
            assert await retaining == 20
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_items_that_are_removed_are_in_no_list_of_a_policy_that_starts_anew(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk, held(desk) as disk:
            await front(desk)
            await told(desk, await shown(desk), 1, final=True)
            patch = asyncio.create_task(desk.change_ranking("front", RankingChange(policy="cascade-ucb1", train=False)))
            disk.hold()
            gone = [f"item-{n}" for n in range(2, 7)]
            removing = asyncio.create_task(desk.remove_items("front", gone))
            await changed(desk, "cascade-ucb1")
            adding = asyncio.create_task(desk.put_items("front", items(1, first=20)))
            listing = asyncio.create_task(shown(desk))
            await asyncio.sleep(0.01)
            disk.go_on()
            await asyncio.gather(patch, removing, adding, listing)
            assert len((await shown(desk)).items) == 3
            estimates = await desk.estimates("front")
            assert {row.item for row in estimates.items} == {"item-0", "item-1", "item-7", "item-20"}
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_a_policy_is_not_trained_again_while_what_it_learned_is_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk, held(desk) as disk:
            await front(desk)
            for _ in range(100):
                await told(desk, await shown(desk), 1, final=True)
            begun: list[object] = []
            beginning = replay.beginning

            def noted(*given: Any) -> Any:
                begun.append(given)
                return beginning(*given)

            monkeypatch.setattr(learners, "beginning", noted)
            inner = desk._trained

            async def trained(*given: Any) -> Any:
                snapshots = await inner(*given)
                disk.hold()
                return snapshots

            desk._trained = trained  # type: ignore[method-assign, assignment]
            patch = asyncio.create_task(desk.change_ranking("front", RankingChange(policy="cascade-ucb1")))
            await changed(desk, "cascade-ucb1")
            listing = asyncio.create_task(shown(desk))
            await asyncio.sleep(0.01)
            disk.go_on()
            await asyncio.gather(patch, listing)
            assert await learned(desk) == 100
            assert begun == []
            assert differences(tmp_path / "db", desk.states()) == []

    run(play())


def test_estimates_are_not_shown_before_what_they_come_from_is_committed(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as desk, held(desk) as disk:
            await front(desk)
            reply = await shown(desk)
            disk.hold()
            telling = asyncio.create_task(told(desk, reply, 1, final=True))
            looking = asyncio.create_task(learned(desk))
            explaining = asyncio.create_task(desk.explanation(reply.impression))
            await asyncio.sleep(0.05)
            assert not looking.done()
            assert not explaining.done()
            disk.go_on()
            assert await looking == 1
            await asyncio.gather(telling, explaining)

    run(play())


def test_a_list_that_is_asked_for_while_it_is_forgotten_is_not_found_afterwards(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as desk, held(desk) as disk:
            await front(desk, retention=100.0)
            reply = await shown(desk)
            await told(desk, reply, 1, final=True)
            clock.pass_(1000)
            await shown(desk)
            disk.hold()
            retaining = asyncio.create_task(desk.retain())
            await asyncio.sleep(0.05)
            telling = asyncio.create_task(told(desk, reply, 1, final=True))
            await asyncio.sleep(0.02)
            disk.go_on()
            assert await retaining == 1
            await telling
            memory = desk._memory
            with pytest.raises(NotFound):
                await desk.impression(reply.impression)
            with pytest.raises(NotFound):
                await desk.explanation(reply.impression)
            assert desk._memory is memory

    run(play())


@pytest.mark.parametrize("full", [False, True])
def test_no_answer_shows_what_is_not_committed_or_never_will_be(full: bool, tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as desk, held(desk) as disk:
            await front(desk)
            reply = await shown(desk, key="k")
            for name in ("gone", "other"):
                await desk.create_ranking(RankingSpec(name=name, positions=1))
            async with caller(desk) as client:
                disk.hold()
                changes = [
                    asyncio.create_task(work)
                    for work in (
                        told(desk, reply, 1, final=True),
                        desk.put_items("front", items(1, first=20)),
                        desk.remove_items("front", ["item-0"]),
                        desk.change_ranking("other", RankingChange(click_window=1.0)),
                        desk.delete_ranking("gone"),
                    )
                ]
                await asyncio.sleep(0.02)
                of_list = f"/impressions/{reply.impression}"
                # What a reply says of them before, and after they are committed.
                told_of: dict[str, tuple[Callable[[Any], object], object, object]] = {
                    of_list: (lambda body: body["state"], "open", "learned"),
                    f"{of_list}/explanation": (lambda body: body["positions"][0]["examined"], 0.0, 1.0),
                    "/rankings/front/estimates?key=k": (lambda body: body["learned"], 0, 1),
                    "/rankings/front/explanation?key=k": (lambda body: body["learned"], 0, 1),
                    "/rankings/front": (lambda body: body["items"], 8, 8),
                    "/rankings/front/keys": (lambda body: body["keys"], ["k"], ["k"]),
                    "/rankings/front/items": (lambda body: body["items"][-1]["id"], "item-7", "item-20"),
                    "/rankings/front/items/item-20": (lambda body: body.get("status"), 404, None),
                    "/rankings/front/items/item-0": (lambda body: body.get("status"), None, 404),
                    "/rankings/front/history": (lambda body: body["lists"], 0, 1),
                    "/rankings/other": (lambda body: body["click_window"], 1800.0, 1.0),
                    "/rankings": (lambda body: len(body["rankings"]), 3, 2),
                    "/rankings/gone": (lambda body: body.get("status"), None, 404),
                    "/rankings/gone/events?limit=1": (lambda body: body.get("status"), None, 404),
                }
                waiting = {path: asyncio.create_task(client.get(path)) for path in told_of}
                await asyncio.sleep(0.1)
                assert [path for path, task in waiting.items() if task.done()] == []
                disk.full = full
                disk.go_on()
                done = await asyncio.gather(*changes, return_exceptions=True)
                assert [isinstance(each, StoreUnavailable) for each in done] == [full] * len(changes)
                for path, (read, _, after) in told_of.items():
                    early = await waiting[path]
                    if full:
                        assert early.status_code == 503, path
                    else:
                        assert read(early.json()) == after, path
                disk.full = False
                clock.pass_(1)
                for path, (read, before, after) in told_of.items():
                    assert read((await client.get(path)).json()) == (before if full else after), path

    run(play())


@pytest.mark.parametrize("full", [False, True])
def test_nothing_is_refused_for_what_is_not_committed_or_never_will_be(full: bool, tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as desk, held(desk) as disk:
            await front(desk)
            await desk.create_ranking(RankingSpec(name="gone", positions=1))
            async with caller(desk) as client:
                disk.hold()
                new = {"name": "new", "positions": 1}
                changes = [
                    asyncio.create_task(work)
                    for work in (
                        desk.create_ranking(RankingSpec(**new)),  # type: ignore[arg-type]
                        desk.remove_items("front", ["item-0"]),
                        desk.delete_ranking("gone"),
                    )
                ]
                await asyncio.sleep(0.1)
                # What is asked, and the status before and after they are committed.
                asked: dict[tuple[str, str], tuple[Any, int, int]] = {
                    ("POST", "/rankings"): (new, 201, 409),
                    ("DELETE", "/rankings/front/items/item-0"): (None, 204, 404),
                    ("POST", "/rankings/front/lists"): ({"exclude": ["item-0"]}, 200, 422),
                    ("PATCH", "/rankings/gone"): ({"click_window": 1.0}, 200, 404),
                    ("DELETE", "/rankings/gone"): (None, 204, 404),
                }
                waiting = [
                    asyncio.create_task(client.request(*which, json=body)) for which, (body, _, _) in asked.items()
                ]
                await asyncio.sleep(0.1)
                assert not any(task.done() for task in waiting)
                disk.full = full
                disk.go_on()
                done = await asyncio.gather(*changes, return_exceptions=True)
                assert [isinstance(each, StoreUnavailable) for each in done] == [full] * len(changes)
                early = [reply.status_code for reply in await asyncio.gather(*waiting)]
                assert early == [503 if full else after for _, _, after in asked.values()]
                disk.full = False
                clock.pass_(1)
                again = [(await client.request(*which, json=body)).status_code for which, (body, _, _) in asked.items()]
                expected = [before if full else after for _, before, after in asked.values()]
                if full:
                    expected[2] = 422  # the item was removed by the request before
                assert again == expected

    run(play())
