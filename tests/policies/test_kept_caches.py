"""Policies that keep results from list to list in a cache: the lists are those made with a fresh one."""

from __future__ import annotations

import numpy as np
import pytest

from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import NONE, Request, empty_page
from toplist.policies import make

ITEMS, POSITIONS, LISTS = 7, 4, 800
LABELS = np.arange(ITEMS) + 100
ATTRACTION = np.array([0.75, 0.3, 0.6, 0.1, 0.05, 0.15, 0.5])


@pytest.mark.parametrize("name", ["uni-rank", "uni-rank(slack=0)", "grab", "grab(steps=1000)"])
@pytest.mark.parametrize("pinned", [False, True])
def test_a_used_cache_changes_nothing(name: str, pinned: bool) -> None:
    """Candidates and pins change now and then, and not every list is learned."""
    problem = Problem(ITEMS, POSITIONS)
    policy = make(name).prepare(problem)
    belief, cache, page = policy.begin(problem), policy.scratch(problem), empty_page(POSITIONS)
    rng, candidates, lists = np.random.default_rng(5), np.arange(ITEMS), set[tuple[int, ...]]()
    pins = np.full(POSITIONS, -1)
    for number in range(LISTS):
        if number % 40 == 0:
            candidates = np.sort(rng.choice(ITEMS, rng.integers(POSITIONS, ITEMS + 1), replace=False))
            pins[:] = -1
            pins[rng.integers(POSITIONS)] = rng.choice(candidates)
        features, fixed = np.zeros((ITEMS, 0)), pins if pinned else NONE
        request = Request(candidates, POSITIONS, fixed, NONE, features, 0, LABELS, branch(3, number))
        slate, anew = policy.slate(problem), policy.slate(problem)
        policy.rank(belief, cache, request, slate)
        policy.rank(belief, policy.scratch(problem), request, anew)
        for one, other in zip(slate, anew, strict=True):
            np.testing.assert_array_equal(one, other)
        lists.add(tuple(slate.items))
        if rng.random() < 0.8:
            page.left[0], page.seen[:] = 0, -1.0
            page.clicks[:] = rng.random(POSITIONS) < ATTRACTION[slate.items]
            policy.learn(belief, slate, page)
    assert len(lists) > 50
