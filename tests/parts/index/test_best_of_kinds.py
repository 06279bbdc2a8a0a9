"""The best one of a span of items by the kinds of their counts: the same as by scoring all of them."""

from typing import Any

import numpy as np
import pytest

from toplist.core.beliefs import BLOCK, MANY
from toplist.core.problem import Problem
from toplist.core.slate import EVERY, NONE, Request
from toplist.parts.index import KLUCB, UCB1
from toplist.parts.index.best_of_kinds import ShortlistOfSpans, with_spans
from toplist.parts.index.ties import standing
from toplist.parts.memory import Counts, Everything
from toplist.parts.memory.counts import touch

SPANS, STRIDE = 4, 9 * BLOCK
PROBLEM = Problem(SPANS * STRIDE, SPANS)


def ready(scoring: Any) -> tuple[Any, Counts, ShortlistOfSpans]:
    prepared = scoring.prepare(PROBLEM)
    return prepared, Everything().begin(PROBLEM), with_spans(prepared.scratch(PROBLEM), SPANS).shortlist


def best(shortlist: Any, scoring: Any, belief: Counts, request: Request, budget: float) -> tuple[int, float]:
    chosen, scores = np.zeros(1, dtype=np.int64), np.zeros(1)
    shortlist.take_best(scoring, belief, request, budget, chosen, scores)
    return int(chosen[0]), float(scores[0])


def best_of_all(scoring: Any, belief: Counts, request: Request, budget: float) -> tuple[int, float]:
    free = np.setdiff1d(request.candidates, request.exceptions)
    index = np.array([scoring.tangent(belief.examined[i], belief.clicked[i], budget)[0] for i in free])
    tied = free[index == index.max()]
    return int(max(tied, key=lambda item: standing(item, request.labels, request.key))), float(index.max())


@pytest.mark.parametrize("scoring", [UCB1(), KLUCB()], ids=lambda scoring: type(scoring).__name__)
@pytest.mark.parametrize(("least", "most"), [(0, 3), (1, 3), (1, 60)])
def test_the_best_is_that_of_scoring_all(scoring: Any, least: int, most: int) -> None:
    """Many and few alike; counts that change, ranges that grow and shrink, exceptions, budgets up and down from 0."""
    scoring, belief, shortlist = ready(scoring)
    assert len(belief.examined) >= MANY
    belief.examined[:] = least
    random = np.random.default_rng(most)
    labels = random.integers(-(2**62), 2**62, len(belief.examined))
    budget = 0.0
    for turn in range(60):
        begin = (turn % SPANS) * STRIDE
        for item in begin + random.integers(0, STRIDE, 1 if turn % 3 else 100):
            belief.examined[item] = random.integers(least, most)
            belief.clicked[item] = random.integers(0, min(belief.examined[item], 3.0) + 1)
            touch(belief, item)
        low, high = begin + turn // 10 % 2 * 200, begin + STRIDE - turn // 20 % 3 * 170
        exceptions = np.sort(random.choice(np.arange(low, high), turn % 5, replace=False))
        request = Request(
            np.arange(low, high), 1, NONE, NONE, np.zeros((0, 0)), 0, labels, int(turn), EVERY, exceptions
        )
        for _ in range(2):
            found = best(shortlist, scoring, belief, request, budget)
            assert found == best_of_all(scoring, belief, request, budget)
            request = request._replace(exceptions=np.sort([*exceptions, found[0]]))  # the next best one
        budget = random.uniform(0.0, 9.0) if turn % 11 == 0 else budget + 1e-3
        if turn % 40 == 0:
            shortlist.outdate()
    assert not shortlist.table.is_crowded.any()


@pytest.mark.parametrize("scoring", [UCB1(), KLUCB()], ids=lambda scoring: type(scoring).__name__)
def test_an_index_at_budget_0_says_nothing_about_others(scoring: Any) -> None:
    """There, an index may be infinitely steep, so that it has no tangent."""
    scoring, belief, shortlist = ready(scoring)
    belief.examined[:], belief.clicked[:] = 10.0, 5.0
    belief.examined[7], belief.clicked[7] = 1.0, 0.0
    labels = np.arange(len(belief.examined))
    request = Request(np.arange(STRIDE), 1, NONE, NONE, np.zeros((0, 0)), 0, labels, 5)
    assert best(shortlist, scoring, belief, request, 0.0)[1] == 0.5
    assert best(shortlist, scoring, belief, request, 3.0)[0] == 7


def test_spans_of_too_many_kinds_are_left_to_ceilings() -> None:
    scoring, belief, shortlist = ready(UCB1())
    belief.examined[:STRIDE] += np.random.default_rng(1).random(STRIDE)
    labels = np.arange(len(belief.examined))
    for span in range(2):
        candidates = np.arange(span * STRIDE, (span + 1) * STRIDE)
        request = Request(candidates, 1, NONE, NONE, np.zeros((0, 0)), 0, labels, 5)
        assert best(shortlist, scoring, belief, request, 2.0) == best_of_all(scoring, belief, request, 2.0)
    assert shortlist.table.is_crowded.tolist() == [True, False, False, False]


def test_caches_of_few_items_stay_as_they_are() -> None:
    few = Problem(50, 5, grows=False)
    cache = UCB1().prepare(few).scratch(few)
    assert with_spans(cache, 5) is cache
