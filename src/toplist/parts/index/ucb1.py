"""Indices that are a formula of the counts: UCB1, and the plain mean."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem, number
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.select import gather, select, side_by_side
from toplist.parts.index.shortlist import Outlook, best_of_many, is_worthwhile, outlook_room
from toplist.parts.memory.counts import Counts


class Scores(NamedTuple):
    """Room for one score per eligible item, and for the counts it is made of."""

    score: Floats
    examined: Floats
    clicked: Floats


def score_room(problem: Problem) -> Scores:
    """Room for every item to be eligible."""
    return Scores(np.zeros(problem.items), np.zeros(problem.items), np.zeros(problem.items))


class Formulas(NamedTuple):
    """Room for scores, and what is known of very many items."""

    room: Scores
    outlook: Outlook


def formula_room(problem: Problem) -> Formulas:
    """Nothing is known yet."""
    return Formulas(score_room(problem), outlook_room(problem))


@helper
def mean_plus_radius(belief: Counts, budget: float, candidates: Ints, cache: Scores) -> None:
    """Fill mean + sqrt(budget / T) for each candidate; infinity for those never examined."""
    count = len(candidates)
    if side_by_side(candidates):
        first = candidates[0]
        formula(belief.examined[first : first + count], belief.clicked[first : first + count], budget, cache.score)
    else:
        gather(belief.examined, candidates, cache.examined)
        gather(belief.clicked, candidates, cache.clicked)
        formula(cache.examined[:count], cache.clicked[:count], budget, cache.score)


@helper
def formula(examined: Floats, clicked: Floats, budget: float, score: Floats) -> None:
    """Fill the formula for items side by side."""
    for i in range(len(examined)):
        score[i] = one_formula(examined[i], clicked[i], budget)


@helper
def one_formula(examined: float, clicked: float, budget: float) -> float:
    """With one division instead of two: mean + sqrt(b / T) = (sum + sqrt(b T)) / T."""
    return (clicked + math.sqrt(budget * examined)) / examined if examined > 0.0 else np.inf


@helper
def formula_tangent(examined: float, clicked: float, budget: float) -> tuple[float, float]:
    """The formula, and how fast it grows with the budget."""
    if examined <= 0.0 or budget <= 0.0:
        return one_formula(examined, clicked, budget), 0.0
    return one_formula(examined, clicked, budget), 0.5 / math.sqrt(budget * examined)


@helper
def best_by_formula(
    scoring: Any, belief: Counts, budget: float, cache: Formulas, request: Request, chosen: Ints, scores: Floats
) -> None:
    """Fill the items with the largest values."""
    candidates = request.candidates
    if is_worthwhile(cache.outlook, candidates, len(chosen)):
        best_of_many(scoring, belief, cache.outlook, request, budget, chosen, scores)
        return
    mean_plus_radius(belief, budget, candidates, cache.room)
    select(cache.room.score, candidates, len(candidates), request.labels, request.key, chosen, scores)


@helper
def ucb1_budget(belief: Counts, scale: float) -> float:
    """What is under the root, times T: scale log(t-1), in the units of the counts."""
    return float(scale * math.log(max(1.0, belief.clock[0])) * belief.unit[0])


def exact_formula(belief: Counts, budget: float, items: Ints) -> Floats:
    """The formula for some items."""
    score = np.zeros(len(items))
    formula(belief.examined[items], belief.clicked[items], budget, score)
    return score


class UCB1(NamedTuple):
    """Mean plus sqrt(scale log(t-1) / T) (kveton2015, section 3.2, with scale 1.5)."""

    scale: float = 1.5

    def prepare(self, problem: Problem) -> Self:
        """Check the scale."""
        return self._replace(scale=number("UCB1's scale", self.scale, 0.0, 1e9, "the papers' is 1.5"))

    def scratch(self, problem: Problem) -> Formulas:
        """Room for the scores."""
        return formula_room(problem)

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def draws_one(self) -> bool:
        """No: a whole list at once."""
        return False

    def exact(self, belief: Counts, request: Request) -> Floats:
        """Mean plus radius."""
        return exact_formula(belief, ucb1_budget(belief, self.scale), request.candidates)

    def tangent(self, examined: float, clicked: float, budget: float) -> tuple[float, float]:
        """The index, and its slope."""
        return formula_tangent(examined, clicked, budget)

    def top(self, belief: Counts, cache: Formulas, request: Request, chosen: Ints, scores: Floats) -> None:
        """Score all that can be among the best, take these."""
        best_by_formula(self, belief, ucb1_budget(belief, self.scale), cache, request, chosen, scores)


class Greedy(NamedTuple):
    """The mean alone: no optimism, but never seen still goes before everything seen."""

    bonus: float = 0.0  # adds sqrt(bonus / T), for those who want a little optimism that does not grow

    def prepare(self, problem: Problem) -> Self:
        """Check the bonus."""
        return self._replace(bonus=number("Greedy's bonus", self.bonus, 0.0, 1e9, "0 is the plain mean"))

    def scratch(self, problem: Problem) -> Formulas:
        """Room for the scores."""
        return formula_room(problem)

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def draws_one(self) -> bool:
        """No: a whole list at once."""
        return False

    def exact(self, belief: Counts, request: Request) -> Floats:
        """The mean, with the bonus."""
        return exact_formula(belief, self.bonus * float(belief.unit[0]), request.candidates)

    def tangent(self, examined: float, clicked: float, budget: float) -> tuple[float, float]:
        """The index, and its slope."""
        return formula_tangent(examined, clicked, budget)

    def top(self, belief: Counts, cache: Formulas, request: Request, chosen: Ints, scores: Floats) -> None:
        """Score all that can be among the best, take these."""
        best_by_formula(self, belief, self.bonus * belief.unit[0], cache, request, chosen, scores)
