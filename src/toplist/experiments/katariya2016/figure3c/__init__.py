"""Figure 3c of katariya2016: dcmKL-UCB and ranked bandits, on a DCM per query of a search log."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from toplist.core.randomness import branch
from toplist.engine.result import Result
from toplist.engine.statistics import Ratio
from toplist.experiments import drawing
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Play, Size
from toplist.experiments.katariya2016.regret_bounds import DCM_KL_UCB
from toplist.experiments.logged_queries import LoggedQueries
from toplist.experiments.pooled_results import pool_results
from toplist.experiments.verdicts import final_regret, is_below, ratio_text, regret_ratio, undecided_if_short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL = Size(steps=10_000, runs=5)  # runs of each query
QUERIES, POSITIONS = 20, 5
RANKED = {"RankedKL-UCB": "ranked-kl-ucb", "RankedExp3": "ranked-exp3"}
EXACT = "exact fit, query "  # before a query whose model was fitted exactly
HALF = 0.5  # largest ratio of the regret of dcmKL-UCB to that of the best ranked bandit


def jobs(size: Size, data: DataSet | None) -> Sequence[Play]:
    """A play per query, each with its own visitors."""
    if data is None:
        return []
    models = {"DCM": ""} | ({"exact DCM": EXACT} if isinstance(data.content, LoggedQueries) else {})
    policies = {DCM_KL_UCB: "dcm-kl-ucb", **RANKED}
    return [
        Play(prefix + query, policies, world, users, size.steps, size.runs, int(branch(size.seed, number)) % 2**63)
        for model, prefix in models.items()
        for number, (query, (world, users)) in enumerate(
            itertools.islice(data.content.people(model, POSITIONS).items(), QUERIES)
        )
    ]


def pooled(found: Findings, exact: bool = False) -> Result | None:
    """The results of all queries, whose models were fitted by counts or exactly; None if there are none."""
    several = [result for label, result in found.results.items() if label.startswith(EXACT) == exact]
    return pool_results(several) if several else None


def judge(found: Findings) -> Sequence[Claim]:
    """The claims: less regret than both, and at most half of that of the best ranked bandit."""
    result, exact = pooled(found), pooled(found, exact=True)
    assert result is not None
    best, share = best_ranked(result)
    remark = ""
    if exact is not None:
        name, ratio = best_ranked(exact)
        remark = (
            f"on DCMs that are fitted exactly, not by the published counts, {ratio_text(ratio)} times that of {name}"
        )
    means = ", ".join(f"{name} {final_regret(result, name).mean():,.1f}" for name in result.policies)
    claims = []
    for text, limit in (
        (f"{DCM_KL_UCB} outperforms both ranked bandits", 1.0),
        (f"the regret of {DCM_KL_UCB} is at least two times lower than that of the best of them", HALF),
    ):
        holds = undecided_if_short(is_below(share, limit), result.steps, FULL.steps)
        number = f"{ratio_text(share)} times that of {best}; under {limit:g} required ({means})"
        claims.append(Claim(text, found.outcome(holds), number, remark))
    return claims


def best_ranked(result: Result) -> tuple[str, Ratio]:
    """The ranked bandit with the least regret, and the ratio of the regret of dcmKL-UCB to its own."""
    best = min(RANKED, key=lambda name: float(final_regret(result, name).mean()))
    return best, regret_ratio(final_regret(result, DCM_KL_UCB), final_regret(result, best))


def draw(found: Findings, figure: Figure) -> None:
    """Draw the mean over queries and runs."""
    (axes,) = drawing.panels(figure)
    result = pooled(found)
    assert result is not None
    drawing.curves(axes, result)
    drawing.legend(figure)


EXPERIMENT = Experiment(
    title="Figure 3c: dcmKL-UCB, RankedKL-UCB and RankedExp3 on a search log",
    setting=(
        "A DCM per query, of the 20 most frequent; K = 5 of L = 10 documents; all algorithms take higher positions as "
        "more valuable; 10,000 steps, 5 runs of each query."
    ),
    full=FULL,
    quick=FULL._replace(runs=2, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw,
    data="click models",
    deviations=(
        "The paper shows 10 documents and does not say out of how many. Showing all 10 of 10 leaves nothing to choose, "
        "and all algorithms would be equal, so 5 are shown.",
        "From a log, the 10 documents of a query are those shown most. Its DCMs are fitted by the published counts, as "
        "in the paper, and for comparison exactly.",
    ),
    seconds=10.0,
)
