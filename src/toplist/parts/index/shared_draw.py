"""Thompson sampling with one Gaussian number per list, which all items share: the index of TS-Cascade."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, in_bulk
from toplist.core.problem import Problem, number, whole
from toplist.core.randomness import branch, normals
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.gaps import leave_out
from toplist.parts.index.select import select
from toplist.parts.memory.counts import Counts


class SharedDrawScratch(NamedTuple):
    """Scratch space of `SharedGaussian`: means, deviations and scores of the candidates, and the number drawn."""

    mean: Floats
    deviation: Floats
    score: Floats
    drawn: Floats  # one element


class SharedGaussian(NamedTuple):
    """Mean + Z deviation, with one standard normal Z per list, and a deviation that follows an item's variance.

    Since Z is the same for all items, a list is either optimistic about all of them or pessimistic about all. The mean
    of an item never examined is 0.

    Parameters
    ----------
    scale : float, default 1.0
        Factor of the deviation; 1 is that of TS-Cascade.
    stream : int, default 0
        Number of the random stream; draws with different numbers are independent.

    Notes
    -----
    With the variance v = mean (1 - mean), the deviation is the larger of sqrt(v log(t + 1) / (T + 1)) and log(t + 1) /
    (T + 1).
    """

    scale: float = 1.0
    stream: int = 0

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        return self._replace(
            scale=number("SharedGaussian's scale", self.scale, 0.0, 1e9, "TS-Cascade's is 1"),
            stream=whole("SharedGaussian's stream", self.stream, 0, "number the streams from 0"),
        )

    def scratch(self, problem: Problem) -> SharedDrawScratch:
        """Scratch space for the scores."""
        items = problem.items
        return SharedDrawScratch(np.zeros(items), np.zeros(items), np.zeros(items), np.zeros(1))

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def takes_gaps(self) -> bool:
        """Yes: candidates that are not eligible are left out."""
        return True

    def says(self) -> str:
        """The reason for an item, since there is no index."""
        return "best for a deviation drawn for the whole list"

    def lines(self, belief: Counts, items: Ints) -> tuple[Floats, Floats]:
        """Per item its score at Z = 0, and by how much it grows with Z."""
        mean, deviation = np.zeros(len(items)), np.zeros(len(items))
        fill_lines_in_bulk(belief, self.scale, items, mean, deviation)
        return mean, deviation

    def top(self, belief: Counts, cache: SharedDrawScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Draw Z, score every candidate, take the best."""
        candidates = request.candidates
        fill_lines(belief, self.scale, candidates, cache.mean, cache.deviation)
        normals(branch(request.key, -1 - self.stream), cache.drawn)  # apart from the key that breaks ties
        z, mean, deviation, score = cache.drawn[0], cache.mean, cache.deviation, cache.score
        for i in range(len(candidates)):
            score[i] = mean[i] + z * deviation[i]
        leave_out(request, score, -np.inf)
        select(score, candidates, len(candidates), request.labels, request.key, chosen, scores)


@helper
def fill_lines(belief: Counts, scale: float, items: Ints, mean: Floats, deviation: Floats) -> None:
    """Fill the means and deviations of some items for the next list."""
    unit, log = belief.unit[0], math.log(belief.clock[0] + 2.0)  # t is the number of the next list
    for i in range(len(items)):
        examined = belief.examined[items[i]]
        mean[i] = belief.clicked[items[i]] / examined if examined > 0.0 else 0.0
        each = log / (examined / unit + 1.0)
        deviation[i] = scale * max(math.sqrt(max(0.0, mean[i] * (1.0 - mean[i])) * each), each)


fill_lines_in_bulk = in_bulk(fill_lines)
