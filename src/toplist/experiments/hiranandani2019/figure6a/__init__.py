"""Figure 6(a) of hiranandani2019: a synthetic problem for people who click more than once."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from toplist.clicks import DCM
from toplist.core.slate import Floats
from toplist.experiments import drawing
from toplist.experiments.claims import Answer, claim
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Measure, Play, Size
from toplist.experiments.hiranandani2019.both_alphas import (
    ALPHA,
    DCM_OURS,
    FORMULAS,
    GREEDY,
    STEPS,
    ask,
    flat_in,
    in_panel,
    linear_in,
    much_less_regret,
    plays_with_both,
    results_by_panel,
)
from toplist.experiments.hiranandani2019.problems import figure6a
from toplist.worlds import greedy_best

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TERMINATION = 0.8
BEST = "best list"
PRINTED = (1, 4, 7, 10, 2, 5, 8, 11)  # items, counted from 1
PAPERS, LONG = "as many steps as the paper", "ten times as many steps"
TIMES = {PAPERS: 1, LONG: 10}  # the paper's steps
OURS_ALONE = "ten times the paper's steps; not in the paper"


def jobs(size: Size, _: DataSet | None) -> list[Play | Measure]:
    """The best list, and the problem with both alphas, for the steps of the paper and for ten times as many."""
    world = figure6a()
    norm = float(np.linalg.norm(world.preferences))
    found: list[Play | Measure] = [Measure(BEST, _best, f"termination {TERMINATION}")]
    for name, times in TIMES.items():
        longer = size._replace(steps=times * size.steps)
        found += plays_with_both(longer, {name: world}, DCM(TERMINATION), (DCM_OURS, GREEDY), norm)
    return found


def _best() -> dict[str, Floats]:
    return {"items": np.array(greedy_best(figure6a(), TERMINATION)[0], dtype=np.float64) + 1.0}


def judge(found: Findings) -> list[Claim]:
    """The claims of appendix C.4.1."""
    topic = np.argmax(figure6a().topics, axis=1)
    items = [int(item) for item in found.measures[BEST]["items"]]
    alike = bool((topic[np.array(items) - 1] == topic[np.array(PRINTED) - 1]).all())
    best = Answer(alike, f"{', '.join(map(str, items))}, by the greedy search that defines regret")
    text = f"The best list is {', '.join(map(str, PRINTED))}"
    claims = [claim(found, text, best, 0, "items of a topic are equivalent")]
    for name, before, remark in ((PAPERS, "", ""), (LONG, "In the long run ", OURS_ALONE)):
        for said, question in (
            (f"{DCM_OURS} flattens", flat_in(DCM_OURS)),
            (f"{GREEDY} grows linearly", linear_in(GREEDY)),
            (f"{DCM_OURS} has much less regret than {GREEDY}", much_less_regret(DCM_OURS, GREEDY)),
        ):
            claims.append(ask(found, f"{before}{said}", in_panel(name, question), remark))
    return claims


def draw(found: Findings, figure: Figure) -> None:
    """Draw a row for each number of steps and a column for each alpha."""
    grid = drawing.panels(figure, len(TIMES), len(FORMULAS), share_x=False)
    for axes, (name, alpha) in zip(grid, product(TIMES, FORMULAS), strict=True):
        drawing.curves(axes, results_by_panel(found, alpha)[name], title=f"{name}, {alpha}")
    drawing.legend(figure)


EXPERIMENT = Experiment(
    title="Figure 6(a): a synthetic problem for people who click more than once",
    setting="L = 61, d = 5, K = 8, one person with theta* = (0.3, 0.275, 0.225, 0.2, 0) who leaves after a click with "
    "probability 0.8. Items 1 to 3, 4 to 6, 7 to 9 and 10 to 11 cover topics 1 to 4 by a half, and 50 items topic 5 "
    "entirely. n = 20,000, and again 200,000.",
    full=Size(STEPS, 24),
    quick=Size(STEPS, 2, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw,
    inches=(9.5, 7.5),
    deviations=(
        ALPHA,
        "Appendix C.4 gives no n and refers to section 8.4, which has 20,000. After 20,000 steps the two policies are "
        "still close, so 200,000 are played as well, and judged separately.",
        "The paper does not give the number of runs. The command plays 24 unless --runs is given, because fewer left "
        "more claims undecided.",
    ),
    seconds=30,
)
