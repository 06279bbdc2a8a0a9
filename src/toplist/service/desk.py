"""The service without its network: rankings, items, lists, reports and their closing, on one event loop.

A change does two things without a pause between them: it changes memory, and hands rows to the writer. The reply is
sent only once these are committed. So the log has everything in the order in which memory changed, and nothing that
was acknowledged can be lost.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from toplist.problem import InvalidInput, nearest
from toplist.service import looking, replay, training
from toplist.service.bodies import ItemsBody, RankingBody, encode
from toplist.service.closing import activated, closed, found, taken, verdict
from toplist.service.errors import Conflict, NotFound, Refused, StoreUnavailable
from toplist.service.impressions import Impression, Merged, Numbers, merged_of
from toplist.service.keeping import forgotten, states
from toplist.service.learners import WORTH_A_SNAPSHOT, HotLearner
from toplist.service.listing import digest, listed, reply_of
from toplist.service.memory import Asked, Memory
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
)  # fmt: skip
from toplist.service.shapes import Impression as ImpressionShape
from toplist.service.store.protocol import (
    DEFERRED,
    EVERYBODY,
    ITEMS,
    RANKING,
    EventRow,
    ImpressionRow,
    ItemGone,
    ItemRow,
    RankingGone,
    RankingRow,
    RequestRow,
    Row,
    SnapshotRow,
    SnapshotsGone,
)  # fmt: skip
from toplist.service.store.sqlite import SQLiteStore
from toplist.service.times import milliseconds
from toplist.service.writer import Commits, Writer

CLOSED_AT_ONCE = 500  # impressions; more would keep others waiting
FORGOTTEN_AT_ONCE = 10  # learners, which are loaded and kept
FORGOTTEN_IN_A_ROW = 20  # times that many, for each ranking
BREATHE = 200  # milliseconds after a failed commit in which nothing is tried
LAST_ROUND = 1000  # events that may be left to learn when a new policy takes over


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
        self._stopping = False
        self._ending = threading.Event()  # for what runs in other threads
        self._warm: dict[str, asyncio.Task[None]] = {}
        self.learned: Counter[str] = Counter()  # lists since the start, by what closed them
        self._forgotten_to: dict[int, int] = {}  # per ranking, the learner at which forgetting goes on

    # Life -------------------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Open the store; policies are compiled meanwhile, and lists wait for theirs."""
        self._store = SQLiteStore(self._path)
        self._stopping = False
        self._ending = threading.Event()
        self._writer = Writer(self._store, self._failed)
        self._memory = Memory(self._store, self._writer, self._room)
        for ranking in self._memory.rankings.values():
            self._warming(ranking.setting)

    async def stop(self) -> None:
        """Wait for what is under way, keep what learners know, and close the store."""
        if self._store is None or self._writer is None:
            return
        self._stopping = True
        self._ending.set()
        await self._writer.drained()
        if self._memory is not None:
            rows: list[Row] = [
                learner.snapshot() for learner in self._memory.learners if learner.unkept >= WORTH_A_SNAPSHOT
            ]
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
        if self._store is None or self._stopping:
            return False
        return self._memory is not None or self._clock() >= self._breathe_until

    @property
    def hot_learners(self) -> int:
        """How many learners are in memory."""
        return 0 if self._memory is None else len(self._memory.learners)

    @property
    def commits(self) -> Commits:
        """What was committed since the start."""
        return Commits() if self._writer is None else self._writer.commits

    @property
    def open_impressions(self) -> int:
        """How many lists wait for their reports, deferred ones among them."""
        return 0 if self._store is None else self._store.open_impressions()

    def _failed(self) -> None:
        """Memory has what the store does not, so it is not true."""
        self._memory = None
        self._breathe_until = self._clock() + BREATHE

    def _now(self) -> Memory:
        """What is known, read from the store again after a failure."""
        if self._stopping or self._store is None or self._writer is None:
            raise StoreUnavailable("The service is not running.")
        if self._memory is None:
            if self._clock() < self._breathe_until or self._writer.pending:
                raise StoreUnavailable("The store could not be written to a moment ago.", BREATHE / 1000)
            self._memory = Memory(self._store, self._writer, self._room)
        return self._memory

    @contextmanager
    def _changing(self) -> Iterator[Memory]:
        """For changes of memory, which are refused before they begin, or else are whole: half of one is not true."""
        memory = self._now()
        try:
            yield memory
        except Refused:
            raise
        except BaseException:
            self._failed()
            raise

    async def _written(self, rows: Sequence[Row], reasons: Sequence[str | None] = ()) -> None:
        """When rows are committed, and everything that they or a reply without rows build on.

        `reasons` say what closed the lists that the rows are of; None for those that are not learned by them.
        """
        assert self._writer is not None
        if rows or self._writer.pending:
            await self._writer.write(rows)
        self.learned.update(reason for reason in reasons if reason is not None)

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
        reply = looking.ranking_shape(ranking)
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

    def ranking(self, name: str) -> Ranking:
        """A ranking, as it is now."""
        return looking.ranking_shape(self._ranking(name))

    def rankings(self) -> list[Ranking]:
        """All rankings, by name."""
        return [looking.ranking_shape(ranking) for _, ranking in sorted(self._now().rankings.items())]

    async def change_ranking(self, name: str, change: RankingChange) -> Ranking:
        """Change a ranking; another policy is trained from the log before it serves, unless it starts anew."""
        ranking = self._ranking(name)
        given = {
            field: value
            for field in ("policy", "click_window", "retention", "reference")
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
                self._check_items(ranking, setting)
                if change.train:
                    snapshots = await self._trained(ranking, setting)
            finally:
                ranking.changing = False
            if self._now().rankings.get(name) is not ranking:
                raise StoreUnavailable(f"The ranking {name!r} was read again or deleted meanwhile; try again.")
            # Others may have changed the rest meanwhile.
            spec = msgspec.structs.replace(ranking.spec, **given)
            self._check_items(ranking, setting)
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
        reply = looking.ranking_shape(ranking)
        await self._written([*self._ranking_rows(ranking, seq, now), *rows])
        return reply

    def _check_items(self, ranking: RankingState, setting: Setting) -> None:
        """Refuse a policy that cannot have a ranking's items; before the first list, these may change as they like."""
        if not ranking.served:
            return
        try:
            replay.begin(setting, None, ranking.items)
        except InvalidInput as problem:
            raise Refused(
                f"The policy {setting.spec.policy} cannot have these items: {problem}", "/policy"
            ) from problem

    async def _trained(self, ranking: RankingState, setting: Setting) -> list[SnapshotRow]:
        """Learners of another policy, as far as it takes long; the others are trained when they are first used."""
        can = setting.capabilities()
        if not can.learns_from_any_list or not can.adds_items:
            raise Refused(
                f"The policy {setting.spec.policy} cannot learn from lists that others made; say train: false, and it "
                f"starts anew.", "/policy",
            )  # fmt: skip
        assert self._store is not None
        await self._written([])  # training reads the store, which must have the learners of now and what they know
        kept = self._store.learners_with_snapshots(ranking.id)
        hot = [self._store.learner(ranking.id, learner.key) for learner in self._now().learners.of(ranking)]
        # The first learner met every item that any other did, so it finds items that the policy cannot have.
        first = self._store.learners(ranking.id, 0, 1)
        rows = sorted({*first, *kept, *(row for row in hot if row is not None)}, key=lambda row: row.id)
        snapshots: list[SnapshotRow] | None = None
        for _ in range(5):
            try:
                snapshots, led = await asyncio.to_thread(
                    training.trained, self._path, ranking.id, setting, rows, snapshots, self._ending.is_set
                )
            except InvalidInput as problem:
                raise Refused(
                    f"The policy {setting.spec.policy} cannot have the items that there were: {problem} Say train: "
                    f"false, and it starts anew.", "/policy",
                ) from problem  # fmt: skip
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
            task = asyncio.get_running_loop().create_task(asyncio.to_thread(training.warm_up, setting))
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
        with self._changing() as memory:
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
        with self._changing() as memory:
            made = self._made_before(memory, ranking, request)
            rows: list[Row] = []
            if made is None:
                if not ranking.items:
                    raise Conflict(f"The ranking {name!r} has no items yet; put some.")
                made, rows = self._made(memory, ranking, request)
            items = memory.items_of(made)
        await self._written(rows)
        return reply_of(made, items, name, request)

    def _made_before(self, memory: Memory, ranking: RankingState, request: ListRequest) -> Impression | None:
        """The list that was made for this very request."""
        if request.request_id is None:
            return None
        asked = memory.asked(ranking.id, request.request_id)
        if asked is None or (one := memory.impression(asked.impression)) is None:
            return None
        if asked.digest != digest(request):
            raise Conflict(
                f"Another list was asked for with the request id {request.request_id!r}; use a new one.", "/request_id"
            )
        return one

    def _made(self, memory: Memory, ranking: RankingState, request: ListRequest) -> tuple[Impression, list[Row]]:
        """A new list, and its rows."""
        now = self._clock()
        rows: list[Row] = []
        learner = memory.learners.find(ranking, request.key)
        if learner is None:
            try:
                learner, rows = memory.learners.create(ranking, request.key, memory.next_seq(), now)
            except InvalidInput as problem:
                raise Conflict(f"The ranking {ranking.name!r} cannot serve yet: {problem}") from problem
        one = listed(memory, self._numbers, learner, request, now, rows)
        if request.request_id is not None:
            asked = Asked(digest(request), one.id, one.seq)
            memory.remember_request(ranking.id, request.request_id, asked)
            rows.append(RequestRow(ranking.id, request.request_id, asked.digest, one.id, now))
        rows += memory.learners.evicted()
        return one, rows

    # Reports ----------------------------------------------------------------------------------------------------------

    async def report(self, impression: str, report: Report) -> ReportReply:
        """Take in what came back for a list; however often and in whatever order, it counts once."""
        now = self._clock()
        with self._changing() as memory:
            one = found(memory, impression)
            told = merged_of(report, memory.items_of(one))
            rows = closed(memory, one, now) or taken(memory, one, told, now)
            reply = verdict(impression, one, told)
        await self._written(rows, [one.outcome.reason] if rows else [])
        return reply

    async def activate(self, impression: str) -> ReportReply:
        """A deferred list is shown now, so its click window begins."""
        now = self._clock()
        with self._changing() as memory:
            one = found(memory, impression)
            rows = closed(memory, one, now)
            if one.state == DEFERRED:
                rows += activated(memory, one, now)
                rows.append(ImpressionRow(one.state, one.due, encode(one.outcome), one.id))
            reply = verdict(impression, one, Merged())
        await self._written(rows, [one.outcome.reason] if rows else [])
        return reply

    async def close_due(self, now: int | None = None) -> int:
        """Close impressions whose window is over, at most some hundred at a time; how many these were."""
        now = self._clock() if now is None else now
        rows: list[Row] = []
        reasons: list[str | None] = []
        with self._changing() as memory:
            for row in memory.store.due(now, CLOSED_AT_ONCE):
                one = memory.taken_in(row)
                if one.is_open and one.due <= now:
                    rows += closed(memory, one, now)
                    reasons.append(one.outcome.reason)
        await self._written(rows, reasons)
        return len(reasons)

    def impression(self, impression: str) -> ImpressionShape:
        """A list that was made, and what is known of it."""
        memory = self._now()
        return looking.impression(memory, found(memory, impression))

    # Looking in -------------------------------------------------------------------------------------------------------

    async def _learner(self, name: str, key: str | None) -> HotLearner:
        await asyncio.shield(self._warming(self._ranking(name).setting))
        with self._changing() as memory:
            learner = memory.learners.find(self._ranking(name), key)
        if learner is None:
            which = "no list was made without a key" if key is None else f"no list was made for the key {key!r}"
            raise NotFound(f"Of the ranking {name!r}, {which} yet; ask for one first.")
        return learner

    async def _let_go(self) -> None:
        """Make room where something was only looked at, and wait until everything that was seen is committed."""
        with self._changing() as memory:
            rows = memory.learners.evicted()
        await self._written(rows)

    async def estimates(
        self, name: str, key: str | None = None, limit: int = 100, person: Sequence[float] | None = None
    ) -> Estimates:
        """What is thought of the items, the best first."""
        learner = await self._learner(name, key)
        try:
            rows = learner.ranker.estimates(person).rows()[:limit]
        except InvalidInput as problem:
            raise Refused(str(problem), "/person") from problem
        estimates = Estimates(
            ranking=name, key=key, policy=learner.ranking.spec.policy, learned=learner.ranker.learned,
            items=[Estimate(**row) for row in rows],
        )  # fmt: skip
        await self._let_go()
        return estimates

    async def explanation(self, impression: str) -> Explanation:
        """Why a list is as it is."""
        one = found(self._now(), impression)
        name, key = looking.names(self._now(), one)
        learner = await self._learner(name, key)
        memory, setting = self._now(), learner.ranking.setting
        shown = None
        if one.seq > replay.first_event(setting, learner.id):
            shown = replay.recalled(learner.ranker, memory.list_of(one), own=one.seq > setting.policy)
        if shown is None:
            raise NotFound("The list was made by an earlier policy of its ranking, which cannot explain it any more.")
        rows = learner.ranker.explain(shown).rows()
        await self._let_go()
        return Explanation(impression=impression, ranking=name, key=key, positions=[Reason(**row) for row in rows])

    def keys(self, name: str, after: str | None = None, limit: int = 1000) -> list[str]:
        """The keys that lists were made for, in order."""
        ranking = self._ranking(name)
        return self._now().store.keys(ranking.id, after or "", limit)

    def events(self, name: str, after: int = 0) -> Iterator[Event]:
        """The log of a ranking, as far as it is committed when the end is reached."""
        return looking.events(self._now().store, self._ranking(name), after)

    # Keeping ----------------------------------------------------------------------------------------------------------

    async def retain(self, now: int | None = None) -> int:
        """Forget what is older than rankings want to keep, a few learners at a time; how many impressions these were.

        What a learner knows is kept before the events go that it knows it from.
        """
        now = self._clock() if now is None else now
        total = 0
        for name, ranking in list(self._now().rankings.items()):
            if ranking.spec.retention is None:
                continue
            await asyncio.shield(self._warming(ranking.setting))
            for _ in range(FORGOTTEN_IN_A_ROW):
                with self._changing() as memory:
                    # A policy in training has learned from events that must then be there for whoever rebuilds it.
                    if memory.rankings.get(name) is not ranking or ranking.changing or ranking.spec.retention is None:
                        break
                    begin = self._forgotten_to.get(ranking.id, 0)
                    learners = memory.store.learners(ranking.id, begin, FORGOTTEN_AT_ONCE)
                    self._forgotten_to[ranking.id] = learners[-1].id if len(learners) == FORGOTTEN_AT_ONCE else 0
                    rows, impressions = forgotten(memory, ranking, learners, now)
                await self._written(rows)
                await asyncio.sleep(0)  # others have their turn even where there was nothing to write
                total += impressions
                if not self._forgotten_to[ranking.id]:
                    break
        return total

    async def backup(self, path: Path) -> None:
        """Write all that is committed to a new file, while everything goes on."""
        if path.exists():
            raise Refused(f"There is a file {path} already; name another one, or remove it.")
        store = self._now().store
        await asyncio.to_thread(store.backup, path)

    def states(self) -> dict[tuple[str, str | None], bytes]:
        """What the learners in memory know, to be compared with what the log says they should."""
        return states(self._now())
