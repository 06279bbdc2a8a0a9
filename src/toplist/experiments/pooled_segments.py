"""Does it cost clicks to divide a ranking into segments? The same visitors, with and without segments."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from toplist.core.slate import Bools, Floats, Ints
from toplist.engine.statistics import Difference, paired_difference
from toplist.ranker import Rankers

LEAVES = 0.5  # probability that a visitor leaves after a click


class SegmentStudy(NamedTuple):
    """A ranking that learned from everybody, and is then divided into segments.

    Parameters
    ----------
    items, positions, segments : int
        Sizes.
    before, after : int
        Lists before and after the division.
    differ : float
        Standard deviation of the log odds of an item's attraction between segments; 0 for equal segments.
    rate : float
        Attraction of the median item.
    policy : str
        The policy.
    pool_strength : float or None
        Looks that the mean over segments is worth in a new one; None: learned.
    features : int
        Number of features whose weights decide attraction, and differ between segments instead; 0 for none.
    """

    items: int = 30
    positions: int = 5
    segments: int = 10
    before: int = 10_000
    after: int = 20_000
    differ: float = 0.0
    rate: float = 0.1
    policy: str = "dcm-ts"
    pool_strength: float | None = None
    features: int = 0


class Visitors(NamedTuple):
    """Visitors in their order: whom each segment attracts, and when they leave."""

    segment: Ints
    attracted: Bools  # (lists, items)
    leaves: Bools  # (lists, positions)
    rows: Floats  # (items, features)

    def clicks(self, number: int, shown: list[int]) -> list[int]:
        """Positions that a visitor clicks in a list: every attractive item, until they leave."""
        clicked = []
        for place, item in enumerate(shown):
            if self.attracted[number, item]:
                clicked.append(place + 1)
                if self.leaves[number, place]:
                    break
        return clicked


def draw_visitors(study: SegmentStudy, rng: np.random.Generator) -> Visitors:
    """Visitors of both phases; before the division, they come from all segments, too."""
    lists = study.before + study.after
    rows: Floats = np.zeros((study.items, 0))
    if study.features:  # an item is a mixture of topics
        rows = rng.dirichlet(np.full(study.features, 0.5), study.items)
    size = study.features or study.items
    odds = math.log(study.rate / (1.0 - study.rate)) + 0.7 * rng.normal(size=size)
    odds = odds + study.differ * rng.normal(size=(study.segments, size))
    attraction: Floats = 1.0 / (1.0 + np.exp(-odds))
    if study.features:
        attraction = attraction @ rows.T
    segment = rng.integers(study.segments, size=lists)
    attracted = rng.random((lists, study.items)) < attraction[segment]
    return Visitors(segment, attracted, rng.random((lists, study.positions)) < LEAVES, rows)


def play_run(study: SegmentStudy, pool: str, seed: int, compiled: bool = True) -> dict[str, float]:
    """Click-through after the division, in one run: undivided, and divided with a pool or without.

    Parameters
    ----------
    study : SegmentStudy
        The ranking.
    pool : {"prior", "none"}
        What a new segment begins with.
    seed : int
        Seed of all random numbers.
    compiled : bool, default True
        Whether to compile the policy.

    Returns
    -------
    dict of str to float
        Share of lists with a click, by "undivided" and "divided".
    """
    visitors = draw_visitors(study, np.random.default_rng(seed))
    found = {}
    for divided in (False, True):
        rankers = Rankers(
            range(study.items), study.positions, study.policy, seed, pool=pool, pool_strength=study.pool_strength,
            name="page", compiled=compiled, features=visitors.rows if study.features else None,
        )  # fmt: skip
        clicked = 0
        for number in range(study.before + study.after):
            later = number >= study.before
            segment = int(visitors.segment[number]) if divided and later else None
            shown = rankers.rank(segment)
            clicks = visitors.clicks(number, list(shown))
            rankers.learn(segment, shown, [{"position": place} for place in clicks])
            clicked += later and bool(clicks)
        found["divided" if divided else "undivided"] = clicked / study.after
    return found


def division_effect(study: SegmentStudy, pool: str, runs: int, seed: int = 0, compiled: bool = True) -> Difference:
    """What the division does to the click-through: the relative difference, paired by run, with a 95% interval.

    Parameters
    ----------
    study : SegmentStudy
        The ranking.
    pool : {"prior", "none"}
        What a new segment begins with.
    runs : int
        Number of runs.
    seed : int, default 0
        Seed of all random numbers.
    compiled : bool, default True
        Whether to compile the policy.

    Returns
    -------
    Difference
        Divided minus undivided, over the mean of the undivided.
    """
    played = [play_run(study, pool, seed + run, compiled) for run in range(runs)]
    undivided = np.array([each["undivided"] for each in played])
    divided = np.array([each["divided"] for each in played])
    return paired_difference(divided / undivided.mean(), undivided / undivided.mean())
