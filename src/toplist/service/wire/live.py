"""Messages for the dashboard: everything about a ranking at one moment, sent again when it changes."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from toplist.service.wire.fields import Strict
from toplist.service.wire.learning import Estimate, History
from toplist.service.wire.rankings import Ranking


class LiveItem(Estimate, frozen=True, kw_only=True):
    """The estimate of an item, and its share of the recent lists by position."""

    shares: list[float]  # of the first 20 positions at most


class LiveEvent(Struct, frozen=True, kw_only=True):
    """Something that happened, in words."""

    at: str
    kind: str  # as in the event log
    detail: str
    impression: str | None = None
    outcome: str | None = None  # of a report: counted, late, contradicts, dropped, unknown or invalid
    by: str = ""  # name of the API key that asked for a change


class RankingView(Struct, frozen=True, kw_only=True):
    """A ranking at one moment."""

    ranking: Ranking  # without its baseline
    history: History
    learned: int  # number of lists
    items: list[LiveItem]  # the first ones of the current order
    recent: int  # number of lists that shares are of
    events: list[LiveEvent]  # the last ones, the latest first
    changes: list[LiveEvent]  # of settings and items, the latest last
    reports: dict[str, int] | None  # to all rankings since the start, by outcome; None: the key is for some rankings
    requests: dict[str, int] | None  # by the name of their key, alike


class LiveQuery(Strict, frozen=True, kw_only=True):
    """Query of a live view."""

    updates: Annotated[int, Meta(ge=1, le=10_000, description="how many states to send before the reply ends")] = 1
    items: Annotated[int, Meta(ge=1, le=200, description="how many items of the current order")] = 50
