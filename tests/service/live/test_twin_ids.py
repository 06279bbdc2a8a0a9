"""Items whose ids are integers, beside texts that look like them: 7 and "7" are two items everywhere."""

import hashlib
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from running import (
    BY_FEATURES,
    Clock,
    alike_id,
    at_work,
    check,
    events,
    execute,
    front,
    killed,
    learned,
    reader_of,
    rebuilt,
    run,
    service_of,
    shown,
    told,
)

from toplist.core.item_id import LARGEST_INTEGER, ItemId
from toplist.service.errors import NotFound, Refused
from toplist.service.live.impression_state import report_in_positions
from toplist.service.live.make_list import request_digest
from toplist.service.log.export import events_of_store, write_events
from toplist.service.wire import Item, ItemPrior, ListEntry, ListRequest, RankingChange, RankingSpec, Report, SeenEntry
from toplist.support.files import import_optional

NUMBERS = st.lists(
    st.integers(-LARGEST_INTEGER, LARGEST_INTEGER) | st.integers(-3, 3), min_size=2, max_size=4, unique=True
)


@settings(max_examples=6)
@given(numbers=NUMBERS, draw=st.randoms(use_true_random=False))
def test_both_live_side_by_side_from_their_creation_to_a_rebuild(
    numbers: list[int], draw: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    ids: list[ItemId] = [id for number in numbers for id in (number, str(number))]
    draw.shuffle(ids)
    path = tmp_path_factory.mktemp("twins") / "db"

    async def play() -> None:
        clock = Clock()
        service = service_of(path, clock)
        await service.start()
        await service.rankings.create(RankingSpec(name="front", positions=3, policy="cascade-kl-ucb"))
        known = {id: ItemPrior(mean=0.2, strength=float(n)) for n, id in enumerate(ids) if n % 3}
        put = [Item(id=id, prior=known.get(id)) for id in ids]
        assert (await service.items.put("front", put)).added == len(ids)
        clicked: dict[ItemId, int] = dict.fromkeys(ids, 0)
        for _ in range(4):
            for _ in range(5):
                reply = await shown(service, pins={"2": draw.choice(ids)})
                item = draw.choice(reply.items)
                clicked[item] += 1
                assert (await told(service, reply, ListEntry(item=item), final=True)).counted
                found = await service.queries.impression(reply.impression)
                assert [found.items[place - 1] for place in found.clicks] == [item]
            hidden = draw.choice(ids)
            await service.items.put("front", [Item(id=hidden, hidden=True)])
            assert hidden not in (await shown(service, positions=1)).items
            alive = await service.beliefs()
            assert check(path, alive) == []
            await killed(service)
            service = service_of(path, clock)
            await service.start()
            there = await service.queries.items("front")
            assert [item.id for item in there] == ids
            assert [item.id for item in there if item.hidden] == [hidden]
            assert {item.id: item.prior for item in there if item.prior is not None} == known
            await service.items.put("front", [Item(id=hidden, hidden=False)])
        gone = draw.choice(ids)
        assert await service.items.remove("front", [gone]) == 1
        assert [item.id for item in await service.queries.items("front")] == [id for id in ids if id != gone]
        with pytest.raises(NotFound, match=r"perhaps you mean|is written %09"):
            await service.queries.item("front", gone)
        estimates = await service.queries.estimates("front")
        assert {row.item for row in estimates.items} == set(ids) - {gone}
        lists = [event for event in await events(service) if event.kind == "list"]
        shown_ids = {id for event in lists for id in msgspec.json.decode(event.body)["items"]}
        assert {id for id, count in clicked.items() if count} <= shown_ids
        await service.stop()
        assert check(path) == []
        assert [one.learned for one in rebuilt(path)] == [20]

    run(play())


def test_an_export_has_both(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, count=4, named=alike_id)
            await told(service, await shown(service, among=[1, "1"], segment="s"), ListEntry(item=1), final=True)

    run(play())
    with closing(reader_of(tmp_path / "db")) as reader:
        write_events(events_of_store([reader]), tmp_path / "events.ndjson")
        write_events(events_of_store([reader]), tmp_path / "events.parquet")
    lines = [json.loads(line) for line in (tmp_path / "events.ndjson").read_text().splitlines()]
    bodies = {line["kind"]: line["body"] for line in lines}
    assert [put["id"] for put in bodies["items"]["put"]] == [1, "1", 2, "2"]
    assert sorted(bodies["list"]["items"], key=str) in ([1, "1"], ["1", 1])
    assert {(line["segment"], line["key"]) for line in lines} == {(None, None), ("s", "s")}
    table = import_optional("pyarrow.parquet", "parquet").read_table(tmp_path / "events.parquet")
    assert table.column_names == ["seq", "at", "ranking", "key", "kind", "impression", "body", "segment"]
    assert table.column("key").to_pylist() == table.column("segment").to_pylist()


def test_features_of_a_list_are_of_the_right_item(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, BY_FEATURES, count=4, named=alike_id)
            rows = {"\t1": [0.9, 0.0, 0.0, 0.0], "1": [0.0, 0.9, 0.0, 0.0]}
            reply = await shown(service, features=rows, among=[1, "1"])
            await told(service, reply, ListEntry(item=1), final=True)
            for wrong in ("\t3", "3", "\t9007199254740992"):
                with pytest.raises(Refused) as refused:
                    await shown(service, features={wrong: [0.0] * 4})
                assert refused.value.field == f"/features/{wrong}"
            assert check(tmp_path / "db", await service.beliefs()) == []
            made = [event for event in await events(service) if event.kind == "list"]
            assert msgspec.json.decode(made[0].body)["features"] == rows
            await service.rankings.change("front", RankingChange(seed=8))
            assert await learned(service) == 1
            assert check(tmp_path / "db", await service.beliefs()) == []

    run(play())


def test_reports_name_positions_and_items() -> None:
    items: list[ItemId] = [2, "1", 30, "tea"]

    def clicks(*given: Any) -> tuple[int, ...]:
        return report_in_positions(Report(clicks=list(given)), items).clicks

    assert clicks(30, 1, "tea") == (1, 3, 4)
    assert clicks(ListEntry(item=2), ListEntry(position=2)) == (1, 2)
    with pytest.raises(Refused) as refused:
        clicks(1, 2)
    assert refused.value.field == "/clicks/1"
    assert str(refused.value) == (
        '/clicks/1 is 2, which is a position and also the item at position 1; write {"position": 2} or {"item": 2}.'
    )
    for wrong in ("2", "\t2", 5, ListEntry(item="2"), ListEntry(position=5)):
        with pytest.raises(Refused):
            clicks(wrong)
    seen = report_in_positions(
        Report(seen=[SeenEntry(item=2, probability=0.25), SeenEntry(position=4), "1"]), items
    ).seen
    assert seen == {1: 0.25, 2: 1.0, 4: 1.0}
    assert report_in_positions(Report(seen={"\t2": 0.5, "3": 0.25, "tea": 1.0}), items).seen == {
        1: 0.5,
        3: 0.25,
        4: 1.0,
    }
    assert report_in_positions(Report(seen={"30": 0.5}), items).seen == {3: 0.5}
    for ambiguous, places in (("2", "1 and 2"), ("1", "1 and 2")):
        with pytest.raises(Refused, match=f"which stands for the positions {places}, by number or by item"):
            report_in_positions(Report(seen={ambiguous: 0.5}), items)
    assert report_in_positions(Report(left=ListEntry(item=30)), items).left == 3


@pytest.mark.parametrize("entry", [{}, {"item": 1, "position": 1}, {"item": True}, {"place": 1}, {"position": "1"}])
def test_an_entry_names_one_of_both(entry: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"clicks": [entry]}, Report)


