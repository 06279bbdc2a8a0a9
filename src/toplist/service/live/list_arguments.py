"""What a learner needs to make a list, from the request for it."""

from __future__ import annotations

from typing import Any

import msgspec

from toplist.service.live.ranking import LiveRanking
from toplist.service.live.request_errors import check_features, list_length, pins_by_position
from toplist.service.log.events import rows_by_item
from toplist.service.wire import ListRequest


def scaled_request(request: ListRequest, ranking: LiveRanking) -> ListRequest:
    """A request whose features are no larger than those of the items; the log has these, for later policies."""
    if request.features is None:
        return request
    check_features(None, rows_by_item(request.features), ranking)
    return msgspec.structs.replace(request, features=ranking.scaled_features(request.features))


def list_arguments(ranking: LiveRanking, request: ListRequest) -> dict[str, Any]:
    """The arguments of `LoggedRanker.make`; `request_error` explains errors."""
    features = None if request.features is None else rows_by_item(request.features)
    if request.person or features:
        check_features(request.person, features or {}, ranking)
    spec = ranking.spec
    return {
        "among": request.among,
        "positions": spec.positions if request.positions is None else list_length(request.positions, spec),
        "exclude": request.exclude or None,
        "pins": pins_by_position(request.pins) if request.pins else None,
        "person": request.person,
        "features": features if ranking.can.needs_features else None,
    }
