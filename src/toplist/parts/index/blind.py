"""Indices of chance: a uniform shuffle, and the draw by weights of Exp3."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, in_bulk
from toplist.core.problem import Problem, whole
from toplist.core.randomness import branch, uniform
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.select import is_contiguous, select
from toplist.parts.index.ucb1 import ScoreScratch, score_scratch
from toplist.parts.memory.weights import Weights

LATE = 1.0 + 1e-12  # more than the rounding of a logarithm and a quotient


class Chance(NamedTuple):
    """Every list equally likely, whatever was learned.

    Parameters
    ----------
    stream : int, default 0
        Number of the random stream; shufflers with different numbers are independent.
    """

    stream: int = 0

    def prepare(self, problem: Problem) -> Self:
        """Check the stream."""
        return self._replace(stream=whole("Chance's stream", self.stream, 0, "number the streams from 0"))

    def scratch(self, problem: Problem) -> ScoreScratch:
        """Scratch space for the scores."""
        return score_scratch(problem)

    def reads(self) -> str:
        """Any belief: it is not used."""
        return "any"

    def exact(self, belief: Any, request: Request) -> Floats:
        """None: every list is a new draw."""
        return np.full(len(request.candidates), np.nan)

    def top(self, belief: Any, cache: ScoreScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """A uniform score for each item."""
        candidates = request.candidates
        key = branch(request.key, -1 - self.stream)  # apart from the key that breaks ties
        if is_contiguous(candidates):
            labels = request.labels[candidates[0] : candidates[0] + len(candidates)]
            for i in range(len(labels)):  # vectorised
                cache.score[i] = uniform(key, labels[i])
        else:
            for i in range(len(candidates)):
                cache.score[i] = uniform(key, request.labels[candidates[i]])
        select(cache.score, candidates, len(candidates), request.labels, request.key, chosen, scores)


class ExploringDraw(NamedTuple):
    """Draws one item with probability (1 - gamma) w / sum of w + gamma / L; the score is that probability.

    The draw is a race of exponential clocks, one per item, so it does not depend on the order of the items.

    Parameters
    ----------
    stream : int, default 0
        Number of the random stream; draws with different numbers are independent.
    """

    stream: int = 0

    def prepare(self, problem: Problem) -> Self:
        """Check the stream."""
        return self._replace(stream=whole("ExploringDraw's stream", self.stream, 0, "number the streams from 0"))

    def scratch(self, problem: Problem) -> ScoreScratch:
        """Scratch space for the weights."""
        return score_scratch(problem)

    def reads(self) -> str:
        """Weights."""
        return "weights"

    def draws_one(self) -> bool:
        """Yes."""
        return True

    def exact(self, belief: Weights, request: Request) -> Floats:
        """The probability of being drawn among these candidates."""
        probability = np.zeros(len(request.candidates))
        fill_draw_probabilities_in_bulk(belief, request.candidates, probability)
        return probability

    def top(self, belief: Weights, cache: ScoreScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Fill the first of `chosen` and the probability with which it was drawn."""
        candidates = request.candidates
        fill_draw_probabilities(belief, candidates, cache.score)
        key = branch(request.key, -1 - self.stream)
        soonest = np.inf
        for i in range(len(candidates)):
            drawn = uniform(key, request.labels[candidates[i]])
            if drawn > LATE * soonest * cache.score[i]:  # -log(1 - u) >= u: it rings later, without a logarithm
                continue
            rings = -math.log(1.0 - drawn) / cache.score[i]
            if rings < soonest:
                soonest = rings
                chosen[0] = candidates[i]
                scores[0] = cache.score[i]


@helper
def fill_draw_probabilities(belief: Weights, candidates: Ints, probability: Floats) -> None:
    """Fill (1 - gamma) w / sum of w + gamma / L for each candidate."""
    count = len(candidates)
    largest = -np.inf
    for i in range(count):
        largest = max(largest, belief.logarithm[candidates[i]])
    total, before, weight = 0.0, np.nan, 0.0
    for i in range(count):
        logarithm = belief.logarithm[candidates[i]]
        if logarithm != before:  # most are equal: those never clicked
            before, weight = logarithm, math.exp(logarithm - largest)
        probability[i] = weight
        total += weight
    gamma = belief.exploration[0]
    for i in range(count):
        probability[i] = (1.0 - gamma) * probability[i] / total + gamma / count


fill_draw_probabilities_in_bulk = in_bulk(fill_draw_probabilities)
