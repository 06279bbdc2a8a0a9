"""Figure 1 of li2019: regret where some items jump every other epoch, averaged over queries of a search log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toplist.engine.plot_marks import draw_marks
from toplist.engine.result import Result
from toplist.experiments import drawing
from toplist.experiments.claims import Answer, Scaled, claim, interval
from toplist.experiments.experiment import Claim, Data, Experiment, Found, Play, Size
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
    follows,
    in_epoch,
    plays,
    promises,
    stays_behind,
)
from toplist.experiments.pooled_results import together
from toplist.experiments.verdicts import Measured, difference, final, met_by, printed_number, under
from toplist.support.tables import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUERIES, QUICK_QUERIES = 100, 20

# What the paper prints: CascadeKL-UCB's regret in the first and in the ninth epoch, both of the same, first attraction.
PRINTED = {1: Measured(111.50, 1.12), 9: Measured(447.82, 137.16)}
PRINTED_FOR = "CascadeKL-UCB"


def jobs(size: Size, data: Data | None) -> list[Play]:
    """A play per query."""
    assert data is not None
    return plays(size, data.content, QUICK_QUERIES if size.quick else QUERIES, POLICIES)


def judge(found: Found) -> list[Claim]:
    """What the paper says, by the tests of `experiments.verdicts`."""
    assert found.data is not None
    result = together(list(found.results.values()))
    attractions = found.data.content.attraction()
    promised = promises((attractions[query] for query in found.results), found.size.steps)

    def say(text: str, answer: Answer, remark: str = "", scaled: Scaled | None = None) -> Claim:
        return claim(found, text, answer, STEPS, remark, scaled)

    halved = Scaled(follows(result, HALVED), FACTOR)
    claims = [
        say(f"{DISCOUNTED} converges after each break", follows(result, DISCOUNTED), promised[DISCOUNTED], halved),
        say(f"{WINDOWED} converges after each break", follows(result, WINDOWED), promised[WINDOWED]),
        say(f"{WINDOWED} is better than {DISCOUNTED}", _under(result, WINDOWED, DISCOUNTED)),
    ]
    claims += [say(f"{name} does not converge", stays_behind(result, name)) for name in LEFT_BEHIND]
    claims += [
        say(f"{PRINTED_FOR}'s regret in epoch {number}", _printed(result, number), "the paper has 100 other queries")
        for number in PRINTED
    ]
    beyond = _under(result, RESETTING, WINDOWED)
    return [*claims, say(f"{RESETTING}, is better than {WINDOWED}", beyond, "no paper says so; it is ours")]


def _under(result: Result, name: str, other: str) -> Answer:
    apart = difference(final(result, name), final(result, other))
    return Answer(under(apart, 0.0), f"{interval(apart)}, below 0 asked")


def _printed(result: Result, number: int) -> Answer:
    if result.steps < number * EPOCH:
        return Answer(None, "not played")
    ours, printed = in_epoch(result, PRINTED_FOR, number), PRINTED[number]
    return Answer(met_by(printed_number(ours, printed), result.runs), f"{ours}, printed {printed}")


def draw(found: Found, figure: Figure) -> None:
    """As the paper draws it, and with a thin line at each break."""
    result = together(list(found.results.values()))
    (axes,) = drawing.panels(figure)
    drawing.curves(axes, result, title=f"{len(found.results)} queries, {counted(found.size.runs, 'run')} each")
    draw_marks(axes, result.breakpoints)
    drawing.legend(figure)


EXPERIMENT = Experiment(
    title="Figure 1: regret where items jump, over all queries",
    setting="A cascade model per query of a search log, L = 10, K = 3. First its own attractions; then every other "
    "10,000 steps three items that are not among the best jump to 0.9. n = 100,000, 10 runs of each query.",
    full=Size(STEPS, RUNS),
    quick=Size(STEPS, 1, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw,
    data="click models",
    deviations=(
        "As many queries as the data have, at most the paper's 100: 60 in the models that are known.",
        "What was never seen ranks above everything seen; the paper says x/0 = 1, which comes to the same.",
        "CascadeDUCB is also played with half its radius, and CascadeKL-UCB with a memory that resets.",
    ),
    seconds=100,
)
