"""Ranks with intervals that hold all at once."""

from __future__ import annotations

import math

import numpy as np
import pytest

from toplist.engine.statistics import t_quantile
from toplist.leaderboard import standings

POLICIES, RUNS, BOARDS = 20, 20, 600


def test_ranks_are_those_of_all_paired_tests() -> None:
    """Against a plain count of significant differences; the level is shared by all pairs."""
    rng = np.random.default_rng(1)
    visitors = rng.normal(size=12)
    means = {"a": 0.0, "b": 2.0, "c": 2.1, "d": 2.2, "e": 6.0}
    scores = {name: visitors + mean + 0.3 * rng.normal(size=12) for name, mean in means.items()}
    found = {each.label: each for each in standings(scores)}
    level = t_quantile(11, 1 - 0.05 / 10)
    for one, own in scores.items():
        apart = {other: own - scores[other] for other in scores if other != one}
        bound = {other: level * each.std(ddof=1) / np.sqrt(12) for other, each in apart.items()}
        better = sum(each.mean() > bound[other] for other, each in apart.items())
        worse = sum(each.mean() < -bound[other] for other, each in apart.items())
        assert (found[one].best, found[one].worst) == (1 + better, 5 - worse)
        assert found[one].low < own.mean() < found[one].high
    assert [each.label for each in standings(scores)] == sorted(scores, key=lambda name: scores[name].mean())
    assert (found["a"].best, found["a"].worst) == (1, 1)
    assert found["b"].worst > found["b"].best


def all_hold(means: list[float], rng: np.random.Generator) -> bool:
    """Whether the intervals of a simulated board have the true places of all policies in them."""
    shared = rng.normal(size=RUNS)  # the visitors of a run are those of all policies
    scores = {f"{i}": mean + shared + rng.normal(size=RUNS) for i, mean in enumerate(means)}
    for each in standings(scores):
        own = means[int(each.label)]
        first, last = 1 + sum(mean < own for mean in means), sum(mean <= own for mean in means)
        if each.best > first or each.worst < last:
            return False
    return True


@pytest.mark.parametrize("apart", [0.0, 0.1])
def test_all_intervals_of_a_board_hold_at_once(apart: float) -> None:
    """With 95% or more, also where all policies are equal; three standard errors of 600 boards are allowed."""
    rng, means = np.random.default_rng(2), [apart * i for i in range(POLICIES)]
    held = np.mean([all_hold(means, rng) for _ in range(BOARDS)])
    assert held >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / BOARDS)
