"""A policy at work on slots: its belief, its caches and its compiled code; without names and without locks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np

import toplist.core.protocols  # noqa: F401  registers the methods of parts with the compiler
from toplist.core.beliefs import ItemRows, grow_belief
from toplist.core.compiling import compiled as compile_for_parts
from toplist.core.compiling import direct, helper, plain, plain_mode
from toplist.core.coverage import gain
from toplist.core.problem import InvalidInput, Problem
from toplist.core.protocols import Capabilities
from toplist.core.randomness import branch
from toplist.core.slate import Bools, Floats, Ints, Page, Request, Slate, empty_page


class PageColumns(NamedTuple):
    """Lists that another system made, with their clicks, as arrays.

    Parameters
    ----------
    start : ndarray of int, one more than lists
        Where the positions of each list begin.
    slot : ndarray of int, per position
        Slot of the item shown.
    clicks : ndarray of int, per position
        1 for a click, else 0.
    left : ndarray of int, per list
        Last examined position, counted from 1; 0 if unknown.
    seen : ndarray of float, per position
        Probability that the position was in view; that of the first position is negative if unknown. Empty if it is
        unknown for all lists.
    """

    start: Ints
    slot: Ints
    clicks: Ints
    left: Ints
    seen: Floats


def _rank(policy: Any, belief: Any, cache: Any, request: Request, slate: Slate) -> None:
    policy.rank(belief, cache, request, slate)


@helper
def note_examined(slate: Slate, page: Page, examined: Bools) -> None:
    """Mark the slots that a policy has just read as examined."""
    for place in range(slate.size[0]):
        if page.weight[place] > 0.0:
            examined[slate.items[place]] = True


def _learn(policy: Any, belief: Any, slate: Slate, page: Page, examined: Bools) -> None:
    policy.learn(belief, slate, page)
    note_examined(slate, page, examined)


def _learn_pages(
    policy: Any, belief: Any, slate: Slate, page: Page, examined: Bools, pages: PageColumns, features: Floats,
    coverage: int, covered: Floats,
) -> None:  # fmt: skip
    for row in range(len(pages.start) - 1):
        begin, size = pages.start[row], pages.start[row + 1] - pages.start[row]
        slate.size[0] = size
        page.left[0] = pages.left[row]
        covered[:] = 0.0
        for place in range(len(slate.items)):
            page.clicks[place], page.seen[place] = 0, -1.0
            page.weight[place], page.value[place] = 0.0, 0.0
        for place in range(size):
            slot = pages.slot[begin + place]
            slate.items[place] = slot
            page.clicks[place] = pages.clicks[begin + place]
            for feature in range(len(covered)):
                added = gain(features[slot, feature], covered[feature], coverage)
                slate.rows[place, feature] = added
                covered[feature] += added
        if size > 0 and len(pages.seen) > 0 and pages.seen[begin] >= 0.0:
            for place in range(len(slate.items)):
                page.seen[place] = pages.seen[begin + place] if place < size else 0.0
        policy.learn(belief, slate, page)
        note_examined(slate, page, examined)


def _sample_all(policy: Any, belief: Any, places: int, means: Floats, strengths: Floats, slate: Slate) -> None:
    for slot in range(len(means)):
        if strengths[slot] > 0.0:
            for place in range(places):
                policy.sample(belief, slot, place, strengths[slot], means[slot], slate)


MACHINE_CODE = 20_000  # samples; to compile takes longer than fewer of them in plain Python

rank_compiled = compile_for_parts(_rank)
learn_compiled = compile_for_parts(_learn)
learn_pages_compiled = compile_for_parts(_learn_pages)
sample_all_compiled = compile_for_parts(_sample_all)
branch_compiled = compile_for_parts(branch)


class Learner:
    """Makes lists of slots and learns from them; several threads may rank at once, but not beside a change."""

    def __init__(self, policy: Any, problem: Problem, compiled: bool) -> None:
        self.initial_problem = problem  # the policy was prepared for it
        self.compiled = compiled
        self.policy = policy.prepare(problem)
        self.capabilities: Capabilities = self.policy.capabilities()
        self.problem = problem  # its number of items is the capacity
        self.belief = self.policy.begin(problem)
        self._layout: ItemRows | None = None  # made when it is first needed: it takes two more beliefs
        self.caches: list[Any] = []  # one for each list ever made at the same time
        # Compiled code is bound to the types of its arguments by the first call. Until then there is None, not a method
        # of this object: such a cycle would keep the belief in memory until the next garbage collection.
        self._rank: Any = None if compiled else plain(rank_compiled)
        self._learn: Any = None if compiled else plain(learn_compiled)
        self._branch: Any = None if compiled else branch

    def mode(self) -> AbstractContextManager[None]:
        """Enter it to call the policy or functions of many items: what runs compiled there runs as its source."""
        return plain_mode(not self.compiled)

    def empty_slate(self) -> Slate:
        """A slate of the size that the policy needs."""
        slate: Slate = self.policy.slate(self.problem)
        return slate

    def warm_up(self) -> None:
        """Make a cache for the first list, if there is none."""
        if not self.caches:
            self.caches.append(self.policy.scratch(self.problem))

    def branch(self, key: int, number: int) -> int:
        """The random key of a list with this number; the source of `branch` takes longer than some lists."""
        if self._branch is None:
            self._branch = direct(branch_compiled, key, number)
        derived: int = self._branch(key, number)
        return derived

    def rank(self, request: Request, slate: Slate) -> None:
        """Let the policy fill the slate, with a cache that no other thread uses meanwhile."""
        try:
            cache = self.caches.pop()
        except IndexError:
            cache = self.policy.scratch(self.problem)
        if self._rank is None:
            self._rank = direct(rank_compiled, self.policy, self.belief, cache, request, slate)
        self._rank(self.policy, self.belief, cache, request, slate)
        self.caches.append(cache)

    def learn(self, slate: Slate, page: Page, examined: Bools) -> None:
        """Learn from the page of a slate, and mark the examined slots."""
        if self._learn is None:
            self._learn = direct(learn_compiled, self.policy, self.belief, slate, page, examined)
        self._learn(self.policy, self.belief, slate, page, examined)

    def learn_pages(self, pages: PageColumns, examined: Bools, features: Floats, coverage: int) -> None:
        """Learn lists that others made, in their order, as `learn` does one by one; `features` has a row per slot."""
        given = (
            self.policy, self.belief, self.empty_slate(), empty_page(self.problem.positions), examined, pages, features,
            coverage, np.zeros(features.shape[1]),
        )  # fmt: skip
        (direct(learn_pages_compiled, *given) if self.compiled else plain(learn_pages_compiled))(*given)

    def sample(self, slot: int, mean: float, strength: float) -> None:
        """Count an item as examined `strength` times with that mean, at every position the policy distinguishes."""
        slate = self.empty_slate()
        for place in range(self._sampled_places):
            self.policy.sample(self.belief, slot, place, strength, mean, slate)

    def sample_first(self, means: Floats, strengths: Floats) -> None:
        """Do so for the first slots, each with a mean and a strength."""
        is_long = self.compiled and len(means) >= MACHINE_CODE
        run = self.compile_samples() if is_long else plain(sample_all_compiled)
        run(self.policy, self.belief, self._sampled_places, means, strengths, self.empty_slate())

    def compile_samples(self) -> Any:
        """The machine code that `sample_first` uses for many items, compiled if it is not yet."""
        nothing = np.zeros(0)
        return direct(
            sample_all_compiled, self.policy, self.belief, self._sampled_places, nothing, nothing, self.empty_slate()
        )

    def begin(self) -> None:
        """Forget everything; only before the first list, since caches are kept."""
        self.belief = self.policy.begin(self.problem)

    def begin_from(self, mean: Floats, precision: Floats) -> None:
        """Begin with a prior of the weights of features."""
        if not hasattr(self.policy, "begin_from"):
            raise InvalidInput(
                f"{type(self.policy).__name__} takes no prior of its weights: it has no begin_from(); leave "
                f"prior_weights out."
            )
        self.belief = self.policy.begin_from(self.problem, mean, precision)

    def add_sums(self, gram: Floats, total: Floats) -> None:
        """Count observations of others, by their sums of x x' and of value x; only before the first list."""
        self.policy.add_sums(self.belief, gram, total)

    @property
    def _sampled_places(self) -> int:
        """The number of positions that the policy distinguishes in samples."""
        return {"item": 1, "item and place": self.problem.positions, "nothing": 0}[self.capabilities.samples]

    def forget(self, slots: Sequence[int]) -> None:
        """Reset what was learned of slots, for their next items."""
        if not self.capabilities.adds_items:
            return
        if self._layout is None:
            self._layout = ItemRows.of(self.policy, self.initial_problem)
        self._layout.forget(self.belief, slots)

    def touch(self, slots: Sequence[int]) -> None:
        """Note that items of slots went, were hidden or are shown again: caches built on the belief are outdated."""
        if self._layout is not None:
            self._layout.touch(self.belief, slots)

    def grow(self, capacity: int) -> None:
        """Make room for more slots."""
        assert self.capabilities.adds_items  # callers refuse other policies before
        self.problem = self.problem._replace(items=capacity)
        self.belief = grow_belief(self.belief, self.policy.begin(self.problem))
        self.caches.clear()
