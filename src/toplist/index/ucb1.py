"""Indices that are a formula of the counts: UCB1, and the plain mean."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from toplist.compiled import helper
from toplist.index.select import select
from toplist.memory.counts import Counts
from toplist.problem import Problem, number
from toplist.slate import Floats, Ints, Request


class Scores(NamedTuple):
    """Room for one score per eligible item."""

    score: Floats


@helper
def mean_plus_radius(belief: Counts, budget: float, candidates: Ints, score: Floats) -> None:
    """Fill mean + sqrt(budget / T) for each candidate; infinity for those never examined."""
    count = len(candidates)
    if count > 0 and candidates[count - 1] - candidates[0] + 1 == count:
        # Ascending and without a gap, so no look-up is needed and the loop runs on vectors.
        first = candidates[0]
        for i in range(count):
            examined = belief.examined[first + i]
            mean = belief.clicked[first + i] / examined
            score[i] = mean + math.sqrt(budget / examined) if examined > 0.0 else np.inf
        return
    for i in range(count):
        examined = belief.examined[candidates[i]]
        mean = belief.clicked[candidates[i]] / examined
        score[i] = mean + math.sqrt(budget / examined) if examined > 0.0 else np.inf


class UCB1(NamedTuple):
    """Mean plus sqrt(scale log(t-1) / T) (kveton2015, section 3.2, with scale 1.5)."""

    scale: float = 1.5

    def prepare(self, problem: Problem) -> Self:
        """Check the scale."""
        return self._replace(scale=number("UCB1's scale", self.scale, 0.0, 1e9, "the papers' is 1.5"))

    def scratch(self, problem: Problem) -> Scores:
        """Room for the scores."""
        return Scores(np.zeros(problem.items))

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def top(self, belief: Counts, cache: Scores, request: Request, chosen: Ints, scores: Floats) -> None:
        """Score everything, take the best."""
        candidates = request.candidates
        budget = self.scale * math.log(max(1.0, belief.clock[0]))
        mean_plus_radius(belief, budget, candidates, cache.score)
        select(cache.score, candidates, len(candidates), request.labels, request.key, chosen, scores)


class Greedy(NamedTuple):
    """The mean alone: no optimism, but never seen still goes before everything seen."""

    bonus: float = 0.0  # a constant number of standard radii, sqrt(bonus / T)

    def prepare(self, problem: Problem) -> Self:
        """Check the bonus."""
        return self._replace(bonus=number("Greedy's bonus", self.bonus, 0.0, 1e9, "0 is the plain mean"))

    def scratch(self, problem: Problem) -> Scores:
        """Room for the scores."""
        return Scores(np.zeros(problem.items))

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def top(self, belief: Counts, cache: Scores, request: Request, chosen: Ints, scores: Floats) -> None:
        """Score everything, take the best."""
        candidates = request.candidates
        mean_plus_radius(belief, self.bonus, candidates, cache.score)
        select(cache.score, candidates, len(candidates), request.labels, request.key, chosen, scores)
