"""GLRT-CascadeUCB and GLRT-CascadeKL-UCB, list by list against a second, plain implementation of their rule."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.core.problem import Problem
from toplist.core.randomness import branch, uniform
from toplist.core.slate import NONE, Ints, Request, empty_page
from toplist.parts.forced_turns import FORCED, TURNS
from toplist.policies import make

ITEMS, POSITIONS, STEPS, CHANGE = 7, 3, 300, 140
LABELS = np.arange(ITEMS) + 100
BEFORE = np.array([0.9, 0.1, 0.7, 0.15, 0.05, 0.2, 0.1])
AFTER = np.array([0.05, 0.9, 0.1, 0.8, 0.05, 0.2, 0.1])
NUMBERED = sorted(range(ITEMS), key=lambda item: -uniform(TURNS, int(LABELS[item])))  # item 1, 2 and so on


def kl(p: float, q: float) -> float:
    return sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def has_changed(clicks: list[int], level: float, factor: float = 3.0, power: float = 1.5) -> bool:
    """The likelihood ratio of every split, from whole histories."""
    n, mean = len(clicks), float(np.mean(clicks))
    if mean in (0.0, 1.0):
        return False
    ratios = [
        s * kl(float(np.mean(clicks[:s])), mean) + (n - s) * kl(float(np.mean(clicks[s:])), mean) for s in range(1, n)
    ]
    return max(ratios) >= math.log(factor * n**power / level)


def upper(clicks: list[int], t: int, kind: str) -> float:
    if not clicks:
        return math.inf
    n, mean = len(clicks), sum(clicks) / len(clicks)
    if kind == "glrt-cascade-ucb":
        return mean + math.sqrt(1.5 * math.log(max(1, t - 1)) / n)  # of the lists before, as CascadeUCB1
    budget = math.log(t) + 3 * math.log(max(1.0, math.log(t))) if t > 1 else 0.0
    low, high = mean, 1.0 - 1e-15
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if n * kl(mean, middle) <= budget else (low, middle)
    return low if mean < 1 else 1.0


class PlainGLRT:
    """The rule with the observations since the last restart."""

    def __init__(self, kind: str, share: float, level: float):
        self.kind, self.share, self.level = kind, share, level
        self.restarts = 0
        self.start_over()

    def start_over(self) -> None:
        self.clicks: list[list[int]] = [[] for _ in range(ITEMS)]
        self.learned = 0  # since the restart

    def shown(self, key: int) -> tuple[list[int], bool]:
        t = self.learned + 1
        turn = t % math.floor(ITEMS / self.share)
        if 1 <= turn <= ITEMS:
            drawn = sorted(range(ITEMS), key=lambda item: -uniform(branch(key, FORCED), int(LABELS[item])))
            first = NUMBERED[turn - 1]
            return [first, *(item for item in drawn if item != first)][:POSITIONS], True
        values = [upper(clicks, t, self.kind) for clicks in self.clicks]
        order = sorted(range(ITEMS), key=lambda item: (-values[item], -branch(key, int(LABELS[item]))))
        return order[:POSITIONS], False

    def learn(self, items: list[int], clicks: list[int]) -> None:
        self.learned += 1
        examined = clicks.index(1) + 1 if 1 in clicks else POSITIONS
        for item, click in zip(items[:examined], clicks, strict=False):
            self.clicks[item].append(click)
            if has_changed(self.clicks[item], self.level):
                self.start_over()
                self.restarts += 1


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("kind", ["glrt-cascade-ucb", "glrt-cascade-kl-ucb"])
def test_lists_are_those_of_the_plain_rule(kind: str, known: bool) -> None:
    """Every list of a run in which the users change once; the clicks of some lists arrive three lists late."""
    problem = Problem(ITEMS, POSITIONS, 0, STEPS if known else None)
    policy = make(kind if known else f"{kind}(share=0.25)").prepare(problem)
    share = math.sqrt(2 * ITEMS * math.log(STEPS) / STEPS) if known else 0.25
    plain = PlainGLRT(kind, share, 1 / STEPS if known else 1e-3)
    belief, cache, page = policy.begin(problem), policy.scratch(problem), empty_page(POSITIONS)
    rng, waiting, forced = np.random.default_rng(3), list[tuple[Any, Ints]](), 0
    for number in range(STEPS):
        key, slate = branch(21, number), policy.slate(problem)
        request = Request(np.arange(ITEMS), POSITIONS, NONE, NONE, np.zeros((ITEMS, 0)), 0, LABELS, key)
        wanted, by_force = plain.shown(key)
        assert policy.arrangement.forced(belief, request) == (wanted[0] if by_force else -1)
        policy.rank(belief, cache, request, slate)
        assert slate.items.tolist() == wanted, f"list {number}"
        forced += by_force
        attracted = rng.random(POSITIONS) < (BEFORE if number < CHANGE else AFTER)[slate.items]
        first = (np.cumsum(attracted) == 1) | (number % 3 == 0)  # some visitors click more, which is not to be read
        waiting.append((slate, (attracted & first).astype(np.int64)))
        while len(waiting) > (3 if number % 50 < 10 else 0):
            given, clicks = waiting.pop(0)
            page.clicks[:], page.left[0], page.seen[:] = clicks, 0, -1.0
            policy.learn(belief, given, page)
            plain.learn(given.items.tolist(), clicks.tolist())
    assert plain.restarts > 0
    assert policy.changes(belief)[0].learned > CHANGE
    assert policy.memory.detector.level == pytest.approx(plain.level)
    assert 0.15 * STEPS < forced < 0.8 * STEPS


@pytest.mark.parametrize("level", [0.02, 1e-3, 1 / STEPS])
@pytest.mark.parametrize("kind", ["glrt-cascade-ucb", "glrt-cascade-kl-ucb"])
def test_an_alarm_comes_with_the_observation_that_passes_the_threshold(kind: str, level: float) -> None:
    """On clicks that begin at once, after different times; with another threshold some would come earlier or later."""
    thresholds = {"ours": (3.0, 1.5), "1": (1.0, 1.5), "2": (2.0, 1.5), "4": (4.0, 1.5), "n": (3.0, 1.0)}
    first: dict[str, list[int]] = {name: [] for name in thresholds}
    found = []
    for before in range(16, 56, 2):
        clicks = [0] * before + [1, 1, 1, 0, 1, 1] * 8
        detector = make(f"{kind}(level={level})").prepare(Problem(ITEMS, POSITIONS, 0, STEPS)).memory.detector
        row = np.zeros(detector.room())
        found.append([detector.watch(row, 1.0, float(click)) for click in clicks].index(True) + 1)
        for name, threshold in thresholds.items():
            first[name].append(next(n for n in range(2, len(clicks)) if has_changed(clicks[:n], level, *threshold)))
    assert found == first["ours"]
    assert all(first[name] != found for name in thresholds if name != "ours")


def test_forced_lists_keep_pins_and_leave_out_what_is_not_eligible() -> None:
    problem = Problem(ITEMS, POSITIONS, 0, STEPS)
    policy = make("glrt-cascade-ucb(share=1.0)").prepare(problem)
    belief, cache, slate = policy.begin(problem), policy.scratch(problem), policy.slate(problem)
    request = Request(np.arange(ITEMS), POSITIONS, np.array([4, -1, -1]), NONE, np.zeros((ITEMS, 0)), 0, LABELS, 5)
    for learned in range(2 * ITEMS):
        belief.clock[0] = learned
        policy.rank(belief, cache, request._replace(key=branch(2, learned)), slate)
        turn = NUMBERED[learned % ITEMS]
        assert slate.items[0] == 4
        assert slate.items[1] == turn or turn == 4
        gaps = request._replace(pins=NONE, exceptions=np.array([turn]), key=branch(3, learned))
        policy.rank(belief, cache, gaps, slate)
        assert turn not in slate.items  # an item that is not eligible loses its turn
        assert len(set(slate.items.tolist())) == POSITIONS


@pytest.mark.parametrize("given", ["share='often'", "share=1.5", "changes=-1", "level=0.0", "level='often'"])
def test_parameters_that_cannot_be_are_refused(given: str) -> None:
    with pytest.raises(toplist.InvalidInput, match=given.partition("=")[0]):
        make(f"glrt-cascade-ucb({given})").prepare(Problem(ITEMS, POSITIONS))


def test_parameters_are_prepared_once() -> None:
    for steps in (STEPS, None):
        problem = Problem(ITEMS, POSITIONS, 0, steps)
        once = make("glrt-cascade-kl-ucb").prepare(problem)
        assert repr(once.prepare(problem)) == repr(once)
