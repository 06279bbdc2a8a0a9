"""Indices of chance: a uniform shuffle, and the draw by weights of Exp3."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, in_bulk, routine
from toplist.core.problem import Problem, whole
from toplist.core.randomness import branch, uniform
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.gaps import is_eligible, leave_out
from toplist.parts.index.select import is_contiguous, select
from toplist.parts.index.sum_tree import TINY, SumTree, arm_at, empty_tree, follow_weights, set_leaf, sum_of_range
from toplist.parts.index.ucb1 import ScoreScratch, score_scratch
from toplist.parts.memory.weights import Weights

LATE = 1.0 + 1e-12  # more than the rounding of a logarithm and a quotient
ENOUGH, SHORT = 256, 32  # a list of at most 32 of at least 256 candidates is drawn by where they are stored
BELOW_ALL = -1.0  # in place of a random score


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

    def takes_gaps(self) -> bool:
        """Yes: candidates that are not eligible are drawn again, or left out."""
        return True

    def exact(self, belief: Any, request: Request) -> Floats:
        """None: every list is a new draw."""
        return np.full(len(request.candidates), np.nan)

    def top(self, belief: Any, cache: ScoreScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Draw the items one by one; of few candidates, or for a long list, take the largest random scores."""
        candidates = request.candidates
        key = branch(request.key, -1 - self.stream)  # apart from the key that breaks ties
        if len(candidates) >= ENOUGH and len(chosen) <= SHORT:
            draw_different(request, key, chosen, scores)
            return
        if is_contiguous(candidates):
            labels = request.labels[candidates[0] : candidates[0] + len(candidates)]
            for i in range(len(labels)):  # vectorised
                cache.score[i] = uniform(key, labels[i])
        else:
            for i in range(len(candidates)):
                cache.score[i] = uniform(key, request.labels[candidates[i]])
        leave_out(request, cache.score, BELOW_ALL)
        select(cache.score, candidates, len(candidates), request.labels, request.key, chosen, scores)


@routine
def draw_different(request: Request, key: int, chosen: Ints, scores: Floats) -> None:
    """Fill `chosen` with different candidates, every list equally likely.

    A candidate that was drawn before, or is not eligible, is drawn again.
    """
    candidates, number = request.candidates, 0
    for place in range(len(chosen)):
        item, is_new = -1, False
        while not is_new:
            item = candidates[int(uniform(key, number) * len(candidates))]
            number += 1
            is_new = is_eligible(request, item, 0)
            for above in range(place):
                is_new = is_new and chosen[above] != item
        chosen[place], scores[place] = item, 0.0


class DrawScratch(NamedTuple):
    """Scratch space for the arms to draw from and their probabilities, and the sums of very many weights."""

    probability: Floats
    listed: Ints
    tree: SumTree


class ExploringDraw(NamedTuple):
    """Draws one item with probability (1 - gamma) w / sum of w + gamma / L; the score is that probability.

    Of few items, the draw is a race of exponential clocks, one per item, so it does not depend on their order. Of very
    many, it is found in a tree of sums, by where they are stored.

    Parameters
    ----------
    stream : int, default 0
        Number of the random stream; draws with different numbers are independent.
    """

    stream: int = 0

    def prepare(self, problem: Problem) -> Self:
        """Check the stream."""
        return self._replace(stream=whole("ExploringDraw's stream", self.stream, 0, "number the streams from 0"))

    def scratch(self, problem: Problem) -> DrawScratch:
        """Scratch space for the weights."""
        listed = np.zeros(problem.items, dtype=np.int64)
        return DrawScratch(np.zeros(problem.items), listed, empty_tree(problem))

    def reads(self) -> str:
        """Weights."""
        return "weights"

    def draws_one(self) -> bool:
        """Yes."""
        return True

    def takes_gaps(self) -> bool:
        """Yes: candidates that are not eligible are not drawn."""
        return True

    def exact(self, belief: Weights, request: Request) -> Floats:
        """The probability of being drawn among these candidates."""
        probability = np.zeros(len(request.candidates))
        fill_draw_probabilities_in_bulk(belief, request.candidates, probability)
        return probability

    def top(self, belief: Weights, cache: DrawScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Fill the first of `chosen` and the probability with which it was drawn."""
        key = branch(request.key, -1 - self.stream)
        in_tree = len(cache.tree.known) > 0 and is_contiguous(request.candidates) and len(request.present) == 0
        if not in_tree or not draw_from_tree(belief, cache.tree, request, key, chosen, scores):
            draw_by_race(belief, cache, request, key, chosen, scores)


@routine
def draw_from_tree(belief: Weights, tree: SumTree, request: Request, key: int, chosen: Ints, scores: Floats) -> bool:
    """Draw one of contiguous candidates; False if the sum of their weights has lost digits."""
    follow_weights(tree, belief.logarithm, belief.touched)
    sums, leaves, excluded = tree.sums, len(tree.sums) // 2, request.exceptions
    first, end = request.candidates[0], request.candidates[len(request.candidates) - 1] + 1
    for arm in excluded:
        set_leaf(sums, arm, 0.0)
    total, count, gamma = sum_of_range(sums, first, end), len(request.candidates) - len(excluded), belief.exploration[0]
    if total >= TINY:
        if uniform(key, 0) < gamma:
            arm = first + int(uniform(key, 1) * count)
            for other in excluded:  # they ascend
                arm += 1 if other <= arm else 0
        else:
            arm = arm_at(sums, first, end, uniform(key, 1) * total)
        chosen[0] = arm
        scores[0] = (1.0 - gamma) * sums[leaves + arm] / total + gamma / count
    for arm in excluded:
        set_leaf(sums, arm, math.exp(tree.logarithm[arm] - tree.scale[1]))
    return total >= TINY


@routine
def draw_by_race(belief: Weights, cache: DrawScratch, request: Request, key: int, chosen: Ints, scores: Floats) -> None:
    """Draw one of any candidates: the one whose exponential clock rings first."""
    found = 0
    for item in request.candidates:
        cache.listed[found] = item
        if is_eligible(request, item, 0):
            found += 1
    listed, probability = cache.listed[:found], cache.probability
    fill_draw_probabilities(belief, listed, probability)
    soonest = np.inf
    for i in range(found):
        drawn = uniform(key, request.labels[listed[i]])
        if drawn > LATE * soonest * probability[i]:  # -log(1 - u) >= u: it rings later, without a logarithm
            continue
        rings = -math.log(1.0 - drawn) / probability[i]
        if rings < soonest:
            soonest = rings
            chosen[0] = listed[i]
            scores[0] = probability[i]


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
