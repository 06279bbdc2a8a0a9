"""Messages about the uplift: how much more the policy earns than the baseline."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from toplist.service.wire.fields import Segment, Strict, UpliftSlices


class Bounds(Struct, frozen=True, kw_only=True):
    """An interval of confidence 0.95."""

    low: float
    high: float


class ComparedGroups(Struct, frozen=True, kw_only=True):
    """The policy compared with the holdout.

    `sequence` holds the truth however often one looks, `fixed_horizon` at one look that was planned beforehand; null
    where there are too few visitors.
    """

    estimate: float
    sequence: Bounds | None
    fixed_horizon: Bounds | None


class MetricUplift(Struct, frozen=True, kw_only=True):
    """A metric per list, of both groups."""

    metric: str  # "click_through", "clicks_per_list" or "clicks_at_1"
    policy: float | None
    holdout: float | None
    difference: ComparedGroups | None  # policy minus holdout
    ratio: ComparedGroups | None  # policy over holdout


class GroupCounts(Struct, frozen=True, kw_only=True):
    """Visitors of a group and their closed lists; a list without a visitor id is a visitor of its own."""

    visitors: int
    lists: int
    clicked: int  # lists with at least one click
    clicks: int
    clicks_at_1: int


class SampleRatio(Struct, frozen=True, kw_only=True):
    """Whether visitors come to the groups as assigned, by a test that is valid at any time."""

    assigned: float  # share of the holdout
    observed: float | None
    p_value: float  # its smallest so far
    level: float  # below which there is an alarm
    alarm: bool


class UpliftPart(Struct, frozen=True, kw_only=True):
    """The uplift over some lists."""

    policy: GroupCounts
    holdout: GroupCounts
    metrics: list[MetricUplift]


class UpliftSlice(UpliftPart, frozen=True, kw_only=True):
    """The uplift of a day or of a segment."""

    name: str  # the date in UTC, or the segment


class GuardrailStop(Struct, frozen=True, kw_only=True):
    """Why the guardrail put the ranking back to its baseline."""

    at: str
    metric: str
    worse_by: float
    level: float
    ratio: float  # of policy to holdout then
    high: float  # upper end of its sequence


class Uplift(UpliftPart, frozen=True, kw_only=True):
    """How much more the policy earns than the baseline, over closed lists since `since`; the unit is the visitor."""

    ranking: str
    mode: str
    since: str
    sample_ratio: SampleRatio
    stopped: GuardrailStop | None
    slices: list[UpliftSlice]  # days or segments, if asked for
    next: str | None  # `after` of the next page of slices, null on the last


class UpliftQuery(Strict, frozen=True, kw_only=True):
    """Query of the uplift."""

    by: UpliftSlices = "none"  # "day" or "segment" adds these
    after: Segment | None = None
    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
