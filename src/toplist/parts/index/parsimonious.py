"""Parsimonious exploration: the best items by their estimate, but the last may be one that could be as good."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, in_bulk, routine
from toplist.core.problem import Problem, number, refuse, whole
from toplist.core.randomness import branch, toss
from toplist.core.slate import Bools, Floats, Ints, Request
from toplist.parts.index.select import select
from toplist.parts.memory.positions import Positioned

COIN, CHOICE = 0, 1  # branches of the index's key
VERY_UNLIKELY = 1e300  # in place of infinity, which times 0 would be no number


class ParsimoniousScratch(NamedTuple):
    """Scratch space: an estimate per candidate, and two numbers per position at the level of the last leader."""

    score: Floats
    log_missed: Floats  # log(1 - kappa level)
    slope_missed: Floats  # kappa / (1 - kappa level)


class Parsimonious(NamedTuple):
    """PIE: the items with the largest S / E; the last is replaced every other time by one that could be as good.

    An item could be as good as the last leader if its upper bound reaches the leader's estimate. The bound is the
    largest q with sum over positions l of N_l KL(S_l / N_l || kappa_l q) <= (1 + epsilon) log n; of the items that
    could be as good, each is equally likely. Items never shown go first.

    Parameters
    ----------
    epsilon : float, default 0.01
        Makes the bound larger than its asymptotic minimum; any number above 0 will do in theory.
    steps : float or "theory", default "theory"
        Number of lists n; "theory" is that of the simulation, and where it is unknown the number of the next list.
    stream : int, default 0
        Number of the random stream; draws with different numbers are independent.

    Notes
    -----
    Lagree, Vernade and Cappe, Multiple-Play Bandits in the Position-Based Model, NIPS 2016, algorithm 1 (PBM-PIE).
    """

    epsilon: float = 0.01
    steps: Any = "theory"
    stream: int = 0

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters; 0 steps stand for an unknown number."""
        steps = self.steps
        if isinstance(steps, str):
            if steps != "theory":
                raise refuse("Parsimonious's steps", steps, "a number of lists or 'theory'", "give the number of lists")
            steps = 0.0 if problem.steps is None else float(problem.steps)
        return self._replace(
            epsilon=number("Parsimonious's epsilon", self.epsilon, 0.0, 1e9, "give a small number, as 0.01"),
            steps=number("Parsimonious's steps", steps, 0.0, 1e18, "give the number of lists, as 1e6"),
            stream=whole("Parsimonious's stream", self.stream, 0, "number the streams from 0"),
        )

    def scratch(self, problem: Problem) -> ParsimoniousScratch:
        """Scratch space for one list."""
        return ParsimoniousScratch(np.zeros(problem.items), np.zeros(problem.positions), np.zeros(problem.positions))

    def reads(self) -> str:
        """Counts per position."""
        return "positions"

    def says(self) -> str:
        """The reason for an item, since the last position may be explored."""
        return "best by its estimate, or shown at the last position because it could be as good"

    def levels(self, belief: Positioned, items: Ints) -> Floats:
        """The estimates, infinity for items never shown."""
        estimates = np.zeros(len(items))
        fill_estimates_in_bulk(belief, items, estimates)
        return estimates

    def contenders(self, belief: Positioned, items: Ints, level: float) -> Bools:
        """Which items could be as good as a leader with this estimate."""
        places = len(belief.examination)
        cache = ParsimoniousScratch(np.zeros(0), np.zeros(places), np.zeros(places))
        budget = parsimonious_budget(belief, self.epsilon, self.steps)
        fill_level(belief, cache, level)
        return np.array([could_reach(belief, cache, int(item), level, budget) for item in items], dtype=bool)

    def top(
        self, belief: Positioned, cache: ParsimoniousScratch, request: Request, chosen: Ints, scores: Floats
    ) -> None:
        """Take the best by their estimates, and explore at the last position that is not pinned."""
        candidates = request.candidates
        fill_estimates(belief, candidates, cache.score)
        select(cache.score, candidates, len(candidates), request.labels, request.key, chosen, scores)
        key = branch(request.key, -1 - self.stream)  # apart from the key that breaks ties
        last = last_free(request, chosen)
        if last < 0 or not toss(key, COIN, 0.5):
            return
        budget = parsimonious_budget(belief, self.epsilon, self.steps)
        explored = draw_contender(belief, cache, request, branch(key, CHOICE), chosen[: last + 1], scores[last], budget)
        if explored >= 0:
            for position in range(last + 1, len(chosen)):
                if chosen[position] == explored:
                    chosen[position] = chosen[last]
            chosen[last] = explored


