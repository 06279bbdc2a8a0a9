"""A deleted segment is gone: at once for everybody who asks, then out of the files of the store."""

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from older_store import make_older
from running import (
    Clock,
    at_work,
    check,
    events,
    execute,
    front,
    killed,
    learned,
    reader_of,
    run,
    service_of,
    shown,
    state_of,
    told,
)

from toplist.cli import Exit, main
from toplist.service.errors import NotFound
from toplist.service.live import retention
from toplist.service.live.service import Service
from toplist.service.store import sqlite
from toplist.service.store.sqlite import SQLiteStore, connect
from toplist.service.wire import RankingChange

PERSON = "person-Ada-Lovelace"
LONG = "x" * 150  # so that rows take many pages


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "WIPE_AGAIN", 0.0)


def found_in_files(path: Path, *texts: str) -> list[str]:
    """Texts that are still in the file or its write-ahead log."""
    log = path.with_name(f"{path.name}-wal")
    content = path.read_bytes() + (log.read_bytes() if log.exists() else b"")
    return [text for text in texts if text.encode() in content]


def damage(path: Path) -> list[str]:
    with closing(reader_of(path)) as reader:
        return [found.text for found in reader.find_damage()]


async def purge(service: Service) -> None:
    while await service.retention.purge_deleted():
        pass


async def much(service: Service, lists: int = 60) -> dict[str, list[Any]]:
    """Lists of a person and of others, some of them open; by segment."""
    made: dict[str, list[Any]] = {PERSON: [], "other": []}
    for number in range(lists):
        for segment, several in made.items():
            reply = await shown(service, segment=segment, request_id=f"{segment}-{number}-{LONG}")
            if number % 3:
                await told(service, reply, 1 + number % 3, final=number % 2 == 0)
            several.append(reply)
    return made