def test_text_is_stored_as_ever_and_integers_beside_it(tmp_path: Path) -> None:
    async def play() -> None:
        async with at_work(tmp_path / "db") as service:
            await front(service, count=2)
            await service.items.put("front", [Item(id=7), Item(id="7")])
            await service.items.remove("front", [7])
            await service.items.put("front", [Item(id=-7)])

    run(play())
    ids = [id for (id,) in execute(tmp_path / "db", "SELECT id FROM items ORDER BY place")]
    found = execute(tmp_path / "db", "SELECT body FROM events WHERE kind = 'items' ORDER BY seq")
    bodies = [body if isinstance(body, bytes) else body.encode() for (body,) in found]
    assert ids == ["item-0", "item-1", "7", "\t-7"]
    assert bodies == [
        b'{"put":[{"id":"item-0"},{"id":"item-1"}]}',
        b'{"put":[{"id":7},{"id":"7"}]}',
        b'{"removed":[7]}',
        b'{"put":[{"id":-7}]}',
    ]


def test_the_digest_of_a_request_is_that_of_earlier_versions() -> None:
    """Else a request that is repeated after an upgrade would be refused."""
    raw = (
        b'{"key":"k","positions":2,"among":["a"],"exclude":[],"pins":{"1":"a"},"person":[0.5],"features":{"a":[1.0]},'
        b'"request_id":"r","deferred":false}'
    )
    plain = (
        b'{"key":null,"positions":null,"among":null,"exclude":[],"pins":{},"person":null,"features":null,'
        b'"request_id":null,"deferred":false}'
    )
    for body in (raw, plain):
        expected = hashlib.blake2b(body, digest_size=16).digest()
        assert request_digest(msgspec.json.decode(body, type=ListRequest)) == expected
        assert request_digest(msgspec.json.decode(body.replace(b"key", b"segment"), type=ListRequest)) == expected
