"""Divided rankings: partitions of two servers in one process, each with its memory, on a real database."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import pytest
from postgres_server import database
from running import ELIMINATION, Clock, items, run, service_of, text_id

from toplist.service.errors import Conflict, LogMoved, OtherDivision, Refused, UnknownRanking
from toplist.service.live.service import Service
from toplist.service.log.events import decode_items, decode_ranking
from toplist.service.log.impression_id import ImpressionIds
from toplist.service.log.tallies import differing_uplifts
from toplist.service.log.verify import differences
from toplist.service.store.divisions import division_of, division_parts
from toplist.service.store.postgres import PostgresReader, PostgresStore
from toplist.service.store.postgres.database import Database
from toplist.service.store.postgres.members import divide
from toplist.service.store.row_kinds import ITEMS, LIST, RANKING, EventRow
from toplist.service.wire import ListReply, ListRequest, RankingChange, RankingSpec, Report

PARTS, DIVISIONS, HOME = 4, 4, 1  # partitions, divisions, and the partition of the first
NAME = "front"
SEGMENTS = [f"segment-{n}" for n in range(16)]


@pytest.fixture
def address(tmp_path: Path) -> str:
    return database(tmp_path / "db")


class Divided:
    """All partitions of a ranking, the even ones of one server and the others of another."""

    def __init__(self, databases: list[Database]) -> None:
        self.databases, self.clock = databases, Clock()
        self.services: list[Service] = []

    async def start(self, part: int) -> Service:
        store = PostgresStore(self.databases[part % 2], part)
        service = service_of(Path("db"), self.clock, open_store=lambda _: store, ids=ImpressionIds(part))
        await service.start()
        return service

    def part(self, segment: str | None) -> int:
        return division_parts(HOME, DIVISIONS, PARTS)[division_of(segment, DIVISIONS)]

    @property
    def home(self) -> Service:
        return self.services[HOME]

    async def list(self, segment: str | None = None, **more: Any) -> ListReply:
        """A list, asked for again where a change has crossed it, as the application does."""
        while True:
            try:
                return await self.services[self.part(segment)].lists.make(NAME, ListRequest(segment=segment, **more))
            except (LogMoved, UnknownRanking):
                await self.confirm(self.part(segment))

    async def confirm(self, part: int) -> None:
        with suppress(LogMoved):
            await self.services[part].transactions.confirm()

    async def visit(self, segment: str | None = None, **more: Any) -> ListReply:
        """A list whose first item is clicked."""
        made = await self.list(segment, **more)
        while True:
            try:
                report = Report(clicks=[1], final=True)
                await self.services[self.part(segment)].impressions.report(made.impression, report)
                return made
            except LogMoved:
                pass


@asynccontextmanager
async def at_work(address: str) -> AsyncIterator[Divided]:
    with closing(Database(address)) as first, closing(Database(address)) as second:
        for each in (first, second):
            divide(each, PARTS)
        divided = Divided([first, second])
        for part in range(PARTS):
            divided.services.append(await divided.start(part))
        try:
            yield divided
        finally:
            for service in divided.services:
                await service.stop()


async def made(divided: Divided, count: int = 8, **more: Any) -> None:
    given: dict[str, Any] = {
        "name": NAME,
        "positions": 3,
        "policy": "cascade-kl-ucb",
        "seed": 7,
        "divisions": DIVISIONS,
    } | more
    await divided.home.rankings.create(RankingSpec(name=NAME, **given))
    await divided.home.items.put(NAME, items(count))


def logs(address: str, kinds: Sequence[str]) -> list[list[EventRow]]:
    """Events of some kinds in each partition."""
    found = []
    for part in range(PARTS):
        with closing(PostgresReader(address, part)) as reader:
            found.append(list(reader.events_of_kinds(kinds, 0, reader.last_seq())))
    return found


def check_logs(address: str) -> None:
    """Each partition by itself leads to what its snapshots have."""
    for part in range(PARTS):
        with closing(PostgresReader(address, part)) as reader:
            assert differences(reader) == []
            assert list(differing_uplifts(reader)) == []
            assert list(reader.find_damage()) == []


def test_a_change_is_in_the_logs_of_all_divisions_under_their_own_numbers(address: str) -> None:
    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided)
            for segment in SEGMENTS:
                await divided.visit(segment)
            assert {divided.part(segment) for segment in SEGMENTS} == set(range(PARTS))
            await divided.home.items.remove(NAME, [text_id(0)], "somebody")
            await divided.home.rankings.change(NAME, RankingChange(click_window=5.0))
            await divided.home.rankings.change(NAME, RankingChange(policy="cascade-ucb1"))
            for segment in SEGMENTS:
                assert text_id(0) not in (await divided.visit(segment)).items
        changed = logs(address, [RANKING, ITEMS])
        assert [[event.kind for event in part] for part in changed] == [
            [RANKING, ITEMS, ITEMS, RANKING, RANKING]
        ] * PARTS
        assert len({tuple(event.seq for event in part) for part in changed}) > 1
        assert all(decode_items(part[2].body) == decode_items(changed[HOME][2].body) for part in changed)
        for part, events in enumerate(changed):
            settings = [decode_ranking(event.body) for event in events if event.kind == RANKING]
            assert [one.policy_seq for one in settings] == [events[0].seq, events[0].seq, events[4].seq]
            assert {division_parts(HOME, DIVISIONS, PARTS)[one.division] for one in settings} == {part}
            assert len({one.scope for one in settings}) == 1
            assert {event.ranking for event in events} == {events[0].seq}
            assert [event.at for event in events] == sorted(event.at for event in events)
        check_logs(address)

    run(work())


def test_other_partitions_refuse_what_is_not_theirs(address: str) -> None:
    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided)
            other = divided.services[divided.part(SEGMENTS[0])]
            while other is divided.home:
                other = divided.services[0]
            with pytest.raises(LogMoved):
                await other.transactions.confirm()
            wrong = next(segment for segment in SEGMENTS if divided.services[divided.part(segment)] is not other)
            calls = [
                other.lists.make(NAME, ListRequest(segment=wrong)),
                other.items.put(NAME, items(9)),
                other.items.remove(NAME, [text_id(0)]),
                other.rankings.change(NAME, RankingChange(positions=2)),
                other.rankings.delete(NAME),
                other.segments.delete(NAME, wrong),
                other.queries.estimates(NAME, wrong),
            ]
            for call in calls:
                with pytest.raises(OtherDivision) as raised:
                    await call
                assert raised.value.divisions == DIVISIONS
            assert await other.queries.rankings() == []
            assert [one.divisions for one in await divided.home.queries.rankings()] == [DIVISIONS]

    run(work())


def test_what_cannot_be_divided_is_refused(address: str) -> None:
    async def work() -> None:
        async with at_work(address) as divided:
            for given, at in (({"divisions": 8}, "/divisions"), ({"policy": ELIMINATION}, "/divisions")):
                with pytest.raises(Refused) as refused:
                    await made(divided, **given)
                assert refused.value.field == at
            await made(divided)
            with pytest.raises(Refused):
                await divided.home.rankings.change(NAME, RankingChange(divisions=2))
            await divided.home.rankings.change(NAME, RankingChange(divisions=DIVISIONS))
            with pytest.raises(Refused) as refused:
                await divided.home.rankings.change(NAME, RankingChange(policy=ELIMINATION, train=False))
            assert refused.value.field == "/policy"

    run(work())


def test_a_request_id_has_one_list_in_all_divisions(address: str) -> None:
    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided)
            first = await divided.list(SEGMENTS[0], request_id="once")
            assert await divided.list(SEGMENTS[0], request_id="once") == first
            others = [segment for segment in SEGMENTS if divided.part(segment) != divided.part(SEGMENTS[0])]
            for segment in others:
                with pytest.raises(Conflict) as refused:
                    await divided.list(segment, request_id="once")
                assert refused.value.field == "/request_id"
            # All at once: their commits decide.
            for n in range(5):
                found = await asyncio.gather(
                    *(divided.list(segment, request_id=f"again-{n}") for segment in SEGMENTS), return_exceptions=True
                )
                assert sum(isinstance(one, ListReply) for one in found) == 1
                assert sum(isinstance(one, Conflict) for one in found) == len(SEGMENTS) - 1
        assert sum(map(len, logs(address, [LIST]))) == 6
        check_logs(address)

    run(work())
