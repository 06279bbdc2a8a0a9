"""Likelihoods, predictions and derivatives of all click models equal sums over hidden states."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from brute_force import coin_names, pattern_chances
from hypothesis import given, settings
from hypothesis import strategies as st

from toplist.core.compiling import plain
from toplist.core.slate import Floats
from toplist.logs import sample_log, shuffled_lists
from toplist.logs.fitting.loops import FitRows, curve_rows, expect_rows, predict_rows
from toplist.logs.fitting.partition import Partition
from toplist.logs.fitting.prior import coin_prior
from toplist.logs.models import MODELS
from toplist.logs.models.protocol import CoinSums, Row, empty_derivatives, workspace
from toplist.logs.patterns import compress

ITEMS = 3
EXACT = [name for name in MODELS if not name.endswith("-counts")]


def with_positions(name: str, positions: int) -> Any:
    return MODELS[name]._replace(positions=positions)  # type: ignore[attr-defined]  # a NamedTuple


def row_of(items: Any, clicks: Any, model: Any, weight: float = 1.0) -> Row:
    first_shared = ITEMS * len(model.coins().own)
    return Row(np.array(items, dtype=np.int32), np.array(clicks, dtype=np.uint8), first_shared, weight)


def seen_part(name: str, clicks: tuple[int, ...]) -> tuple[int, ...]:
    """The clicks that the likelihood of a model is about: cascade looks no further than the first."""
    return clicks[: clicks.index(1) + 1] if name == "cascade" and 1 in clicks else clicks


def chance_of(start: tuple[int, ...], chances: Any) -> Any:
    """The probability of all patterns that begin so."""
    return sum(chance for clicks, chance in chances.items() if clicks[: len(start)] == start)


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=8)
@given(data=st.data())
def test_likelihoods_and_predictions_equal_sums_over_hidden_states(name: str, data: st.DataObject) -> None:
    items = data.draw(st.lists(st.integers(0, ITEMS - 1), min_size=1, max_size=5))
    positions = len(items) + data.draw(st.integers(0, 1))
    model = with_positions(name, positions)
    names = coin_names(name, ITEMS, positions)
    theta = np.array([data.draw(st.floats(0.02, 0.98)) for _ in names])
    chances = pattern_chances(name, dict(zip(names, theta, strict=True)), items)
    assert sum(chances.values()) == pytest.approx(1.0)
    sums, work = CoinSums(np.zeros(len(theta)), np.zeros(len(theta))), workspace(positions)
    given_above, marginal = np.zeros(len(items)), np.zeros(len(items))
    for clicks in product((0, 1), repeat=len(items)):
        row = row_of(items, clicks, model, weight=3.0)
        expected = chance_of(seen_part(name, clicks), chances)
        assert model.expect_coins(theta, row, sums, work) / 3.0 == pytest.approx(np.log(expected), rel=1e-9, abs=1e-9)
        model.predict_clicks(theta, row, given_above, marginal, work)
        for place in range(len(items)):
            above = chance_of(clicks[:place], chances)
            if above > 0:
                clicked = chance_of((*clicks[:place], 1), chances)
                assert given_above[place] == pytest.approx(clicked / above, rel=1e-8, abs=1e-12)
            else:
                assert given_above[place] == 0.0  # cascade, after a click
            anyhow = sum(chance for other, chance in chances.items() if other[place])
            assert marginal[place] == pytest.approx(anyhow, rel=1e-9)


def dense_derivatives(model: Any, theta: Floats, row: Row) -> tuple[Floats, Floats]:
    """The slope and the bend that `fill_derivatives` finds, by coin."""
    found = empty_derivatives(model.positions)
    count = model.fill_derivatives(theta, row, found, workspace(model.positions))
    slope, bend = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
    np.add.at(slope, found.coins[:count], found.slope[:count])
    for i in range(count):
        for j in range(i + 1):
            bend[found.coins[i], found.coins[j]] += found.bend[i, j]
            if i != j:
                bend[found.coins[j], found.coins[i]] += found.bend[i, j]
    return slope, bend


@pytest.mark.parametrize("items", [(0, 1, 2), (1, 0, 1)], ids=["distinct", "repeated"])
@pytest.mark.parametrize("name", MODELS)
def test_derivatives_equal_numerical_ones_and_those_of_em(name: str, items: tuple[int, ...]) -> None:
    model = with_positions(name, 3)
    names = coin_names(name, ITEMS, 3)
    theta = np.random.default_rng(7).uniform(0.2, 0.8, len(names))
    patterns = list(product((0, 1), repeat=3))

    def slopes(at: Floats) -> Floats:
        """Derivatives of the logarithms of all patterns by all coins, from an imaginary step: no cancellation."""
        found = np.zeros((len(patterns), len(names)))
        for coin in range(len(names)):
            moved = at.astype(np.complex128)
            moved[coin] += 1e-30j
            chances = pattern_chances(name, dict(zip(names, moved, strict=True)), items)
            for number, clicks in enumerate(patterns):
                chance = chance_of(seen_part(name, clicks), chances)
                found[number, coin] = chance.imag / 1e-30 / chance.real
        return found

    slope, step = slopes(theta), 1e-5
    bend = np.zeros((len(patterns), len(names), len(names)))
    for coin in range(len(names)):
        moved = np.zeros(len(names))
        moved[coin] = step
        bend[:, coin] = (slopes(theta + moved) - slopes(theta - moved)) / (2 * step)
    for number, clicks in enumerate(patterns):
        row = row_of(items, clicks, model)
        found_slope, found_bend = dense_derivatives(model, theta, row)
        np.testing.assert_allclose(found_slope, slope[number], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found_bend, bend[number], rtol=1e-6, atol=1e-6)
        if name in EXACT:
            sums = CoinSums(np.zeros(len(theta)), np.zeros(len(theta)))
            model.expect_coins(theta, row, sums, workspace(3))
            by_logit = sums.heads - sums.tosses * theta
            np.testing.assert_allclose(by_logit, slope[number] * theta * (1 - theta), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", ["dbn", "ubm", "dcm-counts", "item-ctr"])  # all loops that models share
def test_source_and_machine_code_agree_to_the_last_bit(name: str) -> None:
    model = with_positions(name, 4)
    names = coin_names(name, 6, 4)
    generator = np.random.default_rng(3)
    kinds = len(model.coins().own)
    own, shared = generator.uniform(0.1, 0.9, (1, 6, kinds)), generator.uniform(0.2, 0.9, len(names) - 6 * kinds)
    log = sample_log(model, own, shared, shuffled_lists(1, 6, 4, 120, seed=1), seed=2)
    patterns = compress(log)
    theta = np.concatenate([own.ravel(), shared])
    rows = FitRows(patterns.start, patterns.pair, patterns.click, patterns.weight, patterns.query, 6 * kinds, 0)
    results = []
    for expect, curve, predict in (
        (expect_rows, curve_rows, predict_rows),
        (plain(expect_rows), plain(curve_rows), plain(predict_rows)),
    ):
        sums, work = CoinSums(np.zeros(len(theta)), np.zeros(len(theta))), workspace(4)
        total = expect(model, theta, rows, sums, work)
        into = Partition(patterns, model, coin_prior(model.coins(), {}), False, shared).no_information()
        curve(model, theta, rows, into, empty_derivatives(4), work)
        given_above, marginal = np.zeros(len(log.item)), np.zeros(len(log.item))
        predict(model, theta, rows, given_above, marginal, work)
        results.append([np.array([total]), *sums, *into, given_above, marginal])
    for compiled_result, plain_result in zip(*results, strict=True):
        assert np.array_equal(compiled_result, plain_result)
