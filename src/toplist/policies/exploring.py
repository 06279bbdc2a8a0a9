"""Exploring: any policy, mixed with random changes of its lists at a known rate, so that its log can be evaluated."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.coverage import AS_IS, gain
from toplist.core.problem import Problem, number, refuse
from toplist.core.protocols import Capabilities
from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.randomness import branch, toss, uniform
from toplist.core.slate import NONE, Floats, Ints, Page, Request, Slate, empty_slate
from toplist.parts.feedback import EveryPlace
from toplist.parts.index import Chance
from toplist.parts.memory import Everything
from toplist.policies.by_name import entry, make
from toplist.policies.composed import Policy
from toplist.policies.propensity.levels import probabilities_by_level
from toplist.policies.propensity.positions import free_candidates, is_pinned_position, ranks_of_positions, with_pins
from toplist.policies.propensity.several_lists import weigh_lists

RANDOM, SWAPS = 0, 1
WAYS = {"random": RANDOM, "swaps": SWAPS}
RANDOM_LISTS = Policy(EveryPlace(), Everything(), Chance(stream=1000))  # a stream that no other part draws from
EXPLORES, PAIR = -(1 << 43), -(1 << 44)  # branches of a list's key


class ExploringCache(NamedTuple):
    """The caches of the policy and of random lists, and scratch space for topics and pairs."""

    inner: Any
    chance: Any
    covered: Floats  # per topic
    pairs: Ints  # upper positions of the pairs that may be exchanged


class Exploring(NamedTuple):
    """Shows the lists of a policy, and with probability `share` a random change of them.

    A policy that learns only from lists of its own ignores the changed ones.

    Parameters
    ----------
    policy : policy or str
        The policy, or its name.
    share : float, default 0.05
        Probability that a list is changed. It costs `share` times the loss of a changed list against the policy's.
    by : {"random", "swaps"}, default "random"
        The change: a random list of all candidates, or two neighbours exchanged. Random lists tell about all items,
        and cost more; exchanged neighbours tell about positions, and cost little.
    """

    policy: Any
    share: float = 0.05
    by: str | int = "random"
    chance: Any = RANDOM_LISTS  # prepared by `prepare`, as the fields below
    coverage: int = AS_IS
    adopts: bool = True

    def prepare(self, problem: Problem) -> Self:
        """Check the share, and prepare the policy."""
        share = number("Exploring's share", self.share, 0.0, 1.0, "0.05 changes one list in twenty")
        if isinstance(self.by, bool) or self.by not in [*WAYS, *WAYS.values()]:
            raise refuse("Exploring's by", self.by, " or ".join(map(repr, WAYS)), "choose how lists are changed")
        policy = make(self.policy).prepare(problem)
        can = policy.capabilities()
        return self._replace(
            policy=policy, share=share, by=WAYS.get(str(self.by), self.by), chance=self.chance.prepare(problem),
            coverage=policy.arrangement.coverage if can.covers_topics else AS_IS, adopts=can.learns_from_any_list,
        )  # fmt: skip

    def begin(self, problem: Problem) -> Any:
        """The policy's belief."""
        return self.policy.begin(problem)

    def begin_from(self, problem: Problem, mean: Floats, precision: Floats) -> Any:
        """The policy's belief of a prior of its weights."""
        return self.policy.begin_from(problem, mean, precision)

    def add_sums(self, belief: Any, gram: Floats, total: Floats) -> None:
        """Let the policy count observations of others."""
        self.policy.add_sums(belief, gram, total)

    def scratch(self, problem: Problem) -> ExploringCache:
        """Scratch space for one list."""
        pairs = np.zeros(problem.positions, dtype=np.int64)
        inner, chance = self.policy.scratch(problem), self.chance.scratch(problem)
        return ExploringCache(inner, chance, np.zeros(problem.features), pairs)

    def slate(self, problem: Problem) -> Slate:
        """The policy's memo, and a column that says whether the list was changed."""
        memo = self.policy.slate(problem).memo.shape[1]
        return empty_slate(problem.positions, problem.features, memo=memo + 1)

    def capabilities(self) -> Capabilities:
        """Those of the policy; random lists take gaps, too."""
        can: Capabilities = make(self.policy).capabilities()
        return can

    def rank(self, belief: Any, cache: ExploringCache, request: Request, slate: Slate) -> None:
        """Let the policy fill the slate, and change it now and then."""
        self.policy.rank(belief, cache.inner, request, inner_slate(slate))
        changed = toss(branch(request.key, EXPLORES), 0, self.share)
        slate.memo[:, slate.memo.shape[1] - 1] = 1.0 if changed else 0.0
        if not changed:
            return
        if self.by == RANDOM:
            self.chance.rank(belief, cache.chance, request, slate)
        else:
            exchange_neighbours(request, cache.pairs, slate)
        fill_rows(request, self.coverage, cache.covered, slate)

    def learn(self, belief: Any, slate: Slate, page: Page) -> None:
        """Let the policy learn, unless it cannot learn from a changed list."""
        if self.adopts or slate.memo[0, slate.memo.shape[1] - 1] == 0.0:
            self.policy.learn(belief, inner_slate(slate), page)

    def sample(self, belief: Any, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Let the policy learn free samples."""
        self.policy.sample(belief, item, place, weight, value, inner_slate(slate))

    def list_probabilities(self, belief: Any, request: Request, items: Ints) -> ListProbabilities | None:
        """Mixtures of those of the policy and of the change; None where the policy has none in closed form."""
        found = self.weigh_lists(belief, request, items[None])
        return None if found is None else found.of_list(0)

    def weigh_lists(self, belief: Any, request: Request, lists: Ints) -> ListProbabilities | None:
        """The same for several lists."""
        if not hasattr(self.policy, "list_probabilities"):
            return None
        if self.by == SWAPS:
            return self._exchanged(belief, request, lists)
        own, size = weigh_lists(self.policy, belief, request, lists), lists.shape[1]
        free, ranks = free_candidates(request, size), ranks_of_positions(request, NONE, size)
        chance = with_pins(probabilities_by_level(np.zeros(len(free)), free, ranks, lists), request, lists)
        return None if own is None else mixture(self.share, own, chance)

    def _exchanged(self, belief: Any, request: Request, lists: Ints) -> ListProbabilities | None:
        """Probabilities where neighbours are exchanged, if the policy's own list is certain."""
        problem = Problem(len(request.labels), lists.shape[1], request.features.shape[1])
        slate = self.policy.slate(problem)
        self.policy.rank(belief, self.policy.scratch(problem), request, slate)
        certain = slate.items[: slate.size[0]]
        own = self.policy.list_probabilities(belief, request, certain)
        if own is None or np.any(own.conditional < 1.0):
            return None
        pairs = neighbours(request, len(certain))
        possible = np.array([certain, *(exchanged(certain, upper) for upper in pairs)])
        chances = np.full(len(possible), self.share / max(1, len(pairs)))
        chances[0] = 1.0 - self.share if pairs else 1.0
        prefix, marginal = np.zeros(lists.shape), np.zeros(lists.shape)
        for shown, chance in zip(possible, chances, strict=True):
            same = lists == shown
            prefix += chance * np.logical_and.accumulate(same, axis=1)
            marginal += chance * same
        return ListProbabilities.exact(conditionals(prefix), marginal)

    def __getattr__(self, name: str) -> Any:
        """What is optional for a policy: as the policy has it."""
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(make(self.policy), name)
        if name in ("renumbered", "with_best_list"):  # these return a policy
            return lambda *given: self._replace(policy=found(*given))
        return found


@entry("Exploring")
def exploring(policy: Any = "dcm-ts", share: float = 0.05, by: str = "random") -> Exploring:
    """Shows the lists of another policy, and a random change of them at a known rate; for logs that can be evaluated.

    Parameters
    ----------
    policy : policy or str, default "dcm-ts"
        The policy, or its name.
    share : float, default 0.05
        Probability that a list is changed. It costs `share` times the loss of a changed list against the policy's.
    by : {"random", "swaps"}, default "random"
        The change: a random list of all candidates, or two neighbours exchanged.

    Notes
    -----
    A changed list is learned as any other, except by policies that learn only from lists of their own.
    """
    return Exploring(policy, share, by)


@helper
def inner_slate(slate: Slate) -> Slate:
    """The slate with the memo of the policy alone."""
    return Slate(slate.items, slate.size, slate.rows, slate.memo[:, : slate.memo.shape[1] - 1])


@helper
def exchange_neighbours(request: Request, pairs: Ints, slate: Slate) -> None:
    """Exchange two neighbours without pins, every such pair equally likely."""
    count = 0
    for upper in range(slate.size[0] - 1):
        if len(request.pins) == 0 or (request.pins[upper] < 0 and request.pins[upper + 1] < 0):
            pairs[count] = upper
            count += 1
    if count == 0:
        return
    upper = pairs[int(uniform(branch(request.key, PAIR), 0) * count)]
    above = slate.items[upper]
    slate.items[upper] = slate.items[upper + 1]
    slate.items[upper + 1] = above


@helper
def fill_rows(request: Request, coverage: int, covered: Floats, slate: Slate) -> None:
    """Fill the features of the items, or their gains over the items above."""
    covered[:] = 0.0
    for position in range(slate.size[0]):
        for feature in range(len(covered)):
            added = gain(request.features[slate.items[position], feature], covered[feature], coverage)
            slate.rows[position, feature] = added
            covered[feature] += added


def neighbours(request: Request, size: int) -> list[int]:
    """The upper positions of the pairs that `exchange_neighbours` may choose."""
    pinned = [is_pinned_position(request, position) for position in range(size)]
    return [upper for upper in range(size - 1) if not pinned[upper] and not pinned[upper + 1]]


def exchanged(items: Ints, upper: int) -> Ints:
    """A list with the items at a position and at the next one exchanged."""
    other = items.copy()
    other[upper], other[upper + 1] = items[upper + 1], items[upper]
    return other


def conditionals(prefix: Floats) -> Floats:
    """Probabilities given the items above, from those of the prefixes; a row per list."""
    before = np.concatenate([np.ones((len(prefix), 1)), prefix[:, :-1]], axis=1)
    found: Floats = np.divide(prefix, before, out=np.zeros(prefix.shape), where=before > 0.0)
    return found


def mixture(share: float, own: ListProbabilities, other: ListProbabilities) -> ListProbabilities:
    """Probabilities of lists that are drawn from `other` with probability `share`, else from `own`."""
    prefix = (1.0 - share) * np.cumprod(own.conditional, axis=1) + share * np.cumprod(other.conditional, axis=1)
    return ListProbabilities.exact(conditionals(prefix), (1.0 - share) * own.marginal + share * other.marginal)
