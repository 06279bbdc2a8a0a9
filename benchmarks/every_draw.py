"""Thompson sampling that draws for every item, the baseline of the lazy one: Cheng's rejection for each of them."""

from __future__ import annotations

from typing import NamedTuple, Self

from toplist import Policy
from toplist.core.problem import Problem
from toplist.core.randomness import beta, branch
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.feedback import ThroughLastClick
from toplist.parts.index.select import select
from toplist.parts.index.ucb1 import ScoreScratch, score_scratch
from toplist.parts.memory import Everything
from toplist.parts.memory.counts import Counts


class EveryDraw(NamedTuple):
    """A draw per item and list from its Beta posterior."""

    stream: int = 0

    def prepare(self, problem: Problem) -> Self:
        """Not needed."""
        return self

    def scratch(self, problem: Problem) -> ScoreScratch:
        """Scratch space for the draws."""
        return score_scratch(problem)

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def top(self, belief: Counts, cache: ScoreScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Draw for every candidate, take the best."""
        candidates = request.candidates
        key = branch(request.key, -1 - self.stream)
        per_unit = 1.0 / belief.unit[0]
        for i in range(len(candidates)):
            item = candidates[i]
            clicks = belief.clicked[item] * per_unit
            others = max(belief.examined[item] * per_unit - clicks, 0.0)
            cache.score[i] = beta(branch(key, request.labels[item]), 1.0 + clicks, 1.0 + others)
        select(cache.score, candidates, len(candidates), request.labels, request.key, chosen, scores)


def dcm_ts_of_every_draw() -> Policy:
    """dcmTS with a draw for every item."""
    return Policy(ThroughLastClick(), Everything(), EveryDraw())
