"""Indices in their form for many items on a GPU: the same lists as the index itself, from few computed indices."""

from typing import Any

import numpy as np
import pytest

from toplist.core.beliefs import MANY
from toplist.core.problem import Problem
from toplist.core.slate import NONE, Request
from toplist.parts.index import KLUCB, UCB1
from toplist.parts.index.few_on_gpu import FEW_ON_GPU
from toplist.parts.index.kl_solver import kl_estimate, kl_upper
from toplist.parts.index.last_list import ByLastList
from toplist.parts.memory.counts import Counts

ITEMS, POSITIONS = 90, 4
PROBLEM = Problem(ITEMS, POSITIONS)


def request_for(candidates: Any, key: int) -> Request:
    return Request(candidates, POSITIONS, NONE, NONE, np.zeros((ITEMS, 0)), 0, np.arange(ITEMS), key=key)


def choose(scoring: Any, belief: Counts, cache: Any, request: Request) -> list[int]:
    chosen, scores = np.full(POSITIONS, -1), np.zeros(POSITIONS)
    scoring.top(belief, cache, request, chosen, scores)
    assert (scores[1:] <= scores[:-1]).all()
    found: list[int] = chosen.tolist()
    return found


@pytest.mark.parametrize("index", [KLUCB(), UCB1()])
@pytest.mark.parametrize(("most", "unit"), [(1, 1.0), (40, 1.0), (40, 2.0**70), (1_000_000, 1.0)])
def test_it_chooses_the_same_items_while_it_learns(index: Any, most: int, unit: float) -> None:
    random = np.random.default_rng(most)
    index = index.prepare(PROBLEM)
    form = index.on_gpu(PROBLEM)
    assert isinstance(form, ByLastList)
    cache, own = form.scratch(PROBLEM), index.scratch(PROBLEM)
    examined = random.integers(0, most, ITEMS).astype(float)
    clicked = np.floor(examined * random.choice([0.0, 0.1, 0.3], ITEMS))
    clock = np.array([20.0 * most])
    belief = Counts(unit * examined, unit * clicked, np.array([unit]), clock, np.zeros(0, dtype=np.int64))
    for key in range(120):
        candidates = np.arange(ITEMS)
        if key % 10 == 9:  # others than before are eligible
            candidates = np.flatnonzero(random.random(ITEMS) < 0.7)
        request = request_for(candidates, key)
        found = choose(form, belief, cache, request)
        assert found == choose(index, belief, own, request)
        for item in found[: random.integers(1, POSITIONS + 1)]:
            belief.examined[item] += unit
            belief.clicked[item] += unit * (random.random() < 0.3)
        belief.clock[0] += 1.0


def test_few_candidates_fill_a_part_of_the_list() -> None:
    index = KLUCB().prepare(PROBLEM)
    form = index.on_gpu(PROBLEM)
    ones = np.ones(ITEMS)
    belief = Counts(ones, 0.0 * ones, np.ones(1), np.full(1, 50.0), np.zeros(0, dtype=np.int64))
    request = request_for(np.array([3, 80]), 1)
    assert choose(form, belief, form.scratch(PROBLEM), request) == choose(
        index, belief, index.scratch(PROBLEM), request
    )


def test_of_many_equal_items_only_a_share_is_scored() -> None:
    problem = Problem(1000, POSITIONS)
    form = ByLastList(KLUCB().prepare(problem))
    cache, ones = form.scratch(problem), np.ones(1000)
    belief = Counts(5.0 * ones, ones, np.ones(1), np.full(1, 5000.0), np.zeros(0, dtype=np.int64))
    for key in range(3):
        cache.pool[:] = -1
        request = Request(np.arange(1000), POSITIONS, NONE, NONE, np.zeros((1000, 0)), 0, np.arange(1000), key=key)
        choose(form, belief, cache, request)
    assert cache.crowds[:, 2].max() == 1000
    assert (cache.pool >= 0).sum() < 60


def test_sizes_for_which_there_is_such_a_form() -> None:
    for index in (KLUCB(), UCB1()):
        for items in (FEW_ON_GPU, MANY):
            assert not isinstance(index.on_gpu(Problem(items, POSITIONS)), ByLastList)


def test_estimates_are_as_close_as_they_say_and_mostly_no_solves() -> None:
    random = np.random.default_rng(3)
    estimates = 0
    for _ in range(4000):
        examined = float(random.integers(2, int(10 ** random.uniform(0.5, 6.0))))
        clicked = float(np.floor(examined * random.random() ** 2))
        budget = float(random.uniform(0.1, 25.0))
        value, error = kl_estimate(examined, clicked, budget)
        assert abs(value - kl_upper(examined, clicked, budget)) <= error <= 4e-6
        estimates += error > 0.0
    assert estimates > 2400


def test_a_share_that_does_not_fill_the_list_is_not_enough() -> None:
    index = KLUCB().prepare(PROBLEM)
    form, ones = ByLastList(index), np.ones(ITEMS)
    cache, own = form.scratch(PROBLEM), index.scratch(PROBLEM)
    belief = Counts(5.0 * ones, ones, np.ones(1), np.full(1, 5000.0), np.zeros(0, dtype=np.int64))
    for key in range(4):
        request = request_for(np.arange(ITEMS), key)
        assert choose(form, belief, cache, request) == choose(index, belief, own, request)
        cache.crowds[:, 2] *= 1000.0  # there were many more


def test_estimates_that_leave_the_order_open_are_replaced_by_indices() -> None:
    index = KLUCB().prepare(PROBLEM)
    form, random = ByLastList(index), np.random.default_rng(4)
    cache, own = form.scratch(PROBLEM), index.scratch(PROBLEM)
    for key in range(4):
        clicked = 300.0 + 1e-5 * random.permutation(ITEMS).astype(np.float64)
        belief = Counts(np.full(ITEMS, 1000.0), clicked, np.ones(1), np.full(1, 4000.0), np.zeros(0, dtype=np.int64))
        request = request_for(np.arange(ITEMS), key)
        assert choose(form, belief, cache, request) == choose(index, belief, own, request)
    assert cache.solves[0] > 0


def test_an_item_behind_a_tie_at_the_end_of_the_list_is_not_forgotten() -> None:
    index, random, found = KLUCB().prepare(PROBLEM), np.random.default_rng(6), 0
    while found < 3:
        tied = 300.0 + float(random.random())
        better, budget = tied + 1e-5 * float(random.random()), KLUCB().allowance(counts_of(np.zeros(1)))
        estimates = [kl_estimate(1000.0, clicked, budget)[0] for clicked in (tied, better)]
        indices = [kl_upper(1000.0, clicked, budget) for clicked in (tied, better)]
        if not (estimates[0] > estimates[1] and indices[0] < indices[1]):
            continue
        found += 1
        clicked = np.full(ITEMS, 100.0)
        clicked[:3], clicked[10:15], clicked[40] = 400.0, tied, better
        belief, form = counts_of(clicked), ByLastList(index)
        for key in range(3):
            request = request_for(np.arange(ITEMS), key)
            lists = [choose(scoring, belief, scoring.scratch(PROBLEM), request) for scoring in (form, index)]
            assert lists[0] == lists[1]
            assert lists[0][3] == 40


def counts_of(clicked: Any) -> Counts:
    return Counts(np.full(len(clicked), 1000.0), clicked, np.ones(1), np.full(1, 4000.0), np.zeros(0, dtype=np.int64))
