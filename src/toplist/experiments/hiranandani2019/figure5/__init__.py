"""Figures 5 and 6(b) of hiranandani2019: people of MovieLens 1M who click more than once."""

from __future__ import annotations

from toplist.clicks import DCM
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Play, Size
from toplist.experiments.hiranandani2019 import ratings
from toplist.experiments.hiranandani2019.both_alphas import (
    ALPHA,
    DCM_OURS,
    GREEDY,
    STEPS,
    ask,
    draw_both,
    less_regret,
    much_less_regret,
    plays_with_both,
    sublinear_in,
)
from toplist.experiments.hiranandani2019.rating_panels import FEWER, NORM, PEOPLE, count_topics, feedback

TOPICS, POSITIONS, TERMINATION = 10, 8, 0.8
RUNS = 48


def jobs(size: Size, data: DataSet | None) -> list[Play]:
    """The problem with both alphas."""
    world = ratings.world(feedback(data, min(TOPICS, count_topics(data))), POSITIONS, size.seed)
    return plays_with_both(size, {"": world}, DCM(TERMINATION), (DCM_OURS, GREEDY), fewer=FEWER)


def judge(found: Findings) -> list[Claim]:
    """The claims of section 9."""
    return [
        ask(found, f"{DCM_OURS} is sublinear", sublinear_in(DCM_OURS)),
        ask(found, f"{DCM_OURS} has less regret than {GREEDY}", less_regret(DCM_OURS, GREEDY)),
        ask(found, f"{DCM_OURS} has much less regret than {GREEDY}", much_less_regret(DCM_OURS, GREEDY)),
    ]


EXPERIMENT = Experiment(
    title="Figures 5 and 6(b): regret for single people who click more than once, MovieLens",
    setting="As in figure 2, with d = 10, K = 8; after a click people leave with probability 0.8. n = 20,000.",
    full=Size(STEPS, RUNS),
    quick=Size(STEPS, 4, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw_both,
    inches=(8.5, 4.2),
    data="movielens",
    deviations=(ALPHA, PEOPLE.format(RUNS), NORM),
    seconds=110,
)
