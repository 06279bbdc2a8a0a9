"""The future of a log that breaks: as many breaks as in the log, and steps as far, without going back to the log."""

import numpy as np
import pytest

from toplist.advice.drift import NO_DRIFT, Drift, logit
from toplist.advice.futures import MOST_STATES, Futures
from toplist.advice.query_worlds import QueryPlan

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
    assert Futures(NO_DRIFT, 1000.0, 5000.0, 0).plan(one, 2) is one


def test_breaks_are_as_frequent_as_in_the_log() -> None:
    """3 breaks in 1,000 lists: 3.5 per 1,000 with the half that may have been missed; 400 draws of mean 7 each."""
    futures = Futures(DRIFT, 1000.0, 2000.0, 1)
    counts = [len(futures.breaks(draw)) for draw in range(400)]
    assert np.mean(counts) == pytest.approx(7.0, abs=4.0 * np.sqrt((7.0 + 14.0) / 400))
    assert np.var(counts) > 10.0  # more than the 7 of a known rate
    assert futures.breaks(5).tolist() == futures.breaks(5).tolist() != futures.breaks(6).tolist()


def test_epochs_fill_the_horizon_and_begin_now() -> None:
    found = Futures(DRIFT, 1000.0, 1000.0, 1).plan(plan(), 0)
    assert sum(size for _, size in found.epochs) == pytest.approx(1000.0)
    assert [state for state, _ in found.epochs] == list(range(len(found.shifts)))
    assert (found.shifts[0] == 0.0).all()
    long = Futures(DRIFT, 1000.0, 1e6, 1).plan(plan(1e6), 0)
    assert len(long.epochs) > MOST_STATES == len(long.shifts)


def test_items_move_as_those_of_their_level_did() -> None:
    moves = [
        step
        for draw in range(200)
        for step in np.diff(Futures(DRIFT, 1000.0, 1000.0, 1).plan(plan(), draw).shifts[:2], axis=0)
    ]
    assert np.mean(np.array(moves) != 0.0) == pytest.approx(0.4, abs=0.05)
    assert np.mean(moves, axis=0)[:6].max() < 0.0 < np.mean(moves, axis=0)[-6:].min()  # the best fall, the worst rise
    assert np.abs(moves).max() == pytest.approx(np.abs(STEPS[:, 1]).max())


def test_what_an_item_is_now_is_in_doubt() -> None:
    one = plan()._replace(doubt=np.full(SIZE, 0.5))
    first = np.array([Futures(DRIFT, 1000.0, 1000.0, 1).plan(one, draw).shifts[0] for draw in range(60)])
    assert first.std() == pytest.approx(0.5, rel=0.1)
