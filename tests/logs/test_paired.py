"""Paired differences between models, with intervals by list and by visitor."""

import math

import numpy as np
import pytest

from toplist.logs.comparison.paired import paired_difference


def test_a_weight_counts_lists() -> None:
    one, other, weight = np.array([-1.0, -2.0, -4.0]), np.array([-1.5, -1.8, -5.0]), np.array([2.0, 3.0, 1.0])
    found = paired_difference(one, other, weight)
    ones, others = (np.repeat(each, weight.astype(int)) for each in (one, other))
    assert found == pytest.approx(paired_difference(ones, others, np.ones(6)))
    difference = ones - others
    half = 1.959963984540054 * difference.std(ddof=1) / math.sqrt(6)
    assert found == pytest.approx((difference.mean(), difference.mean() - half, difference.mean() + half))


def test_lists_of_one_visitor_count_together() -> None:
    chance = np.random.default_rng(1)
    taste = chance.normal(size=200)
    difference = np.repeat(taste, 5)  # five equal lists of each visitor tell no more than one
    visitor = np.repeat(np.arange(200), 5)
    alone = paired_difference(taste, np.zeros(200), np.ones(200))
    together = paired_difference(difference, np.zeros(1000), np.ones(1000), visitor)
    assert together == pytest.approx(alone)
    by_list = paired_difference(difference, np.zeros(1000), np.ones(1000))
    assert together.high - together.low > 2 * (by_list.high - by_list.low)


def test_intervals_cover_0_as_often_as_they_say() -> None:
    chance = np.random.default_rng(2)
    draws = chance.exponential(size=(400, 300)) - 1.0
    covered = [paired_difference(each, 0 * each, np.ones(300)) for each in draws]
    assert 0.92 < np.mean([each.low < 0 < each.high for each in covered]) < 0.98  # 95% +- 2.7 standard errors


def test_impossible_and_missing_lists() -> None:
    fine, impossible = np.array([-1.0, -2.0]), np.array([-1.0, -np.inf])
    assert paired_difference(impossible, fine, np.ones(2)).mean == -math.inf
    assert paired_difference(impossible, fine, np.ones(2)).is_clear
    assert math.isnan(paired_difference(fine, impossible, np.ones(2)).mean)
    left_out = paired_difference(np.array([-1.0, np.nan, -3.0]), np.array([-2.0, -2.0, -3.0]), np.ones(3))
    assert left_out.mean == 0.5
    assert not left_out.is_clear
    assert math.isnan(paired_difference(fine[:1], fine[:1], np.ones(1)).low)
