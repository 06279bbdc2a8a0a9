"""UniRank, list by list against a second, plain implementation of its rule."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.core.problem import Problem
from toplist.core.randomness import branch, uniform
from toplist.core.slate import NONE, Request, empty_page
from toplist.parts.index.kl_solver import kl_upper
from toplist.policies import make
from toplist.policies.unirank import CERTAIN, NEXT_TO_1, promise, promises_less

ITEMS, POSITIONS, STEPS = 7, 4, 1200
LABELS = np.arange(ITEMS) + 100
ATTRACTION = np.array([0.75, 0.3, 0.6, 0.1, 0.05, 0.15, 0.5])

Part = frozenset[int]


def upper_share(won: int, duels: int, budget: float) -> float:
    """The KL-UCB index of a share of duels, by bisection."""
    if duels == 0 or budget == math.inf:
        return 1.0
    p, low, high = won / duels, won / duels, 1.0

    def divergence(q: float) -> float:
        ones = p * math.log(p / q) if p > 0 else 0.0
        return ones + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)

    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if duels * divergence(min(middle, 1 - 1e-15)) <= budget else (low, middle)
    return low


class PlainUniRank:
    """The rule on sets of items, with the history of all duels."""

    def __init__(self, slack: float, loglog: float):
        self.slack, self.loglog = slack, loglog
        self.duels: list[tuple[int, int]] = []  # winner and loser
        self.led = Counter[tuple[Part, ...]]()
        self.lists = 0

    def blocks(self) -> tuple[tuple[Part, ...], list[Part]]:
        """The leader, and the blocks to be shown."""
        won = Counter(self.duels)

        def lead(item: int, other: int) -> float:
            """Mean outcome of the duels of two items: from -1, all lost, to 1."""
            fought = won[item, other] + won[other, item]
            slack = math.sqrt(self.slack * math.log(math.log(self.lists + 3)) / fought) if fought else math.inf
            return (won[item, other] - won[other, item]) / fought + slack if fought else slack

        leader, left = list[Part](), set(range(ITEMS))
        while left:
            best = {item for item in left if all(lead(item, other) >= 0 for other in left - {item})} or set(left)
            leader.append(frozenset(best))
            left -= best
        times = self.led[tuple(leader)] + 1
        budget = math.log(times) + self.loglog * math.log(math.log(times)) if times >= 3 else math.inf

        def promise(item: int, part: Part) -> float:
            return max(upper_share(won[item, other], won[item, other] + won[other, item], budget) for other in part)

        found, waiting = list[Part](), list(leader)
        while waiting and sum(map(len, found)) + len(waiting[0]) < POSITIONS:
            part = waiting.pop(0)
            if max(promise(item, part) for item in waiting[0]) > 0.5:
                part |= waiting.pop(0)
            found.append(part)
        if sum(map(len, found)) < POSITIONS:
            part = waiting.pop(0)
            able = {item: round(promise(item, part), 12) for lower in waiting for item in lower}
            if able and max(able.values()) > 0.5:
                part |= {max(able, key=lambda item: (able[item], branch(-2, int(LABELS[item]))))}
            found.append(part)
        return tuple(leader), found

    def learn(self, made_with: tuple[tuple[Part, ...], list[Part]], items: list[int], clicks: list[int]) -> None:
        leader, blocks = made_with
        self.lists += 1
        self.led[leader] += 1
        clicked = {item for item, click in zip(items, clicks, strict=True) if click}
        for block in blocks:
            self.duels += [(one, two) for one in block & clicked for two in block - clicked]


@pytest.mark.parametrize(("name", "slack", "loglog"), [("uni-rank", 1.0, 3.0), ("uni-rank(slack=0, loglog=1)", 0, 1)])
def test_lists_are_those_of_the_plain_rule(name: str, slack: float, loglog: float) -> None:
    """Every list of a run, the clicks of some of which arrive three lists late."""
    problem = Problem(ITEMS, POSITIONS)
    policy, plain = make(name).prepare(problem), PlainUniRank(slack, loglog)
    belief, cache, page = policy.begin(problem), policy.scratch(problem), empty_page(POSITIONS)
    rng, waiting, sizes = np.random.default_rng(4), list[Any](), Counter[int]()
    for number in range(STEPS):
        key, slate = branch(21, number), policy.slate(problem)
        request = Request(np.arange(ITEMS), POSITIONS, NONE, NONE, np.zeros((ITEMS, 0)), 0, LABELS, key)
        policy.rank(belief, cache, request, slate)
        made = plain.blocks()
        own = branch(key, -1)
        wanted = [item for block in made[1] for item in sorted(block, key=lambda item: uniform(own, int(LABELS[item])))]
        assert slate.items.tolist() == wanted[:POSITIONS], f"list {number}"
        sizes[len(made[1])] += 1
        attracted = rng.random(POSITIONS) < ATTRACTION[slate.items]
        left = attracted & (rng.random(POSITIONS) < 0.6)  # after a click, most leave
        clicks = (attracted & (np.cumsum(left) - left == 0)).astype(np.int64)
        waiting.append((slate, made, clicks))
        while len(waiting) > (3 if number % 50 < 10 else 0):
            given, made, clicks = waiting.pop(0)
            page.clicks[:], page.left[0], page.seen[:] = clicks, 0, -1.0
            policy.learn(belief, given, page)
            plain.learn(made, given.items.tolist(), clicks.tolist())
    assert len(sizes) >= 3  # it orders, and doubts


def test_parameters_that_cannot_be_are_refused() -> None:
    for given in ("slack=-1", "loglog=nan"):
        with pytest.raises(toplist.InvalidInput, match="UniRank's"):
            make(f"uni-rank({given})").prepare(Problem(ITEMS, POSITIONS))


def test_the_quick_bound_never_drops_a_promising_item() -> None:
    rng, dropped = np.random.default_rng(3), 0
    for _ in range(3000):
        duels = int(10 ** rng.uniform(0, 5))
        won = int(rng.binomial(duels, rng.choice([0.0, 0.5, 1.0, rng.random()])))
        other = int(10 ** rng.uniform(0, 5))
        most = max(0.5, kl_upper(other, rng.binomial(other, 0.5), 9.0)) if rng.random() < 0.9 else 1.0
        logs, wins = (math.log(most), math.log(max(1.0 - most, NEXT_TO_1))), np.array([[0, won], [duels - won, 0]])
        less = promises_less(wins, 0, 1, 9.0, most, logs)
        assert not (less and promise(wins, 0, 1, 9.0) >= most)
        dropped += less
    assert 1000 < dropped < 2500
    assert not promises_less(np.array([[0, 2], [90, 0]]), 0, 1, CERTAIN, 0.5, (-math.log(2.0), -math.log(2.0)))
