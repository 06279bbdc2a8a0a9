"""Requests for lists, and reports about them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from toplist.core.item_id import ItemId, item_text
from toplist.service.client.arguments import CLICKS, NUMBERS, elements, ids, item_id, mapping, optional_text
from toplist.service.client.client_request import ClientRequest, impression_path, ranking_path
from toplist.service.wire import Explanation, Impression, ListReply, ListRequest, Report, ReportReply

Click = ItemId | Mapping[str, Any]  # a 1-based position, or an item, or {"position": ...}, or {"item": ...}


def make_list(
    name: str,
    *,
    segment: str | None = None,
    positions: int | None = None,
    among: Sequence[ItemId] | None = None,
    exclude: Sequence[ItemId] = (),
    pins: Mapping[int, ItemId] | None = None,
    person: Sequence[float] | None = None,
    features: Mapping[ItemId, Sequence[float]] | None = None,
    visitor: str | None = None,
    request_id: str | None = None,
    deferred: bool = False,
    propensities: bool | None = None,
    token: bool = False,
) -> ClientRequest[ListReply]:
    """Ask for a list to show.

    Parameters
    ----------
    name : str
        Name of the ranking.
    segment : str or None, default None
        Segment of the visitors, such as a query, with a learner of its own; None: the learner of lists without one.
    positions : int or None, default None
        Length of the list; None: that of the ranking, which is the longest.
    among : sequence of str or int, or None, default None
        Eligible items; None: all.
    exclude : sequence of str or int, default ()
        Items to leave out.
    pins : mapping of int to str or int, or None, default None
        Items by the 1-based position that they must have.
    person : sequence of float or None, default None
        Features of the visitor, for policies that use them.
    features : mapping of str or int to sequence of float, or None, default None
        Features of items for this list.
    visitor : str or None, default None
        Id of the visitor, who stays in one group if the ranking has a holdout; only a hash of it is stored.
    request_id : str or None, default None
        Requests with the same id get the same list; None: a new id, so that a retry gets the list of the first attempt.
    deferred : bool, default False
        Whether the click window opens only once the list is activated or reported.
    propensities : bool or None, default None
        Whether the reply and the log have the probability of what is shown; None: as the ranking says.
    token : bool, default False
        Whether the reply has a token, by which the browser that shows the list can report on it.

    Returns
    -------
    ListReply
        The items in order, and the id of the impression for `report`.
    """
    request = ListRequest(
        segment=optional_text("segment", segment),
        positions=positions,
        among=None if among is None else ids("among", among),
        exclude=ids("exclude", exclude),
        pins={} if pins is None else pins_by_text(pins),
        person=None if person is None else elements("person", person, NUMBERS),
        features=None if features is None else _rows(features),
        visitor=optional_text("visitor", visitor),
        request_id=request_id or str(uuid.uuid4()),
        deferred=deferred,
        propensities=propensities,
        token=token,
    )
    return ClientRequest("POST", f"{ranking_path(name)}/lists", ListReply, request)


def pins_by_text(given: Mapping[int, ItemId]) -> dict[str, ItemId]:
    """Pinned items by position, as JSON has them."""
    pins = mapping("pins", given, "write {1: 'tea'}")
    return {str(position): item_id(f"pins[{position!r}]", item) for position, item in pins.items()}


def _rows(given: Mapping[ItemId, Sequence[float]]) -> dict[str, list[float]]:
    features = mapping("features", given, "write {'tea': [0.5, 1.0]}")
    return {
        item_text(item_id("A key of features", item)): elements(f"features[{item!r}]", row, NUMBERS)
        for item, row in features.items()
    }


def report(
    impression: str | ListReply,
    clicks: Sequence[Click] = (),
    *,
    left: Click | None = None,
    seen: Sequence[Click] | Mapping[ItemId, float] | None = None,
    final: bool = False,
) -> ClientRequest[ReportReply]:
    """Report the clicks on a list; each click counts once, however often it is reported.

    Parameters
    ----------
    impression : str or ListReply
        Id of the impression, or the reply that it came with.
    clicks : sequence of int or str, default ()
        Clicks, as 1-based positions or items; earlier reports need not be repeated. A number that is a position, and
        also an integer item at another one, is refused: write `{"position": 2}` or `{"item": 2}`, also in `left` and
        in a sequence `seen`.
    left : int, str or None, default None
        Position or item at which the visitor left, if known.
    seen : sequence of int or str, mapping of int or str to float, or None, default None
        Positions or items in view, if known; a mapping has the probability of each, and so may an entry of a sequence,
        as `{"item": 2, "probability": 0.5}`.
    final : bool, default False
        Whether this is the last report: the list is then learned from at once.

    Returns
    -------
    ReportReply
        Whether the report counts, and if not, why.
    """
    in_view: list[Any] | dict[str, float] | None = None
    if isinstance(seen, Mapping):
        in_view = {str(each): probability for each, probability in seen.items()}
    elif seen is not None:
        in_view = elements("seen", seen, CLICKS)
    where: Any = left
    body = Report(clicks=elements("clicks", clicks, CLICKS), left=where, seen=in_view, final=final)
    return ClientRequest("PUT", f"{impression_path(impression)}/clicks", ReportReply, body)


def activate(impression: str | ListReply) -> ClientRequest[ReportReply]:
    """Report that a deferred list is shown now.

    Parameters
    ----------
    impression : str or ListReply
        Id of the impression, or the reply that it came with.

    Returns
    -------
    ReportReply
    """
    return ClientRequest("PUT", f"{impression_path(impression)}/activation", ReportReply)


def impression(impression: str | ListReply) -> ClientRequest[Impression]:
    """Read an impression: its list, and the clicks so far.

    Parameters
    ----------
    impression : str or ListReply
        Id of the impression, or the reply that it came with.

    Returns
    -------
    Impression
    """
    return ClientRequest("GET", impression_path(impression), Impression)


def explanation(impression: str | ListReply) -> ClientRequest[Explanation]:
    """Explain the positions of the items in a list.

    Parameters
    ----------
    impression : str or ListReply
        Id of the impression, or the reply that it came with.

    Returns
    -------
    Explanation
        With the current estimates, not those at the time of the list.
    """
    return ClientRequest("GET", f"{impression_path(impression)}/explanation", Explanation)
