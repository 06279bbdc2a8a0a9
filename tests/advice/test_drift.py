"""Breaks of a log are found where they are, and not where only the old ranking changed."""

import numpy as np
import pytest

from toplist.advice.drift import SLICES, clear_edges, find_breaks, find_drift
from toplist.advice.known_visitors import clicked_by, known_visitors, old_lists
from toplist.logs import ClickLog, fit_model

BEFORE = np.array([[0.5, 0.4, 0.3, 0.2, 0.1, 0.1]])
AFTER = np.array([[0.1, 0.4, 0.3, 0.2, 0.1, 0.5]])
FLAT = np.zeros((1, 6)) + np.arange(6) * 1e-3


def log_of(*epochs: np.ndarray, lists: int = 3000, seed: int = 0) -> ClickLog:
    visitors = [known_visitors("dcm", each, 3, seed) for each in epochs]
    return clicked_by(visitors, old_lists(FLAT, 3, lists, 3.0, seed), seed)


@pytest.mark.parametrize("seed", range(3))
def test_a_log_without_changes_has_no_breaks(seed: int) -> None:
    log = log_of(BEFORE, seed=seed)
    found = find_drift(fit_model(log, "dcm"), log, np.array([0]))
    assert found.breaks == ()
    assert found.watched == 6


def test_a_break_is_found_where_it_is() -> None:
    log = log_of(BEFORE, AFTER)
    fitted = fit_model(log, "dcm")
    found = find_drift(fitted, log, np.array([0]))
    assert found.breaks == (0.5,)
    moved = {log.items[fitted.pair_item[pair]] for pair in found.moved}
    assert moved == {"q0-0", "q0-5"}
    first = next(pair for pair in found.moved if log.items[fitted.pair_item[pair]] == "q0-0")
    moved_first = found.moved[first]
    assert moved_first.shifts[0] > 0.5 > -0.5 > moved_first.shifts[1]
    assert 0.0 < moved_first.error < 0.5
    assert 200 < moved_first.examined < 1500  # about half of 3,000 lists show half of the items, and not all are seen


def test_two_breaks() -> None:
    log = log_of(BEFORE, AFTER, BEFORE, lists=6000)
    found = find_drift(fit_model(log, "dcm"), log, np.array([0]))
    assert found.breaks == pytest.approx((1 / 3, 2 / 3), abs=0.5 / SLICES + 0.02)


def test_another_old_ranking_is_no_break() -> None:
    """From the middle on the old ranking shows the items in the reverse order; the visitors stay the same."""
    truth = known_visitors("dcm", BEFORE, 3, 0)
    order = np.arange(6.0)[None]
    one, other = (old_lists(scores, 3, 2000, 0.7, 0) for scores in (order, -order))
    later = ClickLog(
        **{**vars(other), "queries": one.queries, "items": one.items, "time": np.asarray(other.time) + 1e9}
    )
    log = clicked_by([truth], ClickLog.concatenate([one, later]), 0)
    assert find_drift(fit_model(log, "dcm"), log, np.array([0])).breaks == ()


def test_steps_go_both_ways_and_items_that_stay_have_none() -> None:
    log = log_of(BEFORE, AFTER)
    steps = find_drift(fit_model(log, "dcm"), log, np.array([0])).steps
    assert steps.shape == (12, 2)  # six items at one break, forwards and backwards
    assert (np.diff(steps[:, 0]) >= 0.0).all()
    assert (steps[:, 1] == 0.0).sum() == 8
    assert steps[:, 1].sum() == pytest.approx(0.0)
    far = np.log(0.5 / 0.5) - np.log(0.1 / 0.9)  # from 0.1 to 0.5
    assert np.sort(steps[steps[:, 1] != 0.0, 1]) == pytest.approx([-far, -far, far, far], abs=0.5)


def test_an_item_changes_only_where_it_clearly_does() -> None:
    examined, breaks = np.full(20, 100.0), [5, 10, 15]
    rate = np.repeat([0.1, 0.1, 0.4, 0.4], 5)
    assert clear_edges(examined, examined * rate, breaks) == [0, 10, 20]
    assert clear_edges(examined, examined * 0.2, breaks) == [0, 20]


def test_without_times_nothing_is_found() -> None:
    log = ClickLog(**{**vars(log_of(BEFORE, AFTER)), "time": None})
    assert find_drift(fit_model(log, "dcm"), log, np.array([0])).watched == 0


def test_streams() -> None:
    """One stream that jumps, and one that does not."""
    examined = np.full((2, 10), 100.0)
    clicked = np.array([[10.0] * 4 + [40.0] * 6, [20.0] * 10])
    assert find_breaks(examined, clicked, 0.01) == ([4], [0])
