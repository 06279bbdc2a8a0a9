"""Very many items: the same lists as by scoring everything, with learning, forgetting, hidden and equal items."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import toplist.core.protocols  # noqa: F401  registers the methods of parts with the compiler
from toplist.core.beliefs import BLOCK, MANY, ItemRows
from toplist.core.compiling import compiled
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import NONE, Floats, Ints, Request, empty_slate
from toplist.parts.detectors import CUSUM
from toplist.parts.index import KLUCB, MOSS, UCB1, Greedy, KLUCBPlusPlus, VarianceBound
from toplist.parts.index.block_ceilings import ROUNDING
from toplist.parts.index.kl_solver import exploration_budget
from toplist.parts.index.select import select
from toplist.parts.index.shortlist import NoShortlist, Shortlist, empty_shortlist, shortlist
from toplist.parts.memory import Discounted, Everything, Resetting, Window

ITEMS, POSITIONS = MANY + 3 * BLOCK + 5, 6  # the last block is not full
PROBLEM = Problem(ITEMS, POSITIONS)
SLATE = empty_slate(POSITIONS)


select_compiled = compiled(select)


@compiled
def top(index: Any, belief: Any, cache: Any, request: Request, chosen: Ints, scores: Floats) -> None:
    """Fill the best items of an index; plain Python would take too long for thousands of items."""
    index.top(belief, cache, request, chosen, scores)


class Live:
    """A memory that learns, an index with two caches, and scoring everything for comparison."""

    def __init__(self, memory: Any, index: Any, seed: int) -> None:
        self.memory, self.index = memory.prepare(PROBLEM), index.prepare(PROBLEM)
        self.belief = self.memory.begin(PROBLEM)
        self.caches = [self.index.scratch(PROBLEM) for _ in range(2)]
        self.layout = ItemRows.of(self.memory, PROBLEM)
        self.rng = np.random.default_rng(seed)
        self.labels = self.rng.integers(-(2**62), 2**62, ITEMS)
        self.candidates = np.arange(ITEMS)

    def ranked(self, cache: int) -> list[int]:
        """A list, which must equal the one of scoring everything."""
        key = int(self.rng.integers(2**62))
        request = Request(self.candidates, POSITIONS, NONE, NONE, np.zeros((ITEMS, 0)), 0, self.labels, key)
        chosen, scores = np.full(POSITIONS, -1), np.zeros(POSITIONS)
        top(self.index, self.belief, self.caches[cache], request, chosen, scores)
        assert chosen.tolist() == self.best(self.index.exact(self.belief, request), key)
        return [int(item) for item in chosen]

    def best(self, values: Floats, key: int) -> list[int]:
        """The list by scoring everything."""
        chosen, scores = np.full(POSITIONS, -1), np.zeros(POSITIONS)
        select_compiled(values, self.candidates, len(values), self.labels, key, chosen, scores)
        return [int(item) for item in chosen]

    def learn(self, items: Any, clicked: Any) -> None:
        """Learn one list."""
        self.memory.tick(self.belief)
        for item, click in zip(items, clicked, strict=True):
            self.memory.add(self.belief, int(item), 1.0, float(click), SLATE, 0)
        self.memory.conclude(self.belief)

    def sample(self, item: int, weight: float, value: float) -> None:
        """Add free samples."""
        self.memory.add(self.belief, item, weight, value, SLATE, 0)

    def come_and_go(self) -> None:
        """Hide some items and show others again; one leaves, and another takes its slot."""
        hidden = self.rng.choice(ITEMS, self.rng.integers(0, 40), replace=False)
        others = self.rng.choice([0, BLOCK + 3, ITEMS - 50], p=[0.6, 0.2, 0.2])  # not requested
        self.candidates = np.setdiff1d(np.arange(others, ITEMS), hidden)
        slot = int(self.rng.choice(ITEMS))
        self.layout.forget(self.belief, slot)
        self.labels[slot] = self.rng.integers(-(2**62), 2**62)
        if self.rng.random() < 0.5:
            self.sample(slot, 1.0, 0.5)


TIMES = (10.0, 11.0, 50.0, 1e4, 1e6)
HASTY = Resetting(CUSUM(0.5, 0.05, 5), "everything")
PAIRS = {
    "kl-ucb": (Everything(), KLUCB()),
    "kl-ucb, discounted": (Discounted(0.98), KLUCB()),
    "kl-ucb, windowed": (Window(60), KLUCB()),
    "ucb1": (Everything(), UCB1()),
    "ucb1, resetting": (HASTY, UCB1()),
    "greedy": (Everything(), Greedy()),
    "ucb-v": (Everything(), VarianceBound()),
    "kl-ucb++": (Everything(), KLUCBPlusPlus(1e6)),
    "moss, doubling": (Everything(), MOSS()),
}


def nothing(live: Live) -> None:
    """No item was seen."""


def equal(live: Live) -> None:
    """The same prior for all."""
    for item in range(ITEMS):
        live.sample(item, 1.0, 0.5)


def few_kinds(live: Live) -> None:
    """Thousands of ties at several levels."""
    for item in range(ITEMS):
        live.sample(item, float(live.rng.integers(1, 4)), 0.5)


def saturated(live: Live) -> None:
    """Different counts with one index: those of KL-UCB round to the same value near 1."""
    for item in range(ITEMS):
        times = float(live.rng.choice([1, 2, 3], p=[0.7, 0.2, 0.1]))
        live.sample(item, times, 1.0 - 0.5 / times)
    live.belief.clock[0] = 1e6


def spread(live: Live) -> None:
    """All different."""
    for item in range(ITEMS):
        live.sample(item, float(live.rng.integers(20, 400)), live.rng.uniform(0.01, 0.3))


def sorted_by_quality(live: Live) -> None:
    """The best items next to each other."""
    for item in range(ITEMS):
        live.sample(item, 50.0, 0.5 * (1.0 - item / ITEMS))


def crowds(live: Live) -> None:
    """Crowds of all sizes, of which those with half an examination without a click tie for KL-UCB near 1."""
    tries, hits = np.array([(1, 0.5), (2, 1.5), (3, 2.5), (4, 3.5), (5, 4.5), (2, 0.5), (3, 1.5)]).T
    for item, kind in enumerate(live.rng.choice(7, ITEMS, p=[0.58, 0.12, 0.06, 0.05, 0.03, 0.1, 0.06])):
        live.sample(item, tries[kind], hits[kind] / tries[kind])


def few_above_a_crowd(live: Live) -> None:
    """Two kinds with few items, which tie for the mean, before a crowd of two other kinds."""
    for item, kind in enumerate(live.rng.choice(4, ITEMS, p=[0.5, 0.4, 0.06, 0.04])):
        live.sample(item, 2.0 + 2.0 * (kind % 2), 0.75 if kind > 1 else 0.5)


@pytest.mark.parametrize("begin", [nothing, equal, few_kinds, saturated, spread, sorted_by_quality])
@pytest.mark.parametrize("pair", PAIRS)
def test_the_lists_are_those_of_scoring_everything(pair: str, begin: Any) -> None:
    live = Live(*PAIRS[pair], seed=3)
    begin(live)
    play(live)


@pytest.mark.parametrize("begin", [crowds, few_above_a_crowd])
@pytest.mark.parametrize("pair", ["kl-ucb", "ucb1", "greedy"])
def test_several_kinds_of_common_counts(pair: str, begin: Any) -> None:
    live = Live(*PAIRS[pair], seed=13)
    begin(live)
    play(live)
    for cache in live.caches:
        assert (cache.shortlist.ceilings.common.counts[:, 0] > 0.0).sum() > 1
    if begin is few_above_a_crowd and pair == "greedy":
        assert live.caches[0].shortlist.ceilings.members.kinds[0] != 0


def test_items_of_few_that_are_no_candidates_are_not_listed() -> None:
    """Whole blocks of them, so that there are no gaps."""
    live = Live(*PAIRS["greedy"], seed=14)
    few_above_a_crowd(live)
    for first in (0, 2 * BLOCK, 9 * BLOCK, 0):
        live.candidates = np.arange(first, ITEMS)
        for _ in range(8):
            live.ranked(cache=0)
        assert live.caches[0].shortlist.ceilings.members.kinds[0] != 0


def play(live: Live) -> None:
    """Lists and learning, late lists, items that come and go, and long waits."""
    for step in range(150):
        items = live.ranked(cache=0 if step % 3 else 1)  # one falls behind now and then
        examined = int(live.rng.integers(1, POSITIONS + 1))
        live.learn(items[:examined], live.rng.random(examined) < 0.3)
        if step % 10 == 9:  # late lists of other items
            others = live.rng.integers(0, ITEMS, 4)
            live.learn(others, live.rng.random(4) < 0.5)
        if step % 25 == 24:
            live.come_and_go()
        if step % 60 == 59:  # much later
            for _ in range(70):
                live.learn([], [])


@pytest.mark.parametrize("begin", [nothing, equal, few_kinds, saturated, spread])
def test_the_shortlist_is_short(begin: Any) -> None:
    """Whether thousands are equal or all are different."""
    live = Live(*PAIRS["ucb1"], seed=4)
    begin(live)
    for _ in range(5):
        live.learn(live.ranked(cache=0), [0.0] * POSITIONS)
    request = Request(live.candidates, POSITIONS, NONE, NONE, np.zeros((ITEMS, 0)), 0, live.labels, 5)
    budget = 1.5 * math.log(live.belief.clock[0])
    ceilings = live.caches[0].shortlist.ceilings
    assert POSITIONS <= shortlist(live.index, live.belief, ceilings, request, budget, POSITIONS) < 150


def test_few_items_are_looked_at_while_indices_round_to_1() -> None:
    """From 28,000 to 60,000 lists, up to five kinds have one index; which ones do changes with its last bits."""
    live = Live(*PAIRS["kl-ucb"], seed=11)
    crowds(live)
    cache, looked, ties = live.caches[0], [], set()
    ceilings = cache.shortlist.ceilings
    for step in range(400):
        live.belief.clock[0] = 28_000.0 * (60.0 / 28.0) ** (step / 400.0)
        items = live.ranked(cache=0)
        looked.append(int(ceilings.looked[0]))
        ties.add(int((ceilings.common.indices == ceilings.common.indices.max()).sum()))
        last = int(live.rng.integers(4))
        live.learn(items[: last + 1], [0.0] * last + [1.0])
    assert ties >= {1, 4}
    assert max(looked[20:]) < 100
    assert cache.solves[0] / 400 < 25


def budget_at(index: Any, t: float) -> float:
    """The budget of an index after t lists."""
    if isinstance(index, KLUCB):
        return float(exploration_budget(t + 1.0, 3.0))
    return 2.0 * math.log(t + 1.0) if isinstance(index, VarianceBound) else 1.5 * math.log(t)


@pytest.mark.parametrize("index", [KLUCB(), UCB1(), Greedy(bonus=0.3), VarianceBound()])
def test_tangents_are_the_index_and_lie_above_it(index: Any) -> None:
    rng = np.random.default_rng(2)
    counts = Everything().begin(Problem(200, 2))
    counts.examined[20:] = rng.integers(1, 1000, 180)
    counts.clicked[20:] = rng.binomial(counts.examined[20:].astype(int), rng.random(180))
    request = Request(np.arange(200), 2, NONE, NONE, np.zeros((200, 0)), 0, np.arange(200), 0)
    if isinstance(index, Greedy):
        budgets = {unit: 0.3 * unit for unit in (1.0, 1.3, 9.0)}
    else:
        budgets = {t: budget_at(index, t) for t in TIMES}
    exact = {}
    for at in budgets:
        counts.clock[0] = counts.unit[0] = 1.0
        (counts.unit if isinstance(index, Greedy) else counts.clock)[0] = at
        exact[at] = index.exact(counts, request)
    for at, budget in budgets.items():
        for item in range(200):
            value, slope = index.tangent(counts.examined[item], counts.clicked[item], budget)
            assert value == exact[at][item]
            assert slope >= 0.0
            for other in budgets:
                assert exact[other][item] <= value + slope * (budgets[other] - budget) + ROUNDING


@pytest.mark.parametrize("pair", ["kl-ucb", "ucb1", "greedy"])
def test_crowds_that_become_equal_and_different_again(pair: str) -> None:
    """The common counts change, and with them the items that have them."""
    live = Live(*PAIRS[pair], seed=5)
    equal(live)
    live.belief.clock[0] = 1e5  # the budget then hardly grows
    for step in range(120):
        items = live.ranked(cache=0 if step % 3 else 1)
        live.learn(items, [0.0] * POSITIONS)
        if step % 4 == 3:
            crowd = np.flatnonzero(live.rng.random(ITEMS) < live.rng.choice([0.1, 0.5, 1.0]))
            crowd = crowd[crowd > live.rng.choice([-1, 1000, 3000])]
            live.learn(crowd, [float(live.rng.random() < 0.5)] * len(crowd))


def test_former_common_items_are_found_again_after_a_change() -> None:
    live = Live(*PAIRS["greedy"], seed=8)
    equal(live)
    live.ranked(cache=0)
    some = np.arange(0, ITEMS, BLOCK)
    live.learn(some, [0.0] * len(some))
    live.ranked(cache=0)
    crowd = np.arange(2000)
    live.learn(crowd, [1.0] * 2000)
    live.ranked(cache=0)
    common = live.caches[0].shortlist.ceilings.common
    assert common.counts[:2].tolist() == [[1.0, 0.5], [2.0, 1.5]]
    live.learn(crowd, [0.0] * 2000)
    live.learn(crowd, [0.0] * 2000)
    live.learn([7] * 5, [1.0] * 5)  # better than the first common items, and worse than the new ones
    assert live.ranked(cache=0)[0] == 7


@pytest.mark.parametrize("pair", ["kl-ucb", "ucb1"])
def test_hardly_any_common_items_are_candidates(pair: str) -> None:
    live = Live(*PAIRS[pair], seed=6)
    for item in range(300, ITEMS):
        live.sample(item, float(live.rng.integers(20, 400)), live.rng.uniform(0.01, 0.3))
    for _ in range(3):
        live.ranked(cache=0)
    for there in (3, 0, POSITIONS, 9):
        live.candidates = np.arange(300 - there, ITEMS)
        assert sum(item < 300 for item in live.ranked(cache=0)) == min(there, POSITIONS)
        live.candidates = np.concatenate([np.arange(there), np.arange(300, ITEMS)])
        assert sum(item < 300 for item in live.ranked(cache=0)) == min(there, POSITIONS)


@pytest.mark.parametrize("pair", ["kl-ucb", "ucb1"])
def test_the_best_of_every_block_are_hidden(pair: str) -> None:
    live = Live(*PAIRS[pair], seed=7)
    spread(live)
    for _ in range(4):
        live.learn(live.ranked(cache=0), [0.0] * POSITIONS)
        best = live.caches[0].shortlist.ceilings.foremost
        live.candidates = np.setdiff1d(live.candidates, best)
        live.ranked(cache=0)


def test_equal_items_are_shown_equally_often_and_independently() -> None:
    """20,000 lists of items never seen: by item, by place in a block, by block, and in pairs; chi-squared tests."""
    live, lists = Live(*PAIRS["ucb1"], seed=9), 20_000
    shown = np.zeros((lists, POSITIONS), dtype=np.int64)
    scores = np.zeros(POSITIONS)
    request = Request(live.candidates, POSITIONS, NONE, NONE, np.zeros((ITEMS, 0)), 0, live.labels, 0)
    for number in range(lists):
        top(live.index, live.belief, live.caches[0], request._replace(key=branch(1, number)), shown[number], scores)
    assert all(len(set(items)) == POSITIONS for items in shown[:100].tolist())
    for place in (0, POSITIONS - 1):
        assert stats.chisquare(np.bincount(shown[:, place], minlength=ITEMS)).pvalue > 1e-3
    expected = np.bincount(np.arange(ITEMS) % BLOCK)
    found = np.bincount(shown.ravel() % BLOCK)
    assert stats.chisquare(found, expected * found.sum() / ITEMS).pvalue > 1e-3
    sizes = np.bincount(np.arange(ITEMS) // BLOCK)
    found = np.bincount(shown.ravel() // BLOCK, minlength=len(sizes))
    assert stats.chisquare(found, sizes * found.sum() / ITEMS).pvalue > 1e-3
    same_block = shown[:, 0] // BLOCK == shown[:, 1] // BLOCK  # two items of a block are as likely as any other two
    chance = (sizes * (sizes - 1)).sum() / (ITEMS * (ITEMS - 1))
    assert abs(same_block.mean() - chance) < 4 * np.sqrt(chance / lists)
    assert abs((shown[:, 0] < shown[:, 1]).mean() - 0.5) < 4 * np.sqrt(0.25 / lists)


@pytest.mark.parametrize(
    ("items", "grows", "kind"),
    [(100, True, Shortlist), (100, False, NoShortlist), (MANY - 1, False, NoShortlist), (MANY, False, Shortlist)],
)
def test_items_that_stay_few_have_none(items: int, grows: bool, kind: type) -> None:
    """So that its code is not compiled; a ranker keeps one, since its cache must not change its type as it grows."""
    assert type(empty_shortlist(Problem(items, 4, grows=grows))) is kind
