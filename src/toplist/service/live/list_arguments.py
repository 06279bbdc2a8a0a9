"""What a learner needs to make a list, from the request for it."""

from __future__ import annotations

from typing import Any

import msgspec

from toplist.core.item_id import ItemId
from toplist.service.live.ranking import LiveRanking
from toplist.service.live.request_errors import check_counts, check_features, list_length, pins_by_position
from toplist.service.log.events import rows_by_item
from toplist.service.wire import ListRequest


def scaled_request(request: ListRequest, ranking: LiveRanking) -> ListRequest:
    """A request whose features are no larger than those of the items; the log has these, for later policies."""
    if request.features is None:
        return request
    check_counts(request, ranking)
    check_features(None, rows_by_item(request.features), ranking)
    return msgspec.structs.replace(request, features=ranking.scaled_features(request.features))


def list_arguments(ranking: LiveRanking, request: ListRequest) -> dict[str, Any]:
    """The arguments of `LoggedRanker.make` that are given; `request_error` explains errors."""
    check_counts(request, ranking)
    features = None if request.features is None else rows_by_item(request.features)
    if request.person or features:
        check_features(request.person, features or {}, ranking)
    spec = ranking.spec
    positions = spec.positions if request.positions is None else list_length(request.positions, spec)
    arguments: dict[str, Any] = {"positions": positions}
    if request.among is not None:
        arguments["among"] = request.among
    if request.exclude:
        arguments["exclude"] = request.exclude
    if request.pins or spec.pins:
        arguments["pins"] = all_pins(ranking, request, positions)
    if request.person is not None:
        arguments["person"] = request.person
    if features is not None and ranking.can.needs_features:
        arguments["features"] = features
    return arguments


def all_pins(ranking: LiveRanking, request: ListRequest, positions: int) -> dict[int, ItemId]:
    """The pins of a request, and those of the ranking as far as the list can have them.

    A pin of the ranking gives way to the request, and to an item that is gone or hidden: it never refuses a list.
    """
    pins = pins_by_position(request.pins)
    left_out = {*request.exclude, *pins.values()}
    eligible = None if request.among is None else set(request.among)
    for text, item in ranking.spec.pins.items():
        position, known = int(text), ranking.items.get(item)
        is_free = position <= positions and position not in pins and item not in left_out
        if is_free and known is not None and not known.hidden and (eligible is None or item in eligible):
            pins[position] = item
    return pins
