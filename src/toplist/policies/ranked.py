"""Ranked bandits: one bandit per position, each learning from the clicks at its own position."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem, refuse
from toplist.core.protocols import Assessment, Capabilities, Change
from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.randomness import REPLACEMENT, branch, uniform
from toplist.core.slate import CANDIDATES, EVERY, NONE, PROPOSED, SCORE, Floats, Ints, Page, Request, Slate, empty_slate
from toplist.policies.composed import assess, check_fit, draws_one, is_forgetful
from toplist.policies.propensity.positions import is_pinned_position


class Arms(NamedTuple):
    """Scratch arrays for one position's choice. The arm of an item at a position is `item * positions + position`."""

    arms: Ints
    labels: Ints  # per arm: the label of its item
    free: Ints  # per item: 1 if it is not placed yet
    chosen: Ints  # one element
    score: Floats  # one element
    scoring: Any  # the index's cache


class Ranked(NamedTuple):
    """One bandit per position, from the top down, each with the same memory and index.

    Parameters
    ----------
    reading : part of `toplist.parts.feedback`
        Which positions were examined and what each observed.
    memory : part of `toplist.parts.memory`
        What is kept of the observations, one set per position.
    scoring : part of `toplist.parts.index`
        Index by which a bandit chooses.
    collision : {"remaining", "random"}, default "remaining"
        Items that a bandit may propose. With "remaining" those not placed above it, which gives the regret that the
        papers print; with "random" all, and a proposal that is already placed is replaced by a random free item and
        earns nothing.

    Notes
    -----
    Radlinski, Kleinberg and Joachims, Learning Diverse Rankings with Multi-Armed Bandits, ICML 2008, algorithm 2, which
    is `collision="random"`.
    """

    reading: Any
    memory: Any
    scoring: Any
    collision: str | bool = "remaining"
    places: int = 0  # filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """Check the parts; `collision` becomes True for "remaining"."""
        check_fit(self.reading, self.memory, self.scoring, whole_lists=False)
        if self.collision not in ("remaining", "random", True, False):
            accepted = "'remaining' or 'random'"
            raise refuse("Ranked's collision", self.collision, accepted, "choose the items that a bandit may propose")
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
        """Arrays for the choice of one position."""
        arms = problem.items * problem.positions
        return Arms(
            arms=np.zeros(problem.items, dtype=np.int64),
            labels=np.zeros(arms, dtype=np.int64),
            free=np.zeros(problem.items, dtype=np.int64),
            chosen=np.zeros(1, dtype=np.int64),
            score=np.zeros(1),
            scoring=self.scoring.scratch(problem._replace(items=arms)),
        )

    def slate(self, problem: Problem) -> Slate:
        """The memo holds per position the proposed item, its score, and the number of items it was chosen from."""
        return empty_slate(problem.positions, problem.features, memo=3)

    def capabilities(self) -> Capabilities:
        """Learns from its own lists only: it needs the proposal of each bandit."""
        counts = self.memory.keeps() == "counts"
        return Capabilities(
            learns_from_any_list=False,
            adds_items=counts,  # weights of items added later, or drawn from a subset, have no meaning
            takes_subsets=counts,
            samples="item and place" if counts else "nothing",
            detects=hasattr(self.memory, "alarms"),
            forgets=is_forgetful(self.memory),
        )

    def rank(self, belief: Any, cache: Arms, request: Request, slate: Slate) -> None:
        """Fill the positions from the top down."""
        positions = len(slate.items)
        candidates = request.candidates
        size = min(request.positions, len(candidates))
        slate.size[0] = size
        for item in candidates:
            cache.free[item] = 1
            for arm in range(item * positions, (item + 1) * positions):
                cache.labels[arm] = request.labels[item]
        for place in range(min(size, len(request.pins))):
            if request.pins[place] >= 0:
                cache.free[request.pins[place]] = 0
        for place in range(size):
            key = branch(request.key, place)
            pinned = request.pins[place] if len(request.pins) > 0 else -1
            count = 0
            for item in candidates:
                cache.arms[count] = item * positions + place
                if cache.free[item] == 1 or not self.collision:
                    count += 1
            if pinned >= 0:
                # A memory of counts treats it as a proposal; for a memory of weights its probability to be drawn is 0.
                shown, proposed = pinned, pinned
                cache.score[0] = 0.0
            else:
                among = Request(
                    cache.arms[:count], 1, NONE, NONE, request.features, request.edition, cache.labels, key, EVERY, NONE
                )
                self.scoring.top(belief, cache.scoring, among, cache.chosen, cache.score)
                proposed = cache.chosen[0] // positions
                shown = (
                    proposed if cache.free[proposed] == 1 else random_free_item(candidates, cache.free, request, key)
                )
            cache.free[shown] = 0
            slate.items[place] = shown
            slate.memo[place, PROPOSED] = proposed
            slate.memo[place, SCORE] = cache.score[0]
            slate.memo[place, CANDIDATES] = count

    def learn(self, belief: Any, slate: Slate, page: Page) -> None:
        """Each bandit learns the click at its position, and 0 where its proposal was not shown there."""
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
        """Add free samples of an item at a position."""
        self.memory.add(belief, item * len(slate.items) + place, weight, value, slate, place)

    def changes(self, belief: Any, after: int = 0) -> list[Change]:
        """Changes that any of the bandits detected, with the item of the arm."""
        if not hasattr(self.memory, "alarms"):
            return []
        return [change._replace(item=change.item // self.places) for change in self.memory.alarms(belief, after)]

    def list_probabilities(self, belief: Any, request: Request, items: Ints) -> ListProbabilities | None:
        """Exact conditionals; a marginal depends on all lists above its position, unless these are certain."""
        if not hasattr(self.scoring, "exact"):
            return None
        conditional = np.array([self._chance(belief, request, items, place) for place in range(len(items))])
        conditional[np.cumsum(conditional == 0.0) > 0] = 0.0
        is_certain = np.logical_and.accumulate(np.concatenate([[True], conditional[:-1] == 1.0]))
        return ListProbabilities.exact(conditional, np.where(is_certain, conditional, np.nan))

    def _chance(self, belief: Any, request: Request, items: Ints, place: int) -> float:
        """Probability of the item at a position, given those above."""
        if is_pinned_position(request, place):
            return float(request.pins[place] == items[place])
        pinned = request.pins[: len(items)]
        taken = np.concatenate([items[:place], pinned[pinned >= 0]])
        free = np.setdiff1d(request.candidates, taken)
        among = free if self.collision else request.candidates
        arms = among * self.places + place
        drawn = self.scoring.exact(belief, request._replace(candidates=arms))
        if not draws_one(self.scoring):
            best = drawn == drawn.max()
            drawn = best / np.count_nonzero(best)
        replaced = float(drawn[~np.isin(among, free)].sum()) / max(1, len(free))
        return float(drawn[among == items[place]].sum() + replaced) if items[place] in free else 0.0

    def assess(self, belief: Any, request: Request, place: int | None) -> Assessment:
        """The view of one position's bandit; without a position, the sum of all tries and the largest index."""
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
        return Assessment(examined, mean, index, draws_one(self.scoring))

    def proposal(self, slate: Slate, place: int) -> tuple[int, float]:
        """The item that the bandit of a position proposed, and its score then."""
        return int(slate.memo[place, PROPOSED]), float(slate.memo[place, SCORE])


@helper
def random_free_item(candidates: Ints, free: Ints, request: Request, key: int) -> int:
    """A free item, each equally likely."""
    best, largest = -1, -1.0
    for item in candidates:
        if free[item] == 1:
            drawn = uniform(branch(key, REPLACEMENT), request.labels[item])
            if drawn > largest:
                best, largest = item, drawn
    return best
