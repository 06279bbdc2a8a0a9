"""Intervals: by lists and by visitors, against formulas written out, and what they refuse."""

import math

import numpy as np
import pytest

from toplist.core.slate import Floats
from toplist.evaluation.estimate import MeanEstimate
from toplist.evaluation.estimators import normalised_clicks
from toplist.evaluation.evaluate import minus_logged
from toplist.evaluation.intervals import IntervalSettings, interval_of
from toplist.evaluation.refusals import CannotEstimate
from toplist.evaluation.resampling import resampled_means
from toplist.evaluation.units import IndependentUnits, units_of
from toplist.logs import ClickLog

RNG = np.random.default_rng(1)
VALUES = RNG.exponential(size=60)
ALONE = IndependentUnits(np.ones(60), None, 60)
VISITORS = IndependentUnits(np.ones(60), np.repeat(np.arange(20), 3), 20)


def test_a_normal_interval_is_1_96_standard_errors_wide() -> None:
    found = interval_of(MeanEstimate.plain(VALUES, ALONE.weight), ALONE, IntervalSettings())
    half = 1.959964 * VALUES.std(ddof=1) / math.sqrt(60)
    assert found == pytest.approx((VALUES.mean() - half, VALUES.mean() + half), abs=1e-6)


def test_rows_that_stand_for_several_lists_are_as_good_as_these_lists() -> None:
    times = RNG.integers(1, 4, size=60)
    weighted = IndependentUnits(times.astype(np.float64), None, 60)
    copied = np.repeat(VALUES, times)
    one_by_one = IndependentUnits(np.ones(len(copied)), None, len(copied))
    assert weighted.mean(VALUES) == pytest.approx(copied.mean())
    assert weighted.standard_error(VALUES) == pytest.approx(one_by_one.standard_error(copied))
    drawn = resampled_means(VALUES[:, None], weighted, 4000, 3)
    assert drawn.mean() == pytest.approx(copied.mean(), abs=0.01)
    assert drawn.std() == pytest.approx(one_by_one.standard_error(copied), rel=0.05)
    many = IndependentUnits((9 * times).astype(np.float64), None, 60)  # too many to draw list by list
    assert 3 * resampled_means(VALUES[:, None], many, 4000, 3).std() == pytest.approx(drawn.std(), rel=0.06)


def test_visitors_of_equal_size_are_the_mean_of_their_means() -> None:
    means = VALUES.reshape(20, 3).mean(axis=1)
    assert VISITORS.standard_error(VALUES) == pytest.approx(means.std(ddof=1) / math.sqrt(20))


def test_repeated_lists_of_a_visitor_tell_nothing_new() -> None:
    repeated = np.repeat(VALUES[:20], 3)
    assert VISITORS.standard_error(repeated) == pytest.approx(VALUES[:20].std(ddof=1) / math.sqrt(20))
    assert ALONE.standard_error(repeated) < 0.65 * VISITORS.standard_error(repeated)


@pytest.mark.parametrize("units", [ALONE, VISITORS], ids=["lists", "visitors"])
def test_a_bootstrap_spreads_as_the_standard_error_says(units: IndependentUnits) -> None:
    drawn = resampled_means(VALUES[:, None], units, 4000, 7)[:, 0]
    assert drawn.std() == pytest.approx(units.standard_error(VALUES), rel=0.06)
    assert drawn.mean() == pytest.approx(VALUES.mean(), abs=0.02)


def test_lists_that_add_nothing_are_drawn_as_often_as_others() -> None:
    values = np.where(np.arange(60) % 5 == 0, VALUES, 0.0)
    drawn = resampled_means(values[:, None], ALONE, 4000, 7)[:, 0]
    assert drawn.std() == pytest.approx(ALONE.standard_error(values), rel=0.06)
    assert not resampled_means(np.zeros((60, 2)), ALONE, 3, 1).any()


def test_compiled_and_plain_draws_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = np.stack([VALUES, VALUES**2], axis=1)
    compiled = resampled_means(columns, VISITORS, 400, 5)
    monkeypatch.setattr("toplist.logs.patterns.SHORT", 10**9)
    assert np.array_equal(resampled_means(columns, VISITORS, 400, 5), compiled)


def test_a_ratio_is_resampled_as_a_ratio() -> None:
    click, weights = RNG.integers(0, 2, size=(60, 2)).astype(np.float64), RNG.exponential(size=(60, 2))
    shown = np.ones((60, 2), dtype=np.bool_)
    estimate = normalised_clicks(weights, click, ALONE.weight, shown)
    means = resampled_means(estimate.columns, ALONE, 2000, 11)
    values = estimate.combine(means)
    assert values.std() == pytest.approx(ALONE.standard_error(estimate.per_list), rel=0.1)
    assert ALONE.mean(estimate.per_list) == pytest.approx(estimate.value)
    assert estimate.value == pytest.approx(sum((weights * click).sum(axis=0) / weights.sum(axis=0)))


def test_lists_of_different_lengths_are_normalised_by_those_that_have_the_position() -> None:
    shown = np.array([[True, True], [True, False], [True, True]])
    click, weights = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([[2.0, 3.0], [1.0, 1.0], [1.0, 1.0]])
    found = normalised_clicks(weights, click, np.ones(3), shown)
    assert found.value == pytest.approx(3 / 4 + 2 / 3 * 1 / 4)
    assert found.per_list.mean() == pytest.approx(found.value)


