"""Figure 1 of li2019: regret when some items jump every other epoch, averaged over queries of a search log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toplist.engine.plot_marks import draw_breakpoints
from toplist.engine.result import Result
from toplist.experiments import drawing
from toplist.experiments.claims import Answer, ScaledAnswer, claim, interval_text
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Play, Size
from toplist.experiments.li2019.jumping_queries import (
    DISCOUNTED,
    EPOCH,
    FACTOR,
    HALVED,
    LEFT_BEHIND,
    POLICIES,
    RESETTING,
    RUNS,
    STEPS,
    WINDOWED,
    bound_texts,
    epoch_regret,
    follows,
    plays,
    stays_behind,
)
from toplist.experiments.pooled_results import pool_results
from toplist.experiments.verdicts import MeanWithError, compare_with_print, difference, final_regret, is_below, is_met
from toplist.support.tables import count_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUERIES, QUICK_QUERIES = 100, 20

# Printed regret of CascadeKL-UCB in the first and the ninth epoch, both with the first attraction.
PRINTED = {1: MeanWithError(111.50, 1.12), 9: MeanWithError(447.82, 137.16)}
PRINTED_FOR = "CascadeKL-UCB"


def jobs(size: Size, data: DataSet | None) -> list[Play]:
    """A play per query."""
    assert data is not None
    return plays(size, data.content, QUICK_QUERIES if size.quick else QUERIES, POLICIES)


def judge(found: Findings) -> list[Claim]:
    """The claims of the paper, judged by the tests of `experiments.verdicts`."""
    assert found.data is not None
    result = pool_results(list(found.results.values()))
    attractions = found.data.content.attraction()
    promised = bound_texts((attractions[query] for query in found.results), found.size.steps)

    def make_claim(text: str, answer: Answer, remark: str = "", scaled: ScaledAnswer | None = None) -> Claim:
        return claim(found, text, answer, STEPS, remark, scaled)

    halved = ScaledAnswer(follows(result, HALVED), FACTOR)
    claims = [
        make_claim(
            f"{DISCOUNTED} converges after each break", follows(result, DISCOUNTED), promised[DISCOUNTED], halved
        ),
        make_claim(f"{WINDOWED} converges after each break", follows(result, WINDOWED), promised[WINDOWED]),
        make_claim(f"{WINDOWED} is better than {DISCOUNTED}", _less_regret(result, WINDOWED, DISCOUNTED)),
    ]
    claims += [make_claim(f"{name} does not converge", stays_behind(result, name)) for name in LEFT_BEHIND]
    claims += [
        make_claim(
            f"{PRINTED_FOR}'s regret in epoch {number}", _printed(result, number), "the paper has 100 other queries"
        )
        for number in PRINTED
    ]
    ours = _less_regret(result, RESETTING, WINDOWED)
    return [*claims, make_claim(f"{RESETTING}, is better than {WINDOWED}", ours, "no paper says so; it is ours")]


def _less_regret(result: Result, name: str, other: str) -> Answer:
    found = difference(final_regret(result, name), final_regret(result, other))
    return Answer(is_below(found, 0.0), f"{interval_text(found)}, below 0 required")


def _printed(result: Result, number: int) -> Answer:
    if result.steps < number * EPOCH:
        return Answer(None, "not played")
    ours, printed = epoch_regret(result, PRINTED_FOR, number), PRINTED[number]
    return Answer(is_met(compare_with_print(ours, printed), result.runs), f"{ours}, printed {printed}")


def draw(found: Findings, figure: Figure) -> None:
    """Draw the figure of the paper, with a thin line at each break."""
    result = pool_results(list(found.results.values()))
    (axes,) = drawing.panels(figure)
    drawing.curves(axes, result, title=f"{len(found.results)} queries, {count_text(found.size.runs, 'run')} each")
    draw_breakpoints(axes, result.breakpoints)
    drawing.legend(figure)


EXPERIMENT = Experiment(
    title="Figure 1: regret when items jump, over all queries",
    setting="A cascade model per query of a search log, L = 10, K = 3. At first its own attractions; then, in "
    "every other 10,000 steps, three items that are not among the best jump to 0.9. n = 100,000, 10 runs of each "
    "query.",
    full=Size(STEPS, RUNS),
    quick=Size(STEPS, 1, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw,
    data="click models",
    deviations=(
        "All queries of the data, at most 100 as in the paper. From a log, the 10 documents of a query are those shown "
        "most; the paper has the most attractive.",
        "Unseen items rank above all others; the paper defines x/0 = 1, which is equivalent.",
        "CascadeDUCB is also played with half its radius, and CascadeKL-UCB with a memory that resets.",
    ),
    seconds=100,
)
