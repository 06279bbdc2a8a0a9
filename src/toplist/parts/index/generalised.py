"""Optimism over logistic features, and Thompson sampling over linear ones."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, in_bulk
from toplist.core.problem import Problem, number, refuse, true_or_false
from toplist.core.randomness import branch, normals
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.alike_features import AlikeFeatures, best_of_groups, no_groups, suits_groups
from toplist.parts.index.ellipsoid import LinearScratch, choose_best, gauge_linear, score_linear
from toplist.parts.index.layout import empty_layout, lay_out_features
from toplist.parts.index.link import IDENTITY, LOGISTIC
from toplist.parts.memory.logit import Logit, click_probability
from toplist.parts.memory.ridge import FACTORED, Linear, widths
from toplist.parts.memory.symmetric import cholesky, solve_upper


@helper
def fill_click_probabilities(theta: Floats, rows: Floats, means: Floats) -> None:
    """Fill the click probability of each row of features."""
    for i in range(len(means)):
        means[i] = click_probability(theta, rows[i])


fill_click_probabilities_in_bulk = in_bulk(fill_click_probabilities)


class LogisticBound(NamedTuple):
    """Upper bound mu(theta'x) + scale rho(t) sqrt(x' V^-1 x) of a logistic model.

    With scale 0 it is the plain estimate.

    Parameters
    ----------
    scale : float, default 1.0
        Factor of the bonus.
    sigma : float, default 0.5
        Noise of a click, at most 0.5.
    c_mu : float, default 0.1
        Lower bound on the slope of mu.
    k_mu : float, default 0.25
        Upper bound on the slope of mu.
    delta : float or "theory", default "theory"
        Probability that the bound fails; "theory" is 1/sqrt(n), with the number of lists learned if n is unknown.
    capped : bool, default False
        Whether to cap the value at 1, as in the paper; early values then all tie.
    steps : float, default 0.0
        n, or 0 for the number of lists learned; filled by `prepare`.

    Notes
    -----
    rho(t) = (k_mu sigma / c_mu) sqrt(d/2 log(1 + t / (lambda d)) + log(1/delta)) after t lists, rho(0) = 1 (liu2018,
    equations (5) and (6)).
    """

    scale: float = 1.0
    sigma: float = 0.5
    c_mu: float = 0.1
    k_mu: float = 0.25
    delta: Any = "theory"
    capped: bool = False
    steps: float = 0.0

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
            capped=true_or_false("LogisticBound's capped", self.capped, "True caps the value at 1, as in the paper"),
            steps=float(problem.steps or 0),
        )

    def scratch(self, problem: Problem) -> LinearScratch:
        """Nothing is laid out yet."""
        return LinearScratch(empty_layout(problem), np.zeros(problem.items), np.zeros(problem.items))

    def reads(self) -> str:
        """A logistic belief."""
        return "logistic"

    def exact(self, belief: Logit, request: Request) -> Floats:
        """The formula, capped at 1 as in the paper."""
        rows = request.features[request.candidates]
        means = np.zeros(len(rows))
        fill_click_probabilities_in_bulk(belief.theta, rows, means)
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
        """Score every candidate by its gain."""
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
    """Scratch space of `Posterior`: the layout of the features, values, the drawn weights, and groups of items."""

    layout: Any
    value: Floats
    gathered: Floats
    drawn: Floats
    factor: Floats
    alike: AlikeFeatures


class Posterior(NamedTuple):
    """Thompson sampling: x'theta with theta drawn from the Gaussian N(theta, scale^2 M^-1), once per list.

    Parameters
    ----------
    scale : float, default 1.0
        Factor of the standard deviation; 1 is the posterior.
    stream : int, default 0
        Number of the random stream; draws with different numbers are independent.
    """

    scale: float = 1.0
    stream: int = 0

    def prepare(self, problem: Problem) -> Self:
        """Check the scale."""
        scale = number("Posterior's scale", self.scale, 0.0, 1e9, "1 is the posterior itself")
        return self._replace(scale=scale, stream=int(self.stream))

    def scratch(self, problem: Problem) -> PosteriorScratch:
        """Nothing is laid out yet."""
        d = problem.features
        arrays = (np.zeros(problem.items), np.zeros(problem.items), np.zeros(d), np.zeros((d, d)))
        return PosteriorScratch(empty_layout(problem), *arrays, no_groups(problem))

    def reads(self) -> str:
        """A linear belief."""
        return "linear"

    def says(self) -> str:
        """The reason for an item, since there is no index."""
        return "best for weights drawn from the posterior"

    def draws_weights(self) -> bool:
        """Yes, once per list."""
        return True

    def top(self, belief: Linear, cache: PosteriorScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Draw, score the items that can be among the best, take the best."""
        view = drawn_belief(belief, cache, branch(request.key, -1 - self.stream), self.scale)
        best_of_drawn(view, cache, request, chosen, scores)

    def gauge(
        self, belief: Linear, cache: PosteriorScratch, request: Request, covered: Floats, kind: int, placed: int,
        values: Floats,
    ) -> None:  # fmt: skip
        """Draw once per list, and score every candidate by its gain."""
        view = drawn_belief(belief, cache, branch(request.key, -1 - self.stream), self.scale if placed < 0 else -1.0)
        gauge_linear(view, cache, request, IDENTITY, 0.0, covered, kind, placed, values)


@helper
def best_of_drawn(view: Linear, cache: PosteriorScratch, request: Request, chosen: Ints, scores: Floats) -> None:
    """Fill the items with the largest scores under drawn weights."""
    lay_out_features(cache.layout, request)
    if suits_groups(cache.alike, cache.layout, request, len(chosen)):
        best_of_groups(cache.alike, view.theta, cache.layout.most[0], request, chosen, scores)
    else:
        score_linear(view, cache, request, IDENTITY, 0.0, cache.value)
        choose_best(cache, request, chosen, scores)


@helper
def drawn_belief(belief: Linear, cache: PosteriorScratch, key: int, scale: float) -> Linear:
    """The belief with weights drawn from it; the last drawn weights if `scale` is negative."""
    if scale >= 0.0:
        d, drawn = len(belief.theta), cache.drawn
        normals(key, drawn)
        for i in range(d):
            drawn[i] *= scale
        if belief.updates[1] == FACTORED:
            solve_upper(belief.inverse, drawn)
        else:
            cholesky(belief.inverse, cache.factor)
            for j in range(d - 1, -1, -1):  # backwards, so that each draw is read before it is overwritten
                z = drawn[j]
                drawn[j] = 0.0
                for i in range(j, d):
                    drawn[i] += cache.factor[j, i] * z
        for i in range(d):
            drawn[i] += belief.theta[i]
    return Linear(
        cache.drawn, belief.inverse, belief.gram, belief.total, belief.sigma, belief.examined, belief.clock,
        belief.base, belief.direction, belief.shrink, belief.updates,
    )  # fmt: skip
