"""The requests of the client, one function each; `Client` and `AsyncClient` have a method for each function."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence

from msgspec import UNSET, UnsetType

from toplist.service.client.client_request import (
    ClientRequest,
    given,
    impression_path,
    item_path,
    person_text,
    ranking_path,
)
from toplist.service.wire import (
    Estimates,
    Event,
    Explanation,
    History,
    Impression,
    Item,
    ItemBody,
    ItemsBody,
    ItemsChanged,
    ItemsPage,
    KeysPage,
    ListReply,
    ListRequest,
    NextList,
    Ranking,
    RankingChange,
    Rankings,
    RankingSpec,
    RemoveBody,
    Removed,
    Report,
    ReportReply,
)

Click = int | str  # a 1-based position, or an item


def create_ranking(spec: RankingSpec) -> ClientRequest[Ranking]:
    """Create a ranking.

    Parameters
    ----------
    spec : RankingSpec
        Name, number of positions, policy and options of the ranking.

    Returns
    -------
    Ranking
    """
    return ClientRequest("POST", "/v1/rankings", Ranking, spec, repeatable=False, slow=True)


def rankings() -> ClientRequest[Rankings]:
    """Read all rankings.

    Returns
    -------
    Rankings
        `rankings` is sorted by name.
    """
    return ClientRequest("GET", "/v1/rankings", Rankings)


def ranking(name: str) -> ClientRequest[Ranking]:
    """Read one ranking.

    Parameters
    ----------
    name : str
        Name of the ranking.

    Returns
    -------
    Ranking
    """
    return ClientRequest("GET", ranking_path(name), Ranking)


def change_ranking(
    name: str,
    *,
    positions: int | UnsetType = UNSET,
    click_window: float | UnsetType = UNSET,
    retention: float | UnsetType | None = UNSET,
    reference: float | UnsetType | None = UNSET,
    policy: str | UnsetType = UNSET,
    seed: int | UnsetType = UNSET,
    steps: int | UnsetType | None = UNSET,
    prior_mean: float | UnsetType = UNSET,
    prior_strength: float | UnsetType = UNSET,
    new_per_list: int | UnsetType | None = UNSET,
    train: bool = True,
) -> ClientRequest[Ranking]:
    """Change a ranking; values that are not given stay.

    Parameters
    ----------
    name : str
        Name of the ranking.
    positions : int, optional
        Length of a list; more than the learners have needs new learners.
    click_window, retention, reference : float, optional
        Seconds to wait for clicks, seconds to keep events, and a baseline click-through rate.
    policy, seed, steps, prior_mean, prior_strength, new_per_list : optional
        A new value of one of these needs new learners.
    train : bool, default True
        Train new learners from the event log before they serve; else they start from nothing.

    Returns
    -------
    Ranking
    """
    change = RankingChange(
        positions=positions, click_window=click_window, retention=retention, reference=reference, policy=policy,
        seed=seed, steps=steps, prior_mean=prior_mean, prior_strength=prior_strength, new_per_list=new_per_list,
        train=train,
    )  # fmt: skip
    restarts = policy is not UNSET and not train  # each time: what was learned since the first would be lost
    return ClientRequest("PATCH", ranking_path(name), Ranking, change, repeatable=not restarts, slow=True)


def delete_ranking(name: str) -> ClientRequest[None]:
    """Delete a ranking with its items, lists, events and learners.

    Parameters
    ----------
    name : str
        Name of the ranking.
    """
    return ClientRequest("DELETE", ranking_path(name), type(None), repeatable=False)


def items(name: str, after: str | None = None, limit: int = 1000) -> ClientRequest[ItemsPage]:
    """Read a page of items, in the order in which they were added.

    Parameters
    ----------
    name : str
        Name of the ranking.
    after : str or None, default None
        Last item of the previous page, its `next`; None for the first page.
    limit : int, default 1000
        Items at most.

    Returns
    -------
    ItemsPage
    """
    return ClientRequest("GET", f"{ranking_path(name)}/items", ItemsPage, query=given(after=after, limit=limit))


def put_items(name: str, items: Sequence[Item | str]) -> ClientRequest[ItemsChanged]:
    """Add or change items, all or none of them.

    Parameters
    ----------
    name : str
        Name of the ranking.
    items : sequence of Item or str
        Up to 10,000 items; a str is the id of an item without features.

    Returns
    -------
    ItemsChanged
        Numbers of added, changed and unchanged items.
    """
    whole = [Item(id=item) if isinstance(item, str) else item for item in items]
    return ClientRequest("PUT", f"{ranking_path(name)}/items", ItemsChanged, ItemsBody(items=whole))


def remove_items(name: str, ids: Sequence[str]) -> ClientRequest[Removed]:
    """Remove items; unknown ids are ignored.

    Parameters
    ----------
    name : str
        Name of the ranking.
    ids : sequence of str
        Up to 10,000 items.

    Returns
    -------
    Removed
        Number of items removed.
    """
    return ClientRequest("POST", f"{ranking_path(name)}/items/remove", Removed, RemoveBody(ids=list(ids)))


def item(name: str, item: str) -> ClientRequest[Item]:
    """Read one item.

    Parameters
    ----------
    name, item : str
        Name of the ranking, and id of the item.

    Returns
    -------
    Item
    """
    return ClientRequest("GET", item_path(name, item), Item)


def put_item(
    name: str, item: str, *, features: Sequence[float] | None = None, hidden: bool | None = None
) -> ClientRequest[ItemsChanged]:
    """Add or change one item.

    Parameters
    ----------
    name, item : str
        Name of the ranking, and id of the item.
    features : sequence of float or None, default None
        Features, or topic coverage, for policies that use them; None leaves them as they are.
    hidden : bool or None, default None
        Whether to leave it out of lists; None leaves it as it is.

    Returns
    -------
    ItemsChanged
    """
    row = None if features is None else list(features)
    return ClientRequest("PUT", item_path(name, item), ItemsChanged, ItemBody(features=row, hidden=hidden))


def remove_item(name: str, item: str) -> ClientRequest[None]:
    """Remove one item; an unknown one is an error.

    Parameters
    ----------
    name, item : str
        Name of the ranking, and id of the item.
    """
    return ClientRequest("DELETE", item_path(name, item), type(None), repeatable=False)


def make_list(
    name: str,
    *,
    key: str | None = None,
    positions: int | None = None,
    among: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    pins: Mapping[int, str] | None = None,
    person: Sequence[float] | None = None,
    features: Mapping[str, Sequence[float]] | None = None,
    request_id: str | None = None,
    deferred: bool = False,
) -> ClientRequest[ListReply]:
    """Ask for a list to show.

    Parameters
    ----------
    name : str
        Name of the ranking.
    key : str or None, default None
        Segment, such as a query, with a learner of its own; None: the learner of all visitors.
    positions : int or None, default None
        Length of the list; None: that of the ranking, which is the longest.
    among : sequence of str or None, default None
        Eligible items; None: all.
    exclude : sequence of str, default ()
        Items to leave out.
    pins : mapping of int to str or None, default None
        Items by the 1-based position that they must have.
    person : sequence of float or None, default None
        Features of the visitor, for policies that use them.
    features : mapping of str to sequence of float or None, default None
        Features of items for this list.
    request_id : str or None, default None
        Requests with the same id get the same list; None: a new id, so that a retry gets the list of the first attempt.
    deferred : bool, default False
        Whether the click window opens only once the list is activated or reported.

    Returns
    -------
    ListReply
        The items in order, and the id of the impression for `report`.
    """
    request = ListRequest(
        key=key,
        positions=positions,
        among=None if among is None else list(among),
        exclude=list(exclude),
        pins={str(position): item for position, item in (pins or {}).items()},
        person=None if person is None else list(person),
        features=None if features is None else {item: list(row) for item, row in features.items()},
        request_id=request_id or str(uuid.uuid4()),
        deferred=deferred,
    )
    return ClientRequest("POST", f"{ranking_path(name)}/lists", ListReply, request)


def report(
    impression: str,
    clicks: Sequence[Click] = (),
    *,
    left: Click | None = None,
    seen: Sequence[Click] | Mapping[str, float] | None = None,
    final: bool = False,
) -> ClientRequest[ReportReply]:
    """Report the clicks on a list; each click counts once, however often it is reported.

    Parameters
    ----------
    impression : str
        Id of the impression.
    clicks : sequence of int or str, default ()
        Clicks, as 1-based positions or items; earlier reports need not be repeated.
    left : int, str or None, default None
        Position or item at which the visitor left, if known.
    seen : sequence of int or str, mapping of str to float, or None, default None
        Positions or items in view, if known; a mapping has the probability of each.
    final : bool, default False
        Whether this is the last report: the list is then learned from at once.

    Returns
    -------
    ReportReply
        Whether the report counts, and if not, why.
    """
    in_view = dict(seen) if isinstance(seen, Mapping) else None if seen is None else list(seen)
    body = Report(clicks=list(clicks), left=left, seen=in_view, final=final)
    return ClientRequest("PUT", f"{impression_path(impression)}/clicks", ReportReply, body)


def activate(impression: str) -> ClientRequest[ReportReply]:
    """Report that a deferred list is shown now.

    Parameters
    ----------
    impression : str
        Id of the impression.

    Returns
    -------
    ReportReply
    """
    return ClientRequest("PUT", f"{impression_path(impression)}/activation", ReportReply)


def impression(impression: str) -> ClientRequest[Impression]:
    """Read an impression: its list, and the clicks so far.

    Parameters
    ----------
    impression : str
        Id of the impression.

    Returns
    -------
    Impression
    """
    return ClientRequest("GET", impression_path(impression), Impression)


def explanation(impression: str) -> ClientRequest[Explanation]:
    """Explain the positions of the items in a list.

    Parameters
    ----------
    impression : str
        Id of the impression.

    Returns
    -------
    Explanation
        With the current estimates, not those at the time of the list.
    """
    return ClientRequest("GET", f"{impression_path(impression)}/explanation", Explanation)


def estimates(
    name: str, *, key: str | None = None, limit: int = 100, person: Sequence[float] | None = None
) -> ClientRequest[Estimates]:
    """Read the estimates of a learner, largest index first.

    Parameters
    ----------
    name : str
        Name of the ranking.
    key : str or None, default None
        Segment; None: the learner of all visitors.
    limit : int, default 100
        Items at most.
    person : sequence of float or None, default None
        Features of the visitor, for policies that use them.

    Returns
    -------
    Estimates
    """
    query = given(key=key, limit=limit, person=person_text(person))
    return ClientRequest("GET", f"{ranking_path(name)}/estimates", Estimates, query=query)


def next_list(name: str, *, key: str | None = None, person: Sequence[float] | None = None) -> ClientRequest[NextList]:
    """Explain the list that would be made next, without making one.

    Parameters
    ----------
    name : str
        Name of the ranking.
    key : str or None, default None
        Segment; None: the learner of all visitors.
    person : sequence of float or None, default None
        Features of the visitor, for policies that use them.

    Returns
    -------
    NextList
    """
    query = given(key=key, person=person_text(person))
    return ClientRequest("GET", f"{ranking_path(name)}/explanation", NextList, query=query)


def history(name: str) -> ClientRequest[History]:
    """Read the click-through rate over time.

    Parameters
    ----------
    name : str
        Name of the ranking.

    Returns
    -------
    History
        Where `complete` is False, ask again for more.
    """
    return ClientRequest("GET", f"{ranking_path(name)}/history", History)


def keys(name: str, after: str | None = None, limit: int = 1000) -> ClientRequest[KeysPage]:
    """Read a page of the keys (segments) that have a learner of their own.

    Parameters
    ----------
    name : str
        Name of the ranking.
    after : str or None, default None
        Last key of the previous page, its `next`; None for the first page.
    limit : int, default 1000
        Keys at most.

    Returns
    -------
    KeysPage
    """
    return ClientRequest("GET", f"{ranking_path(name)}/keys", KeysPage, query=given(after=after, limit=limit))


def events(name: str, after: int = 0, limit: int = 1000) -> ClientRequest[list[Event]]:
    """Read a page of the event log, after the event with the number `after`."""
    query = given(after=after, limit=limit)
    return ClientRequest("GET", f"{ranking_path(name)}/events", list[Event], query=query, by_lines=True)
