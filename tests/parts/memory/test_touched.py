"""Every change of counts is recorded in `touched`, for caches built on them."""

from typing import Any

import numpy as np
import pytest

from toplist.core.beliefs import BLOCK, MANY, ItemRows, array_bytes, copy_arrays, grow_belief, named_arrays
from toplist.core.problem import Problem
from toplist.core.slate import empty_slate
from toplist.parts.detectors import CUSUM
from toplist.parts.memory import Counts, Discounted, Everything, Resetting, Window
from toplist.policies import make

PROBLEM = Problem(MANY + 3, 2)
BLOCKS = MANY // BLOCK + 1
SLATE = empty_slate(2)
HASTY = Resetting(CUSUM(0.5, 0.05, 5), "everything")


def changed_blocks(before: Counts, after: Counts) -> set[int]:
    """Blocks whose counts changed."""
    changed = (before.examined != after.examined) | (before.clicked != after.clicked)
    return {int(item) // BLOCK for item in np.flatnonzero(changed)}


def touched_blocks(before: Counts, after: Counts) -> set[int]:
    """Blocks recorded as changed."""
    return {int(block) for block in np.flatnonzero(before.touched != after.touched)}


@pytest.mark.parametrize(
    "memory", [Everything(), Discounted(0.5), Window(7), Window("doubling"), HASTY, HASTY._replace(forgets="item")]
)
def test_every_change_is_recorded(memory: Any) -> None:
    """Old lists and samples leave, alarms go off, and units shrink; mostly far from the items just learned."""
    rng = np.random.default_rng(1)
    memory = memory.prepare(PROBLEM)
    belief = memory.begin(PROBLEM)
    assert len(belief.touched) == BLOCKS
    touched_in_all = 0
    for step in range(300):
        before = copy_arrays(belief)
        memory.tick(belief)
        for item in BLOCK * (step % 5) + rng.integers(0, 3, 2):
            memory.add(belief, int(item), 1.0, float(rng.random() < (0.9 if step % 100 < 50 else 0.1)), SLATE, 0)
        memory.conclude(belief)
        if step % 40 == 0:
            memory.add(belief, int(rng.integers(PROBLEM.items)), 2.0, 0.5, SLATE, 0)
        changed, touched = changed_blocks(before, belief), touched_blocks(before, belief)
        assert changed
        assert changed <= touched
        touched_in_all += len(touched)
    assert touched_in_all < 300 * BLOCKS  # not simply everything


def test_forgetting_an_item_touches_its_block() -> None:
    policy = make("dcm-kl-ucb").prepare(PROBLEM)
    belief = policy.begin(PROBLEM)
    ItemRows.of(policy, PROBLEM).forget(belief, 2 * BLOCK + 5)
    assert np.flatnonzero(belief.touched).tolist() == [2]


def test_forgetting_an_item_touches_its_arms_at_all_positions() -> None:
    positions = 150  # so that a few items have several blocks of arms
    problem = Problem(positions + 5, positions)
    policy = make("ranked-kl-ucb").prepare(problem)
    layout, belief = ItemRows.of(policy, problem), policy.begin(problem)
    layout.forget(belief, 2)
    assert set(np.flatnonzero(belief.touched)) == set(range(2 * positions // BLOCK, (3 * positions - 1) // BLOCK + 1))
    assert not layout.rows[belief._fields.index("touched")]


def test_touched_grows_with_the_items_and_is_not_saved() -> None:
    memory = Everything()
    belief, other = memory.begin(PROBLEM), memory.begin(PROBLEM)
    memory.add(belief, BLOCK, 1.0, 1.0, SLATE, 0)
    other.examined[:], other.clicked[:] = belief.examined, belief.clicked
    larger = grow_belief(belief, memory.begin(Problem(2 * MANY, 2))).touched
    assert np.flatnonzero(larger).tolist() == [1]
    assert len(larger) == 2 * MANY // BLOCK
    assert array_bytes(belief) == array_bytes(other)
    assert list(named_arrays("belief", belief)) == ["belief.examined", "belief.clicked", "belief.unit", "belief.clock"]
