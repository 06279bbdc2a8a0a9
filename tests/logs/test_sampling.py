"""Samples of clicks follow the model."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from brute_force import coin_names, pattern_chances
from small_logs import model_of

from toplist.core.problem import InvalidInput
from toplist.logs import ClickLog, fit_model, sample_log, shuffled_lists
from toplist.logs.models import MODELS


@pytest.mark.parametrize("name", MODELS)
def test_every_pattern_is_drawn_as_often_as_its_probability_says(name: str) -> None:
    model, lists = model_of(name, 2), 1200
    names = coin_names(name, 2, 2)
    theta = np.random.default_rng(1).uniform(0.3, 0.7, len(names))
    kinds = len(model.coins().own)
    shown = ClickLog.from_lists([0] * lists, [[0, 1]] * lists, [[]] * lists, weights=[2.0] * lists)
    log = sample_log(model, theta[: 2 * kinds].reshape(1, 2, kinds), theta[2 * kinds :], shown, 4)
    chances = pattern_chances(name, dict(zip(names, theta, strict=True)), (0, 1))
    drawn = Counter(map(tuple, log.click.reshape(-1, 2).tolist()))
    for clicks in product((0, 1), repeat=2):
        chance = float(chances[clicks])
        assert abs(drawn[clicks] - lists * chance) <= 4 * np.sqrt(lists * chance * (1 - chance))
    assert log.weight is None  # a row is one draw


def test_a_list_has_the_same_clicks_whatever_else_is_sampled() -> None:
    lists = shuffled_lists(queries=2, items=5, positions=3, lists=60, seed=1)
    own, shared = np.full((2, 5, 2), 0.4), np.array([0.8])
    log = sample_log(MODELS["dbn"], own, shared, lists, seed=3)
    first = sample_log(MODELS["dbn"], own, shared, lists.take(np.arange(20)), seed=3)
    assert np.array_equal(log.click[:60], first.click)
    assert not np.array_equal(log.click, sample_log(MODELS["dbn"], own, shared, lists, seed=4).click)
    fitted = fit_model(log, "dbn")
    assert np.array_equal(fitted.sample(log, 5).click[:60], fitted.sample(log.take(np.arange(20)), 5).click)


def test_shuffled_lists_show_every_item_everywhere_equally_often() -> None:
    log = shuffled_lists(queries=2, items=4, positions=3, lists=960, seed=2)
    shown = np.zeros((2, 3, 4))
    np.add.at(shown, (np.repeat(log.query, 3), log.places(), log.item), 1)
    assert np.abs(shown - 120).max() < 4.5 * np.sqrt(120)
    assert all(len(set(row)) == 3 for row in log.item.reshape(-1, 3).tolist())


def test_wrong_sizes_are_refused() -> None:
    lists = shuffled_lists(queries=1, items=3, positions=2, lists=4, seed=1)
    with pytest.raises(InvalidInput, match=r"takes \(1, 3, 1\) \(queries, items, kinds\) and \(2,\) \(shared\)"):
        sample_log(MODELS["pbm"], np.full((1, 3), 0.5), np.ones(2), lists, seed=1)
    with pytest.raises(InvalidInput, match="1 to 3, the number of items"):
        shuffled_lists(queries=1, items=3, positions=4, lists=4, seed=1)
    with pytest.raises(InvalidInput, match="The number of lists"):
        shuffled_lists(queries=1, items=3, positions=2, lists=0, seed=1)
