"""Divided rankings: partitions of two servers in one process, each with its memory, on a real database."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from postgres_server import database
from running import ELIMINATION, Clock, items, run, service_of, text_id

from toplist.cli import Exit, main
from toplist.core.item_id import ItemId
from toplist.core.problem import InvalidInput
from toplist.service.errors import (
    Conflict,
    LogMoved,
    OtherDivision,
    Refused,
    StoreUnavailable,
    UnknownRanking,
)
from toplist.service.live import rankings, transaction
from toplist.service.live.change_policy import PolicyChange
from toplist.service.live.request_look_ups import RequestLookUps
from toplist.service.live.service import Service
from toplist.service.live.transaction import NoOwners
from toplist.service.log.division_readers import differing_divisions
from toplist.service.log.events import decode_items, decode_ranking
from toplist.service.log.impression_id import ImpressionIds
from toplist.service.log.tallies import differing_uplifts
from toplist.service.log.verify import differences, rebuild_learners
from toplist.service.store.divisions import division_of, division_parts
from toplist.service.store.postgres import PostgresReader, PostgresStore
from toplist.service.store.postgres.database import Database
from toplist.service.store.postgres.members import be_seen, divide
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.schema import DIVIDED_RANKINGS, VERSIONS, migrate
from toplist.service.store.postgres.session import RequestTaken, Session
from toplist.service.store.row_kinds import ITEMS, LIST, RANKING, STOPPED, EventRow
from toplist.service.wire import ListEntry, ListReply, ListRequest, RankingChange, RankingSpec, Report, StopIf
from toplist.uplift import METRICS

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
        self.anew = 0  # lists that were asked for again

    async def hold(self, parts: Sequence[int]) -> None:
        await asyncio.gather(*(self.services[part].transactions.hold() for part in parts))

    def go_on(self, parts: Sequence[int]) -> Awaitable[object]:
        return asyncio.gather(*(self.services[part].transactions.go_on() for part in parts))

    async def start(self, part: int, server: int = 0) -> Service:
        store = PostgresStore(self.databases[(part + server) % 2], part)
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
            except (StoreUnavailable, UnknownRanking):  # also while the partition moves
                self.anew += 1
                await self.confirm(self.part(segment))

    async def confirm(self, part: int) -> None:
        with suppress(StoreUnavailable):
            await self.services[part].transactions.confirm()
        await asyncio.sleep(0)

    async def visit(self, segment: str | None = None, **more: Any) -> ListReply:
        """A list whose first item is clicked."""
        made = await self.list(segment, **more)
        while True:
            try:
                report = Report(clicks=[1], final=True)
                await self.services[self.part(segment)].impressions.report(made.impression, report)
                return made
            except StoreUnavailable:
                await self.confirm(self.part(segment))


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
    given: dict[str, Any] = {"positions": 3, "policy": "cascade-kl-ucb", "seed": 7, "divisions": DIVISIONS} | more
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
            assert list(differing_divisions(reader, part, PARTS)) == []
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


def test_learners_in_memory_are_those_of_the_log_of_their_partition(address: str) -> None:
    """Also after a change of the policy, whose learners are trained on the log of their own partition."""

    async def check_live(divided: Divided) -> None:
        for part, service in enumerate(divided.services):
            live = await service.beliefs()
            assert live
            with closing(PostgresReader(address, part)) as reader:
                assert differences(reader, live) == []

    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided)
            for n in range(3):
                for segment in SEGMENTS:
                    await divided.visit(segment)
                await divided.home.items.put(NAME, items(9 + n)[8:])
                for segment in SEGMENTS:
                    await divided.visit(segment, positions=3 - n)
                await divided.home.items.remove(NAME, [text_id(n)])
            for segment in SEGMENTS:
                await divided.visit(segment)
            await check_live(divided)
            for change in (RankingChange(policy="cascade-ucb1"), RankingChange(policy="cascade-ts", train=False)):
                await divided.home.rankings.change(NAME, change)
                for segment in SEGMENTS:
                    await divided.visit(segment)
                await check_live(divided)
        check_logs(address)

    run(work())


def test_a_deleted_ranking_is_gone_in_all_divisions_and_leaves_no_rows(address: str) -> None:
    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided)
            for n, segment in enumerate(SEGMENTS):
                await divided.list(segment, request_id=f"request-{n}")
            await divided.home.rankings.delete(NAME)
            for service in divided.services:
                with suppress(LogMoved):
                    await service.transactions.confirm()
                with pytest.raises(UnknownRanking):
                    await service.queries.ranking(NAME)
                while await service.retention.purge_deleted():
                    pass
                await service.impressions.close_all_due()
            await made(divided, 5)  # the ids of requests are free again
            for n, segment in enumerate(SEGMENTS):
                await divided.list(segment, request_id=f"request-{n}")
        check_logs(address)

    run(work())


def test_the_uplift_is_the_sum_of_all_divisions(address: str) -> None:
    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided, holdout=0.5)
            seen = set[tuple[str, int]]()
            for n in range(64):
                segment, visitor = SEGMENTS[n % 16], f"visitor-{n % 5}"
                await divided.visit(segment, visitor=visitor)
                seen.add((visitor, divided.part(segment)))
            uplift = await divided.home.uplift.uplift(NAME)
            assert uplift.policy.lists + uplift.holdout.lists == 64
            assert uplift.policy.visitors + uplift.holdout.visitors == len(seen)  # in each division by itself
            (day,) = (await divided.home.uplift.uplift(NAME, "day")).slices
            assert day.policy.lists + day.holdout.lists == 64
            found: list[str] = []
            after: str | None = None
            while after is not None or not found:
                page = await divided.home.uplift.uplift(NAME, "segment", after, 3)
                found += [one.name for one in page.slices]
                assert all(one.policy.lists + one.holdout.lists == 4 for one in page.slices)
                after = page.next
            assert sorted(found) == sorted(SEGMENTS)
            assert (await divided.home.uplift.click_through([NAME]))[NAME].metric == METRICS[0]
        check_logs(address)

    run(work())


def test_the_guardrail_acts_on_the_sums_of_all_divisions(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankings, "new_salt", lambda: "0123456789abcdef" * 2)  # the same groups in every run

    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided, holdout=0.5, stop_if=StopIf(metric="clicks_per_list"))
            await divided.home.guardrails.check()
            for n in range(1500):  # in no division alone are they enough
                segment = SEGMENTS[n % 16]
                reply = await divided.list(segment, visitor=f"visitor-{n}")
                clicks: list[ItemId | ListEntry] = [1, 2] if reply.group == "holdout" else [1] if n % 3 == 0 else []
                report = Report(clicks=clicks, final=True)
                await divided.services[divided.part(segment)].impressions.report(reply.impression, report)
                if n % 100 == 99:
                    await divided.home.guardrails.check()
                    if (await divided.home.queries.ranking(NAME)).stopped:
                        break
            assert (await divided.home.queries.ranking(NAME)).stopped
            stopped = (await divided.home.uplift.uplift(NAME)).stopped
            assert stopped is not None
            assert stopped.high < 1.0
            await divided.home.guardrails.check()
            for segment in SEGMENTS:
                assert (await divided.list(segment, visitor="somebody")).group == "shadow"
        assert [len(events) for events in logs(address, [STOPPED])] == [1] * PARTS
        check_logs(address)

    run(work())


def test_partitions_move_while_a_divided_ranking_changes(address: str) -> None:
    """Whoever owns the other divisions, no list that is asked for after a removal has the item."""

    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided)
            gone: set[ItemId] = set()
            is_over = asyncio.Event()
            shown = 0

            async def come(segment: str) -> None:
                nonlocal shown
                while not is_over.is_set():
                    before = set(gone)
                    assert not before & set((await divided.visit(segment)).items)
                    shown += 1

            async def change() -> None:
                for n in range(30):
                    await divided.home.items.put(NAME, items(100 + n)[99 + n :])
                    await asyncio.sleep(0.01)
                    await divided.home.items.remove(NAME, [text_id(99 + n)])
                    gone.add(text_id(99 + n))

            async def move() -> None:
                for n in range(9):
                    part = [0, 2, 3][n % 3]
                    await divided.services[part].stop()
                    divided.services[part] = await divided.start(part, n // 3 + 1)
                    await asyncio.sleep(0.05)

            visitors = asyncio.gather(*map(come, SEGMENTS[:8]))
            await asyncio.gather(change(), move())
            is_over.set()
            await visitors
            assert shown > 30
        check_logs(address)

    run(work())


def test_a_change_and_a_commit_of_another_owner_cross(address: str) -> None:
    """A commit from before the change is refused as a whole and made again with it, by the same owner."""

    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided)
            segment = next(one for one in SEGMENTS if divided.part(one) != HOME)
            part = divided.part(segment)
            await divided.visit(segment)
            service = divided.services[part]
            epoch = be_seen(divided.databases[0], "127.0.0.1:1", False).parts[part].epoch
            await divided.home.items.remove(NAME, [text_id(0)])
            with pytest.raises(LogMoved):
                await service.lists.make(NAME, ListRequest(segment=segment))
            moved = [one.writer.moved for one in divided.databases]
            assert (sum(moved), sum(one.writer.fenced for one in divided.databases)) == (sum(moved), 0)
            assert text_id(0) not in (await service.lists.make(NAME, ListRequest(segment=segment))).items
            row = be_seen(divided.databases[0], "127.0.0.1:1", False).parts[part]
            assert row.owner == divided.databases[part % 2].name
            assert row.epoch == epoch + 1
        check_logs(address)

    run(work())


def test_learners_that_have_seen_nothing_uncommitted_stay_in_memory(address: str) -> None:
    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided)
            part = next(divided.part(one) for one in SEGMENTS if divided.part(one) != HOME)
            own = [one for one in SEGMENTS if divided.part(one) == part]
            assert len(own) > 1
            for segment in own:
                await divided.visit(segment)
            service = divided.services[part]
            for n in range(3):
                await divided.home.items.put(NAME, items(9 + n)[8 + n :])
                await divided.home.items.remove(NAME, [text_id(n)])
                assert service.loaded_learners == len(own)
                with pytest.raises(LogMoved):
                    await service.lists.make(NAME, ListRequest(segment=own[0]))
                assert service.loaded_learners == 0
                await service.transactions.state()
                assert service.loaded_learners == len(own) - 1  # all but the one of the refused list
                for segment in own:
                    shown = set((await divided.visit(segment)).items)
                    assert not shown & {text_id(gone) for gone in range(n + 1)}
                assert service.loaded_learners == len(own)
                await divided.home.rankings.change(NAME, RankingChange(reference=0.1 * n))
                await divided.confirm(part)
                await service.transactions.state()
                assert service.loaded_learners == len(own)
                live = await service.beliefs()
                with closing(PostgresReader(address, part)) as reader:
                    assert differences(reader, live) == []
            await divided.home.rankings.change(NAME, RankingChange(policy="cascade-ucb1"))
            await divided.confirm(part)
            await service.transactions.state()
            assert service.loaded_learners == 0  # they are of another policy
            for segment in own:
                await divided.visit(segment)
        check_logs(address)

    run(work())


@pytest.mark.parametrize("are_told", [True, False])
def test_owners_that_are_told_let_a_change_by(address: str, are_told: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then nothing that they have begun is refused, and their learners stay in memory."""
    changes = 10
    monkeypatch.setattr(transaction, "HOLD_SECONDS", 10.0)  # also on a busy machine

    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided)
            for segment in SEGMENTS:
                await divided.visit(segment)
            divided.home.transactions.others = divided if are_told else NoOwners()
            begun, is_over = divided.anew, asyncio.Event()

            async def come(segment: str) -> None:
                while not is_over.is_set():
                    await divided.visit(segment)

            visitors = asyncio.gather(*(come(one) for one in SEGMENTS if divided.part(one) != HOME))
            for n in range(changes):
                await divided.home.items.put(NAME, items(20 + n)[19 + n :])
                await divided.home.items.remove(NAME, [text_id(19 + n)])
            is_over.set()
            await visitors
            if are_told:
                assert divided.anew == begun
            else:
                assert divided.anew > begun + changes
        check_logs(address)

    run(work())


