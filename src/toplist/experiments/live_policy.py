"""A policy as a live page uses it: clicks are reported some lists late, and items may begin with a prior."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.problem import Problem, number, whole
from toplist.core.protocols import Capabilities, Change
from toplist.core.slate import Floats, Ints, Page, Request, Slate


class WaitingLists(NamedTuple):
    """The belief of the policy, and a ring of the lists whose clicks it has not learned yet."""

    learned: Any
    items: Ints  # (delay, positions), as all others: a row per waiting list
    size: Ints
    rows: Floats
    memo: Floats
    clicks: Ints
    left: Ints
    shown: Ints  # one element: number of lists shown


class LivePolicy(NamedTuple):
    """A policy that learns the clicks on a list only after `delay` more lists.

    Parameters
    ----------
    policy : policy
        The policy.
    delay : int, default 0
        Number of lists that are shown between a list and the report of its clicks.
    prior_mean : float, default 0.5
        Click-through rate that is assumed of every item, if `prior_strength` is above 0.
    prior_strength : float, default 0.0
        Number of times that every item counts as examined already.

    Examples
    --------
    >>> import toplist
    >>> from toplist.core.problem import Problem
    >>> problem = Problem(items=8, positions=2)
    >>> LivePolicy(toplist.make("dcm-ts"), delay=500).prepare(problem).begin(problem).items.shape
    (500, 2)
    """

    policy: Any
    delay: int = 0
    prior_mean: float = 0.5
    prior_strength: float = 0.0

    def prepare(self, problem: Problem) -> Self:
        """Prepare the policy, and check the delay and the prior."""
        return self._replace(
            policy=self.policy.prepare(problem),
            delay=whole("LivePolicy's delay", self.delay, 0, "give a number of lists"),
            prior_mean=number("LivePolicy's prior_mean", self.prior_mean, 0.0, 1.0, "give a click-through rate"),
            prior_strength=number("LivePolicy's prior_strength", self.prior_strength, 0.0, 1e15, "0 is no prior"),
        )

    def begin(self, problem: Problem) -> WaitingLists:
        """The policy's belief with the prior, and an empty ring."""
        learned, slate = self.policy.begin(problem), self.policy.slate(problem)
        if self.prior_strength > 0.0:
            for item in range(problem.items):
                self.policy.sample(learned, item, 0, self.prior_strength, self.prior_mean, slate)
        lists = (max(1, self.delay),)
        return WaitingLists(
            learned=learned,
            items=np.zeros(lists + slate.items.shape, dtype=np.int64),
            size=np.zeros((*lists, 1), dtype=np.int64),
            rows=np.zeros(lists + slate.rows.shape),
            memo=np.zeros(lists + slate.memo.shape),
            clicks=np.zeros(lists + slate.items.shape, dtype=np.int64),
            left=np.zeros((*lists, 1), dtype=np.int64),
            shown=np.zeros(1, dtype=np.int64),
        )

    def scratch(self, problem: Problem) -> Any:
        """The policy's scratch space."""
        return self.policy.scratch(problem)

    def slate(self, problem: Problem) -> Slate:
        """The policy's slate."""
        slate: Slate = self.policy.slate(problem)
        return slate

    def capabilities(self) -> Capabilities:
        """The policy's capabilities."""
        able: Capabilities = self.policy.capabilities()
        return able

    def changes(self, belief: WaitingLists, after: int = 0) -> list[Change]:
        """The changes that the policy detected, if it does."""
        found: list[Change] = self.policy.changes(belief.learned, after)
        return found

    def rank(self, belief: WaitingLists, cache: Any, request: Request, slate: Slate) -> None:
        """Rank with what was reported."""
        self.policy.rank(belief.learned, cache, request, slate)

    def learn(self, belief: WaitingLists, slate: Slate, page: Page) -> None:
        """Learn the list whose report is due, and let this one wait in its place."""
        if self.delay == 0:
            self.policy.learn(belief.learned, slate, page)
            return
        row = belief.shown[0] % self.delay
        items, size, rows, memo = belief.items[row], belief.size[row], belief.rows[row], belief.memo[row]
        clicks, left = belief.clicks[row], belief.left[row]
        if belief.shown[0] >= self.delay:
            due = Page(clicks, left, page.seen, page.weight, page.value)
            self.policy.learn(belief.learned, Slate(items, size, rows, memo), due)
        size[0], left[0] = slate.size[0], page.left[0]
        for place in range(len(items)):
            items[place], clicks[place] = slate.items[place], page.clicks[place]
            for column in range(rows.shape[1]):
                rows[place, column] = slate.rows[place, column]
            for column in range(memo.shape[1]):
                memo[place, column] = slate.memo[place, column]
        belief.shown[0] += 1

    def sample(self, belief: WaitingLists, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Learn free samples at once."""
        self.policy.sample(belief.learned, item, place, weight, value, slate)
