"""The world of a query: its traffic, its epochs, and the curves of the logged ranking and the best list."""

import numpy as np
import pytest
from small_logs_of_truth import GAIN, made_log

from toplist.advice.drift import NO_DRIFT, Drift, logit
from toplist.advice.query_worlds import FRACTIONS, QueryPlan, epoch_order, plan_queries, query_world
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


def test_epochs_go_back_and_forth_from_the_present() -> None:
    assert epoch_order(np.array([5.0]), 12.0) == ((0, 12.0),)
    found = epoch_order(np.array([4.0, 6.0]), 21.0)
    assert found == ((1, 6.0), (0, 4.0), (1, 6.0), (0, 4.0), (1, 1.0))
    assert sum(size for _, size in found) == pytest.approx(21.0)


def test_visitors_move_as_the_log_did() -> None:
    _, fitted, plans = plans_of(NO_DRIFT)
    pair = int(np.flatnonzero(fitted.pair_query == plans[0].query)[2])
    drift = Drift((0.5,), {pair: np.array([2.0, -2.0])}, 6)
    log, fitted, plans = plans_of(drift)
    plan = plans[0]
    case = query_world(draw_fits(log, "dcm", 1, seed=0).draws[0], plan)
    world = case.world.checked()
    assert [epoch for epoch, _ in plan.epochs] == [1, 0]
    assert world.how.breakpoints.tolist() == [int(np.ceil(plan.horizon / 2))]
    moved = int(np.flatnonzero(plan.items == fitted.pair_item[pair])[0])
    first, later = np.asarray(world.attraction), world.how.later[0]
    others = np.arange(len(first)) != moved
    assert first[others] == pytest.approx(later[others])
    assert logit(later[[moved]]) - logit(first[[moved]]) == pytest.approx([4.0])
