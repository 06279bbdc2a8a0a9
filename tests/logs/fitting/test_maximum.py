"""Fits end at the maximum of the penalised likelihood, and go there uphill."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from slow_em import dbn_step, iterate, ubm_step
from small_logs import gradient, model_of, names_of, small_log, statuses_of, values_of

from toplist.logs import ClickLog, FitSettings, Prior, fit_model
from toplist.logs.fitting.errors import FIXED
from toplist.logs.fitting.fit_data import prepare_log, start_values
from toplist.logs.fitting.maximise import Maximiser, maximise
from toplist.logs.fitting.prior import coin_prior
from toplist.logs.models import MODELS

ITERATING = [name for name in MODELS if model_of(name, 2).iterates()]
NO_PRIORS: dict[str, Prior] = {}


@pytest.mark.parametrize("priors", [None, NO_PRIORS], ids=["shrunk", "free"])
@pytest.mark.parametrize("name", ITERATING)
def test_no_iteration_lowers_the_penalised_likelihood(name: str, priors: Any) -> None:
    log = small_log("dbn", lists=60, items=4, positions=3)  # few lists: some parameters end at 0 or 1
    for settings in (FitSettings(), FitSettings(iterations=60, newton=False)):
        history = fit_model(log, name, priors=priors, settings=settings).history
        rounding = 1e-12 * abs(history[0].objective)
        assert all(after.objective >= before.objective - rounding for before, after in pairwise(history))
    assert {each.kind for each in fit_model(log, name, priors=priors).history} == {"EM", "Newton"}


@pytest.mark.parametrize("per_query", [False, True], ids=["shared", "per query"])
@pytest.mark.parametrize("name", ITERATING)
def test_the_projected_gradient_vanishes_at_the_end(name: str, per_query: bool) -> None:
    log = small_log("ubm", lists=60)
    fitted = fit_model(log, name, priors=NO_PRIORS, per_query=per_query)
    assert fitted.converged
    assert fitted.slope < 1e-6
    # The same by brute force; at 0 and 1, tested a little inside, it must point outwards.
    values = values_of(fitted)
    inside = np.clip(values, 1e-9, 1 - 1e-9)
    free = np.flatnonzero(statuses_of(fitted) != FIXED)
    slopes = gradient(fitted, log, NO_PRIORS, inside, free) / (inside * (1 - inside))[free] / fitted.lists
    assert (slopes[values[free] < 1] < 1e-6).all()
    assert (slopes[values[free] > 0] > -1e-6).all()


@pytest.mark.parametrize("name", ["ubm", "dbn"])
def test_an_independent_slow_em_finds_the_same_maximum(name: str) -> None:
    log = small_log(name, lists=400, items=3, positions=3)
    kind = "examination" if name == "ubm" else "satisfaction"
    priors = {"attraction": Prior(0.4, 3.0), kind: Prior(0.6, 6.0)}
    fitted = fit_model(log, name, priors=priors)
    slow = iterate(ubm_step if name == "ubm" else dbn_step, log, priors, iterations=4000)
    compared = 0
    for (kind, query, what), value in zip(names_of(fitted), values_of(fitted), strict=True):
        if kind == "persistence":
            key: Any = (kind,)
        elif kind == "examination":
            place, _, after = what.partition(" after ") if " after " in what else what.partition(" without")
            key = kind, int(place), int(after) if after.isdigit() else 0
        else:
            key = kind, query, what
        if key in slow:
            assert value == pytest.approx(slow[key], abs=1e-8)
            compared += 1
    assert compared == len(slow)


@pytest.mark.parametrize("prior", [Prior(0.3, 0.0), Prior(0.3, 4.0)], ids=["free", "shrunk"])
def test_cascade_and_baselines_equal_their_closed_forms(prior: Prior) -> None:
    log = small_log("pbm", queries=3, positions=3)  # three of everything
    weight, place, query = np.repeat(log.weights, log.lengths), log.places(), np.repeat(log.query, log.lengths)
    first = np.array([row.argmax() if row.any() else 2 for row in log.click.reshape(-1, 3)])

    def expected(*columns: Any, where: Any = True) -> Any:
        """The closed form per combination of the columns."""
        code = np.zeros_like(place)
        for column in columns:
            code = 3 * code + column
        heads, tosses = (
            np.bincount(code, weights=weight * counted * where) for counted in (log.click, np.ones(len(place)))
        )
        rates = (heads + prior.mean * prior.strength) / (tosses + prior.strength)
        return rates.reshape([3] * len(columns))

    def fitted(name: str, kind: str = "rate") -> Any:
        """Shared values, or own ones by query and item."""
        found = fit_model(log, name, priors={kind: prior})
        if not found.model.coins().own:
            return found.shared.value[0]
        table = np.zeros((3, 3, found.own.value.shape[1]))
        table[found.pair_query, found.pair_item] = found.own.value
        return table.squeeze()

    examined = place <= np.repeat(first, 3)
    for found, table in (
        (fitted("global-ctr"), expected()),
        (fitted("position-ctr"), expected(place)),
        (fitted("item-ctr"), expected(query, log.item)),
        (fitted("item-position-ctr"), expected(query, log.item, place)),
        (fitted("cascade", "attraction"), expected(query, log.item, where=examined)),
    ):
        np.testing.assert_allclose(found, table, rtol=1e-12)


@pytest.mark.parametrize("name", ["dbn", "ubm"])
def test_a_coin_that_is_0_or_1_by_mistake_is_released(name: str) -> None:
    log = small_log(name)
    right = fit_model(log, name, priors=NO_PRIORS)
    model = model_of(name, 2)
    coins = model.coins()
    workers: Any = prepare_log(log).workers(model, NO_PRIORS, False)
    maximiser = Maximiser(workers, start_values(coins), coins.fixed, coin_prior(coins, NO_PRIORS), right.lists, False)
    if name == "dbn":
        workers.partitions[0].theta[1] = 0.0  # a satisfaction; an E-step cannot move it
    else:
        maximiser.found.shared[1] = 1.0  # an examination
    found = maximise(maximiser, FitSettings(), lambda _: None)
    assert found.converged
    np.testing.assert_allclose(workers.partitions[0].own_theta(), right.own.value.ravel(), atol=1e-6)
    np.testing.assert_allclose(found.shared, right.shared.value[0], atol=1e-6)


def test_weights_count_as_equal_lists() -> None:
    short = small_log("dbn", lists=300)
    long = short.take(np.repeat(np.arange(len(short)), short.weights.astype(np.int64)))
    long = ClickLog(long.queries, long.items, long.query, long.start, long.item, long.click)
    one, other = fit_model(short, "dbn"), fit_model(long, "dbn")
    np.testing.assert_allclose(values_of(one), values_of(other), atol=1e-9)
    np.testing.assert_allclose(one.own.error, other.own.error, rtol=1e-6)
    assert one.lists == other.lists == 300
