"""Exponentials and logarithms of our own: NumPy's values, also where differences are small, and exact where asked."""

from __future__ import annotations

import numpy as np
import pytest

from toplist.core.elementary import (
    exponential,
    exponential_minus_one,
    logarithm,
    logarithm_of_one_plus,
    take_logarithms,
)

SMALL = np.concatenate([sign * 10.0 ** -np.arange(1, 17) for sign in (-1.0, 1.0)])
DRAWN = np.random.default_rng(1)


def test_logarithms_are_those_of_numpy() -> None:
    """Over all that a uniform draw can be: near 0, near 1, and powers of two, where the exponent changes."""
    powers = 2.0 ** -np.arange(54)
    given = np.concatenate([1.0 - np.random.default_rng(1).random(2000), powers, 1.0 - powers[1:], 3.0 * powers])
    found = given.copy()
    take_logarithms(found)
    assert np.allclose(found, np.log(given), rtol=1e-15, atol=0.0)


def test_a_single_logarithm_is_that_of_numpy() -> None:
    given = np.concatenate([10.0 ** DRAWN.uniform(-300, 300, 3000), 1.0 + SMALL, 2.0 ** np.arange(-60.0, 60.0)])
    np.testing.assert_allclose([logarithm(each) for each in given], np.log(given), rtol=2e-15, atol=0)


def test_exponentials_are_those_of_numpy() -> None:
    given = np.concatenate([DRAWN.uniform(-700, 700, 3000), DRAWN.uniform(-1, 1, 3000), SMALL, [0.0]])
    np.testing.assert_allclose([exponential(each) for each in given], np.exp(given), rtol=1e-15, atol=0)
    np.testing.assert_allclose([exponential_minus_one(each) for each in given], np.expm1(given), rtol=2e-15, atol=0)


def test_the_logarithm_near_one_keeps_its_digits() -> None:
    given = np.concatenate([DRAWN.uniform(-0.999, 2.0, 3000), SMALL, [0.0]])
    np.testing.assert_allclose([logarithm_of_one_plus(each) for each in given], np.log1p(given), rtol=2e-15, atol=0)


@pytest.mark.parametrize("x", [-30.0, -1.0, 0.0, 1e-6, 0.5, 20.0])
def test_an_exponential_and_its_logarithm_undo_each_other(x: float) -> None:
    assert logarithm(exponential(x)) == pytest.approx(x, rel=1e-15, abs=1e-15)
