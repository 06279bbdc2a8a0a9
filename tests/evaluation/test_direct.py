"""The direct method: a fitted model's prediction, whose error is that of fits to resampled logs."""

import numpy as np
import pytest

from toplist.evaluation import ListMixture, LoggedLists, PerQuery, RankedGroups, ShownLists, evaluate
from toplist.evaluation.direct import direct_clicks, target_pages
from toplist.evaluation.refusals import CannotEstimate
from toplist.evaluation.units import units_of
from toplist.logs import ClickLog, FittedModel, IdTable, fit_model
from toplist.logs.fitting.influence import click_slopes
from toplist.logs.models import MODELS

ITEMS, PLACES = 5, 3


def simulated(lists: int, seed: int, visitors: int | None = None) -> ClickLog:
    """Two queries with DCM users; all lists of a visitor are the same draw if visitors are given."""
    rng = np.random.default_rng(seed)
    attraction = np.array([[0.6, 0.5, 0.3, 0.2, 0.1], [0.1, 0.4, 0.2, 0.5, 0.3]])
    people = visitors or lists
    query = rng.integers(2, size=people)
    shown = np.array([rng.permutation(ITEMS)[:PLACES] for _ in range(people)])
    click = np.zeros(shown.shape, dtype=np.uint8)
    for row in range(people):
        for place, item in enumerate(shown[row]):
            if rng.random() < attraction[query[row], item]:
                click[row, place] = 1
                if rng.random() < 0.6:
                    break
    times = lists // people
    query, shown, click = (np.repeat(each, times, axis=0) for each in (query, shown, click))
    return ClickLog(
        IdTable(["x", "y"]), IdTable(range(ITEMS)), query.astype(np.int32), np.arange(0, lists * PLACES + 1, PLACES),
        shown.astype(np.int32).ravel(), click.ravel(),
        visitor=np.repeat(np.arange(people), times).astype(np.int32) if visitors else None,
        visitors=IdTable(range(people)) if visitors else None,
    )  # fmt: skip


TARGET = PerQuery({0: RankedGroups([[1], [0], [4], [2], [3]], ITEMS), 1: RankedGroups([[3, 1], [0], [2], [4]], ITEMS)})


@pytest.mark.parametrize("model", ["dcm", "item-position-ctr"])
def test_the_error_is_that_of_fits_to_resampled_logs(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toplist.logs.patterns.SHORT", 0)  # even short fits are worth compiling here
    log, rng = simulated(1200, 1), np.random.default_rng(2)
    found = direct_clicks(TARGET, LoggedLists.of(log), model).estimate
    again = [
        direct_clicks(TARGET, LoggedLists.of(log.take(rng.integers(len(log), size=len(log)))), model).estimate.value
        for _ in range(40)
    ]
    assert units_of(log).standard_error(found.per_list) == pytest.approx(np.std(again), rel=0.35)
    assert units_of(log).mean(found.per_list) == pytest.approx(found.value)


def test_visitors_who_repeat_themselves_are_counted_once() -> None:
    single, repeated = simulated(400, 3), simulated(1200, 3, visitors=400)
    narrow, wide = (
        units_of(log).standard_error(direct_clicks(TARGET, LoggedLists.of(log), "dcm").estimate.per_list)
        for log in (single, repeated)
    )
    assert wide == pytest.approx(narrow, rel=0.05)


def test_the_value_is_the_prediction_for_the_lists_of_the_target() -> None:
    log = simulated(900, 4)
    found = evaluate(log, TARGET, "direct")["direct"]
    fitted = fit_model(log, "dcm", errors="none")
    pages = ClickLog.from_lists(["x", "y", "y"], [[1, 0, 4], [3, 1, 0], [1, 3, 0]], [[], [], []])
    first, second, third = fitted.predict(pages).marginal.reshape(3, 3).sum(axis=1)
    share = float(np.mean(log.query == 0))
    assert found.value == pytest.approx(share * first + (1 - share) * (second + third) / 2, abs=1e-9)
    assert found.notes == ()


def test_slopes_are_the_derivatives_of_expected_clicks() -> None:
    own = {"q": {"a": [0.3, 0.5], "b": [0.4, 0.9], "c": [0.2, 0.6]}}
    model = MODELS["dbn"]._replace(positions=3)  # type: ignore[attr-defined]
    fitted = FittedModel.from_values(model, own, [0.8])
    pages = ClickLog.from_lists(["q", "q"], [["a", "b", "c"], ["c", "a"]], [[], []], weights=[0.7, 0.3])

    def value(with_own: dict[str, dict[str, list[float]]], with_shared: float) -> float:
        marginal = FittedModel.from_values(model, with_own, [with_shared]).predict(pages).marginal
        return float(0.7 * marginal[:3].sum() + 0.3 * marginal[3:].sum())

    found, step = click_slopes(fitted, pages), 1e-6
    assert found.clicks @ np.array([0.7, 0.3]) == pytest.approx(value(own, 0.8))
    moved = {"q": own["q"] | {"b": [0.4 + step, 0.9]}}
    slope = (value(moved, 0.8) - value(own, 0.8)) / step * 0.4 * 0.6
    assert found.own[1, 0] == pytest.approx(slope, rel=1e-4)
    shared = (value(own, 0.8 + step) - value(own, 0.8)) / step * 0.8 * 0.2
    assert found.shared[0, 0] == pytest.approx(shared, rel=1e-4)


def test_items_that_the_log_never_shows_are_said() -> None:
    log = simulated(900, 5)
    target = ListMixture({PLACES: ShownLists(np.array([[0, 1, -2]]), np.ones(1))}, ITEMS)
    found = evaluate(log, target, "direct")["direct"]
    assert found.unsupported == pytest.approx(1 / 3)
    assert "33.3% of the policy's positions have items that the log never shows" in found.notes[0]


def test_a_policy_without_lists_of_a_length_is_refused() -> None:
    target = ListMixture({2: ShownLists(np.array([[0, 1]]), np.ones(1))}, ITEMS)
    with pytest.raises(CannotEstimate, match="no lists of 3 positions"):
        target_pages(target, LoggedLists.of(simulated(10, 6)))
