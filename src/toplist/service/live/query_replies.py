"""Items and impressions as questions about them are answered."""

from __future__ import annotations

from itertools import islice

from toplist.core.item_id import ItemId, twin_id
from toplist.service.clock import as_time
from toplist.service.errors import NotFound
from toplist.service.live.impression_state import UNKNOWN_IMPRESSION, ImpressionState
from toplist.service.live.ranking import LiveRanking, item_reply
from toplist.service.live.state import LiveState
from toplist.service.log.events import ListEvent, decode_learner, decode_list
from toplist.service.log.impression_id import id_text
from toplist.service.log.replay import UNREADABLE
from toplist.service.log.settings import ItemState, ItemStates
from toplist.service.store.row_kinds import STATE_NAMES
from toplist.service.wire import Impression, Item

DELETED = "The ranking or the segment of this list was deleted, and the list with it."


def items_behind(ranking: LiveRanking, after: ItemId | None, limit: int) -> list[Item]:
    """Items in the order in which they were added, those behind an item."""
    ids = iter(ranking.items)
    if after is not None:
        known_item(ranking, after)
        next(id for id in ids if id == after)
    return [item_reply(id, ranking.items[id]) for id in islice(ids, limit)]


def known_item(ranking: LiveRanking, item: ItemId) -> ItemState:
    """An item of a ranking; `NotFound` if there is none."""
    if item not in ranking.items:
        raise NotFound(f"There is no item {item!r} in the ranking {ranking.name!r}; {_advice(item, ranking.items)}.")
    return ranking.items[item]


def _advice(item: ItemId, items: ItemStates) -> str:
    """What to do about an unknown item."""
    twin = twin_id(item)
    if twin not in items:
        return "put it first"
    return f"the integer {twin} is written %09{twin} here" if isinstance(twin, int) else f"perhaps you mean {twin!r}"


async def existing_impression(state: LiveState, impression: str) -> ImpressionState:
    """An impression whose ranking and segment are not deleted."""
    one = await state.find_impression(impression)
    if state.is_deleted(one):
        raise NotFound(DELETED)
    return one


async def origin_of(state: LiveState, one: ImpressionState) -> tuple[str, str | None]:
    """Name of an impression's ranking, and its segment."""
    created = (await state.load_events([one.learner])).get(one.learner)
    ranking = state.rankings_by_id.get(one.ranking)
    if ranking is None:
        raise NotFound(DELETED)
    return ranking.name, None if created is None else decode_learner(created.body).segment


def _readable_list(body: bytes) -> ListEvent | None:
    """The event of a list; None if it is damaged, which is said where it matters."""
    try:
        return decode_list(body)
    except UNREADABLE:
        return None


async def impression_reply(state: LiveState, impression: str) -> Impression:
    """A list with its reports so far."""
    one = await existing_impression(state, impression)
    ranking, segment = await origin_of(state, one)
    event = (await state.load_events([one.seq])).get(one.seq)
    if event is None:
        raise NotFound(UNKNOWN_IMPRESSION)
    if one.items is None:
        await state.load_lists([one])
    if one.items is None:
        raise NotFound(f"The list of this impression cannot be read: {one.damage}")
    merged, made = one.outcome.merged, _readable_list(event.body)
    seen = None if merged.seen is None else {str(position): p for position, p in merged.seen.items()}
    return Impression(
        impression=id_text(one.id), ranking=ranking, segment=segment, items=list(one.items),
        state=STATE_NAMES[one.state], made=as_time(event.at), due=as_time(one.due), clicks=list(merged.clicks),
        left=merged.left, seen=seen, reason=one.outcome.reason,
        group=None if made is None else made.group, would_show=None if made is None else made.would_show,
    )  # fmt: skip
