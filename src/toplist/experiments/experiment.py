"""What an experiment of a paper is: what is played, what the paper says of it, and its picture.

Each lies in a folder of its own, `experiments/<paper>/<figure>/__init__.py`, with an `EXPERIMENT` in it, and is found
there; adding one touches nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from toplist.core.slate import Floats
from toplist.engine.result import Result
from toplist.engine.starts import OneSample

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ONE_SAMPLE = OneSample()


class Outcome(StrEnum):
    """How a claim comes out, the best first."""

    MET = "met as printed"
    SCALED = "met with the exploration scaled"
    SUBSTITUTE = "met on substitute data"
    UNDECIDED = "undecided at this size"
    NOT_MET = "not met"
    NEEDS_DATA = "needs data"


class Claim(NamedTuple):
    """Something a paper says, how it comes out, and the number that decides."""

    text: str  # what the paper says, in a line
    outcome: Outcome
    number: str  # what was found, with what was asked for
    remark: str = ""  # why it may differ, or by which factor the exploration was scaled


class Size(NamedTuple):
    """How large an experiment is played."""

    steps: int
    runs: int
    seed: int = 0
    quick: bool = False


class Play(NamedTuple):
    """One simulation of an experiment: several policies on the same visitors."""

    label: str  # tells it from the experiment's others
    policies: Mapping[str, Any]  # by label, names of the catalogue or policies
    world: Any
    users: Any
    steps: int
    runs: int
    seed: int = 0
    start: Any = ONE_SAMPLE
    checkpoints: int | Sequence[int] = 100
    watch: Callable[[Any], float] | None = None  # given the player at a checkpoint, a number to keep beside regret


class Measure(NamedTuple):
    """What an experiment finds out without playing: a function that returns arrays by name."""

    label: str
    find: Callable[[], dict[str, Floats]]
    about: str  # what the arrays depend on besides toplist's code, in words; other words measure anew


class Data(NamedTuple):
    """A data set that was found, for the experiments that need one."""

    kind: str  # what was asked for: "movielens", "songs", "yelp", "click models", "search log"
    name: str  # what it is, with counts
    content: Any  # what the loader returns
    substitute: str = ""  # for what the paper used, if it is not that itself


@dataclass(frozen=True)
class Found:
    """Everything that an experiment has played and measured, by label."""

    size: Size
    results: Mapping[str, Result] = field(default_factory=dict)
    measures: Mapping[str, Mapping[str, Floats]] = field(default_factory=dict)
    watched: Mapping[str, Mapping[str, Floats]] = field(default_factory=dict)  # per play and policy (runs, checkpoints)
    data: Data | None = None

    def outcome(self, holds: bool | None, scaled: bool = False) -> Outcome:
        """What to call a claim that holds, or not, or of which nobody can tell (None)."""
        if holds is None:
            return Outcome.UNDECIDED
        if not holds:
            return Outcome.NOT_MET
        if scaled:
            return Outcome.SCALED
        return Outcome.SUBSTITUTE if self.data is not None and self.data.substitute else Outcome.MET


@dataclass(frozen=True)
class Experiment:
    """An experiment of a paper."""

    title: str  # in a line, as "Table 1: regret of CascadeUCB1 and CascadeKL-UCB"
    setting: str  # what is played, in a sentence or two
    full: Size  # as the paper has it
    quick: Size  # what decides most in seconds
    jobs: Callable[[Size, Data | None], Sequence[Play | Measure]]
    judge: Callable[[Found], Sequence[Claim]]
    draw: Callable[[Found, Figure], None]
    inches: tuple[float, float] = (7.0, 4.5)  # of the figure
    data: str = ""  # the kind of data it needs; none: it needs none
    deviations: Sequence[str] = ()  # from the paper, and why
    seconds: float = 60.0  # about what the full size takes on two cores, to tell how far everything is
