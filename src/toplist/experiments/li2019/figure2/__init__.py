"""Figure 2 of li2019, in its appendix B: the same as figure 1 on single queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toplist.engine.marks import draw_marks
from toplist.experiments import drawing
from toplist.experiments.claiming import Answer, Scaled, claim, counts
from toplist.experiments.experiment import Claim, Data, Experiment, Found, Play, Size
from toplist.experiments.li2019.queries import (
    BEHIND,
    CONVERGED,
    DISCOUNTED,
    FACTOR,
    HALVED,
    LEFT_BEHIND,
    POLICIES,
    RESETTING,
    RUNS,
    STEPS,
    WINDOWED,
    follows,
    plays,
    promises,
    stays_behind,
)
from toplist.experiments.verdicts import all_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUERIES, ROWS, COLUMNS = 20, 4, 5
BUBBLES = "BubbleRank"  # which the caption has where the text has BatchRank
SHOWN = {name: policy for name, policy in POLICIES.items() if name != RESETTING} | {BUBBLES: "bubble-rank"}


def jobs(size: Size, data: Data | None) -> list[Play]:
    """A play per query."""
    assert data is not None
    return plays(size, data.content, QUERIES, SHOWN)


def judge(found: Found) -> list[Claim]:
    """What the paper says, query by query."""
    assert found.data is not None
    attractions = found.data.content.attraction()
    promised = promises((attractions[query] for query in found.results), found.size.steps)
    halved = Scaled(_converges(found, HALVED), FACTOR)
    claims = [
        claim(found, f"{name} converges after each break", _converges(found, name), STEPS, promised[name], scaled)
        for name, scaled in ((DISCOUNTED, halved), (WINDOWED, None))
    ]
    for name in (*LEFT_BEHIND, BUBBLES):
        each = [stays_behind(result, name).holds for result in found.results.values()]
        number = f"{counts(each, 'queries')}: at least {BEHIND} times the regret of {WINDOWED}"
        claims.append(claim(found, f"{name} does not converge", Answer(all_of(each), number), STEPS))
    return claims


def _converges(found: Found, name: str) -> Answer:
    each = [follows(result, name).holds for result in found.results.values()]
    number = f"{counts(each, 'queries')}: the second half of each epoch adds under {CONVERGED} of its first"
    return Answer(all_of(each), number)


def draw(found: Found, figure: Figure) -> None:
    """A small panel per query, with a thin line at each break."""
    panels = drawing.panels(figure, ROWS, COLUMNS, share_y=True)
    for axes, (query, result) in zip(panels, found.results.items(), strict=False):
        drawing.curves(axes, result, title=f"query {query}")
        draw_marks(axes, result.breakpoints)
    for axes in panels[len(found.results) :]:
        axes.set_visible(False)
    drawing.legend(figure, 4)


EXPERIMENT = Experiment(
    title="Figure 2: regret where items jump, on single queries",
    setting="As in figure 1, for each of 20 queries: L = 10, K = 3, n = 100,000, 10 runs.",
    full=Size(STEPS, RUNS),
    quick=Size(STEPS, 2, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw,
    inches=(11.0, 9.0),
    data="click models",
    deviations=(
        "The first 20 queries of the data; the paper does not say which it picked.",
        "The caption has BubbleRank where the text has BatchRank; both are played. BubbleRank begins with the order of "
        "the log.",
        "CascadeDUCB is also played with half its radius.",
    ),
    seconds=80,
)
