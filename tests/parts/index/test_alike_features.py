"""The best of groups of items with the same features are the best of all items."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toplist.core.problem import Problem
from toplist.core.slate import NONE, Floats, Request
from toplist.parts.index.alike_features import (
    GROUPED,
    GROUPS,
    MANY,
    best_of_groups,
    group_items,
    no_groups,
    suits_groups,
)
from toplist.parts.index.layout import empty_layout, lay_out_features
from toplist.parts.index.select import select


def rows_of(items: int, d: int, most: int, kinds: int, seed: int, coarse: bool) -> Floats:
    """Each item has one of a few sets of features, to degrees of either sign; `coarse` ones are often equal."""
    rng = np.random.default_rng(seed)
    sets = [rng.choice(d, rng.integers(0, most + 1), replace=False) for _ in range(kinds)]
    rows = np.zeros((items, d))
    for row in rows:
        chosen = sets[rng.integers(kinds)]
        row[chosen] = rng.choice([-1.0, 0.5, 1.0], len(chosen)) if coarse else rng.normal(size=len(chosen))
    return rows


def ask(rows: Floats, key: int, edition: int = 0, candidates: Any = None) -> Request:
    some = np.arange(len(rows)) if candidates is None else candidates
    return Request(some, 5, NONE, NONE, rows, edition, np.random.default_rng(9).permutation(len(rows)), key)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 40), st.booleans(), st.integers(1, 12))
def test_the_best_of_groups_are_the_best_of_all(seed: int, kinds: int, coarse: bool, wanted: int) -> None:
    rows = rows_of(MANY, 9, 3, kinds, seed, coarse)
    problem = Problem(MANY, wanted, 9)
    layout, alike = empty_layout(problem), no_groups(problem)
    lay_out_features(layout, ask(rows, 0))
    group_items(alike, layout)
    assert 0 < alike.state[GROUPS] <= 2 * kinds
    rng = np.random.default_rng(seed)
    for key in range(4):
        weights = rng.choice([-1.0, 0.0, 1.0, 2.0], 9) if coarse else rng.normal(size=9)
        request, found = ask(rows, key), np.zeros(wanted, dtype=np.int64)
        expected, scores, others = np.zeros(wanted, dtype=np.int64), np.zeros(wanted), np.zeros(wanted)
        best_of_groups(alike, weights, layout.most[0], request, found, scores)
        values = np.zeros(MANY)
        for item in range(MANY):  # in the order of the features, as scores are summed
            for feature in np.flatnonzero(rows[item]):
                values[item] += weights[feature] * rows[item, feature]
        select(values, request.candidates, MANY, request.labels, request.key, expected, others)
        assert found.tolist() == expected.tolist()
        assert scores.tolist() == others.tolist()


@pytest.mark.parametrize(
    ("kinds", "most", "wanted", "edition", "some", "suits"),
    [
        (10, 3, 5, 0, False, True),
        (10, 3, 5, -1, False, False),  # features of one list
        (10, 3, 5, 0, True, False),  # not all items
        (10, 3, 20, 0, False, False),  # a long list
        (10, 9, 5, 0, False, False),  # dense features
        (10**6, 3, 5, 0, False, False),  # as many groups as items
    ],
)
def test_groups_are_made_for_the_second_list_where_they_pay(
    kinds: int, most: int, wanted: int, edition: int, some: bool, suits: bool
) -> None:
    rows = rows_of(MANY, 9, most, min(kinds, 10), 1, coarse=False)
    if kinds > MANY:
        rows = np.zeros((MANY, 30))
        rows[np.arange(MANY), np.arange(MANY) % 30] = rows[np.arange(MANY), np.arange(MANY) // 30 + 7] = 1.0
        rows[:, 20:] *= np.arange(MANY)[:, None] % 3
    problem = Problem(MANY, wanted, rows.shape[1])
    layout, alike = empty_layout(problem), no_groups(problem)
    request = ask(rows, 0, edition, np.arange(MANY - 1) if some else None)
    lay_out_features(layout, request)
    assert alike.used_bytes() == alike.state.nbytes
    assert not suits_groups(alike, layout, request, wanted)
    assert suits_groups(alike, layout, request, wanted) == suits
    assert (alike.state[GROUPED] >= 0) == (suits or kinds > MANY)
    if suits:
        assert alike.used_bytes() > alike.item.nbytes
        assert not suits_groups(alike, layout, request._replace(edition=1), wanted)  # new features, not grouped yet


def test_few_items_have_no_groups() -> None:
    assert len(no_groups(Problem(MANY - 1, 5, 9)).item) == 0
