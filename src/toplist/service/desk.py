"""The service without its network: rankings, items, lists, reports and their closing, on one event loop.

A change does two things without a pause between them: it changes memory, and hands rows to the writer. The reply is
sent only once these are committed. So the log has everything in the order in which memory changed, and nothing that
was acknowledged can be lost.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from toplist.problem import InvalidInput, nearest
from toplist.service import replay
from toplist.service.bodies import (
    Forgotten,
    ItemsBody,
    ListBody,
    Outcome,
    RankingBody,
    decode_learner,
    encode,
)
from toplist.service.errors import Conflict, NotFound, Refused, StoreUnavailable
from toplist.service.impressions import DETAILS, UNKNOWN, Impression, Merged, Numbers, as_id, as_text, merged_of
from toplist.service.learners import HotLearner
from toplist.service.memory import Asked, Memory
from toplist.service.pointing import pointed
from toplist.service.rankings import RankingState, Setting, as_item
from toplist.service.shapes import (
    Estimate,
    Estimates,
    Event,
    Explanation,
    Item,
    ItemsChanged,
    ListReply,
    ListRequest,
    Ranking,
    RankingChange,
    RankingSpec,
    Reason,
    Report,
    ReportReply,
)
from toplist.service.shapes import Impression as ImpressionShape
from toplist.service.store.protocol import (
    ACTIVATED,
    DEFERRED,
    DROP,
    DROPPED,
    EVERYBODY,
    FORGOTTEN,
    ITEMS,
    LEARN,
    LEARNED,
    LIST,
    OPEN,
    RANKING,
    REPORT,
    STATES,
    EventRow,
    Forget,
    ImpressionRow,
    ItemGone,
    ItemRow,
    NewImpression,
    RankingGone,
    RankingRow,
    RequestRow,
    Row,
    SnapshotRow,
    SnapshotsGone,
)
from toplist.service.store.sqlite import SQLiteStore
from toplist.service.training import trained, warm_up
from toplist.service.writer import Writer

CLOSED_AT_ONCE = 500  # impressions; more would keep others waiting
READ_AT_ONCE = 5000  # events of an export
FORGOTTEN_AT_ONCE = 200  # learners
BREATHE = 200  # milliseconds after a failed commit in which nothing is tried
LAST_ROUND = 1000  # events that may be left to learn when a new policy takes over
SMALL_SLATE = 4096  # bytes of a list that are kept at hand; larger ones are read again


def milliseconds() -> int:
    """The time of day."""
    return time.time_ns() // 1_000_000


class Desk:
    """Everything that the service promises. All methods belong to one event loop.

    Errors: `Refused` (with `field`, a JSON pointer), `NotFound`, `Conflict`; `StoreUnavailable` (with `retry_after`).
    """

    def __init__(self, path: Path, clock: Callable[[], int] = milliseconds, *, hot_bytes: int = 512 << 20) -> None:
        self._path, self._clock, self._room = path, clock, hot_bytes
        self._memory: Memory | None = None
        self._store: SQLiteStore | None = None
        self._writer: Writer | None = None
        self._numbers = Numbers()
        self._breathe_until = 0
        self._warm: dict[str, asyncio.Task[None]] = {}
        self._forgotten_to: dict[int, int] = {}  # per ranking, the learner at which forgetting goes on

    # Life -------------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Open the store; policies are compiled meanwhile, and lists wait for theirs."""
        self._store = SQLiteStore(self._path)
        self._writer = Writer(self._store, self._failed)
        self._memory = Memory(self._store, self._writer, self._room)
        for ranking in self._memory.rankings.values():
            self._warming(ranking.setting)

    async def stop(self) -> None:
        """Wait for what is under way, keep what learners know, and close the store."""
        if self._store is None or self._writer is None:
            return
        await self._writer.drained()
        if self._memory is not None:
            rows: list[Row] = [learner.snapshot() for learner in self._memory.learners if learner.unkept >= 64]
            try:
                if rows:
                    await self._writer.write(rows)
            except StoreUnavailable:
                pass  # everything is in the log
        await self._writer.drained()
        for task in self._warm.values():
            await asyncio.wait([task])
        self._writer.close()
        self._store.close()
        self._memory = self._store = self._writer = None

    @property
    def ready(self) -> bool:
        """Whether it can promise something."""
        return self._store is not None and (self._memory is not None or self._clock() >= self._breathe_until)

    @property
    def hot_learners(self) -> int:
        """How many learners are in memory."""
        return 0 if self._memory is None else len(self._memory.learners)

    @property
    def commits(self) -> int:
        """How often something was committed since the start."""
        return 0 if self._writer is None else self._writer.commits

    def _failed(self) -> None:
        """Memory has what the store does not, so it is not true."""
        self._memory = None
        self._breathe_until = self._clock() + BREATHE

    def _now(self) -> Memory:
        """What is known, read from the store again after a failure."""
        if self._memory is None:
            if self._store is None or self._writer is None:
                raise StoreUnavailable("The service is not running.")
            if self._clock() < self._breathe_until:
                raise StoreUnavailable("The store could not be written to a moment ago.", BREATHE / 1000)
            self._memory = Memory(self._store, self._writer, self._room)
        return self._memory

    async def _written(self, rows: Sequence[Row]) -> None:
        """When rows are committed, and everything that they or a reply without rows build on."""
        assert self._writer is not None
        if rows or self._writer.pending:
            await self._writer.write(rows)

    # Rankings ---------------------------------------------------------------------------------------------------------

    def _ranking(self, name: str) -> RankingState:
        rankings = self._now().rankings
        try:
            return rankings[name]
        except KeyError:
            advice = nearest(name, rankings, "create it first")
            raise NotFound(f"There is no ranking {name!r}; {advice}.") from None

    async def create_ranking(self, spec: RankingSpec) -> Ranking:
        """A new ranking, without items."""
        self._check_free(spec.name)
        await self._warming(Setting(spec.name, spec, 0, True))
        self._check_free(spec.name)  # somebody may have been faster
        memory, now = self._now(), self._clock()
        seq = memory.next_seq()
        ranking = RankingState(seq, now, Setting(spec.name, spec, seq, True))
        memory.add(ranking)
        reply = self._shape(ranking)
        await self._written(self._ranking_rows(ranking, seq, now))
        return reply

    def _check_free(self, name: str) -> None:
        if name in self._now().rankings:
            raise Conflict(f"There is a ranking {name!r} already; change it, or choose another name.", "/name")

    def _ranking_rows(self, ranking: RankingState, seq: int, now: int) -> list[Row]:
        setting = ranking.setting
        body = encode(RankingBody(setting.spec, setting.trained, setting.policy))
        return [
            EventRow(seq, now, ranking.id, EVERYBODY, RANKING, None, body),
            RankingRow(ranking.id, setting.name, ranking.created, setting.policy, body),
        ]

    def _shape(self, ranking: RankingState) -> Ranking:
        spec = msgspec.structs.asdict(ranking.spec)
        return Ranking(**spec, items=len(ranking.items), created=as_time(ranking.created))

    def ranking(self, name: str) -> Ranking:
        """A ranking, as it is now."""
        return self._shape(self._ranking(name))

    def rankings(self) -> list[Ranking]:
        """All rankings, by name."""
        return [self._shape(ranking) for _, ranking in sorted(self._now().rankings.items())]

    async def change_ranking(self, name: str, change: RankingChange) -> Ranking:
        """Change a ranking; another policy is trained from the log before it serves, unless it starts anew."""
        ranking = self._ranking(name)
        given = {
            field: value
            for field in ("policy", "click_window", "retention")
            if (value := getattr(change, field)) is not msgspec.UNSET
        }
        anew = "policy" in given and (given["policy"] != ranking.spec.policy or not change.train)
        spec = msgspec.structs.replace(ranking.spec, **given)
        snapshots: list[SnapshotRow] = []
        if anew:
            if ranking.changing:
                raise Conflict(f"The ranking {name!r} is getting another policy already; wait for that.")
            ranking.changing = True
            try:
                setting = Setting(name, spec, 0, change.train)
                await self._warming(setting)
                if change.train:
                    snapshots = await self._trained(ranking, setting)
            finally:
                ranking.changing = False
            if self._now().rankings.get(name) is not ranking:
                raise StoreUnavailable(f"The ranking {name!r} was read again or deleted meanwhile; try again.")
            # Others may have changed the rest meanwhile.
            spec = msgspec.structs.replace(ranking.spec, **given)
        memory, now = self._now(), self._clock()
        seq = memory.next_seq()
        rows: list[Row] = []
        if anew:
            ranking.setting = Setting(name, spec, seq, change.train)
            ranking.can = ranking.setting.capabilities()
            memory.learners.forget(ranking)
            rows = [SnapshotsGone(ranking.id), *(snapshot._replace(policy=seq) for snapshot in snapshots)]
        else:
            ranking.setting = ranking.setting._replace(spec=spec)
        reply = self._shape(ranking)
        await self._written([*self._ranking_rows(ranking, seq, now), *rows])
        return reply

    async def _trained(self, ranking: RankingState, setting: Setting) -> list[SnapshotRow]:
        """Learners of another policy, as far as it takes long; the others are trained when they are first used."""
        can = setting.capabilities()
        if not can.learns_from_any_list or not can.adds_items:
            raise Refused(
                f"The policy {setting.spec.policy} cannot learn from lists that others made; say train: false, and it "
                f"starts anew.", "/policy",
            )  # fmt: skip
        assert self._store is not None
        kept = self._store.learners_with_snapshots(ranking.id)
        hot = [self._store.learner(ranking.id, learner.key) for learner in self._now().learners.of(ranking)]
        rows = sorted({*kept, *(row for row in hot if row is not None)}, key=lambda row: row.id)
        snapshots: list[SnapshotRow] | None = None
        for _ in range(5):
            snapshots, led = await asyncio.to_thread(trained, self._path, ranking.id, setting, rows, snapshots)
            if led < LAST_ROUND:
                break
        return snapshots or []

    async def delete_ranking(self, name: str) -> None:
        """Delete a ranking; its events stay in the log, and its open lists are dropped."""
        ranking = self._ranking(name)
        memory, now = self._now(), self._clock()
        seq = memory.next_seq()
        body = encode(RankingBody(ranking.spec, ranking.setting.trained, ranking.setting.policy, deleted=True))
        memory.learners.forget(ranking)
        del memory.rankings[name], memory.by_id[ranking.id]
        event = EventRow(seq, now, ranking.id, EVERYBODY, RANKING, None, body)
        await self._written([event, RankingGone(ranking.id)])

    def _warming(self, setting: Setting) -> asyncio.Task[None]:
        """Compile a policy, once, in another thread."""
        spec = setting.spec
        kind = f"{spec.policy} {bool(spec.features)}"
        task = self._warm.get(kind)
        new = setting.policy == 0  # its settings were never checked
        if task is None or new or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = asyncio.get_running_loop().create_task(asyncio.to_thread(warm_up, setting))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            if not new or kind not in self._warm:
                self._warm[kind] = task
        return task

    # Items ------------------------------------------------------------------------------------------------------------

    async def put_items(self, name: str, items: Sequence[Item]) -> ItemsChanged:
        """Add items, or change them; features that are left out stay."""
        ranking = self._ranking(name)
        body = ranking.checked(items)
        added = sum(put.id not in ranking.items for put in body.put)
        rows = self._change_items(ranking, body) if body.put else []
        await self._written(rows)
        changed = len(body.put) - added
        return ItemsChanged(added=added, changed=changed, unchanged=len(items) - len(body.put))

    async def remove_items(self, name: str, ids: Sequence[str]) -> int:
        """Remove items; those that are not there are none. After this, they are in no list."""
        ranking = self._ranking(name)
        ranking.check_removable(ids)
        there = [id for id in dict.fromkeys(ids) if id in ranking.items]
        rows = self._change_items(ranking, ItemsBody(removed=there)) if there else []
        await self._written(rows)
        return len(there)

    def _change_items(self, ranking: RankingState, body: ItemsBody) -> list[Row]:
        memory = self._now()
        seq = memory.next_seq()
        ranking.change(seq, body)
        memory.learners.come_along(ranking)
        rows: list[Row] = [EventRow(seq, self._clock(), ranking.id, EVERYBODY, ITEMS, None, encode(body))]
        for put in body.put:
            place, features, hidden = ranking.items[put.id]
            rows.append(ItemRow(ranking.id, put.id, place, None if features is None else features.tobytes(), hidden))
        rows += [ItemGone(ranking.id, id) for id in body.removed]
        return rows

    def item(self, name: str, item: str) -> Item:
        """One item."""
        items = self._ranking(name).items
        if item not in items:
            raise NotFound(f"There is no item {item!r} in the ranking {name!r}; put it first.")
        return as_item(item, items[item])

    def items(self, name: str, after: str | None = None, limit: int = 1000) -> list[Item]:
        """Items in the order in which they came, behind the one called `after`."""
        ranking = self._ranking(name)
        ids = list(ranking.items)
        begin = 0
        if after is not None:
            self.item(name, after)
            begin = ids.index(after) + 1
        return [as_item(id, ranking.items[id]) for id in ids[begin : begin + limit]]

    # Lists ------------------------------------------------------------------------------------------------------------

    async def make_list(self, name: str, request: ListRequest) -> ListReply:
        """A list to show; the same request id gives the same list."""
        ranking = self._ranking(name)
        warm = self._warming(ranking.setting)
        if not warm.done():
            await asyncio.shield(warm)
            ranking = self._ranking(name)
        memory = self._now()
        digest = b""
        if request.request_id is not None:
            digest = hashlib.blake2b(encode(request), digest_size=16).digest()
            asked = memory.asked(ranking.id, request.request_id)
            if asked is not None and (one := memory.impression(asked.impression)) is not None:
                if asked.digest != digest:
                    raise Conflict(
                        f"Another list was asked for with the request id {request.request_id!r}; use a new one.",
                        "/request_id",
                    )
                items = memory.items_of(one)
                await self._written(())
                return _reply(one, items, name, request)
        if not ranking.items:
            raise Conflict(f"The ranking {name!r} has no items yet; put some.")
        now = self._clock()
        rows: list[Row] = []
        learner = memory.learners.find(ranking, request.key)
        if learner is None:
            try:
                learner, rows = memory.learners.create(ranking, request.key, memory.next_seq(), now)
            except InvalidInput as problem:
                raise Conflict(f"The ranking {name!r} cannot serve yet: {problem}") from problem
        one, items = self._listed(memory, learner, request, now, rows)
        if request.request_id is not None:
            memory.remember_request(ranking.id, request.request_id, Asked(digest, one.id, one.seq))
            rows.append(RequestRow(ranking.id, request.request_id, digest, one.id, now))
        rows += memory.learners.evicted()
        assert self._writer is not None
        await self._writer.write(rows)
        return _reply(one, items, name, request)

    def _listed(
        self, memory: Memory, learner: HotLearner, request: ListRequest, now: int, rows: list[Row]
    ) -> tuple[Impression, list[str]]:
        """Make a list, and its rows."""
        ranking, ranker = learner.ranking, learner.ranker
        try:
            pins = {int(place): item for place, item in request.pins.items()} if request.pins else None
            shown = ranker.rank(
                request.among, request.positions, exclude=request.exclude, pins=pins, person=request.person,
                features=request.features,
            )  # fmt: skip
        except (InvalidInput, ValueError) as problem:
            if rows:  # the learner is new, and was not worth the while
                memory.learners.undo(learner)
            raise pointed(problem, request, ranking) from problem
        seq, id = memory.next_seq(), self._numbers.next(now)
        items = list(shown.items)
        record = ranker.record(shown)
        state = DEFERRED if request.deferred else OPEN
        due = now + round(ranking.spec.click_window * 1000)
        one = Impression(id, seq, ranking.id, learner.id, state, due, items, NOTHING_YET, seq)
        shown.among = None  # one array of all items per list would be much to keep
        if len(record.rows) + len(record.memo) <= SMALL_SLATE:
            one.shown = (ranker, shown)
        memory.remember(one)
        learner.seq = seq
        learner.unkept += 1
        rows += (
            EventRow(seq, now, ranking.id, learner.id, LIST, id, encode(ListBody.of(items, record, request))),
            NewImpression(id, seq, ranking.id, learner.id, state, due, NOTHING_REPORTED),
        )
        if learner.wants_snapshot:
            rows.append(learner.snapshot())
        return one, items

    # Reports ----------------------------------------------------------------------------------------------------------

    def _found(self, memory: Memory, impression: str) -> Impression:
        id = as_id(impression)
        one = None if id is None else memory.impression(id)
        if one is None:
            raise NotFound(DETAILS[UNKNOWN])
        return one

    async def report(self, impression: str, report: Report) -> ReportReply:
        """Take in what came back for a list; however often and in whatever order, it counts once."""
        memory, now = self._now(), self._clock()
        one = self._found(memory, impression)
        told = merged_of(report, memory.items_of(one))
        rows = self._closed(memory, one, now)
        if one.is_open:
            merged = one.outcome.merged.with_(told)
            if told.final:
                rows += self._learned(memory, one, merged, "final", now)
            elif merged != one.outcome.merged or one.state == DEFERRED:
                rows += self._activated(memory, one, now)
                one.outcome = Outcome(merged)
                one.touched = memory.next_seq()
                body = encode(told)
                rows.append(EventRow(one.touched, now, one.ranking, one.learner, REPORT, one.id, body))
                rows.append(ImpressionRow(one.state, one.due, encode(one.outcome), one.id))
        reply = _verdict(impression, one, told)
        await self._written(rows)
        return reply

    async def activate(self, impression: str) -> ReportReply:
        """A deferred list is shown now, so its click window begins."""
        memory, now = self._now(), self._clock()
        one = self._found(memory, impression)
        rows = self._closed(memory, one, now)
        if one.state == DEFERRED:
            rows += self._activated(memory, one, now)
            rows.append(ImpressionRow(one.state, one.due, encode(one.outcome), one.id))
        reply = _verdict(impression, one, Merged())
        await self._written(rows)
        return reply

    def _activated(self, memory: Memory, one: Impression, now: int) -> list[Row]:
        if one.state != DEFERRED:
            return []
        one.state, one.touched = OPEN, memory.next_seq()
        one.due = now + round(memory.by_id[one.ranking].spec.click_window * 1000)
        return [EventRow(one.touched, now, one.ranking, one.learner, ACTIVATED, one.id, b"{}")]

    def _closed(self, memory: Memory, one: Impression, now: int) -> list[Row]:
        """Close an impression whose time is over, or whose ranking is gone."""
        if not one.is_open:
            return []
        if one.ranking not in memory.by_id or (one.state == DEFERRED and one.due <= now):
            one.state, one.touched, one.shown = DROPPED, memory.next_seq(), None
            learner = memory.learners.hot(one.learner)
            if learner is not None and one.seq > replay.first_event(learner.ranking.setting, learner.id):
                learner.ranker.drop(memory.list_of(one).number)
                learner.seq = one.touched
                learner.unkept += 1
            body = encode(Outcome(one.outcome.merged, None, one.seq))
            return [
                EventRow(one.touched, now, one.ranking, one.learner, DROP, one.id, body),
                ImpressionRow(one.state, one.due, encode(one.outcome), one.id),
            ]
        if one.due <= now:
            return self._learned(memory, one, one.outcome.merged, "window", now)
        return []

    def _learned(self, memory: Memory, one: Impression, merged: Merged, reason: str, now: int) -> list[Row]:
        """Learn an impression, once: it is closed from here on. A learner in the store learns when it is next used."""
        outcome = Outcome(merged, reason, one.seq)
        one.state, one.outcome, one.touched = LEARNED, outcome, memory.next_seq()
        body = encode(outcome)
        rows: list[Row] = [
            EventRow(one.touched, now, one.ranking, one.learner, LEARN, one.id, body),
            ImpressionRow(LEARNED, one.due, body, one.id),
        ]
        learner = memory.learners.hot(one.learner)
        if learner is not None:
            setting = learner.ranking.setting
            if one.shown is not None and one.shown[0] is learner.ranker:
                learner.ranker.learn(one.shown[1], **merged.learnable())
            elif one.seq > replay.first_event(setting, learner.id):
                replay.learn(learner.ranker, memory.list_of(one), outcome, own=one.seq > setting.policy)
            learner.seq = one.touched
            learner.unkept += 1
            if learner.wants_snapshot:
                rows.append(learner.snapshot())
        one.shown = None
        return rows

    async def close_due(self, now: int | None = None) -> int:
        """Close impressions whose window is over, at most some hundred at a time; how many these were."""
        memory = self._now()
        now = self._clock() if now is None else now
        rows: list[Row] = []
        closed = 0
        for row in memory.store.due(now, CLOSED_AT_ONCE):
            one = memory.taken_in(row)
            if one.is_open and one.due <= now:
                rows += self._closed(memory, one, now)
                closed += 1
        await self._written(rows)
        return closed

    def impression(self, impression: str) -> ImpressionShape:
        """A list that was made, and what is known of it."""
        memory = self._now()
        one = self._found(memory, impression)
        event = memory.event(one.seq)
        assert event is not None
        merged = one.outcome.merged
        seen = None if merged.seen is None else {str(place): chance for place, chance in merged.seen.items()}
        name, key = self._names(memory, one)
        return ImpressionShape(
            impression=as_text(one.id), ranking=name, key=key, items=list(memory.items_of(one)),
            state=STATES[one.state], made=as_time(event.at), due=as_time(one.due), clicks=list(merged.clicks),
            left=merged.left, seen=seen, reason=one.outcome.reason,
        )  # fmt: skip

    def _names(self, memory: Memory, one: Impression) -> tuple[str, str | None]:
        """The names of an impression's ranking and key, if these are there still."""
        ranking = memory.by_id.get(one.ranking)
        event = memory.event(one.learner)
        return ranking.name if ranking else "", None if event is None else decode_learner(event.body).key

    # Looking in -------------------------------------------------------------------------------------------------------

    async def _learner(self, name: str, key: str | None) -> HotLearner:
        await asyncio.shield(self._warming(self._ranking(name).setting))
        learner = self._now().learners.find(self._ranking(name), key)
        if learner is None:
            which = "no list was made without a key" if key is None else f"no list was made for the key {key!r}"
            raise NotFound(f"Of the ranking {name!r}, {which} yet; ask for one first.")
        return learner

    async def estimates(
        self, name: str, key: str | None = None, limit: int = 100, person: Sequence[float] | None = None
    ) -> Estimates:
        """What is thought of the items, the best first."""
        learner = await self._learner(name, key)
        try:
            rows = learner.ranker.estimates(person).rows()[:limit]
        except InvalidInput as problem:
            raise Refused(str(problem), "/person") from problem
        return Estimates(
            ranking=name, key=key, policy=learner.ranking.spec.policy, learned=learner.ranker.learned,
            items=[Estimate(**row) for row in rows],
        )  # fmt: skip

    async def explanation(self, impression: str) -> Explanation:
        """Why a list is as it is."""
        one = self._found(self._now(), impression)
        name, key = self._names(self._now(), one)
        learner = await self._learner(name, key)
        memory, setting = self._now(), learner.ranking.setting
        shown = None
        if one.seq > replay.first_event(setting, learner.id):
            shown = replay.recalled(learner.ranker, memory.list_of(one), own=one.seq > setting.policy)
        if shown is None:
            raise NotFound("The list was made by an earlier policy of its ranking, which cannot explain it any more.")
        rows = learner.ranker.explain(shown).rows()
        return Explanation(impression=impression, ranking=name, key=key, positions=[Reason(**row) for row in rows])

    def keys(self, name: str, after: str | None = None, limit: int = 1000) -> list[str]:
        """The keys that lists were made for, in order."""
        ranking = self._ranking(name)
        return self._now().store.keys(ranking.id, after or "", limit)

    def events(self, name: str, after: int = 0) -> Iterator[Event]:
        """The log of a ranking, as far as it is committed when the end is reached."""
        ranking = self._ranking(name)
        store = self._now().store
        names: dict[int, str | None] = {EVERYBODY: None}
        while after < store.last_seq():
            for event in store.events(ranking.id, after, after + READ_AT_ONCE):
                if event.learner not in names:
                    begun = store.event(event.learner)
                    names[event.learner] = None if begun is None else decode_learner(begun.body).key
                yield Event(
                    seq=event.seq, at=as_time(event.at), ranking=name, key=names[event.learner], kind=event.kind,
                    impression=None if event.impression is None else as_text(event.impression),
                    body=msgspec.Raw(event.body),
                )  # fmt: skip
            after += READ_AT_ONCE

    # Keeping ----------------------------------------------------------------------------------------------------------

    async def retain(self, now: int | None = None) -> int:
        """Forget what is older than rankings want to keep, a few learners at a time; how many impressions these were.

        What a learner knows is kept before the events go that it knows it from.
        """
        memory = self._now()
        now = self._clock() if now is None else now
        forgotten = 0
        for name, ranking in list(memory.rankings.items()):
            if ranking.spec.retention is None:
                continue
            await asyncio.shield(self._warming(ranking.setting))
            memory = self._now()
            if memory.rankings.get(name) is not ranking:
                continue
            until = memory.store.seq_at(now - round(ranking.spec.retention * 1000))
            learners = memory.store.learners(ranking.id, self._forgotten_to.get(ranking.id, 0), FORGOTTEN_AT_ONCE)
            self._forgotten_to[ranking.id] = learners[-1].id if len(learners) == FORGOTTEN_AT_ONCE else 0
            rows: list[Row] = []
            for row in learners:
                count = memory.store.closed_before(row.id, until)
                learner = memory.learners.find(ranking, row.key) if count else None
                if learner is None:
                    continue
                seq = memory.next_seq()
                body = encode(Forgotten(until, count))
                rows += (
                    learner.snapshot(base=True),
                    Forget(ranking.id, row.id, until),
                    EventRow(seq, now, ranking.id, row.id, FORGOTTEN, None, body),
                )
                memory.forget(row.id, until)
                forgotten += count
            rows += memory.learners.evicted()
            await self._written(rows)
        return forgotten

    async def backup(self, path: Path) -> None:
        """Write all that is committed to a new file, while everything goes on."""
        if path.exists():
            raise Refused(f"There is a file {path} already; name another one, or remove it.")
        store = self._now().store
        await asyncio.to_thread(store.backup, path)

    def states(self) -> dict[tuple[str, str | None], bytes]:
        """What the learners in memory know, to be compared with what the log says they should."""
        memory = self._now()
        states: dict[tuple[str, str | None], bytes] = {}
        for learner in memory.learners:
            current = memory.learners.hot(learner.id)
            assert current is not None
            states[learner.ranking.name, learner.key] = current.ranker.to_bytes()
        return states


NOTHING_YET = Outcome()
NOTHING_REPORTED = encode(NOTHING_YET)


def _reply(one: Impression, items: list[str], name: str, request: ListRequest) -> ListReply:
    return ListReply(impression=as_text(one.id), items=items, ranking=name, key=request.key, deferred=request.deferred)


def _verdict(impression: str, one: Impression, told: Merged) -> ReportReply:
    why = one.verdict(told)
    more: dict[str, Any] = {} if why is None else {"why": why, "detail": DETAILS[why]}
    return ReportReply(impression=impression, counted=why is None, **more)


def as_time(moment: int) -> str:
    """Milliseconds as RFC 3339.

    >>> as_time(1_700_000_000_123)
    '2023-11-14T22:13:20.123Z'
    """
    text = datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
