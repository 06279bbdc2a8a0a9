"""Optimism in all directions of the feature space: the estimate plus a radius times the width of the ellipsoid."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.coverage import AS_IS
from toplist.core.problem import Problem, number, refuse
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.layout import (
    Layout,
    empty_layout,
    lay_out_features,
    score_all,
    score_changed,
    score_everything,
)
from toplist.parts.index.link import IDENTITY
from toplist.parts.index.select import gather, select
from toplist.parts.memory.ridge import Linear, widths

FORMULAS = {"figures": -1.0, "theory": -2.0}


class LinearScratch(NamedTuple):
    """Scratch space of an index over features: the layout of the features, and values per item and per candidate."""

    layout: Layout
    value: Floats
    gathered: Floats


class Ellipsoid(NamedTuple):
    """Linear UCB index, theta'x + alpha sqrt(x' M^-1 x).

    Parameters
    ----------
    alpha : float or {"figures", "theory"}, default "figures"
        Confidence radius. "theory" is equation (10) of hiranandani2019, `(1/sigma) sqrt(d log(1 + n K / (d sigma^2)) +
        2 log n) + |theta|`; "figures" is the same without 1/sigma, which gives the figures that the paper prints. n is
        the number of lists learned if the horizon is unknown.
    norm : float, default 1.0
        Bound on `|theta|`.
    steps : float, default 0.0
        n, or 0 for the number of lists learned; filled by `prepare`.
    places : float, default 0.0
        K; filled by `prepare`.
    """

    alpha: Any = "figures"
    norm: float = 1.0
    steps: float = 0.0
    places: float = 0.0

    def prepare(self, problem: Problem) -> Self:
        """Resolve the radius, as far as possible."""
        alpha = self.alpha
        if isinstance(alpha, str):
            if alpha not in FORMULAS:
                accepted = "'figures', 'theory' or a number of at least 0"
                raise refuse("Ellipsoid's alpha", alpha, accepted, "'figures' reproduces the papers' figures")
            alpha = FORMULAS[alpha]
        elif alpha not in FORMULAS.values():
            alpha = number("Ellipsoid's alpha", alpha, 0.0, 1e9, "or 'figures' or 'theory'")
        return self._replace(
            alpha=float(alpha),
            norm=number("Ellipsoid's norm", self.norm, 0.0, 1e9, "give a bound on the length of theta"),
            steps=float(problem.steps or 0),
            places=float(problem.positions),
        )

    def scratch(self, problem: Problem) -> LinearScratch:
        """Nothing is laid out yet."""
        return LinearScratch(empty_layout(problem), np.zeros(problem.items), np.zeros(problem.items))

    def reads(self) -> str:
        """A linear belief."""
        return "linear"

    def exact(self, belief: Linear, request: Request) -> Floats:
        """The formula, for features without coverage."""
        rows = request.features[request.candidates]
        return np.asarray(
            rows @ belief.theta + confidence_radius(belief, self) * widths(belief, request), dtype=np.float64
        )

    def top(self, belief: Linear, cache: LinearScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """Score everything, take the best."""
        score_linear(belief, cache, request, IDENTITY, confidence_radius(belief, self), cache.value)
        choose_best(cache, request, chosen, scores)

    def gauge(
        self,
        belief: Linear,
        cache: LinearScratch,
        request: Request,
        covered: Floats,
        kind: int,
        placed: int,
        values: Floats,
    ) -> None:
        """Score every candidate by its gain; after `placed`, only those whose gain that item changed."""
        gauge_linear(belief, cache, request, IDENTITY, confidence_radius(belief, self), covered, kind, placed, values)


@helper
def confidence_radius(belief: Linear, scoring: Ellipsoid) -> float:
    """alpha for the next list: the given one, or that of a formula."""
    if scoring.alpha >= 0.0:
        return float(scoring.alpha)
    sigma, d = belief.sigma[0], float(len(belief.theta))
    n = scoring.steps if scoring.steps > 0.0 else max(2.0, belief.clock[0] + 1.0)
    radius = math.sqrt(d * math.log1p(n * scoring.places / (d * sigma * sigma)) + 2.0 * math.log(n))
    return float((radius / sigma if scoring.alpha == -2.0 else radius) + scoring.norm)


@helper
def score_linear(belief: Any, cache: Any, request: Request, link: int, bonus: float, values: Floats) -> None:
    """Fill the value of each candidate, at its item, for features without coverage."""
    layout, candidates = cache.layout, request.candidates
    lay_out_features(layout, request)
    everybody = len(candidates) == layout.columns.shape[1]
    # The choice must not depend on the cache, because the two ways round differently.
    if everybody and layout.edition[1] == 0 and bonus > 0.0 and request.edition >= 0:
        score_everything(belief, layout, link, bonus, values)
    else:
        score_all(belief, layout, candidates, link, bonus, layout.nothing, AS_IS, values)


@helper
def choose_best(cache: Any, request: Request, chosen: Ints, scores: Floats) -> None:
    """Take the candidates with the largest values."""
    candidates, values = request.candidates, cache.value
    if len(candidates) < len(values):
        gather(cache.value, candidates, cache.gathered)
        values = cache.gathered
    select(values, candidates, len(candidates), request.labels, request.key, chosen, scores)


@helper
def gauge_linear(
    belief: Any, cache: Any, request: Request, link: int, bonus: float, covered: Floats, kind: int,
    placed: int, values: Floats,
) -> None:  # fmt: skip
    """Score the gains of all candidates over an empty list, which are their features, or those changed by `placed`."""
    if placed < 0:
        score_linear(belief, cache, request, link, bonus, values)
    else:
        score_changed(belief, cache.layout, request, link, bonus, covered, kind, placed, values)
