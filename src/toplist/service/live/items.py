"""Adds, changes and removes the items of rankings."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

import msgspec
import numpy as np

from toplist.core.item_id import ItemId, item_text
from toplist.service.errors import Refused
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.state import LiveState
from toplist.service.live.transaction import Transactions
from toplist.service.live.work_memory import check_size
from toplist.service.log.events import ItemsEvent, encode
from toplist.service.store.divisions import division_parts
from toplist.service.store.row_kinds import ITEMS, WHOLE_RANKING, DeleteItem, EventRow, ItemRow, Row
from toplist.service.wire import Item, ItemsChanged

LONGEST_READING = 1.0  # seconds that a change of a divided ranking waits for other owners that read the one before


class Items:
    """Adds, changes and removes items."""

    def __init__(self, transactions: Transactions, most_bytes: int) -> None:
        self._transactions, self._most_bytes = transactions, most_bytes
        self._turn: asyncio.Lock | None = None  # made in the event loop
        self._reading: asyncio.Future[object]  # done once other owners have read the last change

    async def put(self, name: str, items: Sequence[Item], by: str = "") -> ItemsChanged:
        """Add or change items, as `by` asks; fields that are left out stay as they were."""
        async with self._way_made(name):
            state, ranking = await self.ready_ranking(name)
            event = self.checked_items(state, ranking, items)
            added = sum(put.id not in ranking.items for put in event.put)
            await self._transactions.commit(self.change_rows(state, ranking, event, by) if event.put else [])
        changed = len(event.put) - added
        return ItemsChanged(added=added, changed=changed, unchanged=len(items) - len(event.put))

    @asynccontextmanager
    async def _way_made(self, name: str) -> AsyncIterator[None]:
        """Context of a change of a ranking; of a divided one, other owners are asked to let it by, one at a time."""
        ranking = (await self._transactions.state()).ranking(name)
        ranking.check_home()
        if not ranking.is_divided:
            yield
            return
        if self._turn is None:
            self._turn, self._reading = asyncio.Lock(), asyncio.ensure_future(asyncio.sleep(0))
        async with self._turn:
            with suppress(TimeoutError):
                async with asyncio.timeout(LONGEST_READING):
                    await asyncio.shield(self._reading)
            await asyncio.sleep(max(0.0, self._transactions.change_pause))
            store, others = self._transactions.store, self._transactions.others
            parts = division_parts(store.part, ranking.settings.divisions, store.parts)[1:]
            await others.hold(parts)
            try:
                yield
            finally:
                self._reading = asyncio.ensure_future(others.go_on(parts))

    async def ready_ranking(self, name: str) -> tuple[LiveState, LiveRanking]:
        """A ranking whose items may be changed: its learners may have to apply earlier changes first."""
        while True:
            state = await self._transactions.state()
            ranking = state.ranking(name)
            ranking.check_home()
            if not state.learners.must_trim(ranking, sum(one.change_bytes for one in state.rankings.values())):
                return state, ranking
            await state.learners.trim_changes(ranking)

    def checked_items(self, state: LiveState, ranking: LiveRanking, items: Sequence[Item]) -> ItemsEvent:
        """The event of putting items; refused if the ranking cannot have them, or there is no memory for them."""
        event = ranking.checked_items(items)
        added = sum(put.id not in ranking.items for put in event.put)
        if added:
            self._check_room(state, ranking, added)
            check_size(ranking.settings, len(ranking.items) + added, self._transactions.work, "/items")
        return event

    def _check_room(self, state: LiveState, ranking: LiveRanking, added: int) -> None:
        """Refuse items for which there is no memory."""
        taken = sum(one.item_bytes * len(one.items) for one in state.rankings.values())
        if taken + added * ranking.item_bytes > self._most_bytes:
            raise Refused(
                f"The items of all rankings would take {taken + added * ranking.item_bytes >> 20} MB, but "
                f"{self._most_bytes >> 20} MB are the most; put or keep fewer, or raise limits.items_memory.", "/items",
            )  # fmt: skip

    async def remove(self, name: str, ids: Sequence[ItemId], by: str = "") -> int:
        """Remove items, which are in no list from then on; unknown ids are ignored. Returns the number removed."""
        async with self._way_made(name):
            state, ranking = await self.ready_ranking(name)
            ranking.check_removable(ids)
            known = [id for id in dict.fromkeys(ids) if id in ranking.items]
            rows = self.change_rows(state, ranking, ItemsEvent(removed=known), by) if known else []
            await self._transactions.commit(rows)
        return len(known)

    def change_rows(self, state: LiveState, ranking: LiveRanking, event: ItemsEvent, by: str) -> list[Row]:
        """Change the items in memory; returns the rows of the change."""
        with self._transactions.change():
            seq = state.next_seq()
            ranking.change_items(seq, event)
        body = encode(msgspec.structs.replace(event, by=by))
        rows: list[Row] = [EventRow(seq, self._transactions.clock(), ranking.id, WHOLE_RANKING, ITEMS, None, body)]
        for put in event.put:
            place, features, hidden, prior = ranking.items[put.id]
            row = None if features is None else features.tobytes()
            known = None if prior is None else np.array(prior).tobytes()
            rows.append(ItemRow(ranking.id, item_text(put.id), place, row, hidden, known))
        rows += [DeleteItem(ranking.id, item_text(id)) for id in event.removed]
        return ranking.shared(ranking.settings, rows)
