"""The event log of a live service, exported both ways, is a click log."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from running import BEGIN, Clock, alike_id, at_work, front, run, shown, told

from toplist.core.problem import InvalidInput
from toplist.logs import ClickLog, read_log, scan_log
from toplist.service.log.export import events_of_store, write_events
from toplist.service.store.sqlite import SQLiteReader
from toplist.service.wire import ListEntry, RankingSpec


def exported(folder: Path) -> list[Path]:
    paths = [folder / "events.ndjson", folder / "events.parquet"]
    for path in paths:
        with closing(SQLiteReader(folder / "db")) as reader:
            write_events(events_of_store([reader]), path)
    return paths


def items_of(log: ClickLog, row: int) -> list[str | int]:
    return [log.items[code] for code in log.item[log.start[row] : log.start[row + 1]]]


def test_closed_lists_are_read_with_their_merged_reports(tmp_path: Path) -> None:
    async def play() -> list[list[str | int]]:
        clock = Clock()
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            first, second = await shown(service, segment="s"), await shown(service)
            await shown(service)  # stays open
            await told(service, second, left=1, seen={"1": 1.0, "2": 0.5})
            await told(service, second, 2, final=True)
            clock.pass_(5)
            await told(service, first, 3)  # the reports of a list are merged
            await told(service, first, 1, final=True)
            return [list(reply.items) for reply in (first, second)]

    lists = run(play())
    for path in exported(tmp_path):
        log = read_log(path, strict=True)
        assert log.report is not None
        assert (log.report.layout, len(log)) == ("service", 2)
        order = [items_of(log, row) for row in range(2)]
        first, second = order.index(lists[0]), order.index(lists[1])
        assert [log.queries[log.query[row]] for row in (first, second)] == ["s", "front"]
        assert log.take(np.array([first, second])).click.tolist() == [1, 0, 1, 0, 1, 0]
        assert log.time is not None
        assert log.left is not None
        assert log.seen is not None
        assert log.time[first] == BEGIN / 1000
        assert log.left[[first, second]].tolist() == [0, 2]  # the last click is the least that was examined
        np.testing.assert_equal(log.seen[3 * second : 3 * second + 3], [1.0, 0.5, np.nan])
        assert {reason: each.count for reason, each in log.report.skipped.items()} == {"the list is still open": 1}
        parts = ClickLog.concatenate(list(scan_log(path, part=1, only=())))
        assert parts.time is None
        assert parts.click.sum() == 3


def test_integers_beside_texts_that_look_like_them(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, count=4, named=alike_id)
            await told(service, await shown(service, among=[1, "1"]), ListEntry(item=1), final=True)
            await told(service, await shown(service, among=[1, 2]), ListEntry(item=2), final=True)

    run(play())
    for path in exported(tmp_path):
        log = read_log(path, strict=True)
        assert {repr(item) for item in log.items} == {"1", "'1'", "2"}
        clicked = {log.items[code] for code in log.item[log.click == 1]}
        assert clicked == {1, 2}


def test_one_of_several_rankings_is_chosen(tmp_path: Path) -> None:
    async def play() -> None:
        clock = Clock()
        async with at_work(tmp_path / "db", clock) as service:
            await front(service)
            await service.rankings.create(RankingSpec(name="other", positions=2))
            await told(service, await shown(service), 1, final=True)
            await shown(service, deferred=True)
            clock.pass_(10_000)
            assert await service.impressions.close_due() == 1

    run(play())
    for path in exported(tmp_path):
        with pytest.raises(InvalidInput, match=r"has events of the rankings 'front' and 'other'.*with ranking='front'"):
            read_log(path)
        log = read_log(path, ranking="front", strict=True)
        assert len(log) == 1
        assert log.report is not None
        assert list(log.report.skipped) == ["the list was never shown"]  # a deferred one
        assert len(read_log(path, ranking="other")) == 0


def test_a_list_that_retention_deleted_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "events.ndjson"
    learned = '{"seq": 9, "at": "2026-01-01T00:00:00Z", "ranking": "r", "segment": null, "kind": "learned", '
    path.write_text(learned + '"impression": "i", "body": {"merged": {"clicks": [1]}, "reason": "final", "list": 3}}\n')
    log = read_log(path, strict=True)
    assert log.report is not None
    assert list(log.report.skipped) == ["the event closes a list that is not in the log"]