def bernstein(values: Floats, width: float, level: float = 0.95) -> float:
    doubt, count = math.log(4 / (1 - level)), len(values)
    return math.sqrt(2 * values.var(ddof=1) * doubt / count) + 7 * width * doubt / (3 * (count - 1))


def test_an_empirical_bernstein_interval_is_that_of_maurer_and_pontil() -> None:
    bounded = np.minimum(VALUES, 2.0)
    found = interval_of(MeanEstimate.plain(bounded, ALONE.weight, (-9, 2)), ALONE, IntervalSettings("bernstein"))
    half = bernstein(bounded, 11.0)
    assert found == pytest.approx((bounded.mean() - half, min(bounded.mean() + half, 2.0)))
    found = interval_of(MeanEstimate.plain(bounded, ALONE.weight, (-9, 2)), VISITORS, IntervalSettings("bernstein"))
    half = bernstein(bounded.reshape(20, 3).mean(axis=1), 11.0)
    assert found == pytest.approx((bounded.mean() - half, min(bounded.mean() + half, 2.0)))


def test_an_empirical_bernstein_interval_needs_bounds() -> None:
    with pytest.raises(CannotEstimate, match="needs a mean of bounded contributions"):
        interval_of(MeanEstimate.plain(VALUES, ALONE.weight), ALONE, IntervalSettings("bernstein"))


def test_another_error_widens_an_interval() -> None:
    estimate = MeanEstimate.plain(VALUES, ALONE.weight)
    both = math.hypot(ALONE.standard_error(VALUES), 0.3)
    found = interval_of(estimate, ALONE, IntervalSettings(), 0.3)
    assert found.high - estimate.value == pytest.approx(1.959964 * both, abs=1e-6)


def test_the_difference_from_the_log_is_paired() -> None:
    clicks = VALUES + RNG.normal(scale=0.01, size=60)
    estimate = minus_logged(MeanEstimate.plain(VALUES, ALONE.weight, (0.0, 9.0)), clicks, ALONE)
    normal = interval_of(estimate, ALONE, IntervalSettings())
    assert normal.high - normal.low < 0.01
    drawn = interval_of(estimate, ALONE, IntervalSettings("bootstrap"))
    assert drawn.high - drawn.low == pytest.approx(normal.high - normal.low, rel=0.15)
    assert estimate.bounds == (-clicks.max(), 9.0)


def test_units_are_visitors_if_the_log_has_them() -> None:
    log = ClickLog.from_lists(["q"] * 3, [["a"]] * 3, [[]] * 3, visitors=["x", "y", "x"])
    assert units_of(log).unit is not None
    assert units_of(log).independent == 2
    assert units_of(log, "list").unit is None
    bare = ClickLog.from_lists(["q"] * 2, [["a"]] * 2, [[]] * 2)
    assert units_of(bare).name == "list"
    with pytest.raises(ValueError, match="has no visitors"):
        units_of(bare, "visitor")
    with pytest.raises(ValueError, match="one of auto, list, visitor"):
        units_of(bare, "session")


def test_a_single_unit_has_no_interval() -> None:
    log = ClickLog.from_lists(["q"] * 3, [["a"]] * 3, [[]] * 3, visitors=["x"] * 3)
    with pytest.raises(ValueError, match=r"All 3 lists of the log are of one visitor, .* use by='list'"):
        units_of(log)
    assert units_of(log, "list").independent == 3
    with pytest.raises(ValueError, match="The log has 1 list, but an interval needs at least 2; log more"):
        units_of(log.take(np.arange(1)), "list")
    heavy = ClickLog.from_lists(["q"], [["a"]], [[]], weights=[3])
    assert units_of(heavy).lists == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (IntervalSettings("norml"), "perhaps you mean 'normal'"),
        (IntervalSettings(level=95), "above 0 and below 1"),
        (IntervalSettings(level="high"), "is 'high', but must be above 0"),  # type: ignore[arg-type]
        (IntervalSettings(resamples=1), "at least 2"),
        (IntervalSettings(resamples=2.5), "is 2.5, but must be a whole number"),  # type: ignore[arg-type]
    ],
)
def test_wrong_settings_are_refused(settings: IntervalSettings, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        settings.checked()


def test_rows_that_are_equal_are_drawn_as_those_that_are_not() -> None:
    """60 rows of three kinds, one of them 50 times, beside rows that differ in the twelfth digit."""
    equal = np.repeat([0.5, 1.0, 3.0], [50, 7, 3])
    apart = equal + 1e-12 * np.arange(60)
    drawn, others = (resampled_means(values[:, None], ALONE, 4000, 7)[:, 0] for values in (equal, apart))
    for each in (drawn, others):
        assert each.std() == pytest.approx(ALONE.standard_error(equal), rel=0.06)
        assert each.mean() == pytest.approx(equal.mean(), abs=0.02)
    halves = 120.0 * drawn
    assert np.allclose(halves, np.round(halves), atol=1e-6), "whole numbers of the rows"
