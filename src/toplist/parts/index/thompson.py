"""Thompson sampling over counts: a draw from the posterior of each item."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from toplist.core.problem import Problem, whole
from toplist.core.randomness import beta, branch
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.select import select
from toplist.parts.index.ucb1 import ScoreScratch, score_scratch
from toplist.parts.memory.counts import Counts


class BetaPosterior(NamedTuple):
    """A draw per item and list from Beta(1 + S, 1 + T - S), after T examinations and S clicks.

    The prior is uniform, so the draw of an unseen item is uniform in [0, 1].

    Parameters
    ----------
    stream : int, default 0
        Number of the random stream; draws with different numbers are independent.
    """

    stream: int = 0

    def prepare(self, problem: Problem) -> Self:
        """Check the stream."""
        return self._replace(stream=whole("BetaPosterior's stream", self.stream, 0, "number the streams from 0"))

    def scratch(self, problem: Problem) -> ScoreScratch:
        """Scratch space for the draws."""
        return score_scratch(problem)

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def draws_each(self) -> bool:
        """Yes: a draw from the posterior of each item."""
        return True

    def log_density(self, belief: Counts, items: Ints, values: Floats) -> Floats:
        """S log x + (T - S) log(1 - x)."""
        clicks = belief.clicked[items, None] / belief.unit[0]
        others = np.maximum(belief.examined[items, None] / belief.unit[0] - clicks, 0.0)
        return times_log(clicks, values) + times_log(others, 1.0 - values)

    def top(self, belief: Counts, cache: ScoreScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Draw for every candidate, take the best."""
        candidates = request.candidates
        key = branch(request.key, -1 - self.stream)  # apart from the key that breaks ties
        per_unit = 1.0 / belief.unit[0]
        for i in range(len(candidates)):
            item = candidates[i]
            clicks = belief.clicked[item] * per_unit
            others = max(belief.examined[item] * per_unit - clicks, 0.0)
            cache.score[i] = beta(branch(key, request.labels[item]), 1.0 + clicks, 1.0 + others)
        select(cache.score, candidates, len(candidates), request.labels, request.key, chosen, scores)


def times_log(factor: Floats, values: Floats) -> Floats:
    """factor log(values), and 0 where the factor is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        product: Floats = np.where(factor > 0.0, factor * np.log(values), 0.0)
    return product