@helper
def fill_estimates(belief: Positioned, candidates: Ints, score: Floats) -> None:
    """Fill S / E for each candidate; infinity for items never shown."""
    for i in range(len(candidates)):
        exposure = belief.exposure[candidates[i]]
        score[i] = belief.total[candidates[i]] / exposure if exposure > 0.0 else np.inf


fill_estimates_in_bulk = in_bulk(fill_estimates)


@helper
def parsimonious_budget(belief: Positioned, epsilon: float, steps: float) -> float:
    """(1 + epsilon) log n."""
    return (1.0 + epsilon) * math.log(steps if steps > 0.0 else belief.clock[0] + 1.0)


@helper
def last_free(request: Request, chosen: Ints) -> int:
    """The rank of the item that goes to the least valuable position without a pin; -1 if all are pinned."""
    size = min(request.positions, len(request.candidates))
    free = size
    for position in range(min(size, len(request.pins))):
        free -= 1 if request.pins[position] >= 0 else 0
    last = -1
    for rank in range(size):
        if free > 0 and not is_among(chosen[rank], request.pins[:size]):
            last = rank
            free -= 1
    return last


@helper
def fill_level(belief: Positioned, cache: ParsimoniousScratch, level: float) -> None:
    """Fill what the likelihood of a level needs per position."""
    for place in range(len(belief.examination)):
        kappa = belief.examination[place]
        rest = 1.0 - kappa * level
        cache.log_missed[place] = math.log(rest) if rest > 0.0 else -VERY_UNLIKELY
        cache.slope_missed[place] = kappa / rest if rest > 0.0 else VERY_UNLIKELY


@helper
def could_reach(belief: Positioned, cache: ParsimoniousScratch, item: int, level: float, budget: float) -> bool:
    """Whether an item's upper bound reaches a level, for which `fill_level` was called.

    It does if the likelihood still grows there, or has not yet fallen by more than the budget.
    """
    if level <= 0.0 or level > 1.0:
        return level <= 0.0
    places, clicks = len(belief.examination), belief.total[item]
    loss, slope = belief.likelihood[item] - clicks * math.log(level), -clicks / level
    for place in range(places):
        missed = belief.missed[item * places + place]
        loss -= missed * cache.log_missed[place]
        slope += missed * cache.slope_missed[place]
    return bool(slope <= 0.0 or loss <= budget)


@routine
def draw_contender(
    belief: Positioned, cache: ParsimoniousScratch, request: Request, key: int, leaders: Ints, level: float,
    budget: float,
) -> int:  # fmt: skip
    """One of the items that could be as good as the last leader, each equally likely; -1 for none."""
    if not level <= 1.0:  # no bound is above 1
        return -1
    fill_level(belief, cache, level)
    size = min(request.positions, len(request.candidates))
    found, largest = -1, 0
    for item in request.candidates:
        if not could_reach(belief, cache, item, level, budget):
            continue
        hashed = branch(key, request.labels[item])
        if found >= 0 and hashed <= largest:
            continue
        if is_among(item, leaders) or is_among(item, request.pins[:size]):
            continue
        found, largest = item, hashed
    return found


@helper
def is_among(item: int, items: Ints) -> bool:
    """Whether an item is one of a few."""
    for other in items:
        if other == item:
            return True
    return False
