"""Ranked bandits: one bandit per position, each learning from the clicks at its own position."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem, refuse
from toplist.core.protocols import Assessment, Capabilities, Change
from toplist.core.randomness import REPLACEMENT, branch, uniform
from toplist.core.slate import CANDIDATES, NONE, PROPOSED, SCORE, Floats, Ints, Page, Request, Slate, empty_slate
from toplist.policies.composed import assess, check_fit, is_forgetful


class Arms(NamedTuple):
    """Room for one position's choice. The arm of an item at a place is item * positions + place."""

    arms: Ints
    labels: Ints  # per arm, its item's label
    free: Ints  # per item, whether it is not placed yet
    chosen: Ints  # one element
    score: Floats  # one element
    index: Any


class Ranked(NamedTuple):
    """One bandit per position, from the top down, each with the same memory and index.

    `collision` says what happens to an item that stands further up already: with "remaining" a bandit chooses among
    the items not placed above it, which gives the regret that the papers print; with "random" it may propose any item,
    and a proposal that is taken is replaced by a random free item and earns nothing (Radlinski, Kleinberg and
    Joachims, Learning Diverse Rankings with Multi-Armed Bandits, ICML 2008, algorithm 2).
    """

    reading: Any
    memory: Any
    scoring: Any
    collision: str | bool = "remaining"
    places: int = 0  # filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """Check the parts; `collision` becomes whether to choose among the remaining."""
        check_fit(self.reading, self.memory, self.scoring, whole_lists=False)
        if self.collision not in ("remaining", "random", True, False):
            accepted = "'remaining' or 'random'"
            raise refuse("Ranked's collision", self.collision, accepted, "say what a bandit may propose")
        return self._replace(
            reading=self.reading.prepare(problem),
            memory=self.memory.prepare(problem),
            scoring=self.scoring.prepare(problem),
            collision=self.collision in ("remaining", True),
            places=problem.positions,
        )

    def begin(self, problem: Problem) -> Any:
        """A belief about every arm."""
        return self.memory.begin(problem._replace(items=problem.items * problem.positions))

    def scratch(self, problem: Problem) -> Arms:
        """Room for one position's choice."""
        arms = problem.items * problem.positions
        return Arms(
            arms=np.zeros(problem.items, dtype=np.int64),
            labels=np.zeros(arms, dtype=np.int64),
            free=np.zeros(problem.items, dtype=np.int64),
            chosen=np.zeros(1, dtype=np.int64),
            score=np.zeros(1),
            index=self.scoring.scratch(problem._replace(items=arms)),
        )

    def slate(self, problem: Problem) -> Slate:
        """The memo holds per place the item proposed, its score, and the number of items it was chosen from."""
        return empty_slate(problem.positions, problem.features, memo=3)

    def capabilities(self) -> Capabilities:
        """Learns from its own lists only: it must know what each bandit proposed."""
        counts = self.memory.keeps() == "counts"
        return Capabilities(
            learns_from_any_list=False,
            adds_items=counts,  # weights of items that come later, or drawn from a subset, have no meaning
            takes_subsets=counts,
            samples="item and place" if counts else "nothing",
            detects=hasattr(self.memory, "alarms"),
            forgets=is_forgetful(self.memory),
        )

    def rank(self, belief: Any, cache: Arms, request: Request, slate: Slate) -> None:
        """Fill the places from the top down."""
        positions = len(slate.items)
        candidates = request.candidates
        size = min(request.positions, len(candidates))
        slate.size[0] = size
        for item in candidates:
            cache.free[item] = 1
        for place in range(min(size, len(request.pins))):
            if request.pins[place] >= 0:
                cache.free[request.pins[place]] = 0
        for place in range(size):
            key = branch(request.key, place)
            pinned = request.pins[place] if len(request.pins) > 0 else -1
            count = 0
            for item in candidates:
                if cache.free[item] == 1 or not self.collision:
                    arm = item * positions + place
                    cache.arms[count] = arm
                    cache.labels[arm] = request.labels[item]
                    count += 1
            if pinned >= 0:
                # As good as a proposal to those who count, and drawn with no probability to those who weigh.
                shown, proposed = pinned, pinned
                cache.score[0] = 0.0
            else:
                among = Request(cache.arms[:count], 1, NONE, NONE, request.features, request.edition, cache.labels, key)
                self.scoring.top(belief, cache.index, among, cache.chosen, cache.score)
                proposed = cache.chosen[0] // positions
                shown = proposed if cache.free[proposed] == 1 else any_free(candidates, cache.free, request, key)
            cache.free[shown] = 0
            slate.items[place] = shown
            slate.memo[place, PROPOSED] = proposed
            slate.memo[place, SCORE] = cache.score[0]
            slate.memo[place, CANDIDATES] = count

    def learn(self, belief: Any, slate: Slate, page: Page) -> None:
        """Each bandit learns the click at its position, if what it proposed was shown there."""
        size = slate.size[0]
        self.reading.read(page, size)
        self.memory.tick(belief)
        for place in range(size):
            proposed = int(slate.memo[place, PROPOSED])
            if page.weight[place] > 0.0:
                earned = page.value[place] if proposed == slate.items[place] else 0.0
                arm = proposed * len(slate.items) + place
                self.memory.add(belief, arm, page.weight[place], earned, slate, place)
        self.memory.conclude(belief)

    def sample(self, belief: Any, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Remember free samples of an item at a place."""
        self.memory.add(belief, item * len(slate.items) + place, weight, value, slate, place)

    def changes(self, belief: Any, after: int = 0) -> list[Change]:
        """What any of the bandits found to have changed; an arm's item, whatever its place."""
        if not hasattr(self.memory, "alarms"):
            return []
        return [change._replace(item=change.item // self.places) for change in self.memory.alarms(belief, after)]

    def assess(self, belief: Any, request: Request, place: int | None) -> Assessment:
        """As the bandit of a place sees it; all in all, everybody's tries together and the largest index."""
        positions = request.positions
        bandits = [
            assess(self.memory, self.scoring, belief, request._replace(candidates=request.candidates * positions + at))
            for at in (range(positions) if place is None else (place,))
        ]
        tries = np.array([bandit.examined for bandit in bandits])
        clicked = np.where(tries > 0.0, tries * np.array([bandit.mean for bandit in bandits]), 0.0)
        examined = tries.sum(axis=0)
        mean, index = np.full(len(examined), np.nan), np.max([bandit.index for bandit in bandits], axis=0)
        np.divide(clicked.sum(axis=0), examined, out=mean, where=examined > 0.0)
        return Assessment(examined, mean, index, self.scoring.draws_one())

    def proposed(self, slate: Slate, place: int) -> tuple[int, float]:
        """What the bandit of a place wanted to show there, and the score it had for it then."""
        return int(slate.memo[place, PROPOSED]), float(slate.memo[place, SCORE])


@helper
def any_free(candidates: Ints, free: Ints, request: Request, key: int) -> int:
    """A free item, each equally likely."""
    best, largest = -1, -1.0
    for item in candidates:
        if free[item] == 1:
            drawn = uniform(branch(key, REPLACEMENT), request.labels[item])
            if drawn > largest:
                best, largest = item, drawn
    return best
