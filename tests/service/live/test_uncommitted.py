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
from running import (
    Clock,
    at_work,
    check,
    events,
    front,
    items,
    learned,
    lose_commit,
    ranking_of,
    read,
    run,
    shown,
    state_of,
    told,
)

from toplist.service.errors import NotFound, Refused, StoreUnavailable
from toplist.service.http.app import make_app
from toplist.service.http.logs import Log
from toplist.service.live import learner_load
from toplist.service.live.service import Service
from toplist.service.log import replay
from toplist.service.settings import Settings
from toplist.service.store.migrations import SCRIPTS, migrate
from toplist.service.store.queries import TableReader
from toplist.service.store.sqlite import SQLiteStore, connect
from toplist.service.wire import ListReply, RankingChange, RankingSpec

LONGEST_READ = 20.0  # seconds


class Disk:
    """A disk whose commits wait until they may go on."""

    def __init__(self, service: Service) -> None:
        store = service.transactions.store
        self._store, self._commit = store, store.commit
        self._go = threading.Event()
        self._go.set()
        self.full = False  # what was held back cannot be committed
        store.commit = self.commit  # type: ignore[method-assign]

    def commit(self) -> None:
        self._go.wait(10)
        if self.full:
            lose_commit(self._store)
            raise StoreUnavailable("The disk is full.")
        self._commit()

    def hold(self) -> None:
        self._go.clear()

    def go_on(self) -> None:
        self._go.set()


@asynccontextmanager
async def held(service: Service) -> AsyncIterator[Disk]:
    """The disk of a service, which goes on at the end, whatever happened."""
    disk = Disk(service)
    try:
        yield disk
    finally:
        disk.go_on()


def caller(service: Service) -> httpx.AsyncClient:
    """Somebody who asks it through its API."""
    transport = httpx.ASGITransport(make_app(service, Settings(), Log("none", io.StringIO())))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost:8600/v1")


