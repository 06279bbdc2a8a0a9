"""A deleted ranking is gone: at once for everybody who asks, and bit by bit out of the store."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from older_store import make_older
from running import (
    BY_FEATURES,
    Clock,
    at_work,
    check,
    events,
    execute,
    front,
    items,
    killed,
    learned,
    ranking_of,
    read,
    rebuilt,
    run,
    shown,
    store_name,
    told,
)

from toplist.cli import Exit, main
from toplist.service.errors import NotFound, StoreUnavailable
from toplist.service.live import learners, retention
from toplist.service.live.service import Service
from toplist.service.log import training
from toplist.service.store.migrations import SCRIPTS, migrate
from toplist.service.store.sqlite import connect
from toplist.service.wire import ListRequest, RankingChange, RankingSpec, Report

TABLES = ("events", "impressions", "requests", "items", "learners", "snapshots", "rankings", "gone")


def left_of(path: Path, ranking: int) -> dict[str, int]:
    """How many rows of each table are of a ranking."""
    counts = {
        table: execute(
            path, f"SELECT count(*) FROM {table} WHERE {'id' if table == 'rankings' else 'ranking'} = ?", ranking
        )[0][0]
        for table in TABLES
        if table != "snapshots"
    }
    others = "SELECT count(*) FROM snapshots WHERE learner NOT IN (SELECT id FROM learners WHERE ranking <> ?)"
    return counts | {"snapshots": execute(path, others, ranking)[0][0]}


NOTHING = dict.fromkeys(TABLES, 0) | {"events": 1}


async def side(service: Service) -> None:
    await service.rankings.create(RankingSpec(name="side", positions=2, policy="cascade-kl-ucb"))
    await service.items.put("side", items(4))


async def much(service: Service) -> list[str]:
    """Lists of two rankings, one between the other; those of the first."""
    made: list[str] = []
    for number in range(30):
        reply = await shown(service, segment=str(number % 3), request_id=f"r{number}", deferred=number % 7 == 0)
        made.append(reply.impression)
        if number % 3:
            await told(service, reply, 1, final=number % 2 == 0)
        other = await service.lists.make("side", ListRequest(segment="k", request_id=f"r{number}"))
        await told(service, other, 1, final=True)
    return made


def test_everything_of_a_deleted_ranking_goes_in_small_parts_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "PURGED_AT_ONCE", 20)
    monkeypatch.setattr(learners, "WORTH_A_SNAPSHOT", 1)
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, count=50)
            await side(service)
            made = await much(service)
        async with at_work(tmp_path / "db", clock) as service:  # with snapshots
            assert not await service.retention.purge_deleted()
            side_was = await events(service, "side")
            await service.rankings.delete("front")
            with pytest.raises(NotFound):
                await service.queries.ranking("front")
            open_one = made[0]
            answer = await service.impressions.report(open_one, Report())
            assert (answer.counted, answer.why) == (False, "dropped")
            await front(service, count=2)  # the name is free
            new = await shown(service, segment="0", request_id="r0")
            assert new.impression not in made
            before, parts = left_of(tmp_path / "db", 1), 0
            assert (before["items"], before["learners"], before["snapshots"]) == (50, 3, 3)
            settings = await read(service, lambda reader: list(reader.settings_events(1)))
            seqs = [event.seq for event in settings]
            while await service.retention.purge_deleted():
                now = left_of(tmp_path / "db", 1)
                assert all(before[table] - now[table] <= 20 for table in TABLES)
                before, parts = now, parts + 1
            assert parts == -(-(seqs[-1] - 1) // 20) + 1
            assert left_of(tmp_path / "db", 1) == NOTHING
            for one in made:
                with pytest.raises(NotFound):
                    await service.impressions.report(one, Report())
            clock.pass_(100_000)
            assert await service.impressions.close_due() == 1  # of the new ranking
            assert await events(service, "side") == side_was
            assert await service.queries.segments("side") == ["k"]
            again = await service.lists.make("side", ListRequest(segment="k", request_id="r3"))
            assert (await service.queries.impression(again.impression)).state == "learned"
            assert check(tmp_path / "db", await service.beliefs()) == []
        assert [(one.ranking, one.learned) for one in rebuilt(tmp_path / "db")] == [("side", 30), ("front", 1)]
        assert main(["store", "check", "--store", store_name(tmp_path / "db")]) == Exit.FINE

    run(play())


@pytest.mark.parametrize("kill", [False, True])
def test_what_is_left_is_found_again_after_a_restart(
    kill: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "PURGED_AT_ONCE", 30)

    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await side(service)
            await much(service)
            await service.rankings.delete("front")
            await service.retention.purge_deleted()
            await service.retention.purge_deleted()
            partly = left_of(tmp_path / "db", 1)
            assert partly["events"] > 1
            if kill:
                unfinished = asyncio.create_task(service.retention.purge_deleted())
                await asyncio.sleep(0)
                await killed(service)
                unfinished.cancel()
            else:
                await service.stop()
            assert check(tmp_path / "db") == []
            await service.start()
            parts = 0
            while await service.retention.purge_deleted():
                parts += 1
            assert parts >= 3
            assert left_of(tmp_path / "db", 1) == NOTHING
            assert (await service.queries.estimates("side", "k")).learned == 30
        assert check(tmp_path / "db") == []

    run(play())


def test_the_number_of_the_last_event_is_not_used_again(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await shown(service)
            await service.rankings.delete("front")
            while await service.retention.purge_deleted():
                pass
            last = await read(service, lambda reader: reader.last_seq())
            await front(service)
            assert ranking_of(service).id == last + 1
            assert await service.queries.segments("front") == []
            await told(service, await shown(service), 1, final=True)
            assert await learned(service) == 1

    run(play())


@pytest.mark.file
def test_what_an_older_version_left_of_deleted_rankings_is_purged_too(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await side(service)
            made = await much(service)
            await service.rankings.delete("front")
        make_older(tmp_path / "db", 2)
        connection = connect(tmp_path / "db", read_only=False)
        last = connection.execute("SELECT max(seq) FROM events").get
        # As that version did it: learners and items went with the ranking, lists were dropped after it.
        connection.execute(f"""
            DELETE FROM learners WHERE ranking = 1; DELETE FROM items WHERE ranking = 1;
            INSERT INTO events SELECT {last} + 1, at, ranking, learner, 'dropped', impression, '{{}}' FROM events
                WHERE kind = 'list' AND ranking = 1 LIMIT 1;
        """)
        connection.close()
        async with at_work(tmp_path / "db") as service:
            while await service.retention.purge_deleted():
                pass
            assert left_of(tmp_path / "db", 1) == NOTHING
            with pytest.raises(NotFound):
                await service.impressions.report(made[0], Report())
            assert len([event for event in await events(service, "side") if event.kind == "learned"]) == 30
        assert check(tmp_path / "db") == []

    run(play())


@pytest.mark.file
def test_tables_without_deleted_rankings_stay_as_they_are(tmp_path: Path) -> None:
    connection = connect(tmp_path / "db", read_only=False)
    migrate(connection, SCRIPTS[:2])
    connection.execute(
        "INSERT INTO events VALUES (1, 1, 1, 0, 'ranking', NULL, '{}'), (2, 1, 1, 2, 'learner', NULL, '{}')"
    )
    connection.execute("INSERT INTO rankings VALUES (1, 'front', 1, 1, '{}')")
    migrate(connection)
    assert connection.execute("SELECT count(*) FROM events").fetchone() == (2,)
    assert connection.execute("SELECT * FROM gone").fetchall() == []
    connection.close()


def test_lists_of_a_deleted_ranking_cannot_be_read_and_their_reports_hear_why(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            waiting, done = await shown(service, segment="k"), await shown(service)
            await told(service, done, 1, final=True)
            await service.rankings.delete("front")
            for reply in (waiting, done):
                for asked in (service.queries.impression, service.queries.explanation):
                    with pytest.raises(NotFound, match="The ranking or the segment of this list was deleted"):
                        await asked(reply.impression)
            assert (await told(service, waiting, 1)).why == "dropped"
            assert (await told(service, done, 1)).counted
            assert (await told(service, done, 2)).why == "contradicts"

    run(play())


@pytest.mark.parametrize(("slow", "change"), [("train_learners", {"seed": 8}), ("longest_list", {"positions": 1})])
def test_a_change_of_a_ranking_that_is_deleted_meanwhile_says_so(
    slow: str, change: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES)
            await told(service, await shown(service), 1, final=True)
        async with at_work(tmp_path / "db") as service:
            work, loop = getattr(training, slow), asyncio.get_running_loop()

            async def gone() -> None:
                await service.rankings.delete("front")
                while await service.retention.purge_deleted():
                    pass

            def slowly(*given: Any) -> Any:
                found = work(*given) if slow == "longest_list" else None
                asyncio.run_coroutine_threadsafe(gone(), loop).result()
                return found or work(*given)

            monkeypatch.setattr(training, slow, slowly)
            with pytest.raises(StoreUnavailable, match="deleted meanwhile"):
                await service.rankings.change("front", RankingChange(**change))
            assert await service.queries.rankings() == []

    run(play())
