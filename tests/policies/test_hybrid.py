"""CascadeHybrid, list by list against a second, plain implementation of its rule."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import NONE, Floats, Ints, Request, empty_page
from toplist.policies import make

ITEMS, POSITIONS, STEPS, TOPICS, OTHERS = 9, 3, 200, 3, 2
FEATURES = TOPICS + OTHERS
LABELS = np.arange(ITEMS) + 100
ROWS = np.random.default_rng(7).random((ITEMS, FEATURES)) * 0.7
WEIGHTS = np.array([0.5, 0.1, 0.2, 0.4, 0.05])


class PlainHybrid:
    """The blocks of the paper: estimates for topics, with those of relevance put in, and the other way round."""

    def __init__(self, topics: int, width: float):
        self.topics, self.width = topics, width
        self.x: list[Floats] = []
        self.y: list[float] = []

    def gains(self, items: list[int], item: int) -> Floats:
        """The features of an item below others: only topics shrink."""
        row: Floats = ROWS[item].copy()
        row[: self.topics] *= np.prod(1 - ROWS[items, : self.topics], axis=0)
        return row

    def shown(self, key: int) -> tuple[list[int], list[Floats]]:
        x, y = np.array(self.x).reshape(-1, FEATURES), np.array(self.y)
        first, second = x[:, : self.topics], x[:, self.topics :]
        h = np.eye(self.topics) + first.T @ first
        m = np.eye(FEATURES - self.topics) + second.T @ second
        b = first.T @ second
        inner = np.linalg.inv(h - b @ np.linalg.inv(m) @ b.T)  # the block of topics
        theta = inner @ (first.T @ y - b @ np.linalg.inv(m) @ second.T @ y)
        beta = np.linalg.inv(m) @ (second.T @ y - b.T @ theta)
        cross = -inner @ b @ np.linalg.inv(m)
        outer = np.linalg.inv(m) + np.linalg.inv(m) @ b.T @ inner @ b @ np.linalg.inv(m)
        items: list[int] = []
        rows: list[Floats] = []
        for _ in range(POSITIONS):
            values = {}
            for item in set(range(ITEMS)) - set(items):
                row = self.gains(items, item)
                topic, other = row[: self.topics], row[self.topics :]
                square = topic @ inner @ topic + 2 * topic @ cross @ other + other @ outer @ other
                values[item] = topic @ theta + other @ beta + self.width * math.sqrt(square)
            best = max(values, key=lambda item: (values[item], branch(key, int(LABELS[item]))))
            rows.append(self.gains(items, best))
            items.append(best)
        return items, rows


@pytest.mark.parametrize(("topics", "alpha"), [(TOPICS, "theory"), (TOPICS, 0.2), (0, 0.2), (1, 0.1)])
def test_lists_are_those_of_the_plain_rule(topics: int, alpha: Any) -> None:
    """Every list of a run; the clicks of some lists arrive three lists late."""
    problem = Problem(ITEMS, POSITIONS, FEATURES, STEPS)
    policy = make(f"cascade-hybrid(topics={topics}, alpha={alpha!r})").prepare(problem)
    theory = math.sqrt(FEATURES * math.log(1 + STEPS * POSITIONS / FEATURES) + 2 * math.log(STEPS)) + 1
    rule = PlainHybrid(topics, theory if alpha == "theory" else alpha)
    belief, cache, page = policy.begin(problem), policy.scratch(problem), empty_page(POSITIONS)
    rng, shown, waiting = np.random.default_rng(9), set(), list[tuple[Any, list[Floats], Ints]]()
    for number in range(STEPS):
        key, slate = branch(41, number), policy.slate(problem)
        policy.rank(belief, cache, Request(np.arange(ITEMS), POSITIONS, NONE, NONE, ROWS, 0, LABELS, key), slate)
        wanted, rows = rule.shown(key)
        assert slate.items.tolist() == wanted, f"list {number}"
        assert slate.rows == pytest.approx(np.array(rows))
        shown.add(tuple(wanted))
        attracted = rng.random(POSITIONS) < np.array(rows) @ WEIGHTS
        first = (np.cumsum(attracted) == 1) | (number % 3 == 0)  # some visitors click more, which is not to be read
        waiting.append((slate, rows, (attracted & first).astype(np.int64)))
        while len(waiting) > (3 if number % 50 < 10 else 0):
            given, its, clicks = waiting.pop(0)
            page.clicks[:], page.left[0], page.seen[:] = clicks, 0, -1.0
            policy.learn(belief, given, page)
            examined = int(np.argmax(clicks)) + 1 if clicks.any() else POSITIONS
            rule.x += its[:examined]
            rule.y += clicks[:examined].tolist()
    assert len(shown) > 3


def test_with_topics_alone_it_is_cascade_lsb() -> None:
    world = f"topic-coverage(topics={ROWS.tolist()}, preferences={(WEIGHTS / 2).tolist()}, positions=3)"
    names = ["cascade-hybrid", "cascade-hybrid(topics=5)", "cascade-lsb(sigma=1.0, alpha='theory')"]
    found = toplist.simulate(names, world, steps=60, runs=2, compiled=False, threads=1)
    for name in names[:2]:
        assert np.array_equal(found.regret[name], found.regret[names[2]])


@pytest.mark.parametrize("given", ["'some'", "-2", "6", "1.5"])
def test_a_number_of_topics_that_cannot_be_is_refused(given: str) -> None:
    with pytest.raises(toplist.InvalidInput, match="topics is"):
        make(f"cascade-hybrid(topics={given})").prepare(Problem(ITEMS, POSITIONS, FEATURES))


def test_lists_of_others_are_refused_where_some_features_are_no_topics() -> None:
    problem = Problem(ITEMS, POSITIONS, FEATURES)
    assert make("cascade-hybrid").prepare(problem).capabilities().learns_from_any_list
    assert not make("cascade-hybrid(topics=2)").prepare(problem).capabilities().learns_from_any_list
