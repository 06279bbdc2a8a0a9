"""Draws from the uncertainty of a fit: their covariance is that of the fit, and refits vary about as much."""

import numpy as np
import pytest
from small_logs_of_truth import made_log

from toplist.core.slate import Floats
from toplist.logs import ClickLog, fit_model
from toplist.logs.fit_draws import draw_fits


def logits(values: Floats) -> Floats:
    return np.log(values) - np.log1p(-values)


@pytest.fixture(scope="module")
def log() -> ClickLog:
    attraction = np.array([[0.2, 0.4, 0.6, 0.3], [0.5, 0.3, 0.2, 0.4]])
    return made_log(attraction, 1500, "pbm", positions=3, disorder=3.0)[0]


def test_draws_vary_as_the_errors_say(log: ClickLog) -> None:
    """500 draws: standard deviations within 15%."""
    found = draw_fits(log, "pbm", 500, seed=3)
    assert found.fitted.own.value == pytest.approx(fit_model(log, "pbm").own.value)
    own = np.array([logits(each.own.value[:, 0]) for each in found.draws])
    assert own.mean(axis=0) == pytest.approx(logits(found.fitted.own.value[:, 0]), abs=0.05)
    assert own.std(axis=0) == pytest.approx(found.fitted.own.error[:, 0], rel=0.15)
    shared = np.array([logits(each.shared.value[0, 1:]) for each in found.draws])
    assert shared.std(axis=0) == pytest.approx(found.fitted.shared.error[0, 1:], rel=0.15)
    assert all(each.shared.value[0, 0] == 1.0 for each in found.draws)  # fixed


def test_draws_are_joint(log: ClickLog) -> None:
    """The covariance of own and shared coins, against derivatives of the log-likelihood by finite differences."""
    fitted = fit_model(log, "pbm")
    pairs = len(fitted.own.value)
    at = np.concatenate([logits(fitted.own.value[:, 0]), logits(fitted.shared.value[0, 1:])])
    shown = fitted.pair_numbers(log)
    place, click = log.places(), log.click > 0
    strength, mean = fitted.priors["attraction"].strength, fitted.priors["attraction"].mean

    def objective(coins: Floats) -> float:
        theta = 1.0 / (1.0 + np.exp(-coins))
        looks = np.append(1.0, theta[pairs:])
        chance = looks[place] * theta[:pairs][shown]
        prior = strength * (mean * np.log(theta[:pairs]) + (1.0 - mean) * np.log1p(-theta[:pairs]))
        return float(np.log(np.where(click, chance, 1.0 - chance)).sum() + prior.sum())

    step, size = 1e-3, len(at)
    steps = step * np.eye(size)
    hessian = np.array([
        [
            objective(at + a + b) - objective(at + a - b) - objective(at - a + b) + objective(at - a - b)
            for b in steps
        ]
        for a in steps
    ])  # fmt: skip
    expected = np.linalg.inv(-hessian / (4 * step**2))
    draws = draw_fits(log, "pbm", 3000, seed=5).draws
    drawn = np.array([np.append(logits(each.own.value[:, 0]), logits(each.shared.value[0, 1:])) for each in draws])
    found = np.cov(drawn.T)
    scale = np.sqrt(np.diagonal(expected))
    assert np.abs(found / np.outer(scale, scale) - expected / np.outer(scale, scale)).max() < 0.12
    assert np.abs(expected[:pairs, pairs:]).max() > 0.1 * np.abs(np.diagonal(expected)).max()  # worth testing


def test_only_the_chosen_queries_are_drawn(log: ClickLog) -> None:
    code = np.array([log.queries.code("q1")])
    found = draw_fits(log, "dcm", 3, seed=1, queries=code)
    assert set(found.draws[0].pair_query.tolist()) == set(code.tolist())
    assert found.draws[0].attraction("q1") != found.fitted.attraction("q1")
    assert draw_fits(log, "dcm", 3, seed=1, queries=code).draws[0].attraction("q1") == found.draws[0].attraction("q1")


def test_refits_vary_about_as_much_as_draws(log: ClickLog) -> None:
    fitted, refits = draw_fits(log, "cascade", 60, seed=2, refit=True)
    own = np.array([logits(each.own.value[:, 0]) for each in refits])
    assert own.std(axis=0) == pytest.approx(fitted.own.error[:, 0], rel=0.45)


def test_probabilities_of_rarely_shown_items_are_right_on_average() -> None:
    """An item with two examinations: its logit has a standard deviation of about 1, and its mean stays."""
    log = ClickLog.from_lists(["q"] * 42, [["a", "b"]] * 2 + [["b"]] * 40, clicked=[[], []] + [[1], [], [], []] * 10)
    found = draw_fits(log, "cascade", 4000, seed=4)
    assert found.fitted.own.error[:, 0].max() > 1.0
    mean = np.mean([each.own.value[:, 0] for each in found.draws], axis=0)
    assert mean == pytest.approx(found.fitted.own.value[:, 0], rel=0.08)
