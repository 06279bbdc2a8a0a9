"""Section 8.1 of hiranandani2019: reward of the greedy list over that of the best one, on problems of MovieLens 1M."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from toplist import bounds
from toplist.core.slate import Floats
from toplist.experiments import drawing
from toplist.experiments.claims import Answer, claim
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Measure, Size
from toplist.experiments.hiranandani2019 import ratings
from toplist.experiments.hiranandani2019.rating_panels import count_topics, feedback
from toplist.experiments.verdicts import difference, is_below, mean_with_error, negation
from toplist.support.plots import PALETTE
from toplist.worlds import TopicCoverage, exact_best, greedy_best

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PRINTED = {1: "1.000", 2: "0.9926", 3: "0.9997", 4: "0.9986"}  # for the paper's own sample
LEAST = 0.99  # all ratios are above this in the paper
ITEMS, TOPICS = 100, 18
RATIOS, STRONGEST = "ratios", "strongest"  # the label, and the largest attraction of an item shown alone


def sample_world(world: TopicCoverage, items: int, people: int, seed: int) -> TopicCoverage:
    """Random items and people of a world."""
    rng = np.random.default_rng(seed)
    kept = np.sort(rng.choice(len(world.topics), min(items, len(world.topics)), replace=False))
    those = np.sort(rng.choice(len(world.preferences), min(people, len(world.preferences)), replace=False))
    return TopicCoverage(world.topics[kept], world.preferences[those], world.positions)


def ratios(world: TopicCoverage, positions: int) -> Floats:
    """Per person, the reward of the greedy list over that of the best one; 1 if nothing attracts."""
    found = []
    for taste in world.preferences:
        single = world._replace(preferences=taste, positions=positions)
        best = exact_best(single)[1]
        found.append(greedy_best(single)[1] / best if best > 0.0 else 1.0)
    return np.array(found)


def jobs(size: Size, data: DataSet | None) -> list[Measure]:
    """The ratios of as many people as there are runs."""
    assert data is not None

    def find() -> dict[str, Floats]:
        whole = ratings.world(feedback(data, min(TOPICS, count_topics(data))), 1, size.seed)
        world = sample_world(whole, ITEMS, size.runs, size.seed)
        strongest = np.array([(world.topics @ world.preferences.T).max()])
        return {str(length): ratios(world, length) for length in PRINTED} | {STRONGEST: strongest}

    return [Measure(RATIOS, find, f"{data.name}, {size.runs} people, seed {size.seed}")]


def judge(found: Findings) -> list[Claim]:
    """The claims of section 8.1: all averages are above 0.99."""
    ratios = found.measures[RATIOS]
    claims = []
    for length, printed in PRINTED.items():
        own = ratios[str(length)]
        held = negation(is_below(difference(own, np.zeros(len(own))), LEAST))
        number = f"{own.mean():.4f}, the least {own.min():.4f}; printed {printed}, above {LEAST} required"
        sure = bounds.hiranandani2019_theorem1(length, float(ratios[STRONGEST][0]))
        text = f"The greedy list is nearly the best, K = {length}"
        claims.append(claim(found, text, Answer(held, number), 0, f"Theorem 1 guarantees {sure:.2f}"))
    return claims


def draw(found: Findings, figure: Figure) -> None:
    """Draw the mean of each length with its error, the least, and the printed mean."""
    (axes,) = drawing.panels(figure)
    own = [found.measures[RATIOS][str(length)] for length in PRINTED]
    drawing.points(axes, list(PRINTED), [mean_with_error(each) for each in own], "mean, with its standard error", 0)
    axes.plot(list(PRINTED), [each.min() for each in own], "v", color=PALETTE[1], label="least of all people")
    axes.plot(list(PRINTED), [float(text) for text in PRINTED.values()], "x", color=PALETTE[6], label="mean, printed")
    drawing.bound(axes, [0.8, 4.2], [LEAST, LEAST], f"{LEAST}, above which the paper has all means")
    drawing.frame(axes, f"{len(own[0])} people", "positions K", "reward of the greedy list over that of the best")
    axes.set_ylim(min(0.98, *(each.min() - 0.005 for each in own)), 1.002)
    axes.set_xticks(list(PRINTED))
    drawing.legend(figure, 2)


EXPERIMENT = Experiment(
    title="Section 8.1: how close the greedy list comes to the best one",
    setting="Problems made of MovieLens 1M as in figure 2, with d = 18. 100 movies and 100 people at random, K from 1 "
    "to 4; the best list is found by exact search.",
    full=Size(1, 100),
    quick=Size(1, 20, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw,
    inches=(6.0, 4.5),
    data="movielens",
    deviations=("The movies and people are ours, drawn at random; the paper's sample is not known.",),
    seconds=5,
)
