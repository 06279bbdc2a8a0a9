"""Logs at the limits: each has a defined outcome."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_logs import gradient, model_of, names_of, small_log, statuses_of, values_of

from toplist.core.problem import InvalidInput
from toplist.logs import ClickLog, IdTable, Prior, fit_model
from toplist.logs.fitting.errors import ESTIMATED, FIXED, UNIDENTIFIED
from toplist.logs.fitting.fit_data import prepare_log
from toplist.logs.models import MODELS

NO_PRIORS: dict[str, Prior] = {}


@pytest.mark.parametrize("items", [[], [[], []]], ids=["no lists", "empty lists"])
def test_a_log_without_positions_is_refused(items: Any) -> None:
    log = ClickLog.from_lists(["q"] * len(items), items, [[]] * len(items))
    with pytest.raises(InvalidInput, match="no lists with items"):
        fit_model(log, "dbn")


@pytest.mark.parametrize("name", MODELS)
def test_empty_lists_do_not_count(name: str) -> None:
    queries, items, clicked = ["q", "q", "r"], [["a", "b"], ["b", "a"], ["c", "a"]], [[1], [2], [1, 2]]
    with_empty = ClickLog.from_lists(["q", *queries, "only empty"], [[], *items, []], [[], *clicked, []])
    without = ClickLog.from_lists(queries, items, clicked)
    one, other = fit_model(with_empty, name), fit_model(without, name)
    assert np.array_equal(values_of(one), values_of(other))
    assert one.lists == other.lists == 3
    predicted = one.predict(with_empty)
    assert len(predicted.given) == 6
    assert len(one.sample(with_empty, 1).click) == 6


@pytest.mark.parametrize("name", MODELS)
def test_lists_of_one_position_tell_click_through_rates(name: str) -> None:
    log = ClickLog.from_lists(["q"] * 8, [["a"], ["b"]] * 4, [[1], [1], [1], [], [1], [], [], []])
    fitted = fit_model(log, name, priors=NO_PRIORS)
    predicted = fitted.predict(log).given
    expected = [0.5] * 8 if name in {"global-ctr", "position-ctr"} else [0.75, 0.25] * 4
    assert predicted == pytest.approx(expected)
    for (kind, _, _), status in zip(names_of(fitted), statuses_of(fitted), strict=True):
        nothing_follows = kind in {"satisfaction", "termination", "persistence", "continuation"}
        if kind != "satisfaction" or name != "sdbn-counts":  # counts take every last click as satisfied
            assert status == (UNIDENTIFIED if nothing_follows else FIXED if kind == "examination" else ESTIMATED)
    log_likelihood = np.log(np.where(log.click > 0, expected, 1 - np.array(expected))).sum()
    assert fitted.log_likelihood == pytest.approx(log_likelihood)


@pytest.mark.parametrize("name", MODELS)
def test_lists_of_different_lengths_and_items_twice_in_a_list(name: str) -> None:
    items = [["a", "b", "a"], ["b"], ["a", "b"], ["b", "a", "b"], ["b", "b"], ["a"]] * 6
    patterns = ["13", "1", "-", "2", "2", "1", "2", "-", "12", "1", "1", "-", "3", "-", "2", "3", "-", "1"]
    clicked = [[int(place) for place in pattern.strip("-")] for pattern in patterns]
    log = ClickLog.from_lists(["q"] * 36, items, clicked * 2)
    priors = {kind: Prior(0.5, 2.0) for kind in ("attraction", "satisfaction", "rate")}
    model = fit_model(log, name).model
    known = {kind.partition(" at ")[0] for kind in model.coins().own} | {kind for kind, _ in model.coins().shared}
    fitted = fit_model(log, name, priors={kind: prior for kind, prior in priors.items() if kind in known})
    assert fitted.converged
    assert fitted.positions == 3
    values = values_of(fitted)
    moved = np.flatnonzero((statuses_of(fitted) != FIXED) & (values > 0) & (values < 1))
    if not name.endswith("-counts"):
        slopes = gradient(fitted, log, fitted.priors, values, moved) / fitted.lists
        assert np.abs(slopes).max() < 1e-6


def test_one_query_gives_the_same_shared_and_per_query() -> None:
    log = small_log("dbn", lists=300, queries=1)
    one, other = fit_model(log, "dbn"), fit_model(log, "dbn", per_query=True)
    np.testing.assert_allclose(values_of(one), values_of(other), atol=1e-9)
    np.testing.assert_allclose(one.shared.error, other.shared.error, rtol=1e-6)
    np.testing.assert_allclose(one.predict(log).given, other.predict(log).given, atol=1e-9)


def test_lists_longer_than_those_of_the_fit_are_refused() -> None:
    fitted = fit_model(ClickLog.from_lists(["q"] * 2, [["a", "b"]] * 2, [[1], []]), "pbm")
    with pytest.raises(InvalidInput, match="lists of 3 positions, but the model was fitted to lists of at most 2"):
        fitted.predict(ClickLog.from_lists(["q"], [["a", "b", "c"]], [[]]))


def many_queries(queries: int) -> ClickLog:
    """One list of two items for every query, each item of its own."""
    clicks = np.zeros((queries, 2), dtype=np.uint8)
    clicks[::2, 0], clicks[1::3, 1] = 1, 1
    return ClickLog(
        queries=IdTable(range(queries)), items=IdTable(range(3)), query=np.arange(queries, dtype=np.int32),
        start=np.arange(queries + 1) * 2, item=np.tile(np.array([0, 1, 2, 0], dtype=np.int32), queries // 2),
        click=clicks.ravel(),
    )  # fmt: skip


def test_many_queries_need_a_small_block_each() -> None:
    log = many_queries(300)
    fitted = fit_model(log, "cascade")
    assert len(fitted.own.value) == 600
    assert fitted.errors == "information"
    workers: Any = prepare_log(log).workers(model_of("ubm", 2), NO_PRIORS, False)
    information = workers.partitions[0].no_information()
    assert information.blocks.shape == (300 * 2 * 2,)  # and not (600, 600)
    assert information.border.shape == (600, 3)
