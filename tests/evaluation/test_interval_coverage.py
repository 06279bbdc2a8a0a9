"""A short form of the coverage study, with a fixed seed; `make evaluation-coverage` is the long one."""

import numpy as np
import pytest
from interval_coverage import CASES, FITTED, LEARNING, Case, World, cover

LOGS = 120
WEIGHTED = [case for case in (*CASES, *LEARNING) if case.estimator not in FITTED]


@pytest.mark.parametrize("case", WEIGHTED, ids=lambda case: case.title)
def test_intervals_hold_the_truth_about_as_often_as_they_say(case: Case) -> None:
    found = cover(case, LOGS, seed=3, resamples=0 if case.learns else 100)
    assert 0.90 <= found.normal <= 0.99
    assert case.learns or 0.89 <= found.bootstrap <= 0.99
    assert np.isnan(found.bernstein) or found.bernstein >= 0.95
    assert found.effective >= 200
    assert abs(found.bias) < 0.1 * found.wide


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case.estimator in FITTED], ids=lambda case: case.estimator)
def test_intervals_of_fitted_models_hold_the_truth(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toplist.logs.patterns.SHORT", 0)  # even short fits are worth compiling here
    found = cover(case, 40, seed=4, resamples=0)
    assert 0.85 <= found.normal <= 1.0
    assert abs(found.bias) < 0.2 * found.wide


@pytest.mark.parametrize(("estimator", "users"), [("iips", "cascade"), ("rips", "neighbours")])
def test_a_wrong_assumption_shows_as_bias(estimator: str, users: str) -> None:
    case = next(case for case in CASES if case.estimator == estimator)
    found = cover(case._replace(users=users), 30, seed=5, resamples=0)
    assert abs(found.bias) > 0.01 * World(case.setting, users).truth(estimator)
