"""Every policy of the catalogue holds the contract, and for each promise there is a policy that breaks it."""

from typing import Any, NamedTuple, Self

import numpy as np
import pytest

import toplist
from toplist.checks import CheckFailed, check_policy, contract
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints, Page, Request, Slate
from toplist.parts.arrange import ComposedCache, TopK
from toplist.parts.feedback import EveryPlace, ThroughFirstClick, ThroughLastClick
from toplist.parts.index import UCB1, Greedy
from toplist.parts.index.ucb1 import ScoreScratch, score_scratch
from toplist.parts.memory import Counts, Everything
from toplist.policies import Policy

PARTS = (ThroughFirstClick(), Everything(), Greedy())


@pytest.mark.slow
@pytest.mark.parametrize("name", toplist.catalogue())
def test_every_policy_of_the_catalogue_holds_the_contract(name: str) -> None:
    assert check_policy(name) == list(contract())


class ReservedName(NamedTuple):
    """A memory with a field named like a method."""

    best: float = 0.0

    def prepare(self, problem: Problem) -> Self:
        return self

    def begin(self, problem: Problem) -> Counts:
        return Everything().begin(problem)

    def keeps(self) -> str:
        return "counts"

    def tick(self, belief: Counts) -> None:
        belief.clock[0] += 1.0

    def add(self, belief: Counts, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        belief.examined[item] += weight

    def conclude(self, belief: Counts) -> None:
        pass


class Repeats(Policy):
    """Shows one item everywhere."""

    __slots__ = ()

    def rank(self, belief: Any, cache: ComposedCache, request: Request, slate: Slate) -> None:
        slate.size[0] = len(slate.items)
        slate.items[:] = request.candidates[0]


class Drifts(Policy):
    """Draws from NumPy's global generator."""

    __slots__ = ()

    def rank(self, belief: Any, cache: ComposedCache, request: Request, slate: Slate) -> None:
        slate.size[0] = len(slate.items)
        slate.items[:] = np.random.permutation(len(request.labels))[: len(slate.items)]


class Overflows(Policy):
    """Relies on unbounded integers, which compiled integers are not."""

    __slots__ = ()

    def rank(self, belief: Any, cache: ComposedCache, request: Request, slate: Slate) -> None:
        large = 1 << 40
        slate.size[0] = len(slate.items)
        for place in range(len(slate.items)):
            slate.items[place] = place if large * large > 0 else place + 1


class Moody(NamedTuple):
    """An index that abuses its cache: it counts its calls there and depends on the count."""

    mood: float = 0.0

    def prepare(self, problem: Problem) -> Self:
        return self

    def scratch(self, problem: Problem) -> ScoreScratch:
        return score_scratch(problem)

    def reads(self) -> str:
        return "counts"

    def top(self, belief: Counts, cache: ScoreScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        cache.examined[0] += 1
        for place in range(len(chosen)):
            chosen[place] = (place + int(cache.examined[0])) % len(request.candidates)


class FirstIndexWins(Greedy):
    """A mean whose ties are broken by index."""

    __slots__ = ()

    def top(self, belief: Counts, cache: Any, request: Request, chosen: Ints, scores: Floats) -> None:
        means = belief.clicked / np.maximum(belief.examined, 1.0)
        chosen[:] = np.argsort(-means, kind="stable")[: len(chosen)]


class Divides(Everything):
    """A memory that divides by the number of clicks."""

    __slots__ = ()

    def add(self, belief: Counts, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        belief.clicked[item] = np.float64(value * 0.0) / np.float64(value) if value == 0.0 else 1.0


class RemembersTheLast(Policy):
    """Learns about its latest list, not the one that was clicked."""

    __slots__ = ()
    last = np.zeros(3, dtype=np.int64)

    def rank(self, belief: Any, cache: ComposedCache, request: Request, slate: Slate) -> None:
        super().rank(belief, cache, request, slate)
        self.last[:] = slate.items

    def learn(self, belief: Any, slate: Slate, page: Page) -> None:
        super().learn(belief, slate._replace(items=self.last), page)


class Writes(Policy):
    """Counts lists when they are made instead of when they are learned."""

    __slots__ = ()

    def rank(self, belief: Any, cache: ComposedCache, request: Request, slate: Slate) -> None:
        super().rank(belief, cache, request, slate)
        belief.clock[0] += 1.0


class Grows(Everything):
    """Allocates for every list to come."""

    __slots__ = ()

    def begin(self, problem: Problem) -> Counts:
        belief = super().begin(problem)
        return belief._replace(clock=np.zeros(problem.steps or 1))


class Wordy(TopK):
    """Keeps text after `prepare`."""

    __slots__ = ()

    def prepare(self, problem: Problem) -> Self:
        return self


class FirstOfAll(Everything):
    """A memory that prefers the first item from the beginning."""

    __slots__ = ()

    def begin(self, problem: Problem) -> Counts:
        belief = super().begin(problem)
        belief.examined[0] = 1.0
        return belief


class Silent(Everything):
    """A memory that changes counts without `touch`."""

    __slots__ = ()

    def add(self, belief: Counts, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        belief.examined[item] += weight
        belief.clicked[item] += weight * value


class Deaf(Policy):
    """Shows ineligible items."""

    __slots__ = ()

    def rank(self, belief: Any, cache: ComposedCache, request: Request, slate: Slate) -> None:
        everything = request._replace(candidates=np.arange(len(request.labels)))
        super().rank(belief, cache, everything, slate)


class DeafToPins(Policy):
    """Ignores pins."""

    __slots__ = ()

    def rank(self, belief: Any, cache: ComposedCache, request: Request, slate: Slate) -> None:
        super().rank(belief, cache, request._replace(pins=np.zeros(0, dtype=np.int64)), slate)


BROKEN = {
    "fields_have_free_names": (Policy(EveryPlace(), ReservedName(), Greedy()), "field 'best'"),
    "prepared_parts_hold_no_text": (Policy(*PARTS, Wordy()), r"Wordy\.order is 'first' after prepare"),
    "lists_hold_distinct_items": (Repeats(*PARTS), "does not hold 3 different items"),
    "same_seed_gives_same_run": (Drifts(*PARTS), "different lists"),
    "plain_and_compiled_agree": (Overflows(*PARTS), "at step 1 plain Python showed"),
    "saved_belief_continues": (Policy(EveryPlace(), Everything(), Moody()), "other lists"),
    "relabelling_changes_only_labels": (Policy(EveryPlace(), Everything(), FirstIndexWins()), "relabelled"),
    "empty_and_full_pages_are_learned": (Policy(EveryPlace(), Divides(), Greedy()), "became NaN"),
    "late_slates_are_learned_from_themselves": (RemembersTheLast(*PARTS), "depends on more than the list"),
    "rank_leaves_the_belief": (Writes(*PARTS), "making lists changed the belief"),
    "belief_does_not_grow": (Policy(EveryPlace(), Grows(), Greedy()), "1000 times as many"),
    "more_items_change_nothing_for_the_others": (
        Policy(EveryPlace(), FirstOfAll(), Greedy()),
        "a forgotten item is not as it was",
    ),
    "changed_counts_are_told": (Policy(EveryPlace(), Silent(), Greedy()), "changed the counts of 3 items"),
    "only_eligible_items_are_shown": (Deaf(*PARTS), r"of the eligible \[2, 7\] it showed"),
    # The easy problem's best items are in the middle, so that ties broken by index are no help.
    "beats_random_on_an_easy_problem": (
        Policy(ThroughLastClick(), Everything(), UCB1(scale=1e6)),
        "of Random's .* it must be below",
    ),
}


def test_every_promise_has_a_policy_that_breaks_it() -> None:
    assert list(BROKEN) == list(contract())


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("promise", BROKEN)
def test_a_broken_policy_is_found_out(promise: str) -> None:
    policy, message = BROKEN[promise]
    with pytest.raises(CheckFailed, match=rf"^{promise}: .*{message}"):
        check_policy(policy, only=[promise])


def test_pins_are_checked_too() -> None:
    with pytest.raises(CheckFailed, match="pinned to position 2 it showed"):
        check_policy(DeafToPins(*PARTS), only=["only_eligible_items_are_shown"])


def test_a_policy_that_cannot_be_run_breaks_promises_instead_of_the_check() -> None:
    class Raises(Policy):
        __slots__ = ()

        def rank(self, belief: Any, cache: ComposedCache, request: Request, slate: Slate) -> None:
            raise RuntimeError("out of order\nand more")

    wanted = ["lists_hold_distinct_items", "belief_does_not_grow"]
    with pytest.raises(CheckFailed, match="lists_hold_distinct_items: it ended in RuntimeError: out of order and more"):
        check_policy(Raises(*PARTS), only=wanted)


def test_all_failures_are_reported_together() -> None:
    with pytest.raises(CheckFailed) as failures:
        check_policy(
            Repeats(*PARTS),
            only=["lists_hold_distinct_items", "rank_leaves_the_belief", "only_eligible_items_are_shown"],
        )
    lines = str(failures.value).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["lists_hold_distinct_items", "only_eligible_items_are_shown"]


def test_an_unknown_check_is_refused() -> None:
    with pytest.raises(toplist.InvalidInput, match="no promise 'speed'"):
        check_policy("random", only=["speed"])
