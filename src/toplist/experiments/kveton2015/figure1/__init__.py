"""Figure 1 of kveton2015: CascadeKL-UCB, learning from the last click, and RankedKL-UCB on four DBN click models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from toplist.bounds import kveton2015_theorem3, kveton2015_theorem4
from toplist.clicks import DBN
from toplist.experiments import drawing
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Play, Size
from toplist.experiments.problem_grid import ATTRACTION, Cell
from toplist.experiments.verdicts import (
    FLAT,
    final_regret,
    is_about_three_times,
    is_flat,
    late_share,
    percent_text,
    ratio_text,
    regret_ratio,
    undecided_if_short,
)  # fmt: skip

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL = Size(steps=100_000, runs=20)
PROBLEM = Cell(16, 4, 0.15)
CASCADE, RANKED = "CascadeKL-UCB", "RankedKL-UCB"
POLICIES = {CASCADE: "last-click", RANKED: "ranked-kl-ucb(clicks='last')"}


class DBNPanel(NamedTuple):
    """The parameters of a DBN click model."""

    satisfaction: float
    persistence: float

    def __str__(self) -> str:
        return f"satisfaction {self.satisfaction:g}, persistence {self.persistence:g}"

    @property
    def has_bounds(self) -> bool:
        """Whether the theorems hold: with persistence 1 the last click is the satisfying one."""
        return self.persistence == 1.0

    def lower_bound(self, steps: int) -> float:
        """Theorem 4, for large n, with attraction times satisfaction as the attraction."""
        share = self.satisfaction
        return kveton2015_theorem4(*PROBLEM[:2], share * ATTRACTION, share * PROBLEM.gap, steps)

    def upper_bound(self, steps: int) -> float:
        """Theorem 3."""
        return kveton2015_theorem3([self.satisfaction * own for own in PROBLEM.attraction], PROBLEM.positions, steps)


PANELS = tuple(DBNPanel(satisfaction, persistence) for persistence in (1.0, 0.7) for satisfaction in (1.0, 0.7))


def jobs(size: Size, _: DataSet | None) -> Sequence[Play]:
    """A play per click model."""
    return [
        Play(str(panel), POLICIES, PROBLEM.world, DBN(*panel), size.steps, size.runs, size.seed) for panel in PANELS
    ]


def judge(found: Findings) -> Sequence[Claim]:
    """The claims: flat, and a third of the regret of RankedKL-UCB, in all four panels."""
    claims = []
    for panel in PANELS:
        result = found.results[str(panel)]
        holds = undecided_if_short(is_flat(result, CASCADE, logarithmic=panel.has_bounds), result.steps, FULL.steps)
        added, regret = late_share(result, CASCADE, 0.1), final_regret(result, CASCADE).mean()
        number = f"the last tenth of the steps adds {percent_text(added)}; under {FLAT:.0%} required"
        remark = (
            f"Proved: at least {panel.lower_bound(result.steps):,.0f} for large n (Theorem 4), and at most "
            f"{panel.upper_bound(result.steps):,.0f} (Theorem 3); here it is {regret:,.0f}."
            if panel.has_bounds
            else "The theorems do not hold here: a user who loses patience is taken as satisfied."
        )
        claims.append(Claim(f"{panel}: {CASCADE} flattens out", found.outcome(holds), number, remark))
    for panel in PANELS:
        result = found.results[str(panel)]
        more = regret_ratio(final_regret(result, RANKED), final_regret(result, CASCADE))
        holds = undecided_if_short(is_about_three_times(more), result.steps, FULL.steps)
        text = f"{panel}: {RANKED} has about three times the regret of {CASCADE}"
        claims.append(Claim(text, found.outcome(holds), f"{ratio_text(more)} times; 2 to 4 required"))
    return claims


def draw(found: Findings, figure: Figure) -> None:
    """Draw a panel per click model."""
    for axes, panel in zip(drawing.panels(figure, 2, 2, share_y=True), PANELS, strict=True):
        result = found.results[str(panel)]
        drawing.curves(axes, result, title=str(panel))
        if panel.has_bounds:
            steps = result.checkpoints.tolist()
            drawing.bound(axes, steps, [panel.lower_bound(step) for step in steps], "at least, for large n (Theorem 4)")
    drawing.legend(figure)


EXPERIMENT = Experiment(
    title="Figure 1: CascadeKL-UCB and RankedKL-UCB on users of dynamic Bayesian network models",
    setting=(
        "L = 16, K = 4, D = 0.15 as in Table 1; a user who clicks may be satisfied and leave, and an unsatisfied user "
        "continues with probability persistence; both algorithms take the last click as the satisfying one; 100,000 "
        "steps, 20 runs."
    ),
    full=FULL,
    quick=Size(steps=100_000, runs=5, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw,
    inches=(8.0, 6.0),
    deviations=("The bandits of RankedKL-UCB choose among the items not placed above them; the paper does not say.",),
    seconds=8.0,
)
