"""Which field of a request an error is about, found only once there is one."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping

import msgspec

from toplist.core.problem import InvalidInput, refuse
from toplist.service.errors import Refused
from toplist.service.live.ranking import TOO_LARGE, RankingState, wrong_width
from toplist.service.wire import IS_PLACE, ListRequest, RankingSpec, too_large

# Of a ranking's settings, those that are told to be wrong before others that do not go with them.
SUSPECTS = ("join", "prior_strength", "prior_mean", "new_per_list", "steps", "positions", "seed", "policy")


def at_fault(
    spec: RankingSpec, was: RankingSpec, works: Callable[[RankingSpec], bool], given: Container[str] = SUSPECTS
) -> str:
    """The setting that a problem is about: one of the `given` that is not as it was, best one that would work so."""
    other = [field for field in SUSPECTS if field in given and getattr(spec, field) != getattr(was, field)]
    for field in other if len(other) > 1 else ():
        if works(msgspec.structs.replace(spec, **{field: getattr(was, field)})):
            return f"/{field}"
    return f"/{other[0]}" if other and "policy" not in other else "/policy"


def pointed(problem: Exception, request: ListRequest, ranking: RankingState) -> Refused:
    """The error with the field that it is about, where that can be told."""
    for place in request.pins:
        if not IS_PLACE(place):
            accepted, advice = "a whole number without zeros before it", "positions are counted from 1"
            return Refused(str(refuse("A pinned position", place, accepted, advice)), f"/pins/{escaped(place)}")
    return Refused(str(problem), _field(request, ranking))


def pinned(pins: Mapping[str, str]) -> dict[int, str]:
    """Items by their positions; `pointed` says what is wrong where this fails."""
    if not all(map(IS_PLACE, pins)):
        raise InvalidInput("A pinned position is no whole number.")
    return {int(place): item for place, item in pins.items()}


def length(request: ListRequest, spec: RankingSpec) -> int:
    """How many items a list shall have; its learner may have places for more."""
    if request.positions is None:
        return spec.positions
    if request.positions > spec.positions:
        accepted = f"at most {spec.positions}, the ranking's own"
        raise refuse("positions", request.positions, accepted, "change the ranking's positions first")
    return request.positions


def escaped(name: str) -> str:
    """A name within a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def _field(request: ListRequest, ranking: RankingState) -> str | None:
    items, spec = ranking.items, ranking.spec
    if request.positions is not None and request.positions > spec.positions:
        return "/positions"
    for name, given in (("among", request.among), ("exclude", request.exclude)):
        if given and not ranking.can.takes_subsets:
            return f"/{name}"
        at = _first_wrong(given or (), items)
        if at is not None:
            return f"/{name}/{at}"
    wanted = request.positions or spec.positions
    seen: set[str] = set()
    for place, item in request.pins.items():
        wrong = item not in items or items[item].hidden or item in request.exclude or item in seen
        if wrong or not 1 <= int(place) <= wanted or not ranking.can.takes_pins:
            return f"/pins/{escaped(place)}"
        seen.add(item)
    if (
        (request.person is None) != (spec.person == 0)
        or len(request.person or ()) != spec.person
        or too_large(request.person)
    ):
        return "/person"
    if request.features is not None:
        for item in request.features:
            if item not in items or len(request.features[item]) != spec.features or too_large(request.features[item]):
                return f"/features/{escaped(item)}"
        return "/features"
    return None


def check_sizes(request: ListRequest, ranking: RankingState) -> None:
    """Refuse features from which nothing could be learned, by this policy or a later one; `pointed` says which."""
    features, width = request.features or {}, ranking.spec.features
    if too_large(request.person) or any(map(too_large, features.values())):
        raise InvalidInput(TOO_LARGE)
    for item, row in features.items():
        if item not in ranking.items:
            raise refuse("features", item, "of items that there are", "put it first, or leave it out")
        if len(row) != width:
            raise wrong_width(f"features of {item!r}", row, width)


def _first_wrong(given: Iterable[str], items: Container[str]) -> int | None:
    seen: set[str] = set()
    for n, item in enumerate(given):
        if item in seen or item not in items:
            return n
        seen.add(item)
    return None
