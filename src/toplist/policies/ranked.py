"""Ranked bandits: one bandit per position, each learning from the clicks at its own position."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem, refuse
from toplist.core.protocols import Assessment, Capabilities, Change
from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.randomness import REPLACEMENT, branch, uniform
from toplist.core.slate import (
    CANDIDATES,
    EVERY,
    NONE,
    PROPOSED,
    SCORE,
    Bools,
    Floats,
    Ints,
    Page,
    Request,
    Slate,
    empty_slate,
)
from toplist.parts.index.best_of_kinds import with_spans
from toplist.policies.arms import CopiedArms, make_arms
from toplist.policies.composed import assess, check_fit, draws_one, is_forgetful, takes_gaps
from toplist.policies.propensity.positions import is_pinned_position


class RankedCache(NamedTuple):
    """The arms, the index's cache, and scratch arrays for one list."""

    arms: Any  # as in `toplist.policies.arms`
    gaps: Bools  # one element: whether the index leaves out exceptions by itself
    listed: Ints  # arms to choose from, where they are not contiguous
    taken: Ints  # items placed or pinned, ascending ...
    exceptions: Ints  # ... and their arms
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

    def scratch(self, problem: Problem) -> RankedCache:
        """Nothing is copied yet."""
        arms, by_arm = make_arms(self.memory, problem)
        scoring = self.scoring.scratch(by_arm)
        return RankedCache(
            arms=arms,
            gaps=np.array([takes_gaps(self.scoring)]),
            listed=np.zeros(problem.items, dtype=np.int64),
            taken=np.zeros(problem.positions, dtype=np.int64),
            exceptions=np.zeros(problem.positions, dtype=np.int64),
            chosen=np.zeros(1, dtype=np.int64),
            score=np.zeros(1),
            scoring=with_spans(scoring, problem.positions) if isinstance(arms, CopiedArms) else scoring,
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

    def rank(self, belief: Any, cache: RankedCache, request: Request, slate: Slate) -> None:
        """Fill the positions from the top down."""
        arms, gaps, candidates = cache.arms, cache.gaps[0], request.candidates
        positions, size = len(slate.items), min(request.positions, len(candidates))
        slate.size[0] = size
        arms.follow_arms(belief, request, positions)
        taken = 0
        for place in range(min(size, len(request.pins))):
            if request.pins[place] >= 0:
                taken = insert_item(cache.taken, taken, request.pins[place])
        for place in range(size):
            key = branch(request.key, place)
            pinned = request.pins[place] if len(request.pins) > 0 else -1
            excluded = taken if self.collision else 0
            count = len(candidates) - excluded
            if pinned >= 0:
                # A memory of counts treats it as a proposal; for a memory of weights its probability to be drawn is 0.
                shown, proposed = pinned, pinned
                cache.score[0] = 0.0
            else:
                first = arms.arm_number(candidates[0], place, positions)
                end = arms.arm_number(candidates[len(candidates) - 1], place, positions) + 1
                among, exceptions = arms.numbers[first:end], cache.exceptions[:0]
                if gaps:
                    for i in range(excluded):
                        cache.exceptions[i] = arms.arm_number(cache.taken[i], place, positions)
                    exceptions = cache.exceptions[:excluded]
                if not gaps or end - first > len(candidates):
                    listed = 0
                    for item in candidates:
                        cache.listed[listed] = arms.arm_number(item, place, positions)
                        if gaps or not self.collision or not is_listed_item(cache.taken, taken, item):
                            listed += 1
                    among = cache.listed[:listed]
                asked = Request(
                    among, 1, NONE, NONE, request.features, request.edition, arms.labels, key, EVERY, exceptions
                )
                self.scoring.top(arms.arms_belief(belief), cache.scoring, asked, cache.chosen, cache.score)
                start = arms.arm_number(0, place, positions)
                proposed = (cache.chosen[0] - start) // (arms.arm_number(1, place, positions) - start)
                shown = proposed
                if is_listed_item(cache.taken, taken, proposed):
                    shown = random_free_item(candidates, cache.taken[:taken], request, key)
            taken = insert_item(cache.taken, taken, shown)
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
def is_listed_item(items: Ints, count: int, item: int) -> bool:
    """Whether an item is one of the first `count`."""
    for i in range(count):
        if items[i] == item:
            return True
    return False


@helper
def insert_item(items: Ints, count: int, item: int) -> int:
    """Insert an item into the first `count`, which ascend, unless it is one of them; their new number."""
    position = count
    while position > 0 and items[position - 1] > item:
        position -= 1
    if position > 0 and items[position - 1] == item:
        return count
    for i in range(count, position, -1):
        items[i] = items[i - 1]
    items[position] = item
    return count + 1


@helper
def random_free_item(candidates: Ints, taken: Ints, request: Request, key: int) -> int:
    """A free item, each equally likely; `taken` ascend."""
    best, largest, at = -1, -1.0, 0
    for item in candidates:
        while at < len(taken) and taken[at] < item:
            at += 1
        if at == len(taken) or taken[at] != item:
            drawn = uniform(branch(key, REPLACEMENT), request.labels[item])
            if drawn > largest:
                best, largest = item, drawn
    return best
