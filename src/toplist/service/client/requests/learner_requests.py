"""Requests about what was learned, and the event log."""

from __future__ import annotations

from collections.abc import Sequence

from toplist.service.client.arguments import optional_text
from toplist.service.client.client_request import ClientRequest, given, person_text, ranking_path
from toplist.service.wire import Estimates, Event, History, KeysPage, NextList


def estimates(
    name: str, *, key: str | None = None, limit: int = 100, person: Sequence[float] | None = None
) -> ClientRequest[Estimates]:
    """Read the estimates of a learner, largest index first, or largest mean if the policy has no index.

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
    query = given(key=optional_text("key", key), limit=limit, person=person_text(person))
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
    query = given(key=optional_text("key", key), person=person_text(person))
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
    query = given(after=optional_text("after", after), limit=limit)
    return ClientRequest("GET", f"{ranking_path(name)}/keys", KeysPage, query=query)


def events(name: str, after: int = 0, limit: int = 1000) -> ClientRequest[list[Event]]:
    """Read a page of the event log, after the event with the number `after`."""
    query = given(after=after, limit=limit)
    return ClientRequest("GET", f"{ranking_path(name)}/events", list[Event], query=query, by_lines=True)
