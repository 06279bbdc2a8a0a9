"""C3-UCB, list by list against a second, plain implementation of its rule."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import NONE, Floats, Ints, Request, empty_page
from toplist.parts.index import determinant
from toplist.parts.memory.ridge import widths
from toplist.policies import make

ITEMS, POSITIONS, STEPS, FEATURES = 8, 3, 250, 4
LABELS = np.arange(ITEMS) + 100
NAMES = [f"item {n}" for n in range(ITEMS)]
WEIGHTS = np.array([0.7, 0.1, 0.4, 0.05])


def features_of(number: int) -> Floats:
    """The features of a list: new ones for every visitor, none of them longer than 1."""
    rows: Floats = 0.5 * np.random.default_rng(1000 + number).random((ITEMS, FEATURES))
    return rows


class PlainC3:
    """Algorithm 1 of the paper, with all rows of X and Y."""

    def __init__(self, discounts: list[float], prior: float, delta: float | None, noise: float):
        self.discounts, self.prior, self.delta, self.noise = discounts, prior, delta, noise
        self.x: list[Floats] = []
        self.y: list[float] = []
        self.learned = 0

    def upper(self, rows: Floats) -> Floats:
        x, y = np.array(self.x).reshape(-1, FEATURES), np.array(self.y)
        gram = x.T @ x + self.prior * np.eye(FEATURES)
        theta = np.linalg.solve(gram, x.T @ y)
        delta = self.delta or 1 / math.sqrt(self.learned + 1)
        ratio = np.linalg.slogdet(gram)[1] - FEATURES * math.log(self.prior) - 2 * math.log(delta)
        radius = self.noise * math.sqrt(ratio) + math.sqrt(self.prior) if self.learned else 1.0
        width = np.sqrt(np.einsum("ij,jk,ik->i", rows, np.linalg.inv(gram), rows))
        bounded: Floats = np.minimum(rows @ theta + radius * width, 1.0)
        return bounded

    def learn(self, rows: Floats, items: list[int], clicks: list[int]) -> None:
        self.learned += 1
        for place in range(clicks.index(1) + 1 if 1 in clicks else POSITIONS):
            self.x.append(self.discounts[place] * rows[items[place]])
            self.y.append(self.discounts[place] * clicks[place])


@pytest.mark.parametrize(
    ("text", "known", "plain"),
    [
        ("c3-ucb", True, ([1, 1, 1], 3.0, 1 / math.sqrt(STEPS), 1.0)),
        ("c3-ucb(discount=0.8, noise=0.1)", True, ([1, 0.8, 0.64], 1 + 0.8**2 + 0.8**4, 1 / math.sqrt(STEPS), 0.1)),
        ("c3-ucb(discount=[1, 0.5, 0.1], prior=0.3, noise=0.05)", False, ([1, 0.5, 0.1], 0.3, None, 0.05)),
        ("c3-ucb(delta=0.2, prior=0.01, noise=0.2)", False, ([1, 1, 1], 0.01, 0.2, 0.2)),
    ],
)
def test_lists_are_those_of_the_plain_rule(text: str, known: bool, plain: Any) -> None:
    """Every list of a run with new features for each; the clicks of some lists arrive three lists late."""
    problem = Problem(ITEMS, POSITIONS, FEATURES, STEPS if known else None)
    policy, rule = make(text).prepare(problem), PlainC3(*plain)
    belief, cache, page = policy.begin(problem), policy.scratch(problem), empty_page(POSITIONS)
    rng, shown, waiting = np.random.default_rng(4), set(), list[tuple[Any, Floats, Ints]]()
    for number in range(STEPS):
        key, slate, rows = branch(31, number), policy.slate(problem), features_of(number)
        request = Request(np.arange(ITEMS), POSITIONS, NONE, NONE, rows, -1, LABELS, key)
        values = rule.upper(rows)
        wanted = sorted(range(ITEMS), key=lambda item: (-values[item], -branch(key, int(LABELS[item]))))
        policy.rank(belief, cache, request, slate)
        assert slate.items.tolist() == wanted[:POSITIONS], f"list {number}"
        assert policy.assess(belief, request, None).index == pytest.approx(values)
        shown.add(tuple(slate.items.tolist()))
        attracted = rng.random(POSITIONS) < rows[slate.items] @ WEIGHTS
        first = (np.cumsum(attracted) == 1) | (number % 3 == 0)  # some visitors click more, which is not to be read
        waiting.append((slate, rows, (attracted & first).astype(np.int64)))
        while len(waiting) > (3 if number % 50 < 10 else 0):
            given, its, clicks = waiting.pop(0)
            page.clicks[:], page.left[0], page.seen[:] = clicks, 0, -1.0
            policy.learn(belief, given, page)
            rule.learn(its, given.items.tolist(), clicks.tolist())
    assert len(shown) > 10


@pytest.mark.parametrize(
    "given", ["discount=0", "discount=1.5", "discount=[1, 0.5]", "prior=0", "prior='wide'", "delta='rare'", "noise=-1"]
)
def test_parameters_that_cannot_be_are_refused(given: str) -> None:
    with pytest.raises(toplist.InvalidInput, match=given.partition("=")[0]):
        make(f"c3-ucb({given})").prepare(Problem(ITEMS, POSITIONS, FEATURES))


def test_parameters_are_prepared_once() -> None:
    for steps in (STEPS, None):
        problem = Problem(ITEMS, POSITIONS, FEATURES, steps)
        once = make("c3-ucb(discount=0.7)").prepare(problem)
        assert repr(once.prepare(problem)) == repr(once)


def test_estimates_of_many_features_do_not_run_the_source_of_the_factor(monkeypatch: pytest.MonkeyPatch) -> None:
    """With 2,000 features it would take minutes; the radius is the same."""
    features = np.random.default_rng(5).uniform(-0.1, 0.1, (ITEMS, 40))
    ranker = toplist.Ranker(NAMES, POSITIONS, "c3-ucb", features=features)
    for step in range(20):
        ranker.learn(ranker.rank(), clicks=[1 + step % POSITIONS])
    belief, scoring = ranker.belief, make("c3-ucb").prepare(Problem(ITEMS, POSITIONS, 40)).scoring
    radius = determinant.determinant_radius(belief, scoring, np.zeros_like(belief.gram))

    def refused(*_: object) -> None:
        raise AssertionError("the source of factor")

    monkeypatch.setattr(determinant, "factor", refused)
    request = Request(np.arange(ITEMS), POSITIONS, NONE, NONE, features, 0, LABELS, 0)
    wanted = np.minimum(features @ belief.theta + radius * widths(belief, request), 1.0)
    assert scoring.exact(belief, request) == pytest.approx(wanted, rel=1e-12)
    found = ranker.estimates()
    assert [found[name]["index"] for name in NAMES] == pytest.approx(wanted, rel=1e-12)
