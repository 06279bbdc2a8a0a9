"""Selection of the best few: exact order and fair ties, for any scan order."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toplist.core.compiling import compiled
from toplist.core.randomness import branch
from toplist.parts.index import select as selecting
from toplist.parts.index.select import FEW, select, select_many

select_compiled = compiled(select)


def best(values: list[float], wanted: int, key: int, labels: list[int] | None = None) -> list[int]:
    slots = np.arange(len(values))
    chosen, scores = np.full(wanted, -1), np.zeros(wanted)
    named = slots if labels is None else np.array(labels)
    filled = select(np.array(values), slots, len(values), named, key, chosen, scores)
    assert filled == min(wanted, len(values))
    assert scores[:filled].tolist() == [values[slot] for slot in chosen[:filled]]
    return [int(slot) for slot in chosen[:filled]]


@given(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, float("inf")]) | st.floats(0, 1), min_size=1, max_size=40),
    st.integers(1, 12),
    st.integers(0, 2**62),
)
@settings(max_examples=300, deadline=None)
def test_selects_as_a_full_sort_would(values: list[float], wanted: int, key: int) -> None:
    by_rule = sorted(range(len(values)), key=lambda slot: (values[slot], branch(key, slot)), reverse=True)
    assert best(values, wanted, key) == by_rule[:wanted]


@given(
    st.lists(st.sampled_from([-float("inf"), 0.25, 0.5, float("inf")]) | st.floats(0, 1), min_size=FEW, max_size=90),
    st.integers(FEW, 70),
    st.integers(0, 2**62),
)
@settings(max_examples=200, deadline=None)
def test_selects_long_lists_as_a_full_sort_would(values: list[float], wanted: int, key: int) -> None:
    by_rule = sorted(range(len(values)), key=lambda slot: (values[slot], branch(key, slot)), reverse=True)
    assert best(values, wanted, key) == by_rule[:wanted]
    slots, chosen, scores = np.arange(len(values)), np.full(wanted, -1), np.zeros(wanted)
    filled = select_compiled(np.array(values), slots, len(values), slots, key, chosen, scores)
    assert chosen[:filled].tolist() == by_rule[:wanted]


@pytest.mark.parametrize("wanted", [FEW + 1, 100, 400, 799, 800, 900])
@pytest.mark.parametrize("different", [1, 2, 30, 10**9])
def test_machine_code_selects_any_number_of_many(wanted: int, different: int) -> None:
    count, key = 800, 7
    labels = np.random.default_rng(3).permutation(count)
    values = np.random.default_rng(different).integers(0, different, count).astype(float)
    chosen, scores = np.full(wanted, -1), np.zeros(wanted)
    filled = select_compiled(values, np.arange(count), count, labels, key, chosen, scores)
    by_rule = sorted(range(count), key=lambda slot: (values[slot], branch(key, int(labels[slot]))), reverse=True)[
        :wanted
    ]
    assert chosen[:filled].tolist() == by_rule
    assert scores[:filled].tolist() == values[by_rule].tolist()


def test_hashes_that_are_equal_once_rounded_still_break_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selecting, "hash_of", lambda slot, labels, key: float(branch(key, labels[slot]) >> 60))
    slots, chosen, scores = np.arange(60), np.full(30, -1), np.zeros(30)
    select_many(np.zeros(60), slots, 60, slots, 5, chosen, scores)
    assert chosen.tolist() == sorted(range(60), key=lambda slot: -branch(5, slot))[:30]


def test_ties_are_fair() -> None:
    """Four equals for two positions: each pair in each order equally often (12 outcomes, 4.5 standard errors)."""
    draws = 12_000
    seen = Counter(tuple(best([0.5, 0.5, 0.1, 0.5, 0.5], 2, key)) for key in range(draws))
    assert len(seen) == 12
    assert all(abs(count / draws - 1 / 12) < 4.5 * np.sqrt(11 / 144 / draws) for count in seen.values())


def test_ties_follow_labels_not_indices() -> None:
    values, labels = [0.5] * 6, [10, 3, 7, 1, 9, 5]
    here = [labels[slot] for slot in best(values, 3, 42, labels)]
    there = sorted(labels)
    assert here == [there[slot] for slot in best(values, 3, 42, there)]
