"""Exponential weights, the memory of Exp3: rewards of each item over the probability of drawing it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.problem import Problem, known_steps, number
from toplist.core.slate import CANDIDATES, SCORE, Floats, Ints, Request, Slate
from toplist.parts.memory.counts import touch, untouched_blocks


class Weights(NamedTuple):
    """The belief that a draw by weights reads: the logarithm of each item's weight, and the exploration rate."""

    logarithm: Floats
    exploration: Floats  # one element: gamma
    clock: Floats  # one element: lists learned
    touched: Ints  # per block of items, the number of changes to their weights; empty for few items

    def copy_arm(self, source: Any, arm: int, to: int) -> bool:
        """Copy the weight of an arm; whether it is another than before."""
        if self.logarithm[to] == source.logarithm[arm]:
            return False
        self.logarithm[to] = source.logarithm[arm]
        return True

    def count_changes(self, source: Any, first: int, end: int) -> int:
        """The number of arms in a range whose weights are others there."""
        logarithm, known, changed = source.logarithm[first:end], self.logarithm[first:end], 0
        for i in range(len(logarithm)):  # vectorised
            changed += 1 if logarithm[i] != known[i] else 0
        return changed

    def copy_rest(self, source: Any) -> None:
        """Copy the exploration rate and the clock."""
        self.exploration[0], self.clock[0] = source.exploration[0], source.clock[0]


class ExponentialWeights(NamedTuple):
    """Multiplies the weight of an item by exp(gamma x / (p L)) for reward x after a draw with probability p.

    Parameters
    ----------
    exploration : float or "theory", default "theory"
        gamma, the exploration rate; "theory" is min(1, sqrt(L ln L / ((e-1) n))) for n steps.

    Notes
    -----
    The tuning is that of Auer, Cesa-Bianchi, Freund and Schapire, The Nonstochastic Multiarmed Bandit Problem, SIAM J.
    Comput. 2002, corollary 3.2.

    Examples
    --------
    >>> from toplist.core.problem import Problem
    >>> round(ExponentialWeights().prepare(Problem(items=10, positions=3, steps=10_000)).exploration, 6)
    0.036607
    """

    exploration: float | str = "theory"

    def prepare(self, problem: Problem) -> Self:
        """Resolve gamma."""
        if self.exploration != "theory":
            advice = "give gamma, or 'theory'"
            return self._replace(exploration=number("Exp3's exploration", self.exploration, 0.0, 1.0, advice))
        steps = known_steps("Exp3's exploration", problem, "give exploration a number")
        bound = problem.items * math.log(problem.items) / ((math.e - 1.0) * steps)
        return self._replace(exploration=min(1.0, math.sqrt(bound)))

    def begin(self, problem: Problem) -> Weights:
        """All weights 1."""
        return Weights(np.zeros(problem.items), np.full(1, self.exploration), np.zeros(1), untouched_blocks(problem))

    def keeps(self) -> str:
        """Weights."""
        return "weights"

    def tally(self, belief: Weights, request: Request) -> tuple[Floats, Floats]:
        """Neither is stored."""
        unknown = np.full(len(request.candidates), np.nan)
        return unknown, unknown

    def tick(self, belief: Weights) -> None:
        """One more list."""
        belief.clock[0] += 1.0

    def add(self, belief: Weights, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Credit an item with its reward over the probability with which it was drawn, from the memo."""
        drawn, items = slate.memo[place, SCORE], slate.memo[place, CANDIDATES]
        if drawn > 0.0:
            belief.logarithm[item] += belief.exploration[0] * weight * value / (drawn * items)
            touch(belief, item)

    def conclude(self, belief: Weights) -> None:
        """Not needed."""
