"""Groups of lists: which visitors get the baseline, and what it is."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import chain, islice

from toplist.core.item_id import ItemId
from toplist.service.live.ranking import LiveRanking
from toplist.service.log.events import HOLDOUT, POLICY, SHADOW, ListPlacement
from toplist.service.wire import ListRequest
from toplist.uplift import is_held_out, visitor_hash

SALT_BYTES = 16


def new_salt() -> str:
    """A salt for the visitors of a ranking, in hex."""
    return os.urandom(SALT_BYTES).hex()


def place_list(ranking: LiveRanking, request: ListRequest, chance: bytes) -> ListPlacement:
    """The group of a list of a ranking with groups.

    It depends on the visitor; without one on the request id, so that a retried request keeps its group; and without
    either on random bytes. Of the visitor, the hash is kept, and only if it is of use.
    """
    settings = ranking.settings
    if settings.shows_baseline:
        return ListPlacement(SHADOW)
    spec, salt, hashed = settings.spec, bytes.fromhex(settings.salt), b""
    if request.visitor is not None:
        decides = hashed = visitor_hash(salt, request.visitor)
    elif request.request_id is not None:
        decides = visitor_hash(salt, request.request_id, "request")
    else:
        decides = chance
    in_holdout = is_held_out(decides, spec.holdout)
    learns = spec.holdout_learns or not in_holdout
    return ListPlacement(HOLDOUT if in_holdout else POLICY, hashed, request.segment is not None, learns)


def baseline_list(
    ranking: LiveRanking, request: ListRequest, pinned: Iterable[tuple[int, ItemId]], size: int
) -> list[ItemId]:
    """The list that a request gets without learning: the eligible items in the order of the baseline.

    Parameters
    ----------
    ranking : LiveRanking
        The ranking. Items that its baseline does not name come after the others, in the order in which they were added.
    request : ListRequest
        The request, which was checked.
    pinned : iterable of (int, str or int)
        Position and item of the pins, as the list of the policy has them.
    size : int
        Length of the list.
    """
    fixed = dict(pinned)
    left_out = {*request.exclude, *fixed.values()}
    items, first = ranking.items, ranking.spec.baseline or ()
    order: Iterable[ItemId] = chain(first, items)
    if request.among is not None:
        ranks = {item: n for n, item in enumerate(first)}
        order = sorted(request.among, key=lambda item: (ranks.get(item, len(ranks)), items[item].place))
    rest = islice((item for item in _eligible(order, ranking) if item not in left_out), size - len(fixed))
    return [fixed[position] if position in fixed else next(rest) for position in range(1, size + 1)]


def _eligible(order: Iterable[ItemId], ranking: LiveRanking) -> Iterable[ItemId]:
    """Items that are not hidden, each once, as far as they are asked for."""
    seen: set[ItemId] = set()
    for item in order:
        state = ranking.items.get(item)
        if state is not None and not state.hidden and item not in seen:
            seen.add(item)
            yield item
