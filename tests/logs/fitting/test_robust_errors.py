"""Errors that hold for a wrong model and for visitors who repeat themselves: the sandwich and the bootstrap."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from toplist.core.problem import InvalidInput
from toplist.core.slate import Floats
from toplist.logs import ClickLog, FitSettings, FittedModel, IdTable, fit_model, prepare_log
from toplist.logs.models import MODELS


def drawn_log(name: str, lists: int, queries: int = 2, positions: int = 3, items: int = 4, seed: int = 0) -> ClickLog:
    """Lists in random order with clicks of a model."""
    rng = np.random.default_rng(seed)
    model: Any = MODELS[name]
    model = model._replace(positions=positions)
    coins = model.coins()
    own = {f"q{q}": {i: rng.uniform(0.3, 0.7, len(coins.own)) for i in range(items)} for q in range(queries)}
    truth = FittedModel.from_values(model, own, rng.uniform(0.3, 0.8, len(coins.shared)))
    shown = [rng.permutation(items)[:positions].tolist() for _ in range(lists)]
    log = ClickLog.from_lists([f"q{n % queries}" for n in range(lists)], shown, [[]] * lists)
    return truth.sample(log, seed)


def with_visitors(log: ClickLog, visitor: Any) -> ClickLog:
    codes = np.asarray(visitor, dtype=np.int32)
    return replace(log, visitor=codes, visitors=IdTable(range(int(codes.max()) + 1)))


def repeated(log: ClickLog, times: int) -> ClickLog:
    """Each list shown several times to the same visitor, who does the same each time."""
    return with_visitors(log.take(np.repeat(np.arange(len(log)), times)), np.repeat(np.arange(len(log)), times))


def all_errors(fitted: FittedModel) -> Floats:
    return np.concatenate([fitted.own.error.ravel(), fitted.shared.error.ravel()])


def dense_sandwich(fitted: FittedModel, log: ClickLog) -> Floats:
    """The same from numerical derivatives of each list's log-likelihood, all coins in one matrix."""
    pairs = fitted.own.value.size
    theta = np.concatenate([fitted.own.value.ravel(), fitted.shared.value.ravel()])
    free = np.flatnonzero(~np.isnan(all_errors(fitted)))
    start = np.log(theta[free] / (1 - theta[free]))

    def likelihood(logits: Floats) -> Floats:
        values = theta.copy()
        values[free] = 1 / (1 + np.exp(-logits))
        own = fitted.own._replace(value=values[:pairs].reshape(fitted.own.value.shape))
        shared = fitted.shared._replace(value=values[pairs:].reshape(fitted.shared.value.shape))
        given = replace(fitted, own=own, shared=shared).predict(log).given
        terms = np.log(np.where(log.click > 0, given, 1 - given))
        return np.add.reduceat(terms, log.start[:-1])

    size, step = len(free), 1e-4
    moves = np.eye(size) * step
    scores = np.stack([(likelihood(start + m) - likelihood(start - m)) / (2 * step) for m in moves])
    weight = log.weights
    bread = np.zeros((size, size))
    for i in range(size):
        for j in range(i + 1):
            a, b = moves[i], moves[j]
            corners = likelihood(start + a + b) - likelihood(start + a - b) - likelihood(start - a + b)
            bread[i, j] = bread[j, i] = -weight @ (corners + likelihood(start - a - b)) / (4 * step**2)
    assert log.visitor is not None
    summed = np.zeros((int(log.visitor.max()) + 1, size))
    np.add.at(summed, log.visitor, (scores * weight).T)
    influence = summed @ np.linalg.inv(bread)
    people = len(np.unique(log.visitor))
    errors = np.full(len(theta), np.nan)
    errors[free] = np.sqrt((influence**2).sum(axis=0) * people / (people - 1))
    return errors


@pytest.mark.parametrize(("name", "per_query"), [("dbn", False), ("pbm", False), ("dcm", True), ("cascade", False)])
def test_the_sandwich_equals_one_with_numerical_derivatives(name: str, per_query: bool) -> None:
    log = drawn_log(name, 150)
    log = replace(
        with_visitors(log, np.arange(150) * 7 % 40), weight=np.asarray(1.0 + np.arange(150) % 3, dtype=np.float64)
    )
    fitted = fit_model(log, name, priors={}, per_query=per_query, errors="sandwich")
    assert fitted.errors == "sandwich"
    assert np.isfinite(all_errors(fitted)).sum() >= 8
    assert all_errors(fitted) == pytest.approx(dense_sandwich(fitted, log), rel=1e-3, nan_ok=True)


