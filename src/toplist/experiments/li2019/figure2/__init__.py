"""Figure 2 of li2019, in its appendix B: as figure 1, on single queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from toplist.engine.plot_marks import draw_breakpoints
from toplist.engine.result import Result
from toplist.experiments import drawing
from toplist.experiments.claims import Answer, ScaledAnswer, claim, count_text, range_text
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Play, Size
from toplist.experiments.li2019.jumping_queries import (
    DISCOUNTED,
    FACTOR,
    HALVED,
    LEFT_BEHIND,
    POLICIES,
    RESETTING,
    STEPS,
    WINDOWED,
    bound_texts,
    follows,
    plays,
    stays_behind,
)
from toplist.experiments.verdicts import CONVERGED, MUCH_WORSE, all_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUERIES, ROWS, COLUMNS, RUNS = 20, 4, 5, 40
FEW = 5  # queries that a remark names, at most
LIKELY = {  # why a policy may not converge on a single query
    DISCOUNTED: "likely because it remembers little more than 1,000 lists, so that its radius stays wider than gaps "
    "between items",
    WINDOWED: "likely because the items are too similar to be separated within its window",
}
BUBBLES = "BubbleRank"  # in the caption; the text has BatchRank
SHOWN = {name: policy for name, policy in POLICIES.items() if name != RESETTING} | {BUBBLES: "bubble-rank"}


def jobs(size: Size, data: DataSet | None) -> list[Play]:
    """A play per query."""
    assert data is not None
    return plays(size, data.content, QUERIES, SHOWN)


def judge(found: Findings) -> list[Claim]:
    """The claims of the paper, judged query by query."""
    assert found.data is not None
    attractions = found.data.content.attraction()
    promised = bound_texts((attractions[query] for query in found.results), found.size.steps)

    def on_every(question: Callable[[Result], Answer], asked: str) -> tuple[Answer, str]:
        """Whether it holds on every query, and on which it does not."""
        each = {query: question(result).holds for query, result in found.results.items()}
        missed = [query for query, holds in each.items() if holds is False]
        best = range_text(float(attractions[query].max()) for query in missed) if missed else ""
        where = f"not on {', '.join(missed)}, whose best item has attraction {best}" if 0 < len(missed) <= FEW else ""
        return Answer(all_of(each.values()), f"{count_text(list(each.values()), 'queries')}: {asked}"), where

    def converges(name: str) -> tuple[Answer, str]:
        asked = f"second half over first under {CONVERGED} in each epoch"
        return on_every(lambda result: follows(result, name, len(found.results)), asked)

    claims = []
    for name, scaled in ((DISCOUNTED, HALVED), (WINDOWED, None)):
        answer, where = converges(name)
        less = None if scaled is None else ScaledAnswer(converges(scaled)[0], FACTOR)
        why = LIKELY[name] if answer.holds is False else ""
        remark = "; ".join(filter(None, [promised[name], where, why]))
        claims.append(claim(found, f"{name} converges after each break", answer, STEPS, remark, less))
    for name in (*LEFT_BEHIND, BUBBLES):
        asked = f"{MUCH_WORSE} times the regret of {WINDOWED} or more"
        answer, where = on_every(lambda result, name=name: stays_behind(result, name), asked)  # type: ignore[misc]
        claims.append(claim(found, f"{name} does not converge", answer, STEPS, where))
    return claims


def draw(found: Findings, figure: Figure) -> None:
    """Draw a small panel per query, with a thin line at each break."""
    panels = drawing.panels(figure, ROWS, COLUMNS, share_y=True)
    for axes, (query, result) in zip(panels, found.results.items(), strict=False):
        drawing.curves(axes, result, title=f"query {query}")
        draw_breakpoints(axes, result.breakpoints)
        axes.set_xticks([0, result.steps // 2, result.steps])
    for axes in panels[len(found.results) :]:
        axes.set_visible(False)
    drawing.legend(figure, 4)


EXPERIMENT = Experiment(
    title="Figure 2: regret when items jump, on single queries",
    setting="As in figure 1, for each of 20 queries: L = 10, K = 3, n = 100,000, 40 runs.",
    full=Size(STEPS, RUNS),
    quick=Size(STEPS, 3, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw,
    inches=(11.0, 9.0),
    data="click models",
    deviations=(
        "The paper has 10 runs per query, which would leave many claims undecided.",
        "The first 20 queries of the data; the paper does not say which it picked.",
        "The caption names BubbleRank, the text BatchRank; both are played. BubbleRank starts from the order of the "
        "log.",
        "CascadeDUCB is also played with half its radius.",
    ),
    seconds=75,
)
