"""The world of a query: its traffic, its epochs, and the curves of the logged ranking and the best list."""

import numpy as np
import pytest
from small_logs_of_truth import GAIN, made_log

from toplist.advice.drift import NO_DRIFT, Drift, Moved, logit
from toplist.advice.query_worlds import FRACTIONS, QueryPlan, plan_queries, query_world
from toplist.advice.situation import describe_situation, sample_queries
from toplist.logs import ClickLog, FittedModel, fit_model
from toplist.logs.fit_draws import draw_fits


def plans_of(
    drift: Drift, lists: int = 600, horizon: int | None = None
) -> tuple[ClickLog, FittedModel, list[QueryPlan]]:
    log, _ = made_log(np.vstack([GAIN, GAIN[:, ::-1]]), lists)
    fitted = fit_model(log, "dcm")
    situation = describe_situation(log, 3, horizon)
    sampled = sample_queries(log, 5, 0)
    return log, fitted, plan_queries(log, fitted, sampled, situation, drift, None, 1.0, 0, {})


def test_items_stand_in_the_order_of_the_fit_and_share_the_traffic() -> None:
    log, fitted, plans = plans_of(NO_DRIFT, horizon=3000)
    assert sum(plan.horizon for plan in plans) == pytest.approx(3000)
    for plan in plans:
        assert list(plan.mean) == sorted(plan.mean, reverse=True)
        names = [log.items[code] for code in plan.items]
        assert names == list(fitted.attraction(log.queries[plan.query]))


def test_the_curves_of_still_visitors_are_lines() -> None:
    log, _, plans = plans_of(NO_DRIFT)
    plan, drawn = plans[0], draw_fits(log, "dcm", 1, seed=0).draws[0]
    case = query_world(drawn, plan)
    assert case.logged == pytest.approx(FRACTIONS * case.logged[-1])
    assert case.best == pytest.approx(FRACTIONS * case.best[-1])
    assert case.best[-1] > case.logged[-1]
    assert case.steps == np.ceil(plan.horizon)
    shown = drawn.predict(log.take(log.query == plan.query))
    mean = shown.marginal.sum() / (log.query == plan.query).sum()
    assert case.logged[-1] / plan.horizon == pytest.approx(mean, rel=0.1)  # 200 lists stand for all


def test_a_plan_begins_with_what_items_are_now() -> None:
    _, fitted, plans = plans_of(NO_DRIFT)
    pair = int(np.flatnonzero(fitted.pair_query == plans[0].query)[2])
    drift = Drift((0.5,), {pair: Moved(np.array([2.0, -2.0]), 0.3, 40.0)}, 6)
    log, fitted, moved_plans = plans_of(drift)
    before, plan = plans[0], moved_plans[0]
    item = fitted.pair_item[pair]
    old, new = int(np.flatnonzero(before.items == item)[0]), int(np.flatnonzero(plan.items == item)[0])
    assert logit(plan.mean[[new]]) - logit(before.mean[[old]]) == pytest.approx([-2.0])
    assert plan.strength[new] <= 40.0
    assert list(plan.mean) == sorted(plan.mean, reverse=True)
    assert (plan.shifts[0, new], plan.doubt[new]) == (-2.0, 0.3)
    assert np.delete(plan.shifts[0], new) == pytest.approx(np.zeros(5))
    case = query_world(
        draw_fits(log, "dcm", 1, seed=0).draws[0],
        plan._replace(
            epochs=((0, 50.0), (1, 50.0)), horizon=100.0, shifts=np.vstack([plan.shifts, plan.shifts + np.eye(6)[new]])
        ),
    )
    world = case.world.checked()
    assert world.how.breakpoints.tolist() == [50]
    first, later = np.asarray(world.attraction), world.how.later[0]
    assert np.delete(first, new) == pytest.approx(np.delete(later, new))
    assert logit(later[[new]]) - logit(first[[new]]) == pytest.approx([1.0])
