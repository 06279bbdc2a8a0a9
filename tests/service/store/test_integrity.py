"""Damage of a store is named: flipped bits, and rows that are missing, doubled, exchanged or out of date."""

from contextlib import closing
from pathlib import Path

import pytest
from older_store import make_older
from promises.catalogue import PROMISES
from running import Clock, at_work, check, front, run, shown, told

from toplist.cli import Exit, main
from toplist.service.store.digests import row_digest
from toplist.service.store.migrations import SCRIPTS
from toplist.service.store.sqlite import SQLiteReader, connect

LAST = "(SELECT max(seq) FROM events WHERE kind = 'list')"


async def played(path: Path) -> None:
    """Lists of two segments, after all that changes or deletes rows: reports, retention, a deleted ranking."""
    clock = Clock()
    async with at_work(path, clock) as service:
        await front(service, retention=100.0)
        for number in range(40):
            clock.pass_(5.0)
            reply = await shown(service, segment="ab"[number % 2], request_id=f"view-{number}")
            await told(service, reply, 1)
            await told(service, reply, 2, final=number % 3 == 0)
        await service.impressions.close_due()
        await service.retention.forget_old()
        await service.items.remove("front", ["item-7"])


def damage(path: Path) -> list[str]:
    with closing(SQLiteReader(path)) as reader:
        return [found.text for found in reader.find_damage()]


def test_flipped_bits_are_named() -> None:
    assert "none ends the check with an error" in PROMISES["flips"].kept(short=True)


def test_a_store_is_whole_after_all_kinds_of_changes_and_deletions(tmp_path: Path) -> None:
    run(played(tmp_path / "db"))
    assert damage(tmp_path / "db") == []

    async def go_on() -> None:
        async with at_work(tmp_path / "db") as service:
            await service.rankings.delete("front")
            assert damage(tmp_path / "db") == []
            while await service.retention.purge_deleted():
                assert damage(tmp_path / "db") == []

    run(go_on())
    with closing(connect(tmp_path / "db", read_only=True)) as connection:
        assert connection.execute("SELECT owner, row_count FROM totals").fetchall() == [(1, 1)]  # the last event


# How a row is lost, doubled or exchanged, beside SQLite: triggers would subtract it.
CHANGES = {
    "missing": (f"DELETE FROM events WHERE seq = {LAST}", "rows, but"),
    "doubled": (
        f"INSERT INTO events SELECT seq + 1000, at, ranking, learner, kind, impression, body, row_digest FROM events "
        f"WHERE seq = {LAST}",
        "differs from its digest",
    ),
    "exchanged": (
        f"UPDATE events SET body = (SELECT body FROM events WHERE kind = 'learner' LIMIT 1) WHERE seq = {LAST}",
        "differs from its digest",
    ),
    "out of date": (  # as another version of the same row was
        "UPDATE impressions SET state = 1, row_digest = digest_of(id, seq, ranking, learner, 1, due, report) "
        "WHERE seq = (SELECT max(seq) FROM impressions)",
        "as many as were written, but not the same",
    ),
    "sum": ("UPDATE totals SET digest_sum = digest_sum + 1", "not the same"),
    "no sum": ("DELETE FROM totals WHERE owner = (SELECT max(owner) FROM totals)", "but 0 were written"),
    "type": (f"UPDATE events SET kind = CAST(kind AS BLOB) WHERE seq = {LAST}", "differs from its digest"),
    "text": (f"UPDATE events SET kind = CAST(x'ff' AS TEXT) WHERE seq = {LAST}", "differs from its digest"),
    "index": ("DROP INDEX impressions_due", "The definition of 'impressions_due' is missing"),
    "table": ("CREATE TABLE more (x)", "The definition of 'more' is unknown"),
    "version": (f"PRAGMA user_version = {len(SCRIPTS) + 1}", f"knows versions 1 to {len(SCRIPTS)}"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_row_is_named_and_the_check_fails(
    change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    statement, said = CHANGES[change]
    run(played(tmp_path / "db"))
    with closing(connect(tmp_path / "db", read_only=False)) as connection:
        definitions = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in definitions:
            connection.execute(f"DROP TRIGGER {name}")
        connection.create_scalar_function("digest_of", row_digest)
        connection.execute(statement)
        for _, definition in definitions:
            connection.execute(str(definition))
    assert main(["store", "check", "--store", str(tmp_path / "db")]) == Exit.BROKEN
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("version", range(1, len(SCRIPTS)))
def test_an_older_store_gets_digests_and_its_learners_stay(version: int, tmp_path: Path) -> None:
    run(played(tmp_path / "db"))
    make_older(tmp_path / "db", version)
    assert damage(tmp_path / "db") == check(tmp_path / "db") == []  # the first ones have no digests, and need none

    async def go_on() -> None:
        async with at_work(tmp_path / "db") as service:
            await told(service, await shown(service, segment="a"), 1, final=True)

    run(go_on())
    assert damage(tmp_path / "db") == check(tmp_path / "db") == []
    with closing(connect(tmp_path / "db", read_only=True)) as connection:
        assert connection.execute("SELECT count(*) FROM events WHERE row_digest = 0").get == 0
