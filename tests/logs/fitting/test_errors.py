"""Standard errors equal the inverse of a numerically differentiated likelihood; what has none says why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_logs import errors_of, gradient, names_of, small_log, statuses_of, values_of

from toplist.core.slate import Floats
from toplist.logs import ClickLog, FitSettings, FittedModel, Prior, fit_model
from toplist.logs.fitting.errors import STATUS
from toplist.logs.models import MODELS

EXACT = [name for name in MODELS if not name.endswith("-counts")]
NO_PRIORS: dict[str, Prior] = {}


def numerical_information(fitted: FittedModel, log: ClickLog, free: Any) -> Floats:
    """Minus the second derivatives of the penalised log-likelihood by the free logits, by brute force."""
    values = values_of(fitted)
    found, step = np.zeros((len(free), len(free))), 1e-5
    for number, coin in enumerate(free):
        up, down = values.copy(), values.copy()
        odds = values[coin] / (1 - values[coin])
        up[coin], down[coin] = (odds * np.exp(move) / (1 + odds * np.exp(move)) for move in (step, -step))
        difference = gradient(fitted, log, fitted.priors, up, free) - gradient(fitted, log, fitted.priors, down, free)
        found[number] = -difference / (2 * step)
    return found


@pytest.mark.parametrize(
    ("per_query", "priors"),
    [(False, NO_PRIORS), (False, None), (True, NO_PRIORS)],
    ids=["plain", "shrunk", "per query"],
)
@pytest.mark.parametrize("name", EXACT)
def test_errors_equal_the_inverse_of_the_full_information(name: str, per_query: bool, priors: Any) -> None:
    log = small_log(name)
    fitted = fit_model(log, name, priors=priors, per_query=per_query)
    free = np.flatnonzero(statuses_of(fitted) == STATUS.index("estimated"))
    assert len(free) >= len(values_of(fitted)) - 2  # two examinations or terminations at most
    information = numerical_information(fitted, log, free)
    variance = np.diagonal(np.linalg.inv(information))
    np.testing.assert_allclose(errors_of(fitted)[free], np.sqrt(variance), rtol=1e-5)
    assert fitted.errors == "information"
    if fitted.shared_covariance is not None and len(fitted.shared_covariance) and not per_query:
        shared = free[free >= fitted.own.value.size] - fitted.own.value.size
        full = np.linalg.inv(information)[-len(shared) :, -len(shared) :]
        np.testing.assert_allclose(fitted.shared_covariance[np.ix_(shared, shared)], full, rtol=1e-4, atol=1e-9)
    if name in {"dbn", "pbm", "ubm", "ccm"}:  # the diagonal alone would be far too sure
        assert (np.sqrt(variance * np.diagonal(information)) > 1.1).any()


def status_of(fitted: FittedModel) -> dict[Any, str]:
    """By kind, query id and item id, or kind, query id and label."""
    found = {}
    statuses, errors = statuses_of(fitted), errors_of(fitted)
    for number, (kind, query, what) in enumerate(names_of(fitted)):
        own = number < fitted.own.value.size
        key = kind, None if query is None else fitted.queries[query], fitted.items[what] if own else what
        found[key] = STATUS[statuses[number]]
        assert np.isfinite(errors[number]) == (found[key] == "estimated" and fitted.errors != "none")
    return found


@pytest.mark.parametrize("errors", ["information", "none"])
@pytest.mark.parametrize("priors", [NO_PRIORS, {"attraction": Prior(0.5, 2.0), "termination": Prior(0.5, 2.0)}])
def test_the_termination_of_the_last_position_is_not_identified(errors: str, priors: Any) -> None:
    for name in ("dcm", "dcm-counts"):
        found = status_of(fit_model(small_log("dcm", positions=3), name, priors=priors, errors=errors))
        shared = [found["termination", None, place] for place in "123"]
        assert shared == ["estimated", "estimated", "not identified"]


def test_the_satisfaction_of_an_item_without_clicks_is_not_identified() -> None:
    slates = [["a", "b"], ["b", "a"]] * 20
    clicked = [[1], [2], [], [1, 2]] * 5 + [[1], [2]] * 10
    clicked = [[place for place in places if slates[row][place - 1] == "a"] for row, places in enumerate(clicked)]
    log = ClickLog.from_lists(["q"] * 40, slates, clicked)
    for name in ("sdbn", "dbn", "sdbn-counts"):
        for priors in (None, NO_PRIORS):
            found = status_of(fit_model(log, name, priors=priors, errors="none" if name == "dbn" else "information"))
            assert found["satisfaction", "q", "b"] == "not identified"
    free = status_of(fit_model(log, "sdbn", priors=NO_PRIORS))
    assert free["attraction", "q", "b"] == "on the boundary"


def one_place_each() -> ClickLog:
    """Item a only at the first position and b only at the second, for one query; both at both, for the other."""
    slates = [["a", "b"]] * 40 + [["c", "d"], ["d", "c"]] * 40
    clicked = [[1], [2], [], [1, 2]] * 10 + [[1], [2], [], [], [1, 2], [1], [], []] * 10
    return ClickLog.from_lists(["one"] * 40 + ["two"] * 80, slates, clicked)


def test_an_item_shown_at_one_position_is_identified_by_other_queries_alone() -> None:
    log = one_place_each()
    shared = status_of(fit_model(log, "pbm", priors=NO_PRIORS))
    assert set(shared.values()) == {"estimated", "fixed"}
    alone = fit_model(log, "pbm", priors=NO_PRIORS, per_query=True)
    found = status_of(alone)
    assert found["attraction", "one", "a"] == "estimated"  # the first position is always examined
    assert found["attraction", "one", "b"] == found["examination", "one", "2"] == "not identified"
    assert found["attraction", "two", "c"] == found["examination", "two", "2"] == "estimated"
    assert found["examination", "one", "1"] == "fixed"
    both = alone.own.value[1, 0] * alone.shared.value[0, 1]
    assert both == pytest.approx(0.5)  # what the log tells


def test_a_shared_direction_without_information_makes_own_parameters_unidentified() -> None:
    # Every item stands at one position only, so that examination and attraction at the second cannot be told apart.
    slates, clicked = [["a", "b"]] * 8 + [["c", "d"]] * 8, [[1], [2], [], [1, 2]] * 4
    log = ClickLog.from_lists(["q"] * 8 + ["r"] * 8, slates, clicked)
    found = status_of(fit_model(log, "pbm", priors=NO_PRIORS))
    assert found["examination", None, "2"] == "not identified"
    assert found["attraction", "q", "b"] == found["attraction", "r", "d"] == "not identified"
    assert found["attraction", "q", "a"] == found["attraction", "r", "c"] == "estimated"


@pytest.mark.parametrize("name", ["item-ctr", "cascade", "dcm", "sdbn", "dbn", "pbm", "ubm", "ccm"])
def test_always_and_never_clicked_items_are_on_the_boundary_and_only_a_prior_gives_them_errors(name: str) -> None:
    slates = [["always", "never"], ["never", "always"], ["always", "middle"], ["middle", "always"]] * 10
    clicked = [[1], [2], [1], [1, 2], [1], [2], [1, 2], [2]] * 5
    log = ClickLog.from_lists(["q"] * 40, slates, clicked)
    kind = "rate" if name == "item-ctr" else "attraction"
    fitted = fit_model(log, name, priors=NO_PRIORS)
    found = status_of(fitted)
    assert found[kind, "q", "never"] == "on the boundary"
    assert fitted.attraction("q")["never"] == 0.0
    if name != "ccm":  # there, what follows clicks also tells about the attraction
        assert found[kind, "q", "always"] == "on the boundary"
        assert fitted.attraction("q")["always"] == 1.0
    shrunk = fit_model(log, name)
    assert {status_of(shrunk)[kind, "q", item] for item in ("always", "never", "middle")} == {"estimated"}
    assert 0 < shrunk.attraction("q")["never"] < shrunk.attraction("q")["middle"] < shrunk.attraction("q")["always"] < 1


@pytest.mark.parametrize("priors", [None, NO_PRIORS])
def test_items_never_shown_are_reported_as_such(priors: Any) -> None:
    log = ClickLog.from_lists(["q", "q", "r"], [["a", "b"], ["a", "c"], ["b", "c"]], [[1], [2], [1]]).take(np.arange(2))
    found = status_of(fit_model(log, "item-position-ctr", priors=priors))
    assert found["rate at 1", "q", "b"] == found["rate at 2", "q", "a"] == "never shown"
    fitted = fit_model(log, "item-ctr", priors=priors)
    assert set(fitted.attraction("q")) == {"a", "b", "c"}
    assert fitted.attraction("r") == {}  # a query of the log's table without lists


def test_a_fit_that_stopped_early_has_no_errors_and_says_why() -> None:
    log = small_log("dbn")
    stopped = fit_model(log, "dbn", settings=FitSettings(iterations=4))
    assert not stopped.converged
    assert stopped.errors == "none"
    assert np.isnan(errors_of(stopped)).all()
    assert stopped.no_errors.startswith("the fit stopped after 4 iterations with a derivative of 0.0")
    assert stopped.no_errors.endswith("per list, not below 1e-06; allow more iterations")
    loose = fit_model(log, "dbn", settings=FitSettings(tolerance=1e-3, newton=False))
    assert loose.converged
    assert loose.errors == "none"  # converged for the tolerance given, but not for errors
    assert fit_model(log, "dbn", errors="none").no_errors == "none were wanted"
    counts = fit_model(log, "sdbn-counts")
    assert counts.no_errors == "sdbn-counts does not maximise the likelihood; fit sdbn"
    assert fit_model(log, "dbn").no_errors == ""
