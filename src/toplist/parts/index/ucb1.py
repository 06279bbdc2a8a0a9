"""Indices that are a formula of the counts: UCB1, and the plain mean."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.beliefs import MANY
from toplist.core.compiling import helper, in_bulk
from toplist.core.problem import Problem, number
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.few_keys import key_scratch, select_early
from toplist.parts.index.few_on_gpu import FEW_ON_GPU, FewOnGPU
from toplist.parts.index.gaps import leave_out
from toplist.parts.index.last_list import ByLastList
from toplist.parts.index.select import gather, is_contiguous
from toplist.parts.index.shortlist import NoShortlist, Shortlist, empty_shortlist
from toplist.parts.memory.counts import Counts

MOST = 1e30  # a level that only items without observations reach
SLACK = 1e-6  # relative, of a level: more than the rounding of five operations in single precision


class ScoreScratch(NamedTuple):
    """Scratch space for one score per eligible item, and for the counts behind it."""

    score: Floats
    examined: Floats
    clicked: Floats


def score_scratch(problem: Problem) -> ScoreScratch:
    """Scratch space for all items."""
    return ScoreScratch(np.zeros(problem.items), np.zeros(problem.items), np.zeros(problem.items))


class FormulaScratch(NamedTuple):
    """Scratch space for scores, and the shortlist of very many items."""

    scores: ScoreScratch
    shortlist: Shortlist | NoShortlist
    keys: Ints  # of few items


def formula_scratch(problem: Problem) -> FormulaScratch:
    """Nothing is computed yet."""
    return FormulaScratch(score_scratch(problem), empty_shortlist(problem), key_scratch(problem))


@helper
def mean_plus_radius(belief: Counts, budget: float, candidates: Ints, cache: ScoreScratch) -> None:
    """Fill mean + sqrt(budget / T) for each candidate; infinity for items never examined."""
    count = len(candidates)
    if is_contiguous(candidates):
        first = candidates[0]
        fill_formula(belief.examined[first : first + count], belief.clicked[first : first + count], budget, cache.score)
    else:
        gather(belief.examined, candidates, cache.examined)
        gather(belief.clicked, candidates, cache.clicked)
        fill_formula(cache.examined[:count], cache.clicked[:count], budget, cache.score)


@helper
def fill_formula(examined: Floats, clicked: Floats, budget: float, score: Floats) -> None:
    """Fill the formula for contiguous items."""
    for i in range(len(examined)):
        score[i] = formula_value(examined[i], clicked[i], budget)


@helper
def formula_value(examined: float, clicked: float, budget: float) -> float:
    """mean + sqrt(b / T), with one division instead of two: (sum + sqrt(b T)) / T."""
    return (clicked + math.sqrt(budget * examined)) / examined if examined > 0.0 else np.inf


@helper
def formula_tangent(examined: float, clicked: float, budget: float) -> tuple[float, float]:
    """The formula, and its derivative with respect to the budget."""
    if examined <= 0.0 or budget <= 0.0:
        return formula_value(examined, clicked, budget), 0.0
    return formula_value(examined, clicked, budget), 0.5 / math.sqrt(budget * examined)


@helper
def best_by_formula(
    scoring: Any, belief: Counts, budget: float, cache: FormulaScratch, request: Request, chosen: Ints, scores: Floats
) -> None:
    """Fill the items with the largest values."""
    if cache.shortlist.suits(request.candidates, len(chosen)):
        cache.shortlist.take_best(scoring, belief, request, budget, chosen, scores)
        return
    mean_plus_radius(belief, budget, request.candidates, cache.scores)
    leave_out(request, cache.scores.score, -np.inf)
    select_early(cache.scores.score, request, belief.clock[0], cache.keys, chosen, scores)


@helper
def ucb1_budget(belief: Counts, scale: float) -> float:
    """T times the term under the root: scale log(t-1), in the units of the counts."""
    return float(scale * math.log(max(1.0, belief.clock[0])) * belief.unit[0])


fill_formula_in_bulk = in_bulk(fill_formula)


def formula_values(belief: Counts, budget: float, items: Ints) -> Floats:
    """The formula for some items."""
    score = np.zeros(len(items))
    fill_formula_in_bulk(belief.examined[items], belief.clicked[items], budget, score)
    return score


class FormulaIndex:
    """What indices of the form mean + sqrt(b / T) have in common, whatever b is."""

    __slots__ = ()

    def scratch(self, problem: Problem) -> FormulaScratch:
        """Scratch space for the scores."""
        return formula_scratch(problem)

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def takes_gaps(self) -> bool:
        """Yes: exceptions of a request are left out of its shortlist."""
        return True

    def tangent(self, examined: float, clicked: float, budget: float) -> tuple[float, float]:
        """The index, and its slope."""
        return formula_tangent(examined, clicked, budget)


class _UCB1Fields(NamedTuple):
    scale: float = 1.5


class UCB1(FormulaIndex, _UCB1Fields):
    """Mean plus sqrt(scale log(t-1) / T).

    Parameters
    ----------
    scale : float, default 1.5
        Factor under the root of the confidence radius; 1.5 is that of kveton2015, section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from toplist.core.problem import Problem
    >>> from toplist.core.slate import NONE, Request
    >>> from toplist.parts.memory import Everything
    >>> belief = Everything(prior_mean=0.5, prior_strength=10.0).begin(Problem(items=1, positions=1))
    >>> belief.clock[0] = 100.0
    >>> request = Request(np.arange(1), 1, NONE, NONE, np.zeros((1, 0)), 0, np.arange(1), key=0)
    >>> UCB1().exact(belief, request).round(6).tolist()
    [1.331129]
    """

    __slots__ = ()

    def prepare(self, problem: Problem) -> Self:
        """Check the scale."""
        return self._replace(scale=number("UCB1's scale", self.scale, 0.0, 1e9, "the papers' is 1.5"))

    def exact(self, belief: Counts, request: Request) -> Floats:
        """Mean plus radius."""
        return formula_values(belief, ucb1_budget(belief, self.scale), request.candidates)

    def top(self, belief: Counts, cache: FormulaScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Score the items that can be among the best, and take the best."""
        best_by_formula(self, belief, ucb1_budget(belief, self.scale), cache, request, chosen, scores)

    def on_gpu(self, problem: Problem) -> UCB1 | FewOnGPU | ByLastList:
        """A form that chooses the same items and is quicker on a GPU, unless there are very many items."""
        if problem.items <= FEW_ON_GPU:
            return FewOnGPU(self)
        return ByLastList(self) if problem.items < MANY else self

    def allowance(self, belief: Counts) -> float:
        """T times the term under the root."""
        return ucb1_budget(belief, self.scale)

    def solved(self, examined: float, clicked: float, budget: float) -> float:
        """The index."""
        return formula_value(examined, clicked, budget)

    def estimated(self, examined: float, clicked: float, budget: float) -> tuple[float, float]:
        """The index itself."""
        return formula_value(examined, clicked, budget), 0.0

    def level_for(self, belief: Counts, budget: float, least: float) -> tuple[float, float, float]:
        """The level, the budget in whole observations, and those per unit of the counts."""
        return min(least, MOST) * (1.0 - SLACK), budget / belief.unit[0], 1.0 / belief.unit[0]

    def may_reach(self, examined: float, clicked: float, level: tuple[float, float, float]) -> bool:
        """Whether the index can be at least the level: rounded, but False only if it is not."""
        least, limit, scale = np.float32(level[0]), np.float32(level[1]), level[2]
        tries, hits = np.float32(scale * examined), np.float32(scale * clicked)
        return bool(not hits + math.sqrt(limit * tries) < least * tries)


class _GreedyFields(NamedTuple):
    bonus: float = 0.0


class Greedy(FormulaIndex, _GreedyFields):
    """The mean alone: no optimism, but items never seen come first.

    Parameters
    ----------
    bonus : float, default 0.0
        Adds sqrt(bonus / T), a small optimism that does not grow.
    """

    __slots__ = ()

    def prepare(self, problem: Problem) -> Self:
        """Check the bonus."""
        return self._replace(bonus=number("Greedy's bonus", self.bonus, 0.0, 1e9, "0 is the plain mean"))

    def exact(self, belief: Counts, request: Request) -> Floats:
        """The mean, with the bonus."""
        return formula_values(belief, self.bonus * float(belief.unit[0]), request.candidates)

    def top(self, belief: Counts, cache: FormulaScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Score the items that can be among the best, and take the best."""
        best_by_formula(self, belief, self.bonus * belief.unit[0], cache, request, chosen, scores)
