"""Indices in their form for few items on a GPU: the same lists as the index itself, from few computed indices."""

from typing import Any

import numpy as np
import pytest

from toplist.core.compiling import compiled
from toplist.core.problem import Problem
from toplist.core.slate import NONE, Request
from toplist.parts.index import KLUCB, UCB1
from toplist.parts.index.few_on_gpu import FEW_ON_GPU, FewOnGPU
from toplist.parts.index.kl_level import level_of, may_reach_level
from toplist.parts.index.kl_solver import kl_upper
from toplist.parts.memory.counts import Counts

ITEMS = 40


def random_counts(random: Any, most: int, unit: float = 1.0) -> Counts:
    examined = random.integers(0, most, ITEMS).astype(float)
    clicked = np.floor(examined * random.choice([0.0, 0.05, 0.3, 1.0], ITEMS) * random.random(ITEMS) * 1.2)
    clicked = np.minimum(clicked, examined)
    clock = np.array([float(random.integers(1, 20 * most))])
    return Counts(unit * examined, unit * clicked, np.array([unit]), clock, np.zeros(0, dtype=np.int64))


def request_for(candidates: Any, key: int) -> Request:
    return Request(candidates, 5, NONE, NONE, np.zeros((ITEMS, 0)), 0, np.arange(ITEMS), key=key)


def choose(scoring: Any, belief: Counts, cache: Any, request: Request) -> list[int]:
    chosen, scores = np.full(5, -1), np.zeros(5)
    scoring.top(belief, cache, request, chosen, scores)
    found: list[int] = chosen.tolist()
    return found


@pytest.mark.parametrize("index", [KLUCB(), UCB1()])
@pytest.mark.parametrize("most", [3, 30, 3000, 3_000_000])  # few examinations: most items tie
@pytest.mark.parametrize("unit", [1.0, 2.0**70])
def test_it_chooses_the_same_items(index: Any, most: int, unit: float) -> None:
    random = np.random.default_rng(most)
    index, problem = index.prepare(Problem(ITEMS, 5)), Problem(ITEMS, 5)
    form = index.on_gpu(problem)
    assert isinstance(form, FewOnGPU)
    cache = form.scratch(problem)
    for key in range(60):
        belief = random_counts(random, most, unit)  # any other belief than before: the last list is only a start
        candidates = np.arange(ITEMS)
        if key % 3 == 0:
            candidates = np.flatnonzero(random.random(ITEMS) < 0.6)
        request = request_for(candidates, key)
        assert choose(form, belief, cache, request) == choose(index, belief, index.scratch(problem), request)


@pytest.mark.parametrize("index", [KLUCB(), UCB1()])
def test_few_candidates_fill_a_part_of_the_list_and_most_items_have_a_bit(index: Any) -> None:
    problem = Problem(FEW_ON_GPU, 5)
    index, random = index.prepare(problem), np.random.default_rng(8)
    form, labels = index.on_gpu(problem), np.arange(FEW_ON_GPU)
    cache = form.scratch(problem)
    for key, candidates in enumerate([np.array([2, 63]), labels, labels, np.arange(60, 64), labels]):
        ones = np.ones(FEW_ON_GPU)
        clicked = np.floor(60.0 * random.random(FEW_ON_GPU))
        belief = Counts(100.0 * ones, clicked, np.ones(1), np.full(1, 5000.0), np.zeros(0, dtype=np.int64))
        request = Request(candidates, 5, NONE, NONE, np.zeros((FEW_ON_GPU, 0)), 0, labels, key=key)
        expected = choose(index, belief, index.scratch(problem), request)
        assert choose(form, belief, cache, request)[: len(candidates)] == expected[: len(candidates)]


@pytest.mark.parametrize("index", [KLUCB(), UCB1()])
def test_compiled_it_chooses_the_same_items(index: Any) -> None:
    random, problem = np.random.default_rng(5), Problem(ITEMS, 5)
    form = FewOnGPU(index)
    cache, again = form.scratch(problem), form.scratch(problem)
    top = compiled(lists_of)
    for key in range(20):
        belief, request = random_counts(random, 300), request_for(np.arange(ITEMS), key)
        chosen, scores = np.full(5, -1), np.zeros(5)
        top(form, belief, cache, request, chosen, scores)
        assert chosen.tolist() == choose(form, belief, again, request)


def lists_of(scoring: Any, belief: Any, cache: Any, request: Any, chosen: Any, scores: Any) -> None:
    scoring.top(belief, cache, request, chosen, scores)


def test_no_item_that_reaches_a_level_is_missed_and_most_others_are_told() -> None:
    random = np.random.default_rng(1)
    told, below = 0, 0
    for _ in range(300):
        belief = random_counts(random, int(10 ** random.uniform(0.5, 6.0)))
        budget = float(random.uniform(1.0, 30.0))
        for item in range(ITEMS):
            counts = belief.examined[item], belief.clicked[item]
            index = kl_upper(*counts, budget)
            assert may_reach_level(*counts, level_of(index, budget, 1.0))
            if 0.0 < index < 0.9:
                below += 1
                told += not may_reach_level(*counts, level_of(index + 0.001 * (1.0 - index), budget, 1.0))
    assert told > 0.9 * below > 0


def test_no_item_that_reaches_a_level_is_missed_by_ucb1_and_most_others_are_told() -> None:
    random, index = np.random.default_rng(2), UCB1()
    told = 0
    for _ in range(100):
        belief = random_counts(random, int(10 ** random.uniform(0.5, 6.0)), unit=2.0 ** random.uniform(0.0, 80.0))
        budget = float(random.uniform(1.0, 30.0)) * float(belief.unit[0])
        for item in range(ITEMS):
            counts = belief.examined[item], belief.clicked[item]
            value = index.solved(*counts, budget)
            assert index.may_reach(*counts, index.level_for(belief, budget, value))
            told += not index.may_reach(*counts, index.level_for(belief, budget, 1.0001 * value))
    assert told > 0.9 * 100 * ITEMS * 0.9


def test_equal_items_need_no_exact_index_and_close_ones_do() -> None:
    index, problem = KLUCB().prepare(Problem(ITEMS, 5)), Problem(ITEMS, 5)
    form, random = FewOnGPU(index), np.random.default_rng(4)
    cache = form.scratch(problem)
    for apart, computes in ((0.0, False), (1e-5, True)):
        before = int(cache.computed[0])
        for key in range(4):
            clicked = 300.0 + apart * random.permutation(ITEMS).astype(np.float64)
            examined = np.full(ITEMS, 1000.0)
            belief = Counts(examined, clicked, np.ones(1), np.full(1, 4000.0), np.zeros(0, dtype=np.int64))
            request = request_for(np.arange(ITEMS), key)
            assert choose(form, belief, cache, request) == choose(index, belief, index.scratch(problem), request)
        assert (cache.computed[0] > before) == computes
