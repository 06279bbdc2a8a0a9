"""RecurRank, list by list against a second, plain implementation of its rule."""

from __future__ import annotations

import itertools
import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.core.problem import Problem
from toplist.core.randomness import branch, uniform
from toplist.core.slate import NONE, Floats, Ints, Request, Slate, empty_page
from toplist.parts.design import empty_design, find_design
from toplist.policies import make

ITEMS, POSITIONS, FEATURES, STEPS = 9, 4, 3, 6000
LABELS = np.arange(ITEMS) + 100
NEARLY = 1.05  # times the variance of an optimal design
RATES = np.array([0.02, 0.96, 0.55, 0.05, 0.94, 0.04, 0.5, 0.03, 0.52])  # two, three and four items alike


def rows_of(kind: str) -> Floats:
    """Features: at random, in a plane, a copy of each other, or one per item."""
    rows: Floats = 0.3 * np.random.default_rng(3).random((ITEMS, FEATURES))
    rows[:, 0] = RATES
    if kind == "plane":
        rows[:, 2] = rows[:, 0] - 0.5 * rows[:, 1]
    if kind == "copies":
        rows[1::2] = rows[:-1:2]
    return np.eye(ITEMS) if kind == "items" else rows


def plain_design(rows: Floats) -> tuple[Floats, float]:
    """Shares and largest variance: begin far apart, then move share to the item with the largest variance."""
    count, chosen = len(rows), list[int]()
    while len(chosen) < rows.shape[1]:
        span = rows[chosen]
        left = rows - rows @ np.linalg.pinv(span, 1e-9) @ span if chosen else rows
        lengths = np.sum(left**2, axis=1)
        if lengths.max() <= 1e-12 * np.sum(rows**2, axis=1).max():
            break
        chosen.append(int(np.flatnonzero(lengths >= lengths.max() * (1 - 1e-9))[0]))
    share = np.zeros(count)
    share[chosen] = 1 / len(chosen)
    while True:
        variance = np.einsum("ij,jk,ik->i", rows, np.linalg.pinv(rows.T @ (share[:, None] * rows), 1e-9), rows)
        worst, rank = float(variance.max()), len(chosen)
        if worst <= NEARLY * rank:
            return share, worst
        step = (worst / rank - 1) / (worst - 1)
        at = int(np.flatnonzero(variance >= worst * (1 - 1e-9))[0])
        share = (1 - step) * share
        share[at] += step


class Instance:
    """One run of algorithm 1: a phase, items in order, and positions."""

    def __init__(self, phase: int, items: list[int], first: int, length: int, rows: Floats):
        self.phase, self.items, self.first, self.length = phase, items, first, length
        share, worst = plain_design(rows[items])
        count = worst * 4**phase / 2 * math.log(2 * len(items) * POSITIONS * phase * (phase + 1) * math.sqrt(STEPS))
        self.needed = {item: math.ceil(count * part - 1e-9) for item, part in zip(items, share, strict=True)}
        self.seen: list[tuple[int, int]] = []  # items in the first position, and their clicks

    def see(self, item: int, click: int) -> None:
        if self.needed[item] > 0:
            self.needed[item] -= 1
            self.seen.append((item, click))

    def ended(self, rows: Floats) -> list[Instance]:
        """Itself, or what it calls at the end of its phase."""
        if any(self.needed.values()):
            return [self]
        x, y = np.array([rows[item] for item, _ in self.seen]), np.array([click for _, click in self.seen])
        rates = np.round(rows @ np.linalg.lstsq(x, y, rcond=1e-9)[0], 10)
        order, apart, last = (
            sorted(self.items, key=lambda item: -rates[item]),
            2 * 2.0**-self.phase - 1e-9,
            self.length - 1,
        )
        order = [item for i, item in enumerate(order) if i <= last or rates[order[last]] - rates[item] < apart]
        far = [i + 1 for i in range(last) if rates[order[i]] - rates[order[i + 1]] >= apart]
        called = list[Instance]()
        for begin, end in itertools.pairwise([0, *far, len(order)]):
            length = min(end, self.length) - begin
            called.append(Instance(self.phase + 1, order[begin:end], self.first + begin, length, rows))
        return called


class PlainRecurRank:
    """All instances that run side by side."""

    def __init__(self, rows: Floats):
        self.rows = rows
        key = branch(1, 0)
        order = sorted(range(ITEMS), key=lambda item: -uniform(key, int(LABELS[item])))
        self.running = [Instance(1, order, 0, POSITIONS, rows)]

    def rank(self, key: int) -> list[int]:
        shown = list[int]()
        for instance in sorted(self.running, key=lambda each: each.first):
            needed = instance.needed
            level = uniform(branch(key, -1), instance.first) * sum(needed.values())
            edges = np.cumsum(list(needed.values()))
            item = list(needed)[int(np.searchsorted(edges, level, side="right"))]
            shown += [item, *(other for other in instance.items if other != item)][: instance.length]
        return shown

    def learn(self, made_by: list[tuple[int, int]], items: list[int], clicks: list[int]) -> None:
        for phase, first in made_by:
            for instance in self.running:
                if (instance.phase, instance.first) == (phase, first):
                    instance.see(items[first], clicks[first])
        self.running = [called for instance in self.running for called in instance.ended(self.rows)]

    def names(self) -> list[tuple[int, int]]:
        return [(instance.phase, instance.first) for instance in self.running]


