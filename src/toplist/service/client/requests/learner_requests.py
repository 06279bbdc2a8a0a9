"""Requests about what was learned, and the event log."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from toplist.service.client.arguments import optional_text
from toplist.service.client.client_request import ClientRequest, given, person_text, ranking_path, segment_path
from toplist.service.wire import Estimates, Event, History, ImportReply, NextList, SegmentsPage, Uplift


def estimates(
    name: str, *, segment: str | None = None, limit: int = 100, person: Sequence[float] | None = None
) -> ClientRequest[Estimates]:
    """Read the estimates of a learner, largest index first, or largest mean if the policy has no index.

    Parameters
    ----------
    name : str
        Name of the ranking.
    segment : str or None, default None
        Segment of the visitors; None: the learner of lists without a segment.
    limit : int, default 100
        Items at most.
    person : sequence of float or None, default None
        Features of the visitor, for policies that use them.

    Returns
    -------
    Estimates
    """
    query = given(segment=optional_text("segment", segment), limit=limit, person=person_text(person))
    return ClientRequest("GET", f"{ranking_path(name)}/estimates", Estimates, query=query)


def next_list(
    name: str, *, segment: str | None = None, person: Sequence[float] | None = None
) -> ClientRequest[NextList]:
    """Explain the list that would be made next, without making one.

    Parameters
    ----------
    name : str
        Name of the ranking.
    segment : str or None, default None
        Segment of the visitors; None: the learner of lists without a segment.
    person : sequence of float or None, default None
        Features of the visitor, for policies that use them.

    Returns
    -------
    NextList
    """
    query = given(segment=optional_text("segment", segment), person=person_text(person))
    return ClientRequest("GET", f"{ranking_path(name)}/explanation", NextList, query=query)


def uplift(
    name: str, *, by: Literal["none", "day", "segment"] = "none", after: str | None = None, limit: int = 100
) -> ClientRequest[Uplift]:
    """Read how much more the policy earns than the baseline that the holdout gets.

    Parameters
    ----------
    name : str
        Name of the ranking.
    by : {"none", "day", "segment"}, default "none"
        Whether the reply also has the uplift of each day or segment.
    after : str or None, default None
        The `next` of the page before; None: the first page.
    limit : int, default 100
        Days or segments at most.

    Returns
    -------
    Uplift
        With a confidence sequence that is valid however often one looks.
    """
    query = given(by=by, after=optional_text("after", after), limit=limit)
    return ClientRequest("GET", f"{ranking_path(name)}/uplift", Uplift, query=query)


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


def segments(name: str, after: str | None = None, limit: int = 1000) -> ClientRequest[SegmentsPage]:
    """Read a page of the segments that have a learner of their own.

    Parameters
    ----------
    name : str
        Name of the ranking.
    after : str or None, default None
        Last segment of the previous page, its `next`; None for the first page.
    limit : int, default 1000
        Segments at most.

    Returns
    -------
    SegmentsPage
    """
    query = given(after=optional_text("after", after), limit=limit)
    return ClientRequest("GET", f"{ranking_path(name)}/segments", SegmentsPage, query=query)


def import_ranker(
    name: str, ranker: bytes | str | os.PathLike[str], *, segment: str | None = None
) -> ClientRequest[ImportReply]:
    """Begin a learner with what a saved ranker has learned, before its first list.

    Parameters
    ----------
    name : str
        Name of the ranking, which has the ranker's policy and positions, and none of its items or all.
    ranker : str, path-like or bytes
        The file of `Ranker.save`, or of `toplist train`; or its content.
    segment : str or None, default None
        Segment whose learner begins so; None: the learner of lists without a segment.

    Returns
    -------
    ImportReply
    """
    content = ranker if isinstance(ranker, bytes) else Path(ranker).read_bytes()
    body = {"ranker": content} | given(segment=optional_text("segment", segment))
    path = f"{ranking_path(name)}/learner"
    return ClientRequest("PUT", path, ImportReply, body, repeatable=False, slow=True)


def delete_segment(name: str, segment: str) -> ClientRequest[None]:
    """Delete a segment with its learner, its lists and all of their events.

    Parameters
    ----------
    name : str
        Name of the ranking.
    segment : str
        The segment.
    """
    return ClientRequest("DELETE", segment_path(name, segment), type(None), repeatable=False)


def events(name: str, after: int | str = 0, limit: int = 1000) -> ClientRequest[list[Event]]:
    """Read a page of the event log, after the event with this number, or with this cursor in a divided ranking."""
    query = given(**{"cursor" if isinstance(after, str) else "after": after}, limit=limit)
    return ClientRequest("GET", f"{ranking_path(name)}/events", list[Event], query=query, by_lines=True)
