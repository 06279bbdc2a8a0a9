"""Ranked bandits that score every arm of every position: the baseline of those that copy and keep what they can."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.problem import Problem
from toplist.core.protocols import Capabilities
from toplist.core.randomness import branch, uniform
from toplist.core.slate import CANDIDATES, EVERY, NONE, PROPOSED, SCORE, Floats, Ints, Page, Request, Slate
from toplist.parts.index.ucb1 import ScoreScratch, score_scratch
from toplist.parts.memory.weights import Weights
from toplist.policies import make
from toplist.policies.ranked import Ranked, random_free_item


class EveryArmCache(NamedTuple):
    """Scratch arrays for one position's choice."""

    arms: Ints
    labels: Ints  # per arm: the label of its item
    free: Ints  # per item: 1 if it is not placed yet
    taken: Ints
    chosen: Ints
    score: Floats
    scoring: Any


class EveryArm(NamedTuple):
    """Ranked bandits whose index is asked about a list of all free arms at each position; without pins."""

    ranked: Ranked

    def prepare(self, problem: Problem) -> Self:
        """As ranked bandits."""
        return self._replace(ranked=self.ranked.prepare(problem))

    def begin(self, problem: Problem) -> Any:
        """As ranked bandits."""
        return self.ranked.begin(problem)

    def scratch(self, problem: Problem) -> EveryArmCache:
        """Arrays for the choice of one position."""
        arms = problem.items * problem.positions
        return EveryArmCache(
            arms=np.zeros(problem.items, dtype=np.int64),
            labels=np.zeros(arms, dtype=np.int64),
            free=np.zeros(problem.items, dtype=np.int64),
            taken=np.zeros(problem.positions, dtype=np.int64),
            chosen=np.zeros(1, dtype=np.int64),
            score=np.zeros(1),
            scoring=self.ranked.scoring.scratch(problem._replace(items=arms)),
        )

    def slate(self, problem: Problem) -> Slate:
        """As ranked bandits."""
        return self.ranked.slate(problem)

    def capabilities(self) -> Capabilities:
        """As ranked bandits."""
        return self.ranked.capabilities()

    def rank(self, belief: Any, cache: EveryArmCache, request: Request, slate: Slate) -> None:
        """List the arms of each position, and let the index choose among them."""
        positions, candidates = len(slate.items), request.candidates
        size = min(request.positions, len(candidates))
        slate.size[0] = size
        for item in candidates:
            cache.free[item] = 1
            for arm in range(item * positions, (item + 1) * positions):
                cache.labels[arm] = request.labels[item]
        for place in range(size):
            key = branch(request.key, place)
            count = 0
            for item in candidates:
                cache.arms[count] = item * positions + place
                if cache.free[item] == 1 or not self.ranked.collision:
                    count += 1
            among = Request(
                cache.arms[:count], 1, NONE, NONE, request.features, request.edition, cache.labels, key, EVERY, NONE
            )
            self.ranked.scoring.top(belief, cache.scoring, among, cache.chosen, cache.score)
            proposed = cache.chosen[0] // positions
            shown = proposed
            if cache.free[proposed] == 0:
                taken = 0
                for item in candidates:
                    cache.taken[taken] = item
                    taken += 1 if cache.free[item] == 0 else 0
                shown = random_free_item(candidates, cache.taken[:taken], request, key)
            cache.free[shown] = 0
            slate.items[place] = shown
            slate.memo[place, PROPOSED] = proposed
            slate.memo[place, SCORE] = cache.score[0]
            slate.memo[place, CANDIDATES] = count

    def learn(self, belief: Any, slate: Slate, page: Page) -> None:
        """As ranked bandits."""
        self.ranked.learn(belief, slate, page)

    def sample(self, belief: Any, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """As ranked bandits."""
        self.ranked.sample(belief, item, place, weight, value, slate)


class EveryClock(NamedTuple):
    """Exp3's draw as a race of exponential clocks: an exponential function and a logarithm for each arm."""

    stream: int = 0

    def prepare(self, problem: Problem) -> Self:
        """Not needed."""
        return self

    def scratch(self, problem: Problem) -> ScoreScratch:
        """Scratch space for the probabilities."""
        return score_scratch(problem)

    def reads(self) -> str:
        """Weights."""
        return "weights"

    def draws_one(self) -> bool:
        """Yes."""
        return True

    def top(self, belief: Weights, cache: ScoreScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        """The clock that rings first."""
        candidates, count, gamma = request.candidates, len(request.candidates), belief.exploration[0]
        largest, total, soonest = -np.inf, 0.0, np.inf
        for i in range(count):
            largest = max(largest, belief.logarithm[candidates[i]])
        for i in range(count):
            cache.score[i] = math.exp(belief.logarithm[candidates[i]] - largest)
            total += cache.score[i]
        key = branch(request.key, -1 - self.stream)
        for i in range(count):
            probability = (1.0 - gamma) * cache.score[i] / total + gamma / count
            rings = -math.log(1.0 - uniform(key, request.labels[candidates[i]])) / probability
            if rings < soonest:
                soonest, chosen[0], scores[0] = rings, candidates[i], probability


def of_every_arm(name: str) -> EveryArm:
    """Ranked bandits of the catalogue that score every arm."""
    ranked: Ranked = make(name)
    if ranked.memory.keeps() == "weights":
        ranked = ranked._replace(scoring=EveryClock())
    return EveryArm(ranked)
