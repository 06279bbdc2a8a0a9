"""Policies that look at every item for every list: the baselines of those that need not."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

from toplist import Policy
from toplist.core.coverage import AS_IS
from toplist.core.problem import Problem
from toplist.core.randomness import branch, uniform
from toplist.core.slate import Floats, Ints, Request, Slate
from toplist.parts.feedback import EveryPlace
from toplist.parts.index.exposure import is_outdated
from toplist.parts.index.exposure_draw import ExposureDraws, draw_from_posterior, fill_envelope, no_exposure_draws
from toplist.parts.index.generalised import PosteriorScratch, drawn_belief
from toplist.parts.index.layout import CHUNK, fill_matrix, fill_weights, lay_out_features, sum_listed
from toplist.parts.index.select import select
from toplist.parts.index.ucb1 import ScoreScratch, score_scratch
from toplist.parts.memory import Everything
from toplist.parts.memory.exposure import Exposed
from toplist.parts.memory.ridge import Linear, Ridge, add_observation, update_estimate
from toplist.policies import make


class EveryNumber(NamedTuple):
    """A random list by a random number for every item."""

    stream: int = 0

    def prepare(self, problem: Problem) -> Self:
        """Not needed."""
        return self

    def scratch(self, problem: Problem) -> ScoreScratch:
        """Scratch space for the numbers."""
        return score_scratch(problem)

    def reads(self) -> str:
        """Any belief."""
        return "any"

    def top(self, belief: Any, cache: ScoreScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """The items with the largest numbers."""
        candidates, key = request.candidates, branch(request.key, -1 - self.stream)
        for i in range(len(candidates)):
            cache.score[i] = uniform(key, request.labels[candidates[i]])
        select(cache.score, candidates, len(candidates), request.labels, request.key, chosen, scores)


class EveryExposureDraw(NamedTuple):
    """A draw from the posterior of every item, by rejection from below its tangents."""

    stream: int = 0

    def prepare(self, problem: Problem) -> Self:
        """Not needed."""
        return self

    def scratch(self, problem: Problem) -> ExposureDraws:
        """Nothing is computed yet."""
        return no_exposure_draws(problem)

    def reads(self) -> str:
        """Exposure."""
        return "exposure"

    def top(self, belief: Exposed, cache: ExposureDraws, request: Request, chosen: Ints, scores: Floats) -> None:
        """The items with the largest draws."""
        candidates, key = request.candidates, branch(request.key, -1 - self.stream)
        for i in range(len(candidates)):
            item = candidates[i]
            if is_outdated(belief, cache, item):
                fill_envelope(belief, cache, item)
            cache.value[i] = draw_from_posterior(belief, cache, item, branch(key, request.labels[item]))
        select(cache.value, candidates, len(candidates), request.labels, request.key, chosen, scores)


class EveryWidth(NamedTuple):
    """Linear Thompson sampling that scores every item and computes its width, of no use to it; sparse features."""

    posterior: Any

    def prepare(self, problem: Problem) -> Self:
        """As the posterior."""
        return self._replace(posterior=self.posterior.prepare(problem))

    def scratch(self, problem: Problem) -> PosteriorScratch:
        """As the posterior."""
        scratch: PosteriorScratch = self.posterior.scratch(problem)
        return scratch

    def reads(self) -> str:
        """A linear belief."""
        return "linear"

    def top(self, belief: Linear, cache: PosteriorScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """The items with the largest scores under weights drawn from the posterior."""
        layout, candidates = cache.layout, request.candidates
        view = drawn_belief(belief, cache, branch(request.key, -1), self.posterior.scale)
        lay_out_features(layout, request)
        fill_weights(view, layout, layout.nothing, AS_IS)
        fill_matrix(view, layout)
        mean, square = layout.sums[0], layout.sums[1]
        for begin in range(0, len(candidates), CHUNK):
            count = min(CHUNK, len(candidates) - begin)
            sum_listed(layout, layout.degree, begin, begin, count, True, mean, square)
            for i in range(count):
                cache.value[begin + i] = mean[i]
        select(cache.value, candidates, len(candidates), request.labels, request.key, chosen, scores)


class OneByOne(NamedTuple):
    """Ridge regression that updates its inverse for one observation after the other."""

    ridge: Ridge

    def prepare(self, problem: Problem) -> Self:
        """As ridge regression."""
        return self._replace(ridge=self.ridge.prepare(problem))

    def begin(self, problem: Problem) -> Linear:
        """As ridge regression."""
        return self.ridge.begin(problem)

    def keeps(self) -> str:
        """A linear belief."""
        return "linear"

    def tick(self, belief: Linear) -> None:
        """As ridge regression."""
        self.ridge.tick(belief)

    def add(self, belief: Linear, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Add an observation."""
        belief.examined[item] += weight
        add_observation(belief, slate.rows[place], weight, value)

    def conclude(self, belief: Linear) -> None:
        """Update the estimate."""
        update_estimate(belief)


def of_every_item(name: str) -> Policy:
    """A policy of the catalogue that looks at every item."""
    if name == "random":
        return Policy(EveryPlace(), Everything(), EveryNumber())
    policy: Policy = make(name)
    if name == "pbm-ts":
        return policy._replace(scoring=EveryExposureDraw())
    return policy._replace(memory=OneByOne(policy.memory), scoring=EveryWidth(policy.scoring))
