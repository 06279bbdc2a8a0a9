"""Thompson sampling over linear features with a deviation that grows with time: the index of LinTS-Cascade."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

from toplist.core.compiling import helper
from toplist.core.problem import Problem, number, whole
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.ellipsoid import gauge_linear
from toplist.parts.index.generalised import Posterior, PosteriorScratch, best_of_drawn, drawn_belief
from toplist.parts.index.link import IDENTITY
from toplist.parts.memory.ridge import Linear


class GrowingPosterior(NamedTuple):
    """x'theta with theta drawn from N(theta, (scale v_t)^2 K M^-1), once per list, where v_t = 3 noise sqrt(d log t).

    Wider than the posterior by as much as a confidence ellipsoid is, for a guarantee against any weights.

    Parameters
    ----------
    scale : float, default 1.0
        lambda, the factor of the standard deviation.
    noise : float, default 0.25
        Bound R on the noise of an observation; 1/4 is that of the authors.
    stream : int, default 0
        Number of the random stream; draws with different numbers are independent.
    positions : float, default 0.0
        K, the number of positions; filled by `prepare`.

    Notes
    -----
    Zhong, Cheung and Tan, Thompson Sampling Algorithms for Cascading Bandits, JMLR 2021, LinTS-Cascade(lambda).
    """

    scale: float = 1.0
    noise: float = 0.25
    stream: int = 0
    positions: float = 0.0  # K; filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        return self._replace(
            scale=number("GrowingPosterior's scale", self.scale, 0.0, 1e9, "LinTS-Cascade's is 1"),
            noise=number("GrowingPosterior's noise", self.noise, 0.0, 1e9, "LinTS-Cascade's is 0.25"),
            stream=whole("GrowingPosterior's stream", self.stream, 0, "number the streams from 0"),
            positions=float(problem.positions),
        )

    def scratch(self, problem: Problem) -> PosteriorScratch:
        """Nothing is laid out yet."""
        return Posterior().scratch(problem)

    def reads(self) -> str:
        """A linear belief."""
        return "linear"

    def says(self) -> str:
        """The reason for an item, since there is no index."""
        return "best for weights drawn around the estimate"

    def draws_weights(self) -> bool:
        """Yes, once per list."""
        return True

    def top(self, belief: Linear, cache: PosteriorScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Draw, score the items that can be among the best, take the best."""
        view = drawn_belief(belief, cache, branch(request.key, -1 - self.stream), growing_width(belief, self))
        best_of_drawn(view, cache, request, chosen, scores)

    def gauge(
        self, belief: Linear, cache: PosteriorScratch, request: Request, covered: Floats, kind: int, placed: int,
        values: Floats,
    ) -> None:  # fmt: skip
        """Draw once per list, and score every candidate by its gain."""
        width = growing_width(belief, self) if placed < 0 else -1.0
        view = drawn_belief(belief, cache, branch(request.key, -1 - self.stream), width)
        gauge_linear(view, cache, request, IDENTITY, 0.0, covered, kind, placed, values)


@helper
def growing_width(belief: Linear, scoring: GrowingPosterior) -> float:
    """scale v_t sqrt(K) for the next list t."""
    spread = float(len(belief.theta)) * scoring.positions * math.log(belief.clock[0] + 1.0)
    return float(scoring.scale * 3.0 * scoring.noise * math.sqrt(spread))
