"""The size of a learner is foretold from learners of few items: at most 5% too small, at most twice too large."""

from __future__ import annotations

import pytest

from toplist.core.problem import Problem
from toplist.policies import make
from toplist.ranker.size import BYTES_PER_LEARNER, BYTES_PER_SLOT, SizeByItems, allocated

POLICIES = (
    "dcm-kl-ucb", "cascade-ucb1", "dcm-ts", "pbm-ts", "ranked-kl-ucb", "ranked-exp3(exploration=0.1)", "random",
    "bubble-rank(delta=0.1)", "top-rank(delta=0.1)", "uni-rank", "grab", "cascade-swucb", "cascade-lin-ucb",
    "cascade-lsb",
)  # fmt: skip


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("positions", [1, 10, 100])
def test_foretold_sizes_hold_what_is_allocated(name: str, positions: int) -> None:
    policy = make(name)
    features = 5 if policy.capabilities().needs_features else 0
    foretold = SizeByItems.of(policy, Problem(1, positions, features, None))
    for items in (101, 1000, 5000, 20_000):
        if foretold.few[2] and items > 1000:
            continue  # a number per pair of items
        problem = Problem(items, positions, features, None)
        ready = policy.prepare(problem)
        arrays = sum(allocated(part(problem)) for part in (ready.begin, ready.scratch, ready.slate))
        expected = arrays + 8 * items * features + BYTES_PER_SLOT * items + BYTES_PER_LEARNER
        assert 0.95 * expected <= foretold.at(items) <= 2.0 * expected
