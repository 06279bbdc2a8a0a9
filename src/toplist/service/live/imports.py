"""Takes in saved rankers: a new learner begins with what a ranker has learned elsewhere."""

from __future__ import annotations

import asyncio

from toplist.core.problem import InvalidInput
from toplist.ranker.learned_state import LearnedState, read_learned
from toplist.service.errors import Conflict, Refused
from toplist.service.live.compiler import PolicyCompiler
from toplist.service.live.items import Items
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.segments import check_segment_room
from toplist.service.live.state import LiveState
from toplist.service.live.transaction import Transactions
from toplist.service.live.work_memory import TIMES_LEARNER
from toplist.service.log.events import ImportedEvent, ItemsEvent, encode
from toplist.service.log.replay import new_ranker
from toplist.service.log.settings import apply_items
from toplist.service.store.row_kinds import IMPORTED, EventRow, Row
from toplist.service.wire import ImportReply, Item

FIELD = "/ranker"


class Imports:
    """Takes in saved rankers."""

    def __init__(
        self, transactions: Transactions, compiler: PolicyCompiler, items: Items, most_segments: int, most_bytes: int
    ) -> None:
        self._transactions, self._compiler, self._items = transactions, compiler, items
        self._most_segments, self._most_bytes = most_segments, most_bytes

    async def take(self, name: str, segment: str | None, content: bytes, by: str = "") -> ImportReply:
        """Begin the learner of a segment with what a saved ranker has learned; its items are put if they are new.

        Refused if the ranker does not fit the ranking, and a conflict if the segment has a learner already.
        """
        (await self._transactions.state()).ranking(name).check_segment(segment)
        try:
            learned = await asyncio.to_thread(read_learned, content, self._most_bytes)
        except InvalidInput as problem:
            raise Refused(str(problem), FIELD) from problem
        size = TIMES_LEARNER * sum(array.nbytes for array in learned.arrays.values())
        async with self._transactions.work.reserve(size):
            state, ranking = await self._ready(name, segment)
            with self._transactions.change():
                rows, items = self._rows(state, ranking, segment, learned, by)
            await self._transactions.commit(rows)
        return ImportReply(
            ranking=name, segment=segment, policy=ranking.spec.policy, learned=learned.learned, items=items
        )

    async def _ready(self, name: str, segment: str | None) -> tuple[LiveState, LiveRanking]:
        """The state and the ranking, once nothing is left to wait for before the change."""
        while True:
            state = await self._transactions.state()
            ranking = state.ranking(name)
            ranking.check_segment(segment)
            settings = ranking.settings
            if ranking.is_changing_policy:
                raise Conflict(f"The ranking {name!r} is getting another policy; wait for that.")
            await self._compiler.wait_for(settings)
            await state.learners.make_room(ranking.learner_size)
            if await state.learners.find_row(ranking, segment) is not None:
                what = "a learner already" if segment is None else "a learner of this segment already"
                raise Conflict(f"The ranking {name!r} has {what}; take a ranker in before the first list.", "/segment")
            is_same = state.rankings.get(name) is ranking and ranking.settings is settings
            if is_same and not ranking.is_changing_policy and self._transactions.is_current(state):
                return state, ranking

    def _rows(
        self, state: LiveState, ranking: LiveRanking, segment: str | None, learned: LearnedState, by: str
    ) -> tuple[list[Row], int]:
        """The rows of the new items and of the new learner, and the number of items; all checks come first."""
        check_segment_room(ranking, segment, self._most_segments)
        event = self._new_items(state, ranking, learned)
        self._check_fit(ranking, segment, learned, event)
        rows: list[Row] = self._items.change_rows(state, ranking, event, by) if event.put else []
        now, created, seq = self._transactions.clock(), state.next_seq(), state.next_seq()
        learner, more = state.learners.create(ranking, segment, created, now)
        learner.ranker.begin_from(learned)
        learner.count_event(seq)
        state.learners.measure(learner)
        body = encode(ImportedEvent.of(learned, by))
        rows += [*more, EventRow(seq, now, ranking.id, learner.id, IMPORTED, None, body)]
        return [*rows, *state.learners.evict()], len(event.put)

    def _new_items(self, state: LiveState, ranking: LiveRanking, learned: LearnedState) -> ItemsEvent:
        """The event of putting the ranker's items that the ranking lacks."""
        features = learned.own_features() if ranking.can.needs_features else None
        missing = [
            Item(id=id, features=None if features is None else features[slot].tolist())
            for slot, id in enumerate(learned.names)
            if id not in ranking.items
        ]
        if missing and ranking.is_divided:
            raise Refused(
                f"The saved ranker has the item {missing[0].id!r}, which the ranking {ranking.name!r} lacks; put all "
                f"items first, since the ranking is divided.", FIELD,
            )  # fmt: skip
        try:
            return self._items.checked_items(state, ranking, missing)
        except Refused as problem:
            raise Refused(str(problem), FIELD) from problem

    def _check_fit(self, ranking: LiveRanking, segment: str | None, learned: LearnedState, event: ItemsEvent) -> None:
        """Refuse a ranker that the learner cannot begin with, before anything is changed."""
        items = dict(ranking.items)
        apply_items(items, 0, event)
        try:
            new_ranker(ranking.settings, segment, items).begin_from(learned)
        except InvalidInput as problem:
            raise Refused(f"The saved ranker does not fit the ranking {ranking.name!r}: {problem}", FIELD) from problem
