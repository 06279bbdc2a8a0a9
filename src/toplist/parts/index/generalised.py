"""Optimism over logistic features, and the draw from a posterior over linear ones."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem, number, refuse
from toplist.core.randomness import branch, normals
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.ellipsoid import LinearScratch, choose_best, gauge_linear, score_linear
from toplist.parts.index.layout import IDENTITY, LOGISTIC, empty_layout
from toplist.parts.memory.logistic import Logit, click_probability
from toplist.parts.memory.ridge import Linear, widths
from toplist.parts.memory.symmetric import cholesky


class LogisticBound(NamedTuple):
    """mu(theta'x) + scale rho(t) sqrt(x' V^-1 x).

    rho(t) = (k_mu sigma / c_mu) sqrt(d/2 log(1 + t / (lambda d)) + log(1/delta)) after t lists, rho(0) = 1, with
    delta = 1/sqrt(n) and n the number of lists learned where it is not known beforehand (Liu, Li and Zhang, 2018,
    equations (5) and (6)). The paper caps the value at 1; lists are ordered without the cap unless `capped`, since
    early values all tie there. With scale 0 it is the plain estimate.
    """

    scale: float = 1.0
    sigma: float = 0.5  # of a click, at most
    c_mu: float = 0.1
    k_mu: float = 0.25
    delta: Any = "theory"
    capped: bool = False
    steps: float = 0.0  # n, or 0 for as many as were learned; filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        delta = -1.0
        if self.delta not in ("theory", -1.0):
            delta = number("LogisticBound's delta", self.delta, 0.0, 1.0, "or 'theory' for 1/sqrt(n)")
        c_mu = number("LogisticBound's c_mu", self.c_mu, 0.0, 1e9, "the paper's is 0.1")
        if c_mu == 0.0 or delta == 0.0:
            raise refuse("LogisticBound's c_mu or delta", 0.0, "above 0", "the paper's are 0.1 and 1/sqrt(n)")
        return self._replace(
            scale=number("LogisticBound's scale", self.scale, 0.0, 1e9, "the paper's is 1, and 0 means no bonus"),
            sigma=number("LogisticBound's sigma", self.sigma, 0.0, 1e9, "a click's is at most 0.5"),
            c_mu=c_mu,
            k_mu=number("LogisticBound's k_mu", self.k_mu, 0.0, 1e9, "the paper's is 0.25"),
            delta=delta,
            capped=bool(self.capped),
            steps=float(problem.steps or 0),
        )

    def scratch(self, problem: Problem) -> LinearScratch:
        """Nothing is laid out yet."""
        return LinearScratch(empty_layout(problem), np.zeros(problem.items), np.zeros(problem.items))

    def reads(self) -> str:
        """A logistic belief."""
        return "logistic"

    def draws_one(self) -> bool:
        """No: a whole list at once."""
        return False

    def exact(self, belief: Logit, request: Request) -> Floats:
        """The formula, at most 1 as the paper has it."""
        rows = request.features[request.candidates]
        means = np.array([click_probability(belief.theta, row) for row in rows])
        return np.asarray(
            np.minimum(means + logistic_radius(belief, self) * widths(belief, request), 1.0), dtype=np.float64
        )

    def top(self, belief: Logit, cache: LinearScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Score everything, take the best."""
        score_linear(belief, cache, request, LOGISTIC, logistic_radius(belief, self), cache.value)
        if self.capped:
            for item in request.candidates:
                cache.value[item] = min(cache.value[item], 1.0)
        choose_best(cache, request, chosen, scores)

    def gauge(
        self, belief: Logit, cache: LinearScratch, request: Request, covered: Floats, kind: int, placed: int,
        values: Floats,
    ) -> None:  # fmt: skip
        """Score every candidate by its gain over what is covered."""
        gauge_linear(belief, cache, request, LOGISTIC, logistic_radius(belief, self), covered, kind, placed, values)


@helper
def logistic_radius(belief: Logit, scoring: LogisticBound) -> float:
    """scale times rho for the next list."""
    t, d = belief.clock[0], float(len(belief.theta))
    if t == 0.0:
        return float(scoring.scale)
    n = scoring.steps if scoring.steps > 0.0 else t + 1.0
    doubt = 0.5 * math.log(n) if scoring.delta < 0.0 else -math.log(scoring.delta)
    ridge = belief.ridge[0]
    spread = 0.5 * d * math.log1p(t / (ridge * d)) + doubt
    return float(scoring.scale * scoring.k_mu * scoring.sigma / scoring.c_mu * math.sqrt(spread))


class PosteriorScratch(NamedTuple):
    """The features as they are laid out, room for values, and for the weights drawn."""

    layout: Any
    value: Floats
    gathered: Floats
    drawn: Floats
    factor: Floats


class Posterior(NamedTuple):
    """Thompson sampling: x'theta with theta drawn from the Gaussian N(theta, scale^2 M^-1), once per list."""

    scale: float = 1.0
    stream: int = 0  # tells one draw from another

    def prepare(self, problem: Problem) -> Self:
        """Check the scale."""
        scale = number("Posterior's scale", self.scale, 0.0, 1e9, "1 is the posterior itself")
        return self._replace(scale=scale, stream=int(self.stream))

    def scratch(self, problem: Problem) -> PosteriorScratch:
        """Nothing is laid out yet."""
        d = problem.features
        arrays = (np.zeros(problem.items), np.zeros(problem.items), np.zeros(d), np.zeros((d, d)))
        return PosteriorScratch(empty_layout(problem), *arrays)

    def reads(self) -> str:
        """A linear belief."""
        return "linear"

    def draws_one(self) -> bool:
        """No: a whole list at once."""
        return False

    def says(self) -> str:
        """Why an item was chosen, where there is no index to tell."""
        return "best for weights drawn from what is believed"

    def top(self, belief: Linear, cache: PosteriorScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Draw, score everything, take the best."""
        view = drawn_belief(belief, cache, branch(request.key, -1 - self.stream), self.scale)
        score_linear(view, cache, request, IDENTITY, 0.0, cache.value)
        choose_best(cache, request, chosen, scores)

    def gauge(
        self, belief: Linear, cache: PosteriorScratch, request: Request, covered: Floats, kind: int, placed: int,
        values: Floats,
    ) -> None:  # fmt: skip
        """Draw once for the list, and score every candidate by its gain over what is covered."""
        view = drawn_belief(belief, cache, branch(request.key, -1 - self.stream), self.scale if placed < 0 else -1.0)
        gauge_linear(view, cache, request, IDENTITY, 0.0, covered, kind, placed, values)


@helper
def drawn_belief(belief: Linear, cache: PosteriorScratch, key: int, scale: float) -> Linear:
    """The belief with weights drawn from it; those drawn before where `scale` is negative."""
    if scale >= 0.0:
        d, drawn = len(belief.theta), cache.drawn
        cholesky(belief.inverse, cache.factor)
        normals(key, drawn)
        for j in range(d - 1, -1, -1):  # from the end, so that each draw is read before a sum takes its place
            z = scale * drawn[j]
            drawn[j] = 0.0
            for i in range(j, d):
                drawn[i] += cache.factor[j, i] * z
        for i in range(d):
            drawn[i] += belief.theta[i]
    return Linear(
        cache.drawn, belief.inverse, belief.gram, belief.total, belief.sigma, belief.examined, belief.clock,
        belief.base, belief.direction, belief.shrink, belief.updates,
    )  # fmt: skip