def test_who_never_hears_of_an_announced_change_goes_on(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction, "HOLD_SECONDS", 0.05)

    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided)
            for service in divided.services:
                await service.transactions.hold()
            for segment in SEGMENTS:
                await divided.visit(segment)
        check_logs(address)

    run(work())


def test_a_policy_is_trained_while_another_ranking_of_the_partition_changes(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log of the partition moves meanwhile, and what is in memory is read again, but for this ranking."""
    train = PolicyChange.train

    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided)
            part = next(part for part in range(PARTS) if part != HOME)
            service = divided.services[part]
            await divided.confirm(part)
            await service.rankings.create(RankingSpec(name="other", positions=2, policy="cascade-kl-ucb"))
            await service.items.put("other", items(4))
            for _ in range(5):
                reply = await service.lists.make("other", ListRequest())
                await service.impressions.report(reply.impression, Report(clicks=[1], final=True))

            async def train_and_cross(*given: Any) -> Any:
                for n in range(2):
                    await divided.home.items.put(NAME, items(20 + n)[19 + n :])
                    with suppress(LogMoved):
                        await service.transactions.confirm()
                found = await train(*given)
                await divided.home.items.remove(NAME, [text_id(0)])  # of this it learns at the end
                return found

            monkeypatch.setattr(PolicyChange, "train", train_and_cross)
            changed = await service.rankings.change("other", RankingChange(policy="cascade-ucb1"))
            assert changed.policy == "cascade-ucb1"
            assert (await service.queries.estimates("other")).learned == 5
        check_logs(address)

    run(work())


def test_one_division_is_written_as_a_ranking_without(address: str) -> None:
    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided, divisions=1)
            await divided.home.rankings.change(NAME, RankingChange(divisions=1, click_window=9.0))
        assert all(b"divisions" not in event.body for event in logs(address, [RANKING])[HOME])

    run(work())


def test_a_division_whose_log_has_another_change_is_found(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided)
            await divided.home.items.remove(NAME, [text_id(0)])

    run(work())
    assert main(["store", "check", "--store", address]) == Exit.FINE
    (changed,) = [event for event in logs(address, [ITEMS])[0] if b"removed" in event.body]
    body = changed.body.replace(str(text_id(0)).encode(), str(text_id(1)).encode())
    with closing(Session(address)) as session:
        session.run([
            Statement("UPDATE events SET body = %s WHERE part = 0 AND seq = %s", (body, changed.seq))
        ])  # fmt: skip
    capsys.readouterr()
    assert main(["store", "check", "--store", address]) == Exit.BROKEN
    assert "0 are missing, and 1 have other items or settings" in capsys.readouterr().out
    with closing(Session(address)) as session:
        session.run([Statement("DELETE FROM rankings WHERE part = 0")])
    main(["store", "check", "--store", address])
    assert "1 are missing, and 0 have other" in capsys.readouterr().out


def test_older_releases_cannot_use_a_database_with_a_divided_ranking(address: str) -> None:
    async def work() -> None:
        async with at_work(address) as divided:
            with closing(Session(address)) as session:
                migrate(session, VERSIONS[: DIVIDED_RANKINGS - 1])
                await made(divided)
                with pytest.raises(InvalidInput, match=f"knows version {DIVIDED_RANKINGS}"):
                    migrate(session, VERSIONS[: DIVIDED_RANKINGS - 1])

    run(work())


def test_a_copy_keeps_the_divisions_or_is_refused(
    address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy serves as the database did: the same beliefs, and request ids that are taken in all divisions."""

    async def use() -> None:
        async with at_work(address) as divided:
            await made(divided)
            for n, segment in enumerate(SEGMENTS):
                await divided.visit(segment, request_id=f"request-{n}")

    async def use_again(copied: str) -> None:
        async with at_work(copied) as divided:
            assert await divided.list(SEGMENTS[0], request_id="request-0") == first[0]
            monkeypatch.setattr(RequestLookUps, "find", find_nothing)  # the commit finds out
            other = next(one for one in SEGMENTS if divided.part(one) != divided.part(SEGMENTS[0]))
            with pytest.raises(RequestTaken):
                await divided.services[divided.part(other)].lists.make(
                    NAME, ListRequest(segment=other, request_id="request-0")
                )

    async def list_again() -> None:
        async with at_work(address) as divided:
            first.append(await divided.list(SEGMENTS[0], request_id="request-0"))

    async def find_nothing(*_: Any) -> tuple[None, bool]:
        return None, False

    first: list[ListReply] = []
    run(use())
    run(list_again())
    copied = database(tmp_path / "copied")
    monkeypatch.setenv("TOPLIST_CLUSTER_PARTITIONS", str(PARTS))
    assert main(["store", "copy", copied, "--store", address]) == Exit.FINE
    assert main(["store", "check", "--store", copied]) == Exit.FINE
    check_logs(copied)
    assert beliefs(copied) == beliefs(address)
    run(use_again(copied))
    with closing(Session(copied)) as session, pytest.raises(InvalidInput):
        migrate(session, VERSIONS[: DIVIDED_RANKINGS - 1])
    capsys.readouterr()
    assert main(["store", "copy", str(tmp_path / "file.db"), "--store", address]) == Exit.INPUT
    assert "is divided over partitions of this store" in capsys.readouterr().err


def beliefs(address: str) -> list[dict[str | None, bytes]]:
    """What each partition leads to, by segment."""
    found = []
    for part in range(PARTS):
        with closing(PostgresReader(address, part)) as reader:
            found.append({one.segment: one.belief for one in rebuild_learners(reader)})
    return found


def test_without_the_number_in_its_fence_another_owner_would_show_a_removed_item(address: str) -> None:
    """The planted fault that the promise about removals hangs on: nothing else tells the other owners in time."""

    async def work() -> None:
        async with at_work(address) as divided:
            await made(divided, 3)  # all are on each list
            for segment in SEGMENTS:
                await divided.visit(segment)
            with psycopg.connect(address, autocommit=True) as connection:
                weaken_number(connection)
            await divided.home.items.remove(NAME, [text_id(0)])
            others = [segment for segment in SEGMENTS if divided.part(segment) != HOME]
            lists = [await divided.list(segment) for segment in others]
            assert all(text_id(0) in one.items for one in lists)

    run(work())


def weaken_number(connection: psycopg.Connection[Any]) -> None:
    """Let commits through whatever the number of the last event is, and events have the same number twice."""
    query = "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'fence' AND pronargs = 6"
    (source,) = connection.execute(query).fetchone() or ("",)
    weaker = source.replace("AND epoch = of_epoch AND last_seq = known;", "AND epoch = of_epoch;")
    assert weaker != source, "the fence has another form now"
    connection.execute(weaker.replace("last_seq = next,", "last_seq = greatest(last_seq, next),"))
    connection.execute("ALTER TABLE toplist.events DROP CONSTRAINT events_pkey")