def test_a_segment_is_gone_at_once_and_the_others_stay(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            made = await much(service, 12)
            others = [event for event in await events(service) if event.segment == "other"]
            await service.segments.delete("front", PERSON, by="editor")
            assert await service.queries.segments("front") == ["other"]
            for ask in (
                service.queries.estimates("front", PERSON),
                service.queries.impression(made[PERSON][0].impression),
                service.segments.delete("front", PERSON),
            ):
                with pytest.raises(NotFound):
                    await ask
            assert (await told(service, made[PERSON][0], 1)).why == "dropped"
            log = await events(service)
            assert [event for event in log if event.segment == "other"] == others
            assert [event.kind for event in log if event.segment is None] == ["ranking", "items", "erased"]
            assert json.loads(bytes(log[-1].body))["by"] == "editor"
            again = await shown(service, segment=PERSON, request_id=made[PERSON][0].impression)
            repeated = await shown(service, segment=PERSON, request_id=f"{PERSON}-0-{LONG}")  # counts as new
            assert repeated.impression not in {reply.impression for reply in made[PERSON]}
            await told(service, again, 1, final=True)
            assert await learned(service, PERSON) == 1
            await purge(service)
            assert await shown(service, segment=PERSON, request_id=f"{PERSON}-0-{LONG}") == repeated
            with pytest.raises(NotFound):
                await told(service, made[PERSON][1], 1)
            assert check(tmp_path / "db", await service.beliefs()) == damage(tmp_path / "db") == []

    run(play())


def test_purging_goes_on_after_a_kill_and_lists_stay_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PURGED_AT_ONCE", 10)

    async def play() -> None:
        service = service_of(tmp_path / "db")
        await service.start()
        await front(service)
        made = await much(service, 12)
        await service.segments.delete("front", PERSON)
        await service.retention.purge_deleted()
        await killed(service)
        async with at_work(tmp_path / "db") as service:
            assert (await told(service, made[PERSON][-3], 1)).why == "dropped"
            await purge(service)
            assert execute(tmp_path / "db", "SELECT count(*) FROM gone_learners") == [(0,)]
            assert execute(tmp_path / "db", "SELECT count(*) FROM requests WHERE request LIKE 'person%'") == [(0,)]
            assert check(tmp_path / "db", await service.beliefs()) == damage(tmp_path / "db") == []

    run(play())


def test_a_segment_that_is_deleted_while_lists_are_made_and_a_policy_is_trained(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db", learner_bytes=1) as service:
            await front(service)
            await much(service, 30)
            await asyncio.gather(
                service.rankings.change("front", RankingChange(policy="cascade-ucb1")),
                *(shown(service, segment=segment) for segment in (PERSON, "other") * 5),
                service.segments.delete("front", PERSON),
                *(shown(service, segment=segment) for segment in (PERSON, "other") * 5),
            )
            await purge(service)
            deleted = state_of(service).learners.deleted
            assert len(deleted) == 1
            for table in ("events", "impressions", "snapshots"):
                left = execute(tmp_path / "db", f"SELECT DISTINCT learner FROM {table}")
                assert not deleted & {learner for (learner,) in left}
            assert check(tmp_path / "db", await service.beliefs()) == damage(tmp_path / "db") == []

    run(play())


@pytest.mark.file
def test_nothing_is_left_in_the_files_of_a_deleted_segment(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await much(service)
            await service.segments.delete("front", PERSON)
            await purge(service)
            assert found_in_files(tmp_path / "db", PERSON, "other") == ["other"]

    run(play())


@pytest.mark.file
def test_nothing_is_left_in_the_files_of_a_deleted_ranking_and_of_forgotten_lists(tmp_path: Path) -> None:
    clock = Clock()

    async def play() -> None:
        async with at_work(tmp_path / "db", clock) as service:
            await front(service, retention=100.0)
            await much(service)
            clock.pass_(1000.0)
            await service.impressions.close_due()
            clock.pass_(1000.0)
            await shown(service, segment="other")
            assert await service.retention.forget_old() > 100
            await purge(service)
            assert found_in_files(tmp_path / "db", f"{PERSON}-", PERSON) == [PERSON]  # its learner stays
            await service.rankings.delete("front")
            await purge(service)
            assert found_in_files(tmp_path / "db", PERSON, "item-3", "other") == []

    run(play())


@pytest.mark.file
def test_what_an_older_version_deleted_is_vacuumed_away_once(tmp_path: Path) -> None:
    path = tmp_path / "db"

    async def play() -> None:
        async with at_work(path) as service:
            await front(service)
            await much(service)

    run(play())
    make_older(path, 3)
    delete_without_overwriting(path)
    SQLiteStore(path).close()
    assert found_in_files(path, f"{PERSON}-") == []


def delete_without_overwriting(path: Path) -> None:
    """Delete the lists of a person, whose texts stay in the file."""
    with closing(connect(path, read_only=False)) as connection:
        connection.pragma("secure_delete", False)
        connection.execute("DELETE FROM requests WHERE request LIKE 'person%'")
        connection.execute("DELETE FROM events WHERE kind IN ('list', 'learner')")
    assert found_in_files(path, f"{PERSON}-") == [f"{PERSON}-"]


@pytest.mark.file
def test_the_command_vacuums_a_store_of_any_size_that_nobody_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "db"
    monkeypatch.setattr(sqlite, "VACUUMED_BYTES", 0)
    command = ["store", "vacuum", "--store", str(path)]

    async def play() -> None:
        async with at_work(path) as service:
            await front(service)
            await much(service)
            assert main(command) == Exit.INPUT
            assert "stop it first" in capsys.readouterr().err

    run(play())
    delete_without_overwriting(path)
    SQLiteStore(path).close()
    assert found_in_files(path, f"{PERSON}-") == [f"{PERSON}-"]
    assert main(command) == Exit.FINE
    assert "written anew" in capsys.readouterr().out
    assert found_in_files(path, f"{PERSON}-") == []


@pytest.mark.file
def test_somebody_who_reads_is_not_waited_for_and_the_log_is_emptied_after(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service)
            await much(service, 3)
            store = service.transactions.store
            with closing(reader_of(tmp_path / "db")) as reader, reader.snapshot_reads():
                assert reader.last_seq() > 0
                await service.segments.delete("front", PERSON)
                await purge(service)
                assert store.keeps_deleted
                await shown(service)
            await purge(service)
            assert not store.keeps_deleted
            assert found_in_files(tmp_path / "db", PERSON) == []

    run(play())
