"""Figure 6(a) of hiranandani2019: a problem made by hand for people who click more than once."""

from __future__ import annotations

import numpy as np

from toplist.clicks import DCM
from toplist.experiments.claiming import Answer, claim
from toplist.experiments.experiment import Claim, Data, Experiment, Found, Measure, Play, Size
from toplist.experiments.hiranandani2019.alphas import (
    ALPHA,
    DCM_OURS,
    GREEDY,
    ask,
    draw_both,
    flat_in,
    linear_in,
    much_less,
    plays,
)
from toplist.experiments.hiranandani2019.problems import figure6a
from toplist.slate import Floats
from toplist.worlds import greedy_best

TERMINATION, STEPS = 0.8, 200_000
BEST = "best list"
PRINTED = (1, 4, 7, 10, 2, 5, 8, 11)  # items, counted from 1


def jobs(size: Size, _: Data | None) -> list[Play | Measure]:
    """The best list, and the problem with both alphas."""
    world = figure6a()
    norm = float(np.linalg.norm(world.preferences))
    best = Measure(BEST, _best, f"termination {TERMINATION}")
    return [best, *plays(size, {"": world}, DCM(TERMINATION), (DCM_OURS, GREEDY), norm)]


def _best() -> dict[str, Floats]:
    return {"items": np.array(greedy_best(figure6a(), TERMINATION)[0], dtype=np.float64) + 1.0}


def judge(found: Found) -> list[Claim]:
    """What appendix C.4.1 says."""
    topic = np.argmax(figure6a().topics, axis=1)
    items = [int(item) for item in found.measures[BEST]["items"]]
    alike = bool((topic[np.array(items) - 1] == topic[np.array(PRINTED) - 1]).all())
    best = Answer(alike, f"{', '.join(map(str, items))}, by the greedy search that regret is measured against")
    return [
        claim(found, f"The best list is {', '.join(map(str, PRINTED))}", best, 0, "items of a topic are alike"),
        ask(found, f"{DCM_OURS} flattens", flat_in(DCM_OURS), steps=STEPS),
        ask(found, f"{GREEDY} grows linearly", linear_in(GREEDY), steps=STEPS),
        ask(found, f"{DCM_OURS} has much less regret than {GREEDY}", much_less(DCM_OURS, GREEDY), steps=STEPS),
    ]


EXPERIMENT = Experiment(
    title="Figure 6(a): a problem by hand for people who click more than once",
    setting="L = 61, d = 5, K = 8, one person with theta* = (0.3, 0.275, 0.225, 0.2, 0) who leaves after a click with "
    "probability 0.8. Items 1 to 3, 4 to 6, 7 to 9 and 10 to 11 cover topics 1 to 4 by a half, and 50 items topic 5 "
    "entirely. n = 200,000.",
    full=Size(STEPS, 24),
    quick=Size(STEPS, 2, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw_both,
    inches=(8.5, 4.2),
    deviations=(
        ALPHA,
        "The paper does not say how many steps it plays here; elsewhere 20,000, after which the two are still close. "
        "There are 200,000.",
    ),
    seconds=30,
)
