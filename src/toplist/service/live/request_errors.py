"""Finds the field of a request that an error is about, once there is an error."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence

import msgspec

from toplist.core.item_id import ItemId, item_of_text
from toplist.core.problem import InvalidInput, refuse
from toplist.service.errors import Refused
from toplist.service.live.ranking import TOO_LARGE, LiveRanking, wrong_width
from toplist.service.wire import IS_PLACE, ListRequest, RankingSpec, too_large

FEW_IDS = 1000  # are looked at in any case: the error names the one that is unknown or there twice

# Settings of a ranking in the order in which they are blamed if they do not go together.
SUSPECTS = (
    "explore",
    "mode",
    "join",
    "prior_strength",
    "prior_mean",
    "new_per_list",
    "pool",
    "steps",
    "positions",
    "seed",
    "policy",
)


def setting_at_fault(
    spec: RankingSpec, before: RankingSpec, works: Callable[[RankingSpec], bool], given: Container[str] = SUSPECTS
) -> str:
    """Pointer to the setting that a problem is about: a changed one of the `given`, best one whose old value works."""
    changed = [field for field in SUSPECTS if field in given and getattr(spec, field) != getattr(before, field)]
    for field in changed if len(changed) > 1 else ():
        if works(msgspec.structs.replace(spec, **{field: getattr(before, field)})):
            return f"/{field}"
    return f"/{changed[0]}" if changed and "policy" not in changed else "/policy"


def request_error(problem: Exception, request: ListRequest, ranking: LiveRanking) -> Refused:
    """The error of a request for a list, with a pointer to the field at fault if that can be told."""
    for position in request.pins:
        if not IS_PLACE(position):
            accepted, advice = "a whole number without zeros before it", "positions are counted from 1"
            problem = refuse("A pinned position", position, accepted, advice)
            return Refused(str(problem), f"/pins/{pointer_step(position)}")
    return Refused(str(problem), _field(request, ranking))


def pins_by_position(pins: Mapping[str, ItemId]) -> dict[int, ItemId]:
    """Pinned items by position; `request_error` explains its errors."""
    if not all(map(IS_PLACE, pins)):
        raise InvalidInput("A pinned position is not a whole number.")
    return {int(position): item for position, item in pins.items()}


def list_length(positions: int, spec: RankingSpec) -> int:
    """Number of items that a request asks for; its learner may have positions for more than the ranking."""
    if positions > spec.positions:
        accepted = f"at most {spec.positions}, the ranking's own"
        raise refuse("positions", positions, accepted, "change the ranking's positions first")
    return positions


def pointer_step(name: str) -> str:
    """A name as one step of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def _field(request: ListRequest, ranking: LiveRanking) -> str | None:
    items, spec = ranking.items, ranking.spec
    if request.positions is not None and request.positions > spec.positions:
        return "/positions"
    for name, given in (("among", request.among), ("exclude", request.exclude)):
        if given and not ranking.can.takes_subsets:
            return f"/{name}"
        at = _first_unknown_or_repeated(given or (), items)
        if at is not None:
            return f"/{name}/{at}"
    wanted = request.positions or spec.positions
    excluded, seen = set(request.exclude), set[ItemId]()
    for position, item in request.pins.items():
        wrong = item not in items or items[item].hidden or item in excluded or item in seen
        if wrong or not 1 <= int(position) <= wanted or not ranking.can.takes_pins:
            return f"/pins/{pointer_step(position)}"
        seen.add(item)
    if (
        (request.person is None) != (spec.person == 0)
        or len(request.person or ()) != spec.person
        or too_large(request.person)
    ):
        return "/person"
    if request.features is not None:
        for text, row in request.features.items():
            if not _is_known(text, items) or len(row) != spec.features or too_large(row):
                return f"/features/{pointer_step(text)}"
        return "/features"
    return None


def _is_known(text: str, items: Container[ItemId]) -> bool:
    try:
        return item_of_text(text) in items
    except InvalidInput:
        return False


def check_counts(request: ListRequest, ranking: LiveRanking) -> None:
    """Refuse far more ids than a ranking has items, before each of them is looked at."""
    if not (request.among or request.exclude or request.features):
        return
    most = max(FEW_IDS, len(ranking.items))
    for name, given in (("among", request.among), ("exclude", request.exclude), ("features", request.features)):
        if given and len(given) > most:
            accepted = f"at most {len(ranking.items)}, as many as the ranking has items"
            raise refuse(f"The number of items of {name}", len(given), accepted, "name each once")


def check_features(
    person: Sequence[float] | None, features: Mapping[ItemId, Sequence[float]], ranking: LiveRanking
) -> None:
    """Refuse features from which neither this policy nor a later one could learn."""
    width = ranking.spec.features
    for item, row in features.items():  # before any row is read, since these may be long
        if item not in ranking.items:
            raise refuse("features", item, "of the ranking's items", "put it first, or leave it out")
        if len(row) != width:
            raise wrong_width(f"features of {item!r}", row, width)
    if too_large(person) or any(map(too_large, features.values())):
        raise InvalidInput(TOO_LARGE)


def _first_unknown_or_repeated(given: Iterable[ItemId], items: Container[ItemId]) -> int | None:
    seen: set[ItemId] = set()
    for n, item in enumerate(given):
        if item in seen or item not in items:
            return n
        seen.add(item)
    return None
