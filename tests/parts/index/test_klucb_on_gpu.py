"""KL-UCB in its form for a GPU: the same items and scores as KLUCB, from few solves."""

from typing import Any

import numpy as np
import pytest

from toplist.core.compiling import compiled
from toplist.core.problem import Problem
from toplist.core.slate import NONE, Request
from toplist.parts.index import KLUCB
from toplist.parts.index.kl_level import level_of, may_reach_level
from toplist.parts.index.kl_solver import kl_upper
from toplist.parts.index.klucb_on_gpu import KLUCBOnGPU
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


def choose(scoring: Any, belief: Counts, cache: Any, request: Request) -> tuple[list[int], list[float]]:
    chosen, scores = np.full(5, -1), np.zeros(5)
    scoring.top(belief, cache, request, chosen, scores)
    return chosen.tolist(), scores.tolist()


@pytest.mark.parametrize("most", [3, 30, 3000, 3_000_000])  # few examinations: most items tie
@pytest.mark.parametrize("unit", [1.0, 2.0**70])
def test_it_chooses_the_same_items(most: int, unit: float) -> None:
    random = np.random.default_rng(most)
    index, problem = KLUCB().prepare(Problem(ITEMS, 5)), Problem(ITEMS, 5)
    form, cache = index.on_gpu(problem), None
    assert isinstance(form, KLUCBOnGPU)
    cache = form.scratch(problem)
    for key in range(60):
        belief = random_counts(random, most, unit)  # any other belief than before: the last list is only a start
        candidates = np.arange(ITEMS)
        if key % 3 == 0:
            candidates = np.flatnonzero(random.random(ITEMS) < 0.6)
        request = request_for(candidates, key)
        assert choose(form, belief, cache, request) == choose(index, belief, index.scratch(problem), request)


def test_compiled_it_chooses_the_same_items() -> None:
    random, problem = np.random.default_rng(5), Problem(ITEMS, 5)
    form = KLUCBOnGPU(3.0)
    cache, again = form.scratch(problem), form.scratch(problem)
    top = compiled(lists_of)
    for key in range(20):
        belief, request = random_counts(random, 300), request_for(np.arange(ITEMS), key)
        chosen, scores = np.full(5, -1), np.zeros(5)
        top(form, belief, cache, request, chosen, scores)
        assert (chosen.tolist(), scores.tolist()) == choose(form, belief, again, request)


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


def test_a_list_that_stays_takes_as_many_solves_as_it_has_items() -> None:
    form, problem = KLUCBOnGPU(3.0), Problem(ITEMS, 5)
    cache, clicked = form.scratch(problem), np.linspace(10.0, 500.0, ITEMS)
    belief = Counts(np.full(ITEMS, 1000.0), clicked, np.ones(1), np.array([40_000.0]), np.zeros(0, dtype=np.int64))
    for key in range(3):
        before = int(cache.solves[0])
        assert choose(form, belief, cache, request_for(np.arange(ITEMS), key))[0] == [39, 38, 37, 36, 35]
    assert cache.solves[0] - before == 5
