"""Messages about rankings, and the state of the service."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, field

from toplist.core.defaults import DEFAULT_POLICY
from toplist.service.wire.fields import (
    IS_PLACE,
    Divisions,
    FeatureCount,
    Level,
    ManyIds,
    Name,
    NewItems,
    PoolKind,
    Positions,
    Probability,
    Seconds,
    Seed,
    ServingMode,
    Steps,
    Strength,
    Strict,
    UpliftMetric,
    WhenUnavailable,
    check_texts,
)

Baseline = Annotated[list[ManyIds], Meta(max_length=10_000)]
Pins = Annotated[dict[str, ManyIds], Meta(max_length=1000)]


class StopIf(Strict, frozen=True, kw_only=True):
    """A guardrail: back to the baseline once the policy is certainly worse than it by more than an accepted loss."""

    metric: UpliftMetric = "clicks_per_list"
    worse_by: Probability = 0.0  # accepted loss, as a share of the holdout's: 0.05 stops what is certainly 5% worse
    level: Level = 0.05  # chance at most that a policy is ever stopped that is not worse by that much


class RankingSpec(Strict, frozen=True):
    """A new ranking."""

    name: Name
    positions: Positions
    policy: str = DEFAULT_POLICY  # a name of the catalogue, optionally with parameters: "cascade-kl-ucb(...)"
    click_window: Seconds = 1800.0  # seconds
    retention: Seconds | None = None  # events are deleted after this many seconds; None: never
    seed: Seed = 0
    steps: Steps | None = None
    features: FeatureCount = 0  # per item; for policies that learn from features
    person: FeatureCount = 0  # features of the visitor
    join: str = "concatenate"
    prior_mean: Probability = 0.5
    prior_strength: Strength = 0.0
    new_per_list: NewItems | None = None
    reference: Probability | None = None  # click-through rate to draw on the page, e.g. of an older system
    propensities: bool = False  # of all lists, unless a request says otherwise
    pool: PoolKind = "none"  # "prior": a new segment begins with what the others have learned
    pool_strength: Strength | None = None  # looks that this is worth; None: learned from how much segments differ
    baseline: Baseline | None = None  # order of the items without learning; None: in which they were added
    mode: ServingMode = "live"  # "shadow": shows the baseline; "exploring": shows random lists now and then
    explore: Probability = 0.05  # share of lists that are random in mode "exploring"
    holdout: Probability = 0.0  # share of visitors that always get the baseline
    holdout_learns: bool = True  # whether lists of the holdout are learned from, where the policy can
    stop_if: StopIf | None = None
    pins: Pins = field(default_factory=dict)  # 1-based position to item, of every list that can have it there
    # While nothing can be recorded: "serve" makes lists from memory, for a while; "refuse", the default, answers 503.
    # Not in the log unless it is given, so that an older release can read it.
    when_unavailable: WhenUnavailable | UnsetType = UNSET
    # The number of parts into which its segments are divided, a power of two; each lies in a partition of its own. Not
    # in the log either unless it is given.
    divisions: Divisions | UnsetType = UNSET

    def __post_init__(self) -> None:
        if self.divisions and self.divisions & (self.divisions - 1):
            raise ValueError(f"divisions is {self.divisions}, but must be a power of two; give 1, 2, 4, 8 or so")
        if self.baseline:
            check_baseline(self.baseline)
        if self.pins:
            check_pins(self.pins)


class Ranking(Struct, frozen=True, kw_only=True):
    """A ranking."""

    name: str
    positions: int
    policy: str
    click_window: float
    retention: float | None
    seed: int
    steps: int | None
    features: int
    person: int
    join: str
    prior_mean: float
    prior_strength: float
    new_per_list: int | None
    reference: float | None
    propensities: bool
    pool: str
    pool_strength: float | None
    baseline: list[str | int] | None
    mode: str
    explore: float
    holdout: float
    holdout_learns: bool
    stop_if: StopIf | None
    pins: dict[str, str | int]
    when_unavailable: str = "refuse"
    divisions: int = 1  # parts of its segments, each in another partition of a cluster
    items: int  # number of items, including hidden ones
    created: str  # RFC 3339 in UTC, like all times
    stopped: bool = False  # whether the guardrail put it back to its baseline
    code: str | None = None  # Python version and fingerprint of the policy's code that its learners were made with
    code_warning: str | None = None  # a sentence, if the policy's code is another one now


class RankingChange(Strict, frozen=True):
    """Changes of a ranking; fields that are left out stay."""

    positions: Positions | UnsetType = UNSET  # more positions than the learners have need new learners
    click_window: Seconds | UnsetType = UNSET
    retention: Seconds | UnsetType | None = UNSET
    reference: Probability | UnsetType | None = UNSET
    propensities: bool | UnsetType = UNSET
    pool_strength: Strength | UnsetType | None = UNSET
    baseline: Baseline | UnsetType | None = UNSET
    mode: ServingMode | UnsetType = UNSET  # from and to "exploring", it needs new learners
    explore: Probability | UnsetType = UNSET
    holdout: Probability | UnsetType = UNSET
    holdout_learns: bool | UnsetType = UNSET
    stop_if: StopIf | UnsetType | None = UNSET
    pins: Pins | UnsetType = UNSET  # all of them; the former ones are gone
    when_unavailable: WhenUnavailable | UnsetType = UNSET
    # A new value of one of these needs new learners.
    policy: str | UnsetType = UNSET
    seed: Seed | UnsetType = UNSET
    steps: Steps | UnsetType | None = UNSET
    prior_mean: Probability | UnsetType = UNSET
    prior_strength: Strength | UnsetType = UNSET
    new_per_list: NewItems | UnsetType | None = UNSET
    pool: PoolKind | UnsetType = UNSET
    train: bool = True  # train new learners from the event log before they serve
    # These cannot change: only the current value is accepted.
    features: FeatureCount | UnsetType = UNSET
    person: FeatureCount | UnsetType = UNSET
    join: str | UnsetType = UNSET
    divisions: Divisions | UnsetType = UNSET

    def __post_init__(self) -> None:
        if isinstance(self.baseline, list):
            check_baseline(self.baseline)
        if isinstance(self.pins, dict):
            check_pins(self.pins)

    @property
    def given(self) -> list[str]:
        """The settings that are given.

        >>> RankingChange(holdout=0.1, pins={}).given
        ['holdout', 'pins']
        """
        return [name for name in self.__struct_fields__ if name != "train" and getattr(self, name) is not UNSET]


def check_baseline(baseline: list[str | int]) -> None:
    """Refuse a baseline with bad ids, or with an item twice."""
    check_texts(baseline, "`$.baseline[{}]`")
    if len(set(baseline)) < len(baseline):
        raise ValueError("The baseline names an item twice; name each once")


def check_pins(pins: dict[str, str | int]) -> None:
    """Refuse pins with bad positions or ids, or with an item twice."""
    check_texts(pins.values(), "`$.pins[...]`")
    wrong = next((position for position in pins if not IS_PLACE(position)), None)
    if wrong is not None:
        raise ValueError(f"A pinned position is {wrong!r}, but positions are whole numbers from 1; correct it")
    if len(set(pins.values())) < len(pins):
        raise ValueError("An item is pinned twice; pin each once")


class Rankings(Struct, frozen=True, kw_only=True):
    """All rankings, by name."""

    rankings: list[Ranking]


class Health(Struct, frozen=True, kw_only=True):
    """The state of the service."""

    status: str
    version: str
