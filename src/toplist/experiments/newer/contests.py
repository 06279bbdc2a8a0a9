"""Experiments that compare the regret of policies: one loses less than another, on the same visitors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from toplist.experiments import drawing
from toplist.experiments.claims import Answer, claim, interval_text
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Play, Size
from toplist.experiments.verdicts import difference, final_regret, is_below, is_flat, mean_with_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS, RUNS = 100_000, 20


class Contest(NamedTuple):
    """Policies on one problem.

    Parameters
    ----------
    label : str
        The problem, unique in its experiment.
    world, users : world and users, or their names
        The problem.
    policies : tuple of str
        Names of the catalogue, with parameters.
    """

    label: str
    world: Any
    users: Any
    policies: tuple[str, ...]


class Less(NamedTuple):
    """A claim: one policy loses less than another in the same number of lists.

    Parameters
    ----------
    text : str
        The claim in one line.
    better, worse : tuple of str
        Label of a contest and name of a policy, of either side.
    remark : str, default ""
        What differs from the paper.
    """

    text: str
    better: tuple[str, str]
    worse: tuple[str, str]
    remark: str = ""

    def judged(self, found: Findings, steps: int) -> Claim:
        """The claim with its outcome: the interval of the paired difference is below 0."""
        own, other = (final_regret(found.results[label], policy) for label, policy in (self.better, self.worse))
        apart = difference(own, other)
        means = f"{self.better[1]} {mean_with_error(own)}, {self.worse[1]} {mean_with_error(other)}"
        number = f"{interval_text(apart, 1)}, below 0 required ({means})"
        return claim(found, self.text, Answer(is_below(apart, 0.0), number), steps, self.remark)


class Flattens(NamedTuple):
    """A claim: the regret of a policy grows like log n.

    Parameters
    ----------
    text : str
        The claim in one line.
    policy : tuple of str
        Label of a contest and name of a policy.
    remark : str, default ""
        What differs from the paper.
    """

    text: str
    policy: tuple[str, str]
    remark: str = ""

    def judged(self, found: Findings, steps: int) -> Claim:
        """The claim with its outcome, by the rule for flat regret."""
        label, policy = self.policy
        flat = is_flat(found.results[label], policy, logarithmic=True)
        number = f"regret {mean_with_error(final_regret(found.results[label], policy))}"
        return claim(found, self.text, Answer(flat, number), steps, self.remark)


def contest_experiment(
    title: str,
    setting: str,
    contests: Sequence[Contest],
    claims: Sequence[Less | Flattens],
    steps: int = STEPS,
    deviations: Sequence[str] = (),
    seconds: float = 30.0,
) -> Experiment:
    """An experiment of contests and claims about them; all contests of an experiment have the same visitors."""

    def jobs(size: Size, _: DataSet | None) -> Sequence[Play]:
        return [
            Play(each.label, {name: name for name in each.policies}, each.world, each.users, size.steps, size.runs,
                 size.seed)
            for each in contests
        ]  # fmt: skip

    def judge(found: Findings) -> Sequence[Claim]:
        return [each.judged(found, steps) for each in claims]

    def draw(found: Findings, figure: Figure) -> None:
        for axes, each in zip(drawing.panels(figure, columns=len(contests)), contests, strict=True):
            drawing.curves(axes, found.results[each.label])
            drawing.frame(axes, each.label)
        drawing.legend(figure)

    return Experiment(
        title=title, setting=setting, full=Size(steps, RUNS), quick=Size(steps // 10, RUNS // 2, quick=True),
        jobs=jobs, judge=judge, draw=draw, inches=(3.5 + 3.5 * len(contests), 4.5), deviations=deviations,
        seconds=seconds,
    )  # fmt: skip
