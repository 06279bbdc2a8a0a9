"""An experiment of a paper: the simulations to play, the claims to judge, and the figure to draw.

Each experiment is the `EXPERIMENT` of a file `experiments/<paper>/<figure>/__init__.py`, where `library` finds it.
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
    """The outcome of a claim; the best comes first."""

    MET = "met as printed"
    SCALED = "met with the exploration scaled"
    SUBSTITUTE = "met on substitute data"
    UNDECIDED = "undecided at this size"
    NOT_MET = "not met"
    NEEDS_DATA = "needs data"


class Claim(NamedTuple):
    """A claim of a paper, its outcome, and the number that decides.

    Parameters
    ----------
    text : str
        The claim in one line.
    outcome : Outcome
        Whether it is met.
    number : str
        The number found, with the accepted range.
    remark : str, default ""
        Why it may differ from the paper, or how the exploration was scaled.
    """

    text: str
    outcome: Outcome
    number: str
    remark: str = ""


class Size(NamedTuple):
    """The size at which an experiment is played.

    Parameters
    ----------
    steps : int
        Lists per run.
    runs : int
        Runs per policy.
    seed : int, default 0
        Seed of all random numbers.
    quick : bool, default False
        Whether it is the quick size.
    runs_given : bool, default False
        Whether the number of runs was asked for: then panels that usually have more or fewer runs have it too.
    """

    steps: int
    runs: int
    seed: int = 0
    quick: bool = False
    runs_given: bool = False


class Play(NamedTuple):
    """One simulation of an experiment: several policies on the same visitors."""

    label: str  # unique within the experiment
    policies: Mapping[str, Any]  # by label; names of the catalogue, or policies
    world: Any
    users: Any
    steps: int
    runs: int
    seed: int = 0
    start: Any = ONE_SAMPLE
    checkpoints: int | Sequence[int] = 100
    watch: Callable[[Any], float] | None = None  # a number to keep per checkpoint, computed from the player


class Measure(NamedTuple):
    """A computation of an experiment without a simulation: `find` returns arrays by name."""

    label: str
    find: Callable[[], dict[str, Floats]]
    about: str  # the inputs in words, besides the code; other words mean a new measurement


class DataSet(NamedTuple):
    """A data set that was read for an experiment."""

    kind: str  # a key of `required_data.KINDS`: "movielens", "songs", "yelp", "click models", "search log"
    name: str  # description, with counts
    content: Any  # the return value of the loader
    substitute: str = ""  # what it replaces, if it is not the data of the paper


@dataclass(frozen=True)
class Findings:
    """All results and measurements of an experiment, by label."""

    size: Size
    results: Mapping[str, Result] = field(default_factory=dict)
    measures: Mapping[str, Mapping[str, Floats]] = field(default_factory=dict)
    watched: Mapping[str, Mapping[str, Floats]] = field(default_factory=dict)  # per play and policy (runs, checkpoints)
    data: DataSet | None = None

    def outcome(self, holds: bool | None, scaled: bool = False) -> Outcome:
        """The outcome of a claim that holds, does not hold, or is undecided (None)."""
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

    title: str  # one line, as "Table 1: regret of CascadeUCB1 and CascadeKL-UCB"
    setting: str  # the problem, in a sentence or two
    full: Size  # that of the paper
    quick: Size  # decides most claims in seconds
    jobs: Callable[[Size, DataSet | None], Sequence[Play | Measure]]
    judge: Callable[[Findings], Sequence[Claim]]
    draw: Callable[[Findings, Figure], None]
    inches: tuple[float, float] = (7.0, 4.5)  # of the figure
    data: str = ""  # the data set it needs, a key of `required_data.KINDS`; empty if none
    deviations: Sequence[str] = ()  # from the paper, with reasons
    seconds: float = 60.0  # approximate time of the full size on two cores, for the progress bar
