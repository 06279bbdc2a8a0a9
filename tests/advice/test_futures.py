"""The future of a log that breaks: as many breaks as in the log, and steps as far, without going back to the log."""

import numpy as np
import pytest

from toplist.advice.drift import NO_DRIFT, Drift, logit
from toplist.advice.futures import MOST_STATES, Futures
from toplist.advice.query_worlds import QueryPlan
from toplist.core.slate import Floats

SIZE = 30
MEAN = np.linspace(0.6, 0.05, SIZE)
LEVEL = logit(MEAN)
# Of items of any level, two in five move: to where the opposite item is.
STEPS = np.array(
    sorted(
        (level, far if number % 5 < 2 else 0.0)
        for number, (level, far) in enumerate(zip(LEVEL, LEVEL[::-1] - LEVEL, strict=True))
    )
)
DRIFT = Drift((0.25, 0.5, 0.75), {}, SIZE, STEPS)


def plan(horizon: float = 1000.0) -> QueryPlan:
    nothing = np.zeros(SIZE)
    return QueryPlan(
        3, np.arange(SIZE), 5, MEAN, nothing, np.zeros((1, 5), dtype=np.int64), horizon, ((0, horizon),), nothing[None],
        nothing, np.zeros((SIZE, 0)), {},
    )  # fmt: skip


def test_without_breaks_nothing_changes() -> None:
    one = plan()
    futures = Futures(NO_DRIFT, 1000.0, 5000.0, 0)
    assert futures.plan(one, 2) is one
    assert futures.expected_breaks() == 0.0


def test_breaks_are_as_frequent_as_in_the_log() -> None:
    """3 breaks in 1,000 lists: 4 epochs, so that 2,000 lists have 8; 400 draws."""
    futures = Futures(DRIFT, 1000.0, 2000.0, 1)
    counts = [len(futures.breaks(draw)) for draw in range(400)]
    assert futures.expected_breaks() == 8.0
    assert np.mean(counts) == pytest.approx(8.0, abs=4.0 * np.sqrt((8.0 + 16.0) / 400))
    assert np.var(counts) > 12.0  # more than the 8 of a known rate
    assert futures.breaks(5).tolist() == futures.breaks(5).tolist() != futures.breaks(6).tolist()


def test_epochs_fill_the_horizon_and_begin_now() -> None:
    found = Futures(DRIFT, 1000.0, 1000.0, 1).plan(plan(), 0)
    assert sum(size for _, size in found.epochs) == pytest.approx(1000.0)
    assert [state for state, _ in found.epochs] == list(range(len(found.shifts)))
    assert (found.shifts[0] == 0.0).all()
    long = Futures(DRIFT, 1000.0, 1e6, 1).plan(plan(1e6), 0)
    assert len(long.epochs) > MOST_STATES == len(long.shifts)


def first_moves(drift: Drift) -> Floats:
    """What the items do at their first break, in many draws."""
    futures = Futures(drift, 1000.0, 1000.0, 1)
    return np.array([
        step for draw in range(400) for step in np.diff(futures.plan(plan(), draw).shifts[:2], axis=0)
    ])  # fmt: skip


def test_items_move_as_often_and_as_far_as_in_the_log() -> None:
    moves = first_moves(DRIFT)
    assert np.mean(moves != 0.0) == pytest.approx(np.mean(STEPS[:, 1] != 0.0), abs=0.02)
    assert moves.mean(axis=0)[:6].max() < 0.0 < moves.mean(axis=0)[-6:].min()  # the best fall, the worst rise


def test_items_that_moved_little_go_on_to_move_little() -> None:
    small = STEPS.copy()
    small[:, 1] = np.where(small[:, 1] != 0.0, np.where(np.arange(SIZE) % 2, 0.2, -0.2), 0.0)
    moves = first_moves(Drift((0.25, 0.5, 0.75), {}, SIZE, small))
    moved = moves[moves != 0.0]
    assert np.abs(moved).mean() == pytest.approx(0.2, abs=0.1)
    assert np.abs(moved).max() < 0.6


def test_what_an_item_is_now_is_in_doubt() -> None:
    one = plan()._replace(doubt=np.full(SIZE, 0.5))
    first = np.array([Futures(DRIFT, 1000.0, 1000.0, 1).plan(one, draw).shifts[0] for draw in range(60)])
    assert first.std() == pytest.approx(0.5, rel=0.1)