async def changed(service: Service, policy: str) -> None:
    """Until a ranking has another policy, in memory at least."""
    while ranking_of(service).spec.policy != policy:
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("segment", [None, "k"])
@pytest.mark.parametrize("train", [False, True])
def test_a_learner_that_is_not_committed_when_the_policy_changes_is_the_only_one_of_its_key(
    segment: str | None, train: bool, tmp_path: Path
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service, held(service) as disk:
            await front(service)
            await shown(service, segment="another")  # without a list there is nothing to train from
            patch = asyncio.create_task(
                service.rankings.change("front", RankingChange(policy="cascade-ucb1", train=train))
            )
            made: list[asyncio.Task[ListReply]] = []
            if train:
                await changed_at_its_last_step(service, made, disk, segment)
            else:
                disk.hold()
                made.append(asyncio.create_task(shown(service, segment=segment)))
            await changed(service, "cascade-ucb1")
            made.append(asyncio.create_task(shown(service, segment=segment)))
            await asyncio.sleep(0.01)
            disk.go_on()
            await patch
            replies = await asyncio.gather(*made)
            for reply in replies:
                assert (await told(service, reply, 1, final=True)).counted
            # What the old policy showed is of no use for one that starts anew; the first list may come after it.
            log = await events(service)
            change = max(event.seq for event in log if event.kind == "ranking")
            later = sum(event.kind == "list" and event.seq > change for event in log)
            expected = 2 if train else later
            assert later >= 1
            assert await learned(service, segment) == expected
            rows = await read(service, lambda reader: reader.learners(1, 0, 10))
            assert [row.segment for row in rows] == ["another", segment]
            assert check(tmp_path / "db", await service.beliefs()) == []
        async with at_work(tmp_path / "db") as service:
            assert await learned(service, segment) == expected

    async def changed_at_its_last_step(
        service: Service, made: list[asyncio.Task[ListReply]], disk: Disk, segment: str | None
    ) -> None:
        """A list is made after training has read the store, which it does once nothing is left to commit."""
        inner, began = service.rankings.policy_change.train, asyncio.Event()

        async def trained(*given: object) -> object:
            snapshots = await inner(*given)  # type: ignore[arg-type]
            disk.hold()
            made.append(asyncio.create_task(shown(service, segment=segment)))
            await asyncio.sleep(0.01)
            began.set()
            return snapshots

        service.rankings.policy_change.train = trained  # type: ignore[method-assign, assignment]
        await began.wait()

    run(play())


def test_a_ranking_whose_only_learner_is_not_committed_is_served_already(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service, held(service) as disk:
            await front(service)
            patch = asyncio.create_task(
                service.rankings.change("front", RankingChange(policy="cascade-ucb1", train=False))
            )
            disk.hold()
            listing = asyncio.create_task(shown(service, segment="a"))
            await changed(service, "cascade-ucb1")
            with pytest.raises(Refused):
                await shown(service, segment="b", among=["nothing"])
            assert service.transactions.loaded_state is not None
            assert service.transactions.loaded_state.rankings["front"].has_learner
            disk.go_on()
            await asyncio.gather(patch, listing)

    run(play())


@pytest.mark.file
def test_a_store_with_several_learners_without_a_key_keeps_the_one_that_was_served(tmp_path: Path) -> None:
    connection = connect(tmp_path / "db", read_only=False)
    migrate(connection, SCRIPTS[:1])
    connection.execute("INSERT INTO learners VALUES (1, 1, NULL), (2, 2, NULL), (3, 1, NULL), (4, 1, 'k'), (5, 1, 'l')")
    migrate(connection)
    assert connection.execute("SELECT id FROM learners ORDER BY id").fetchall() == [(1,), (2,), (4,), (5,)]
    connection.close()


@pytest.mark.file
def test_no_key_is_one_key_for_the_tables(tmp_path: Path) -> None:
    connection = connect(tmp_path / "db", read_only=False)
    migrate(connection)
    connection.execute("INSERT INTO learners VALUES (1, 1, NULL, 0), (2, 2, NULL, 0), (3, 1, 'k', 0)")
    with pytest.raises(apsw.ConstraintError):
        connection.execute("INSERT INTO learners VALUES (4, 1, NULL, 0)")
    connection.close()


def test_a_learner_whose_events_are_being_forgotten_is_not_loaded_from_what_is_left(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock, learner_bytes=1) as service, held(service) as disk:
            await front(service, retention=100.0)
            for segment in "a" * 20 + "b":
                await told(service, await shown(service, segment=segment), 1, final=True)
            clock.pass_(1000)
            await shown(service, segment="c")
            disk.hold()
            retaining = asyncio.create_task(service.retention.forget_old())
            async with asyncio.timeout(LONGEST_READ):
                while "a" not in {learner.segment for learner in state_of(service).learners}:
                    await asyncio.sleep(0.005)
            await asyncio.sleep(0.05)
            assert "a" in {learner.segment for learner in state_of(service).learners}
            disk.go_on()
            assert await retaining == 21
            assert await learned(service, "a") == 20
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


@pytest.mark.file
def test_a_learner_is_loaded_from_one_moment_of_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service, held(service) as disk:
            await front(service, retention=100.0)
            for _ in range(20):
                await told(service, await shown(service), 1, final=True)
            clock.pass_(1000)
            await shown(service, segment="c")
            disk.hold()
            retaining = asyncio.create_task(service.retention.forget_old())
            await asyncio.sleep(0.05)
            state_of(service).learners.remove(ranking_of(service))  # as another policy does
            snapshot, store = TableReader.snapshot, service.transactions.store
            assert isinstance(store, SQLiteStore)

            def slowly(*given: Any) -> Any:
                found = snapshot(*given)
                disk.go_on()
                while store.is_writing:  # the events go between two reads
                    time.sleep(0.005)
                return found

            monkeypatch.setattr(TableReader, "snapshot", slowly)
            assert await learned(service) == 20
            monkeypatch.undo()
            assert await retaining == 20
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_items_that_are_removed_are_in_no_list_of_a_policy_that_starts_anew(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service, held(service) as disk:
            await front(service)
            await told(service, await shown(service), 1, final=True)
            patch = asyncio.create_task(
                service.rankings.change("front", RankingChange(policy="cascade-ucb1", train=False))
            )
            disk.hold()
            gone = [f"item-{n}" for n in range(2, 7)]
            removing = asyncio.create_task(service.items.remove("front", gone))
            await changed(service, "cascade-ucb1")
            adding = asyncio.create_task(service.items.put("front", items(1, first=20)))
            listing = asyncio.create_task(shown(service))
            await asyncio.sleep(0.01)
            disk.go_on()
            await asyncio.gather(patch, removing, adding, listing)
            assert len((await shown(service)).items) == 3
            estimates = await service.queries.estimates("front")
            assert {row.item for row in estimates.items} == {"item-0", "item-1", "item-7", "item-20"}
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_a_policy_is_not_trained_again_while_what_it_learned_is_not_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service, held(service) as disk:
            await front(service)
            for _ in range(100):
                await told(service, await shown(service), 1, final=True)
            begun: list[object] = []
            from_start = replay.replay_from_start

            def noted(*given: Any) -> Any:
                begun.append(given)
                return from_start(*given)

            monkeypatch.setattr(learner_load, "replay_from_start", noted)
            inner = service.rankings.policy_change.train

            async def trained(*given: Any) -> Any:
                snapshots = await inner(*given)
                disk.hold()
                return snapshots

            service.rankings.policy_change.train = trained  # type: ignore[method-assign, assignment]
            patch = asyncio.create_task(service.rankings.change("front", RankingChange(policy="cascade-ucb1")))
            await changed(service, "cascade-ucb1")
            listing = asyncio.create_task(shown(service))
            await asyncio.sleep(0.01)
            disk.go_on()
            await asyncio.gather(patch, listing)
            assert await learned(service) == 100
            assert begun == []
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_estimates_are_not_shown_before_what_they_come_from_is_committed(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service, held(service) as disk:
            await front(service)
            reply = await shown(service)
            disk.hold()
            telling = asyncio.create_task(told(service, reply, 1, final=True))
            await asyncio.sleep(0.01)  # it is learned
            looking = asyncio.create_task(learned(service))
            explaining = asyncio.create_task(service.queries.explanation(reply.impression))
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
        async with at_work(tmp_path / "db", clock) as service, held(service) as disk:
            await front(service, retention=100.0)
            reply = await shown(service)
            await told(service, reply, 1, final=True)
            clock.pass_(1000)
            await shown(service)
            disk.hold()
            retaining = asyncio.create_task(service.retention.forget_old())
            await asyncio.sleep(0.05)
            telling = asyncio.create_task(told(service, reply, 1, final=True))
            await asyncio.sleep(0.02)
            disk.go_on()
            assert await retaining == 1
            await telling
            memory = service.transactions.loaded_state
            with pytest.raises(NotFound):
                await service.queries.impression(reply.impression)
            with pytest.raises(NotFound):
                await service.queries.explanation(reply.impression)
            assert service.transactions.loaded_state is memory

    run(play())


@pytest.mark.parametrize("full", [False, True])
def test_no_answer_shows_what_is_not_committed_or_never_will_be(full: bool, tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service, held(service) as disk:
            await front(service)
            reply = await shown(service, segment="k")
            for name in ("gone", "other"):
                await service.rankings.create(RankingSpec(name=name, positions=1))
            async with caller(service) as client:
                disk.hold()
                changes = [
                    asyncio.create_task(work)
                    for work in (
                        told(service, reply, 1, final=True),
                        service.items.put("front", items(1, first=20)),
                        service.items.remove("front", ["item-0"]),
                        service.rankings.change("other", RankingChange(click_window=1.0)),
                        service.rankings.delete("gone"),
                    )
                ]
                await asyncio.sleep(0.02)
                of_list = f"/impressions/{reply.impression}"
                # What a reply says of them before, and after they are committed.
                told_of: dict[str, tuple[Callable[[Any], object], object, object]] = {
                    of_list: (lambda body: body["state"], "open", "learned"),
                    f"{of_list}/explanation": (lambda body: body["positions"][0]["examined"], 0.0, 1.0),
                    "/rankings/front/estimates?segment=k": (lambda body: body["learned"], 0, 1),
                    "/rankings/front/explanation?segment=k": (lambda body: body["learned"], 0, 1),
                    "/rankings/front": (lambda body: body["items"], 8, 8),
                    "/rankings/front/segments": (lambda body: body["segments"], ["k"], ["k"]),
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
        async with at_work(tmp_path / "db", clock) as service, held(service) as disk:
            await front(service)
            await service.rankings.create(RankingSpec(name="gone", positions=1))
            async with caller(service) as client:
                disk.hold()
                new = {"name": "new", "positions": 1}
                changes = [
                    asyncio.create_task(work)
                    for work in (
                        service.rankings.create(RankingSpec(**new)),  # type: ignore[arg-type]
                        service.items.remove("front", ["item-0"]),
                        service.rankings.delete("gone"),
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


@pytest.mark.parametrize("others", [0, 1])
def test_a_request_beside_one_whose_commit_failed_gets_no_list_that_is_lost(tmp_path: Path, others: int) -> None:
    """It has looked for the list in the store while the other one made it; the number may be another list's by then."""

    async def test() -> None:
        clock = Clock()
        async with at_work(tmp_path / "db", clock) as service, held(service) as disk:
            await front(service)
            await shown(service)
            store = service.transactions.store
            read_now, waiting, may_read = store.read, asyncio.Event(), asyncio.Event()

            async def read_later(work: Callable[[Any], Any]) -> Any:
                store.read = read_now  # type: ignore[method-assign]
                found = await read_now(work)
                waiting.set()
                await may_read.wait()
                return found

            store.read = read_later  # type: ignore[method-assign]
            second = asyncio.create_task(shown(service, request_id="q"))
            await waiting.wait()
            disk.full = True
            with pytest.raises(StoreUnavailable):
                await shown(service, request_id="q")
            disk.full = False
            clock.pass_(1.0)
            for _ in range(others):
                await shown(service)
            may_read.set()
            again = await second
            assert await shown(service, request_id="q") == again
            assert (await told(service, again, 1, final=True)).counted

    run(test())
