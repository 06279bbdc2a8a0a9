"""Doubly robust: right where the model or the propensities are right, and only there."""

import numpy as np
import pytest
import small_worlds as small
from small_worlds import mixture

from toplist.core.slate import Floats
from toplist.evaluation import cascade_doubly_robust
from toplist.evaluation.direct import predicted_clicks, target_pages
from toplist.evaluation.doubly_robust import SETTINGS, doubly_robust_clicks, fold_of
from toplist.evaluation.logged_lists import LoggedLists
from toplist.evaluation.units import IndependentUnits, units_of
from toplist.evaluation.weights import prefix_weights
from toplist.logs import fit_model

LOGGED, TARGET, USERS = small.some_policy(1), small.some_policy(2), small.cascade_users(3)
RIGHT = {shown: small.click_rates(USERS, shown) for shown in small.LISTS}
WRONG = {shown: 0.3 + 0.4 * np.sin(np.cumsum(shown)) for shown in small.LISTS}


def rate(model: dict[small.List, Floats], prefix: small.List) -> float:
    """The predicted click at the last item of a prefix; items below do not matter."""
    return float(next(rates[len(prefix) - 1] for shown, rates in model.items() if shown[: len(prefix)] == prefix))


def from_here(model: dict[small.List, Floats], prefix: small.List) -> float:
    """Predicted clicks from the last item of a prefix on, if the target goes on."""
    if len(prefix) == small.PLACES:
        return rate(model, prefix)
    return rate(model, prefix) + below(model, prefix)


def below(model: dict[small.List, Floats], prefix: small.List) -> float:
    """Predicted clicks below a prefix, over the target's next item."""
    total = small.prefix_chance(TARGET, prefix)
    return sum(
        small.prefix_chance(TARGET, (*prefix, item)) / total * from_here(model, (*prefix, item))
        for item in range(small.ITEMS)
        if item not in prefix
    )


def expectation(model: dict[small.List, Floats], said: small.Chances) -> float:
    """The expectation of the estimate by a model, if the log says these propensities."""
    log = small.population(LOGGED, USERS)
    lists = LoggedLists.of(log)
    rows = [tuple(row) for row in lists.item.tolist()]
    propensity = np.array([small.given(said, row) for row in rows])
    weights = prefix_weights(mixture(TARGET).given(lists), propensity, units_of(log))
    places = range(small.PLACES)
    logged = np.array([[from_here(model, row[: place + 1]) for place in places] for row in rows])
    expected = np.array([[below(model, row[:place]) for place in places] for row in rows])
    return cascade_doubly_robust(weights.value, lists.click, logged, expected, lists.weight).value


def test_either_the_model_or_the_propensities_must_be_right() -> None:
    truth = small.true_value(TARGET, USERS)
    assert expectation(RIGHT, LOGGED) == pytest.approx(truth, abs=1e-9)
    assert expectation(WRONG, LOGGED) == pytest.approx(truth, abs=1e-9)
    assert expectation(RIGHT, small.uniform()) == pytest.approx(truth, abs=1e-9)
    assert abs(expectation(WRONG, small.uniform()) - truth) > 0.01


def test_the_short_form_for_click_models_is_the_general_one() -> None:
    """Prediction for the target plus weighted residuals, against the sum with predictions from each position on."""
    log = small.population(LOGGED, USERS)
    lists, target = LoggedLists.of(log), mixture(TARGET)
    weights = prefix_weights(target.given(lists), lists.known_propensity(), units_of(log))
    fitted = fit_model(log, "dcm", errors="none")
    marginal = fitted.predict(log).marginal.reshape(len(log), -1)
    rows = [tuple(row) for row in lists.item.tolist()]
    model = dict(zip(rows, marginal, strict=True))
    places = range(small.PLACES)
    logged = np.array([[from_here(model, row[: place + 1]) for place in places] for row in rows])
    expected = np.array([[below(model, row[:place]) for place in places] for row in rows])
    general = cascade_doubly_robust(weights.value, lists.click, logged, expected, lists.weight)
    short = predicted_clicks(fitted, target_pages(target, lists))
    short = short + (weights.value * (lists.click - marginal)).sum(axis=1)
    assert short == pytest.approx(general.per_list, abs=1e-9)


def test_each_part_is_predicted_by_a_fit_to_the_others() -> None:
    log = small.population(LOGGED, USERS)
    lists, units, target = LoggedLists.of(log), units_of(log), mixture(TARGET)
    weights = prefix_weights(target.given(lists), lists.known_propensity(), units).value
    found = doubly_robust_clicks(weights, target, lists, units, "dcm", folds=2, seed=5)
    fold, expected = fold_of(units, len(lists), 2, 5), np.zeros(len(lists))
    for here in (fold == 0, fold == 1):
        fitted = fit_model(log.take(~here), "dcm", errors="none", settings=SETTINGS)
        marginal = fitted.predict(log.take(here)).marginal.reshape(-1, small.PLACES)
        residual = (weights[here] * (lists.click[here] - marginal)).sum(axis=1)
        expected[here] = predicted_clicks(fitted, target_pages(target, lists))[here] + residual
    assert found.per_list == pytest.approx(expected, abs=1e-9)


def test_the_lists_of_a_visitor_are_in_one_part() -> None:
    units = IndependentUnits(np.ones(100), np.repeat(np.arange(20), 5), 20)
    fold = fold_of(units, 100, 4, 0).reshape(20, 5)
    assert (fold == fold[:, :1]).all()
    assert np.bincount(fold[:, 0]).tolist() == [5, 5, 5, 5]