def test_on_the_true_model_the_sandwich_is_the_information() -> None:
    """2,000 lists of a UBM: errors differ by 5% at most."""
    log = drawn_log("ubm", 2000)
    plain, robust = (fit_model(log, "ubm", priors={}, errors=errors) for errors in ("information", "sandwich"))
    ratio = all_errors(robust) / all_errors(plain)
    ratio = ratio[np.isfinite(ratio)]
    assert len(ratio) >= 10
    assert np.abs(ratio - 1).max() < 0.05


def test_visitors_who_repeat_themselves_count_once() -> None:
    """Each list five times by its visitor: errors by visitor are those of single lists, by list sqrt(5) smaller."""
    log = drawn_log("dbn", 190)
    copies = repeated(log, 5)
    single = fit_model(log, "dbn", priors={}, errors="sandwich")
    by_visitor = fit_model(copies, "dbn", priors={}, errors="sandwich")
    by_list = fit_model(replace(copies, visitor=None, visitors=None), "dbn", priors={}, errors="sandwich")
    information = fit_model(copies, "dbn", priors={})
    assert all_errors(by_visitor) == pytest.approx(all_errors(single), rel=1e-3, nan_ok=True)
    assert all_errors(by_list) * np.sqrt(5) == pytest.approx(all_errors(single), rel=5e-3, nan_ok=True)
    assert np.nanmean(all_errors(by_visitor) / all_errors(information)) == pytest.approx(np.sqrt(5), rel=0.1)


def test_the_bootstrap_agrees_with_the_sandwich_by_visitor() -> None:
    """60 resamples of 150 visitors, whose lists come three times: 15% on average, each within a factor of 1.6."""
    copies = repeated(drawn_log("cascade", 150), 3)
    seen: list[Any] = []
    robust = fit_model(copies, "cascade", priors={}, errors="sandwich")
    resampled = fit_model(copies, "cascade", priors={}, errors="bootstrap", resamples=60, progress=seen.append)
    assert [each.kind for each in seen] == ["resample"] * 60
    ratio = all_errors(resampled) / all_errors(robust)
    assert ratio.mean() == pytest.approx(1.0, abs=0.15)
    assert np.all((ratio > 1 / 1.6) & (ratio < 1.6))
    again = fit_model(copies, "cascade", priors={}, errors="bootstrap", resamples=60)
    assert all_errors(again).tobytes() == all_errors(resampled).tobytes()


def test_the_bootstrap_refits_models_that_iterate() -> None:
    """By list, 30 resamples of 300 lists of a PBM: 30% on average."""
    log = drawn_log("pbm", 300, queries=1, positions=2, items=3, seed=4)
    plain = fit_model(log, "pbm", errors="sandwich")
    resampled = fit_model(log, "pbm", errors="bootstrap", resamples=30, seed=1)
    assert np.array_equal(resampled.own.value, plain.own.value)
    ratio = all_errors(resampled) / all_errors(plain)
    assert np.nanmean(ratio) == pytest.approx(1.0, abs=0.3)
    assert resampled.table().title == "pbm: 95% confidence intervals of shrunk estimates"


def test_published_counts_have_the_errors_of_shares() -> None:
    log = drawn_log("dcm", 300, queries=1)
    counted = fit_model(log, "dcm-counts", priors={}, errors="sandwich")
    share, clicks = counted.shared.value[0, 0], counted.shared.tosses[0, 0]
    error = counted.shared.error[0, 0] * share * (1 - share)
    assert error == pytest.approx(np.sqrt(share * (1 - share) / clicks), rel=0.01)
    assert np.isnan(counted.shared.error[0, -1])


def test_what_has_no_robust_errors_says_so() -> None:
    log = drawn_log("dbn", 60)
    with pytest.raises(InvalidInput, match=r"The sort of errors is 'sandwhich', .*perhaps you mean 'sandwich'"):
        fit_model(log, "dbn", errors="sandwhich")
    with pytest.raises(InvalidInput, match="is 'bootstrap', but must be information or none for a log that is not in"):
        fit_model(prepare_log(log), "dbn", errors="bootstrap")
    with pytest.raises(InvalidInput, match="The number of resamples is 1"):
        fit_model(log, "cascade", errors="bootstrap", resamples=1)
    stopped = fit_model(log, "dbn", errors="sandwich", settings=FitSettings(iterations=2))
    assert stopped.errors == "none"
    assert "the fit stopped after 2 iterations" in stopped.no_errors
