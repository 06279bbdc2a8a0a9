"""Answers questions about rankings, items, impressions and learners; changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from itertools import chain
from time import monotonic
from typing import NamedTuple, TypeVar

import numpy as np

from toplist.core.item_id import ItemId, item_text
from toplist.core.problem import InvalidInput
from toplist.ranker import LoggedRanker
from toplist.ranker.estimate_rows import EstimateRows
from toplist.service.errors import NotFound, Refused
from toplist.service.live.compiler import PolicyCompiler
from toplist.service.live.divided import places_of, sources_of
from toplist.service.live.learners import LoadedLearner
from toplist.service.live.list_arguments import all_pins
from toplist.service.live.log_pages import LogPages
from toplist.service.live.query_replies import (
    existing_impression,
    impression_reply,
    items_behind,
    known_item,
    origin_of,
)
from toplist.service.live.ranking import item_reply
from toplist.service.live.rankings import ranking_reply
from toplist.service.live.read_lane import ReadLane
from toplist.service.live.state import LiveState
from toplist.service.live.transaction import Transactions
from toplist.service.live.work_memory import TIMES_LEARNER
from toplist.service.log.division_readers import DivisionPlaces
from toplist.service.log.export import (
    DividedPage,
    DividedPages,
    DivisionPages,
    DivisionRows,
    EventPage,
    EventPages,
    KindPages,
    LearnerPages,
    RecentPages,
    RowPage,
    read_cursor,
)
from toplist.service.log.replay import logged_list
from toplist.service.store.protocol import LogReader, Store
from toplist.service.wire import (
    Estimate,
    Estimates,
    Explanation,
    Impression,
    Item,
    ItemsPage,
    ListRequest,
    NextList,
    Ranking,
    Reason,
)

T = TypeVar("T")
PAGE_NUMBERS = 1 << 18  # features in a page of items, at most, unless one item has more
NUMBER_BYTES, ITEM_BYTES = 60, 1000  # of a feature and of an item in a reply, as objects and encoded
COUNT_EVERY = 1.0  # seconds between two counts of open impressions


class LearnerStanding(NamedTuple):
    """What a learner thinks of all items at one moment."""

    learned: int  # number of lists
    rows: EstimateRows
    weights: list[tuple[int, float, float]]  # number, weight and its standard deviation, of each feature it learns from
    changes: list[tuple[int, ItemId, float]]  # that it detected: lists learned until then, the item and its mean before


class Queries:
    """Answers questions."""

    def __init__(self, transactions: Transactions, compiler: PolicyCompiler, lane: ReadLane | None = None) -> None:
        self._transactions, self._compiler = transactions, compiler
        self.lane = lane or ReadLane()
        self._count: asyncio.Task[int] | None = None  # of open impressions
        self._counted = 0.0

    @asynccontextmanager
    async def _reading(self) -> AsyncIterator[LiveState]:
        """Context of a question, and of the answer that something does not exist.

        Memory has changes that are not committed yet and may still fail: the answer waits until all it shows is
        committed. Then learners are evicted, if some were loaded for the answer.
        """
        before = await self._transactions.state()
        try:
            yield before
        finally:
            state = await self._transactions.state()
            with self._transactions.change():
                rows = state.learners.evict()
            await self._transactions.commit(rows)

    async def ranking(self, name: str) -> Ranking:
        """A ranking."""
        async with self._reading() as state:
            return ranking_reply(state.ranking(name))

    async def rankings(self) -> list[Ranking]:
        """All rankings, by name."""
        async with self._reading() as state:
            return [ranking_reply(ranking) for _, ranking in sorted(state.rankings.items()) if ranking.is_home]

    async def item(self, name: str, item: ItemId) -> Item:
        """One item."""
        async with self._reading() as state:
            return item_reply(item, known_item(state.ranking(name), item))

    async def items(self, name: str, after: ItemId | None = None, limit: int = 1000) -> list[Item]:
        """Items in the order in which they were added, those behind the item `after`."""
        async with self._reading() as state:
            return items_behind(state.ranking(name), after, limit)

    async def items_page(self, name: str, after: ItemId | None, limit: int) -> ItemsPage:
        """A page of items; it ends where their features are many."""
        async with self._reading() as state:
            ranking = state.ranking(name)
            limit = min(limit, max(1, PAGE_NUMBERS // max(1, ranking.spec.features)))
            rows = items_behind(ranking, after, limit + 1)
        page = rows[:limit]
        return ItemsPage(items=page, next=item_text(page[-1].id) if len(rows) > limit else None)

    def items_size(self, name: str, limit: int) -> int:
        """Bytes of a page of items before it is encoded, and then."""
        state = self._transactions.loaded_state
        ranking = None if state is None else state.rankings.get(name)
        if ranking is None:
            return 0
        numbers = min(limit * ranking.spec.features, PAGE_NUMBERS + ranking.spec.features)
        return NUMBER_BYTES * numbers + ITEM_BYTES * min(limit, len(ranking.items))

    def click_window(self, name: str) -> float:
        """The click window of a ranking, in seconds; 0 if it was just deleted."""
        state = self._transactions.loaded_state
        ranking = None if state is None else state.rankings.get(name)
        return 0.0 if ranking is None else ranking.spec.click_window

    @property
    def ranking_count(self) -> int:
        """Number of rankings in memory."""
        state = self._transactions.loaded_state
        return 0 if state is None else len(state.rankings)

    @property
    def baseline_size(self) -> int:
        """Number of items that the baselines of all rankings in memory name."""
        state = self._transactions.loaded_state
        return 0 if state is None else sum(len(each.spec.baseline or ()) for each in state.rankings.values())

    @property
    def last_seq(self) -> int:
        """Seq of the last event in memory, committed or not."""
        state = self._transactions.loaded_state
        return 0 if state is None else state.last_seq

    async def impression(self, impression: str) -> Impression:
        """A list with its reports so far."""
        while True:
            async with self._reading() as state:
                reply = await impression_reply(state, impression)
                if self._transactions.is_current(state):  # else it may show changes whose commit failed
                    return reply

    async def ranking_of(self, impression: str) -> str | None:
        """Name of an impression's ranking, which never changes; None if either does not exist."""
        state = self._transactions.ready_state or await self._transactions.state()
        try:
            ranking = state.rankings_by_id.get((await state.find_impression(impression)).ranking)
        except NotFound:
            return None
        return None if ranking is None else ranking.name

    async def estimates(
        self, name: str, segment: str | None = None, limit: int = 100, person: Sequence[float] | None = None,
        by: str = "",
    ) -> Estimates:  # fmt: skip
        """Estimates of the items, the largest index first, or the largest mean if the policy has no index."""
        async with self._reading(), self._learner(name, segment, by) as learner:
            spec, learned = learner.ranking.spec, learner.ranker.learned

            def estimate(ranker: LoggedRanker) -> list[Estimate]:
                return [Estimate(**row) for row in ranker.estimates(person).rows(limit)]

            try:
                rows = await self._with_copy(learner, estimate)
            except InvalidInput as problem:
                raise Refused(str(problem), "/person") from problem
            return Estimates(ranking=name, segment=segment, policy=spec.policy, learned=learned, items=rows)

    async def explanation(self, impression: str, by: str = "") -> Explanation:
        """Why each item of a list is at its position."""
        async with self._reading() as state:
            one = await existing_impression(state, impression)
            name, segment = await origin_of(state, one)
            async with self._learner(name, segment, by) as learner:
                event = (await state.load_lists([one])).get(one.seq)
                if event is None:
                    raise NotFound(f"The list of this impression cannot be read: {one.damage}")
                made = event
                settings = learner.ranking.settings
                is_known = one.seq > settings.first_event(learner.id)

                def explain(ranker: LoggedRanker) -> list[Reason] | None:
                    shown = logged_list(ranker, made, own=one.seq > settings.policy_seq)
                    return None if shown is None else [Reason(**row) for row in ranker.explain(shown).rows()]

                reasons = await self._with_copy(learner, explain) if is_known else None
            if reasons is None:
                raise NotFound("An earlier policy of the ranking made this list, and it cannot be explained any more.")
            return Explanation(impression=impression, ranking=name, segment=segment, positions=reasons)

    async def next_list(
        self, name: str, segment: str | None = None, person: Sequence[float] | None = None, by: str = ""
    ) -> NextList:
        """The list that would be made next, explained; it is not made."""
        async with self._reading(), self._learner(name, segment, by) as learner:
            spec, learned = learner.ranking.spec, learner.ranker.learned
            pins = all_pins(learner.ranking, ListRequest(), spec.positions) or None

            def explain(ranker: LoggedRanker) -> list[Reason]:
                shown = ranker.rank(positions=spec.positions, person=person, pins=pins)
                return [Reason(**row) for row in ranker.explain(shown).rows()]

            try:
                reasons = await self._with_copy(learner, explain)
            except InvalidInput as problem:
                raise Refused(str(problem), "/person") from problem
            return NextList(ranking=name, segment=segment, policy=spec.policy, learned=learned, positions=reasons)

    async def _with_copy(self, learner: LoadedLearner, work: Callable[[LoggedRanker], T]) -> T:
        """Run work with a copy of a learner's ranker in another thread, since it takes long with many items."""
        policy, name, state = learner.ranking.settings.policy, learner.ranker.name, learner.ranker.state()
        await self._transactions.commit([])  # at once: later it is unknown whether the copy's changes were committed
        return await asyncio.to_thread(lambda: work(LoggedRanker.of(state, policy, name)))

    @asynccontextmanager
    async def _learner(self, name: str, segment: str | None, by: str) -> AsyncIterator[LoadedLearner]:
        """Context of a turn with the learner of a segment, which holds the memory for loading and copying it."""
        while True:
            state = await self._transactions.state()
            ranking = state.ranking(name)
            ranking.check_segment(segment)
            await self._compiler.wait_for(ranking.settings)
            size = TIMES_LEARNER * state.learners.size(ranking, segment) + ranking.list_bytes(None)
            async with self.lane.turn(by), self._transactions.work.reserve(size):
                learner = await state.learners.load(ranking, segment, reserved=True)
                if not self._transactions.is_current(state) or state.rankings.get(name) is not ranking:
                    continue
                if learner is None:
                    which = "without a segment" if segment is None else f"for the segment {segment!r}"
                    raise NotFound(f"In the ranking {name!r}, no list was made {which} yet; ask for one first.")
                yield learner
                return

    async def segments(self, name: str, after: str | None = None, limit: int = 1000) -> list[str]:
        """Segments that have a learner, in order."""
        async with self._reading() as state:
            ranking = state.ranking(name)
            ranking.check_home()
            sources = sources_of(ranking, state.store)

            def read(reader: LogReader) -> list[str]:
                found = [one.reader.segments(one.ranking, after or "", limit) for one in sources(reader)]
                return sorted(chain.from_iterable(found))[:limit]

            return await state.store.read(read)

    async def standing(self, name: str, segment: str | None = None, by: str = "") -> LearnerStanding:
        """What the learner of a segment thinks of all items, of which parts can be read."""
        async with self._reading(), self._learner(name, segment, by) as learner:
            learned = learner.ranker.learned

            def stand(ranker: LoggedRanker) -> LearnerStanding:
                can = ranker.capabilities
                weights = ranker.preferences().rows() if can.needs_features else []
                changes = ranker.changes().rows() if can.detects else []
                return LearnerStanding(
                    learned, ranker.estimate_rows(), [tuple(each.values()) for each in weights],
                    [tuple(each.values()) for each in changes],
                )  # fmt: skip

            try:
                return await self._with_copy(learner, stand)
            except InvalidInput as problem:
                raise Refused(str(problem), "/person") from problem

    def ranking_id(self, name: str) -> int:
        """The id of a ranking, by which the log names it; 0 if there is none."""
        state = self._transactions.loaded_state
        ranking = None if state is None else state.rankings.get(name)
        return 0 if ranking is None else ranking.id

    @property
    def ranking_ids(self) -> Collection[int]:
        """The ids of all rankings in memory."""
        state = self._transactions.loaded_state
        return () if state is None else state.rankings_by_id.keys()

    @property
    def ranking_names(self) -> list[str]:
        """The names of all rankings in memory, in order; divided ones are named by their first partition."""
        state = self._transactions.loaded_state
        return [] if state is None else sorted(name for name, one in state.rankings.items() if one.is_home)

    async def items_with(self, name: str, features: Sequence[int], count: int) -> list[list[ItemId]]:
        """For each of some features, by number from 0, the few items that have most of it."""
        async with self._reading() as state:
            ranking = state.ranking(name)
            known = [(id, one.features) for id, one in ranking.items.items() if one.features is not None]
        if not features or not known:
            return [[] for _ in features]

        def find() -> list[list[ItemId]]:
            table = np.array([row for _, row in known])
            found: list[list[ItemId]] = []
            for feature in features:
                column = table[:, feature] if feature < table.shape[1] else np.zeros(len(known))
                order = np.argsort(-column, kind="stable")[:count].tolist()
                found.append([known[n][0] for n in order if column[n] > 0.0])
            return found

        return await asyncio.to_thread(find)

    def hidden_items(self, name: str, items: Collection[ItemId]) -> set[ItemId]:
        """Which of some items are hidden; unknown ids are ignored."""
        state = self._transactions.loaded_state
        ranking = None if state is None else state.rankings.get(name)
        known = {} if ranking is None else ranking.items
        return {id for id in items if id in known and known[id].hidden}

    def log_pages(self, after: int, kinds: Sequence[str]) -> LogPages[RowPage]:
        """The events of some kinds of all rankings, in pages."""
        return LogPages(self._transactions, KindPages(kinds, after))

    def divided_rankings(self) -> dict[int, DivisionPlaces]:
        """The divided rankings about which this partition decides, by id."""
        state = self._transactions.loaded_state
        rankings = () if state is None else state.rankings.values()
        store = self._transactions.store
        return {one.id: places_of(one, store) for one in rankings if one.is_divided and one.is_home}

    def division_pages(
        self, places: DivisionPlaces, after: Sequence[int], kinds: Sequence[str]
    ) -> LogPages[DivisionRows]:
        """The events of some kinds of a ranking in its other divisions, in pages."""
        return LogPages(self._transactions, DivisionPages(places, after, kinds))

    async def segment_pages(self, name: str, segment: str, after: int = 0) -> LogPages[RowPage]:
        """The events of a segment, in pages; none if it has no learner."""
        async with self._reading() as state:
            ranking = state.ranking(name)
            ranking.check_segment(segment)
            id = ranking.id
            row = await state.store.read(lambda reader: reader.learner(id, segment))
        return LogPages(self._transactions, LearnerPages(-1 if row is None else row.id, after))

    async def event_pages(
        self, name: str, after: int = 0, kinds: Collection[str] | None = None, cursor: str | None = None
    ) -> LogPages[EventPage | DividedPage]:
        """The log of a ranking, or its events of some kinds, in pages; other requests run between two of them.

        That of a divided ranking is read behind a cursor.
        """
        async with self._reading() as state:
            ranking = state.ranking(name)
            ranking.check_home()
        divisions = ranking.settings.divisions
        begin = (0,) * divisions if cursor is None else read_cursor(cursor, divisions)
        if ranking.is_divided:
            if after:
                raise Refused(
                    f"The ranking {name!r} is divided, and each division counts its own events; give the cursor of the "
                    f"last event instead of after.", "/after",
                )  # fmt: skip
            return LogPages(self._transactions, DividedPages(places_of(ranking, state.store), begin, kinds))
        after = after if cursor is None else begin[0]
        return LogPages(self._transactions, EventPages(ranking.id, ranking.name, after, kinds))

    async def recent_pages(self, name: str, segment: str | None, after: int, limit: int) -> LogPages[EventPage]:
        """The latest events of a ranking, or of a segment, behind `after`, in pages."""
        async with self._reading() as state:
            ranking = state.ranking(name)
        return LogPages(self._transactions, RecentPages(ranking.id, ranking.name, segment, after, limit))

    async def open_impressions(self) -> int:
        """Number of lists that wait for reports, deferred ones included."""
        if not self._transactions.is_open:
            return 0
        if self._count is None or (self._count.done() and monotonic() > self._counted + COUNT_EVERY):
            self._counted = monotonic()
            self._count = asyncio.create_task(asyncio.to_thread(_count_open, self._transactions.store))
        return await asyncio.shield(self._count)


def _count_open(store: Store) -> int:
    """Count open impressions in another thread: with hundreds of thousands it takes long."""
    reader = store.reader()
    try:
        return reader.open_impressions()
    finally:
        reader.close()
