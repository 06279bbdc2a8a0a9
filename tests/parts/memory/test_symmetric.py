"""Symmetric matrices against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toplist.core.slate import Floats
from toplist.parts.memory.symmetric import (
    ROWS,
    add_rows,
    add_square,
    cholesky,
    dot,
    factor,
    invert,
    mirror,
    multiply,
    shrink_inverse,
    solve_lower,
    solve_upper,
)

SIZES = [1, 2, 3, 4, 5, 17, ROWS, ROWS + 1, 70]


def definite(d: int, seed: int = 0) -> Floats:
    rows = np.random.default_rng(seed).normal(size=(2 * d, d))
    return np.asarray(rows.T @ rows + 0.1 * np.eye(d))


@pytest.mark.parametrize("d", SIZES)
def test_factor_and_inverse(d: int) -> None:
    matrix = definite(d)
    upper, room, inverse = np.full((3, d, d), np.nan)
    cholesky(np.triu(matrix), upper)  # entries below the diagonal are not read
    np.testing.assert_allclose(np.triu(upper), np.linalg.cholesky(matrix).T, rtol=1e-10, atol=1e-12)
    invert(np.triu(matrix), room, inverse)
    np.testing.assert_allclose(inverse @ matrix, np.eye(d), atol=1e-10)
    assert np.array_equal(inverse, inverse.T)


@pytest.mark.parametrize("d", SIZES)
def test_a_factor_solves(d: int) -> None:
    matrix, vector = definite(d), np.random.default_rng(4).normal(size=d)
    upper, solution = np.full((d, d), np.nan), vector.copy()
    factor(np.triu(matrix), upper)  # entries below the diagonal are not read
    np.fill_diagonal(upper, 1.0 / np.diag(upper))
    np.testing.assert_allclose(np.triu(upper), np.linalg.cholesky(matrix).T, rtol=1e-10, atol=1e-12)
    np.fill_diagonal(upper, 1.0 / np.diag(upper))
    solve_lower(upper, solution)
    solve_upper(upper, solution)
    np.testing.assert_allclose(solution, np.linalg.solve(matrix, vector), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("d", SIZES)
def test_sums_and_products(d: int) -> None:
    matrix, vector = definite(d), np.random.default_rng(1).normal(size=d)
    vector[::3] = 0.0
    product = np.full(d, np.nan)
    multiply(matrix, vector, product)
    np.testing.assert_allclose(product, matrix @ vector, rtol=1e-12, atol=1e-12)
    assert dot(vector, product) == pytest.approx(vector @ product, rel=1e-12)
    first, column = d // 4, d // 3
    sums = np.ones(d - column)
    add_rows(vector, matrix, first, d, column, sums)
    np.testing.assert_allclose(sums, 1.0 + vector[first:] @ matrix[first:, column:], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("d", SIZES)
def test_a_square_goes_to_the_upper_triangle_and_can_be_mirrored(d: int) -> None:
    matrix, row = np.triu(definite(d)), np.random.default_rng(2).normal(size=d)
    row[::3] = 0.0
    expected = definite(d) + 0.3 * np.outer(row, row)
    add_square(matrix, row, 0.3)
    np.testing.assert_allclose(matrix, np.triu(expected), rtol=1e-12)
    mirror(matrix)
    np.testing.assert_allclose(matrix, expected, rtol=1e-12)


@given(st.integers(1, 9), st.integers(0, 10_000))
def test_a_rank_one_term_updates_the_inverse_and_can_be_removed(d: int, seed: int) -> None:
    matrix, row = definite(d, seed), np.random.default_rng(seed).normal(size=d)
    inverse = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    direction = np.zeros(d)
    changed = inverse.copy()
    shrink = shrink_inverse(changed, row, 0.7, direction)
    np.testing.assert_allclose(changed, np.linalg.inv(matrix + 0.7 * np.outer(row, row)), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(changed, inverse - shrink * np.outer(direction, direction), rtol=1e-9, atol=1e-12)
    shrink_inverse(changed, row, -0.7, direction)
    np.testing.assert_allclose(changed, inverse, rtol=1e-7, atol=1e-9)