@pytest.mark.parametrize("kind", ["random", "plane", "copies", "items"])
def test_lists_are_those_of_the_plain_rule(kind: str) -> None:
    """Every list of a run in which blocks split and items fall out; the clicks of some lists come three lists late."""
    rows = rows_of(kind)
    problem = Problem(ITEMS, POSITIONS, rows.shape[1], STEPS)
    policy, rule = make("recur-rank").prepare(problem), PlainRecurRank(rows)
    belief, cache, page = policy.begin(problem), policy.scratch(problem), empty_page(POSITIONS)
    rates = RATES if kind == "items" else rows[:, 0]
    rng, waiting = np.random.default_rng(5), list[tuple[Slate, list[tuple[int, int]], Ints]]()
    for number in range(4500 if kind == "items" else 2000):
        key, slate = branch(31, number), policy.slate(problem)
        policy.rank(belief, cache, Request(np.arange(ITEMS), POSITIONS, NONE, NONE, rows, 0, LABELS, key), slate)
        assert slate.items.tolist() == rule.rank(key), f"list {number}"
        clicks = (rng.random(POSITIONS) < rates[slate.items]).astype(np.int64)
        waiting.append((slate, rule.names(), clicks))
        while len(waiting) > (3 if number % 50 < 10 else 0):
            given, made_by, clicked = waiting.pop(0)
            page.clicks[:] = clicked
            policy.learn(belief, given, page)
            rule.learn(made_by, given.items.tolist(), clicked.tolist())
    assert len(rule.running) > 1, "nothing was split"
    assert sum(len(instance.items) for instance in rule.running) < ITEMS, "no item fell out"


@pytest.mark.parametrize("kind", ["random", "plane", "copies", "items"])
def test_designs_are_nearly_optimal(kind: str) -> None:
    """The largest variance of an optimal design is the number of directions (Kiefer and Wolfowitz)."""
    rows = rows_of(kind)
    design, members = empty_design(ITEMS, rows.shape[1]), np.arange(ITEMS)
    rank, worst = find_design(design, rows, members)
    assert rank == np.linalg.matrix_rank(rows)
    assert design.share.sum() == pytest.approx(1.0)
    variance = np.einsum("ij,jk,ik->i", rows, np.linalg.pinv(rows.T @ (design.share[:, None] * rows), 1e-9), rows)
    assert worst == pytest.approx(variance.max())
    assert rank * (1 - 1e-9) <= worst <= NEARLY * rank


def test_items_without_features_have_a_design() -> None:
    design = empty_design(ITEMS, FEATURES)
    assert find_design(design, np.zeros((ITEMS, FEATURES)), np.arange(ITEMS)) == (0, 1.0)
    assert design.share.tolist() == [1.0] + [0.0] * (ITEMS - 1)


def test_probabilities_sum_to_one_and_match_frequencies() -> None:
    """At the beginning and after blocks were split; frequencies of 2,000 lists are within 4.5 standard errors, or 1."""
    rows = rows_of("random")[:5]
    problem = Problem(5, 3, FEATURES, 500)
    policy = make("recur-rank").prepare(problem)
    belief, cache, page = policy.begin(problem), policy.scratch(problem), empty_page(3)
    rng, rates = np.random.default_rng(2), np.array([0.9, 0.05, 0.5, 0.2, 0.7])
    asked = Request(np.arange(5), 3, NONE, NONE, rows, 0, LABELS[:5], 0)
    for learned in range(400):
        if learned in (7, 399):
            weighed = {
                one: policy.list_probabilities(belief, asked, np.array(one)) for one in permutations(range(5), 3)
            }
            whole = {one: float(np.prod(found.conditional)) for one, found in weighed.items()}
            assert sum(whole.values()) == pytest.approx(1.0)
            for one, found in weighed.items():
                for position, item in enumerate(one):
                    stands = sum(chance for other, chance in whole.items() if other[position] == item)
                    assert found.marginal[position] == pytest.approx(stands)
            counts = dict.fromkeys(whole, 0)
            for number in range(2000):
                slate = policy.slate(problem)
                policy.rank(belief, cache, asked._replace(key=branch(8, number)), slate)
                counts[tuple(slate.items.tolist())] += 1
            for one, chance in whole.items():
                assert abs(counts[one] - 2000 * chance) <= 4.5 * math.sqrt(2000 * chance * (1 - chance)) + 1.0
        slate = policy.slate(problem)
        policy.rank(belief, cache, asked._replace(key=branch(9, learned)), slate)
        page.clicks[:] = rng.random(3) < rates[slate.items]
        policy.learn(belief, slate, page)
    assert belief.over[0] > 0


def test_other_features_are_noticed() -> None:
    """A cache that was made for other features, or for an earlier belief, is not used."""
    problem = Problem(ITEMS, POSITIONS, FEATURES, STEPS)
    policy = make("recur-rank").prepare(problem)
    belief, cache, fresh = policy.begin(problem), policy.scratch(problem), policy.scratch(problem)
    for edition, kind in enumerate(("random", "plane")):
        one, other = policy.slate(problem), policy.slate(problem)
        asked = Request(np.arange(ITEMS), POSITIONS, NONE, NONE, rows_of(kind), edition, LABELS, 4)
        policy.rank(belief, cache, asked, one)
        fresh = policy.scratch(problem)
        policy.rank(belief, fresh, asked, other)
        assert one.items.tolist() == other.items.tolist()
        assert np.array_equal(one.memo, other.memo)


@pytest.mark.parametrize(("given", "message"), [("steps=1", "between 2"), ("steps='many'", "steps")])
def test_parameters_that_cannot_be_are_refused(given: str, message: Any) -> None:
    with pytest.raises(toplist.InvalidInput, match=message):
        make(f"recur-rank({given})").prepare(Problem(ITEMS, POSITIONS, FEATURES))


def test_the_horizon_must_be_known() -> None:
    with pytest.raises(toplist.InvalidInput, match="steps"):
        make("recur-rank").prepare(Problem(ITEMS, POSITIONS, FEATURES))
