"""Sorting in place and ranks, compared with Python's own sort."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toplist.core.compiling import compiled
from toplist.parts.index.sort import SHORT, ranked_value, sort_pairs

SOME = st.sampled_from([-np.inf, -1.0, 0.0, 0.25, 0.5, np.inf]) | st.floats(-1, 1)
sort_pairs_compiled, ranked_value_compiled = compiled(sort_pairs), compiled(ranked_value)


@given(st.lists(SOME, min_size=1, max_size=90))
@settings(max_examples=200, deadline=None)
def test_pairs_are_sorted_and_stay_together(values: list[float]) -> None:
    keys, slots = np.array(values), np.arange(len(values))
    sort_pairs(keys, slots)
    assert keys.tolist() == sorted(values, reverse=True)
    assert sorted(slots.tolist()) == list(range(len(values)))
    assert [values[slot] for slot in slots] == keys.tolist()


@pytest.mark.parametrize("shape", ["equal", "rising", "falling", "two falls", "few different", "random", "exchanged"])
def test_machine_code_sorts_long_lists_of_every_shape(shape: str) -> None:
    count = 3000
    generator = np.random.default_rng(1)
    falling = np.linspace(1, 0, count)
    exchanged = falling.copy()
    exchanged[[10, 2000]] = exchanged[[2000, 10]]
    values = {
        "equal": np.ones(count),
        "rising": falling[::-1].copy(),
        "falling": falling,
        "two falls": np.concatenate([falling[::2], falling[1::2]]),
        "few different": generator.integers(0, 3, count).astype(float),
        "random": generator.random(count),
        "exchanged": exchanged,
    }[shape]
    keys, slots = values.copy(), np.arange(count)
    sort_pairs_compiled(keys, slots)
    assert np.all(np.diff(keys) <= 0)
    assert sorted(slots.tolist()) == list(range(count))
    assert np.array_equal(values[slots], keys)


@given(st.lists(SOME, min_size=1, max_size=3 * SHORT), st.integers(1, 40))
@settings(max_examples=200, deadline=None)
def test_ranked_value_is_that_of_a_sorted_list(values: list[float], rank: int) -> None:
    found = ranked_value(np.array(values), rank)
    assert ranked_value_compiled(np.array(values), rank) == found
    if rank > len(values):
        assert found == (-np.inf, len(values))
    else:
        expected = sorted(values, reverse=True)[rank - 1]
        assert found == (expected, sum(value > expected for value in values))
