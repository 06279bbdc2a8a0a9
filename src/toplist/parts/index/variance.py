"""An index whose radius follows the variance of an item's clicks: UCB-V."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, in_bulk
from toplist.core.problem import Problem, number
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.few_keys import select_early
from toplist.parts.index.gaps import leave_out
from toplist.parts.index.select import gather, is_contiguous
from toplist.parts.index.ucb1 import FormulaScratch, formula_scratch
from toplist.parts.memory.counts import Counts


@helper
def variance_value(examined: float, clicked: float, budget: float) -> float:
    """mean + sqrt(2 v b / T) + 3 b / T, where v = mean (1 - mean); infinity for items never examined."""
    if examined <= 0.0:
        return np.inf
    mean, each = clicked / examined, budget / examined
    return mean + math.sqrt(2.0 * max(0.0, mean * (1.0 - mean)) * each) + 3.0 * each


@helper
def variance_tangent(examined: float, clicked: float, budget: float) -> tuple[float, float]:
    """The index, and its derivative with respect to the budget: it is a root and a line, so concave."""
    value = variance_value(examined, clicked, budget)
    if examined <= 0.0 or budget <= 0.0:
        return value, 0.0
    mean = clicked / examined
    slope = math.sqrt(0.5 * max(0.0, mean * (1.0 - mean)) / (budget * examined)) + 3.0 / examined
    return value, slope


@helper
def fill_variance(examined: Floats, clicked: Floats, budget: float, score: Floats) -> None:
    """Fill the index for contiguous items."""
    for i in range(len(examined)):
        score[i] = variance_value(examined[i], clicked[i], budget)


@helper
def variance_budget(belief: Counts, scale: float) -> float:
    """scale log t for the next list t, in the units of the counts."""
    return float(scale * math.log(belief.clock[0] + 1.0) * belief.unit[0])


fill_variance_in_bulk = in_bulk(fill_variance)


class VarianceBound(NamedTuple):
    """UCB-V: mean + sqrt(2 v scale log t / T) + 3 scale log t / T, with the variance v = mean (1 - mean).

    The first radius is small for items that are rarely, or almost always, clicked; the second makes up for an
    uncertain variance.

    Parameters
    ----------
    scale : float, default 2.0
        Factor of log t; 2 is that of CascadeUCB-V.

    Notes
    -----
    Audibert, Munos and Szepesvari, Exploration-Exploitation Tradeoff Using Variance Estimates in Multi-Armed Bandits,
    Theoretical Computer Science 2009.

    Examples
    --------
    >>> from toplist.core.slate import NONE
    >>> from toplist.parts.memory import Everything
    >>> belief = Everything(prior_mean=0.2, prior_strength=100.0).begin(Problem(items=1, positions=1))
    >>> belief.clock[0] = 99.0
    >>> request = Request(np.arange(1), 1, NONE, NONE, np.zeros((1, 0)), 0, np.arange(1), key=0)
    >>> VarianceBound().exact(belief, request).round(6).tolist()
    [0.647987]
    """

    scale: float = 2.0

    def prepare(self, problem: Problem) -> Self:
        """Check the scale."""
        return self._replace(scale=number("VarianceBound's scale", self.scale, 0.0, 1e9, "CascadeUCB-V's is 2"))

    def scratch(self, problem: Problem) -> FormulaScratch:
        """Scratch space for the scores."""
        return formula_scratch(problem)

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def takes_gaps(self) -> bool:
        """Yes: exceptions of a request are left out of its shortlist."""
        return True

    def exact(self, belief: Counts, request: Request) -> Floats:
        """The formula for every candidate."""
        score, items = np.zeros(len(request.candidates)), request.candidates
        budget = variance_budget(belief, self.scale)
        fill_variance_in_bulk(belief.examined[items], belief.clicked[items], budget, score)
        return score

    def tangent(self, examined: float, clicked: float, budget: float) -> tuple[float, float]:
        """The index, and its slope."""
        return variance_tangent(examined, clicked, budget)

    def top(self, belief: Counts, cache: FormulaScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Score the items that can be among the best, and take the best."""
        candidates, budget = request.candidates, variance_budget(belief, self.scale)
        if cache.shortlist.suits(candidates, len(chosen)):
            cache.shortlist.take_best(self, belief, request, budget, chosen, scores)
            return
        score_by_variance(belief, budget, candidates, cache)
        leave_out(request, cache.scores.score, -np.inf)
        select_early(cache.scores.score, request, belief.clock[0], cache.keys, chosen, scores)


@helper
def score_by_variance(belief: Counts, budget: float, candidates: Ints, cache: FormulaScratch) -> None:
    """Fill the index of every candidate."""
    count, scores = len(candidates), cache.scores
    if is_contiguous(candidates):
        first = candidates[0]
        fill_variance(
            belief.examined[first : first + count], belief.clicked[first : first + count], budget, scores.score
        )
    else:
        gather(belief.examined, candidates, scores.examined)
        gather(belief.clicked, candidates, scores.clicked)
        fill_variance(scores.examined[:count], scores.clicked[:count], budget, scores.score)
