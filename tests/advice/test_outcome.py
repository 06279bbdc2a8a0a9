"""The arithmetic of an outcome: intervals, when a switch pays, and the loss on the way."""

import numpy as np
import pytest

from toplist.advice.outcome import AdviceOutcome, crossing
from toplist.advice.playing import Played
from toplist.advice.query_worlds import FRACTIONS, POINTS
from toplist.core.slate import Floats


def outcome(gains: Floats, is_sample: bool = False, weight: tuple[float, ...] = (1.0,)) -> AdviceOutcome:
    """One policy whose gain at the end is given by draw and query, linear in time, over 1 logged click a list."""
    logged = np.broadcast_to(FRACTIONS, (*gains.shape, POINTS))
    clicks = logged + gains[:, :, None] * FRACTIONS
    return AdviceOutcome(
        ("p",), Played(clicks[None], logged, 2 * logged), np.array(weight), is_sample, ("m",) * len(gains), 1000.0
    )


def test_the_interval_is_that_of_the_ratio_by_draw() -> None:
    found = outcome(np.array([[0.1], [0.2], [0.3]]))
    mean, low, high = found.gain("p").last()
    assert mean == pytest.approx(0.2)
    off = np.log([1.1, 1.2, 1.3]) - np.log([1.1, 1.2, 1.3]).mean()
    below, above = off[0], np.hypot(off[1], off[2])  # the deviations of each side, of two degrees of freedom
    t = 4.302653
    assert (low, high) == pytest.approx((1.2 * np.exp(t * below) - 1, 1.2 * np.exp(t * above) - 1), rel=1e-5)
    assert found.relative_gain("p") == pytest.approx((mean, low, high))
    assert found.clicks("p").last() == pytest.approx((1.2, 1.0 + low, 1.0 + high))  # the logged ranking is certain
    assert found.logged().last() == pytest.approx((1.0, 1.0, 1.0))


def test_queries_count_by_weight_and_a_sample_adds_its_error() -> None:
    gains = np.array([[0.1, 0.5], [0.3, 0.7]])
    whole = outcome(gains, weight=(0.75, 0.25))
    assert whole.gain("p").mean[-1] == pytest.approx(0.75 * 0.2 + 0.25 * 0.6)
    sample = outcome(gains, is_sample=True, weight=(0.75, 0.25))
    t = 12.706205
    within = np.log([1.2, 1.4]).var(ddof=1)
    between = (0.75 * 0.1**2 + 0.25 * 0.3**2) / 1.3**2 * (0.75**2 + 0.25**2)
    assert np.log((1 + whole.gain("p").high[-1]) / 1.3) == pytest.approx(t * within**0.5, rel=1e-5)
    assert np.log((1 + sample.gain("p").high[-1]) / 1.3) == pytest.approx(t * (within + between) ** 0.5, rel=1e-5)


def test_an_interval_has_two_sides() -> None:
    """Draws of which most are alike and some much better: as far below as above, the gain would be in doubt."""
    gains = np.full((20, 1), 0.2)
    gains[:3] = 1.5
    _, low, high = outcome(gains).gain("p").last()
    assert low > 0.0
    assert high > 1.0
    assert np.log(1.0 + gains).std(ddof=1) * 2.093 > np.log(1.0 + gains.mean())


def test_one_draw_has_no_interval() -> None:
    _, low, high = outcome(np.array([[0.1]])).gain("p").last()
    assert (low, high) == (-1.0, np.inf)


def test_when_it_pays() -> None:
    at = np.array([10.0, 20.0, 40.0, 80.0])
    assert crossing(np.array([1.0, 2.0, 3.0, 4.0]), at) == 0.0
    assert crossing(np.array([-1.0, -2.0, 2.0, 4.0]), at) == 30.0
    assert crossing(np.array([1.0, -1.0, -3.0, 1.0]), at) == 70.0  # back in the red on the way
    assert crossing(np.array([-1.0, -2.0, -2.0, -1.0]), at) is None


def test_loss_on_the_way() -> None:
    """A curve that loses 0.05 clicks per list of the horizon at first: 50 clicks of 1,000 lists."""
    found = outcome(np.array([[0.2], [0.2]]))
    dip = np.where(np.arange(POINTS) == 3, -0.05, 0.0)
    lower = found.played._replace(clicks=found.played.logged[None] + dip)
    assert AdviceOutcome(("p",), lower, found.weight, False, found.models, 1000.0).worst_loss("p") == pytest.approx(
        (50.0, 50.0)
    )
    assert found.worst_loss("p") == (0.0, 0.0)
