"""Selection of the best few: exact order and fair ties, for any scan order."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toplist.core.beliefs import MANY
from toplist.core.compiling import compiled
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints
from toplist.parts.index import select as selecting
from toplist.parts.index import ties
from toplist.parts.index.draw_numbers import number_of
from toplist.parts.index.select import (
    FEW,
    WORTH_A_BOUND,
    AnySelection,
    largest,
    least_of_maxima,
    select,
    select_many,
    select_one_by_one,
)

select_compiled = compiled(select)


@compiled
def contenders_compiled(
    values: Floats, slots: Ints, count: int, labels: Ints, key: int, chosen: Ints, scores: Floats
) -> int:
    return AnySelection(labels).select_contenders(values, slots, count, labels, key, chosen, scores)


largest_compiled = compiled(largest)


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
    slots, chosen, scores = np.arange(len(values)), np.full(wanted, -1), np.zeros(wanted)
    assert select_one_by_one(np.array(values), slots, len(values), slots, key, chosen, scores) == len(by_rule[:wanted])
    assert chosen[: len(values)].tolist() == by_rule[:wanted]


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


@pytest.mark.parametrize("wanted", [1, 4, 10, FEW, FEW + 1, 100, 400, 799, 800, 900])
@pytest.mark.parametrize("different", [1, 2, 30, 10**9])
def test_machine_code_selects_any_number_of_many(wanted: int, different: int) -> None:
    count, key = 800, 7
    labels = np.random.default_rng(3).permutation(count)
    values = np.random.default_rng(different).integers(0, different, count).astype(float)
    chosen, scores = np.full(wanted, -1), np.zeros(wanted)
    by_rule = sorted(range(count), key=lambda slot: (values[slot], branch(key, int(labels[slot]))), reverse=True)[
        :wanted
    ]
    for choose in (select_compiled, contenders_compiled):
        filled = choose(values, np.arange(count), count, labels, key, chosen, scores)
        assert chosen[:filled].tolist() == by_rule
        assert scores[:filled].tolist() == values[by_rule].tolist()


@pytest.mark.parametrize("wanted", [1, 3, 8, FEW])
@pytest.mark.parametrize("left_out", [0.0, 0.5, 0.99, 1.0])
def test_the_bound_is_never_above_the_last_value_chosen(wanted: int, left_out: float) -> None:
    """A bound of the last value chosen; it is close where few are left out, and the list is that of a full sort."""
    rng = np.random.default_rng(wanted)
    for count in (WORTH_A_BOUND - 1, WORTH_A_BOUND, WORTH_A_BOUND + 77):
        values = np.where(rng.random(count) < left_out, -np.inf, rng.random(count))
        bound = least_of_maxima(values, np.zeros(wanted))
        assert bound <= np.sort(values)[-wanted]
        assert (count < WORTH_A_BOUND or left_out > 0.0) or (values >= bound).sum() < 4 * FEW
        by_rule = sorted(range(count), key=lambda slot: (values[slot], branch(9, slot)), reverse=True)
        assert best(values.tolist(), wanted, 9) == by_rule[:wanted]


def test_hashes_that_are_equal_once_rounded_still_break_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selecting, "standing", lambda slot, labels, key: float(branch(key, labels[slot]) >> 60))
    monkeypatch.setattr(
        selecting, "is_behind", lambda slot, other, labels, key: branch(key, labels[slot]) >> 60 < other
    )
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


@pytest.mark.parametrize("count", [60, 1000])
@pytest.mark.parametrize("wanted", [1, 10, 40])
@pytest.mark.parametrize("different", [1, 4])
def test_ties_among_very_many_items_follow_numbers_that_are_given_by_blocks(
    count: int, wanted: int, different: int
) -> None:
    rng = np.random.default_rng(count + wanted + different)
    labels, slots = rng.integers(-(2**62), 2**62, 2 * MANY), np.sort(rng.choice(2 * MANY, count, replace=False))
    values = rng.integers(0, different, count).astype(float)
    for key in range(20):
        numbers = [number_of(key, True, slot, int(labels[slot])) for slot in slots.tolist()]
        by_rule = sorted(range(count), key=lambda i: (-values[i], numbers[i]))[:wanted]
        chosen, scores = np.full(wanted, -1), np.zeros(wanted)
        for choose in (select_compiled, contenders_compiled):
            chosen[:] = -1
            choose(values, slots, count, labels, key, chosen, scores)
            assert chosen.tolist() == slots[by_rule].tolist()
        spread = np.full(2 * MANY, -1.0)
        spread[slots] = values
        assert largest_compiled(spread, slots, labels, key) == slots[by_rule[0]]
        assert largest_compiled(spread, np.arange(2 * MANY), labels, key) == slots[by_rule[0]]
        if count == 60:
            for choose in (select, select_one_by_one):
                chosen[:] = -1
                choose(values, slots, count, labels, key, chosen, scores)
                assert chosen.tolist() == slots[by_rule].tolist()


def test_items_surely_behind_are() -> None:
    """For few and for very many items, and almost all that are behind are found."""
    for count in (100, MANY):
        labels, missed = np.random.default_rng(count).integers(-(2**62), 2**62, count), 0
        for slot in range(100):
            for rival in range(0, 100, 9):
                other = ties.standing(rival, labels, 3)
                is_behind = ties.is_behind(slot, other, labels, 3)
                assert not (is_behind and ties.standing(slot, labels, 3) >= other)
                missed += ties.standing(slot, labels, 3) < other and not is_behind
        assert missed < 0.03 * 1200
