"""Splits a log into lists to fit and lists to hold out, at random or by time."""

from __future__ import annotations

import numpy as np

from toplist.core.problem import InvalidInput, refuse
from toplist.core.slate import Bools
from toplist.logs.click_log import ClickLog
from toplist.logs.random_rows import random_rows

SPLITS = ("random", "time")


def held_out_lists(log: ClickLog, split: str, holdout: float, seed: int) -> Bools:
    """Which lists of a log to hold out.

    Parameters
    ----------
    log : ClickLog
        The log.
    split : str
        "random", or "time" for the latest lists.
    holdout : float
        Share of the lists to hold out.
    seed : int
        Seed of the random split.

    Returns
    -------
    ndarray of bool
        True for a list to hold out.

    Raises
    ------
    InvalidInput
        If the log has no times to split by, or one side would be empty.
    """
    if split not in SPLITS:
        raise refuse("The split", split, f"one of {', '.join(SPLITS)}", "choose one")
    held = _latest(log, holdout) if split == "time" else random_rows(len(log), 0, holdout, seed)
    for side, rows in (("to hold out", held), ("to fit", ~held)):
        if not log.lengths[rows].any():
            raise InvalidInput(
                f"A {split} holdout of {holdout:g} leaves none of {len(log):,} lists {side}; use a larger log or "
                "another holdout."
            )
    return held


def _latest(log: ClickLog, holdout: float) -> Bools:
    """The lists from the time on that leaves at most the wanted share; those of one time stay together."""
    if log.time is None or not np.isfinite(log.time).any():
        raise InvalidInput("The log has no times, but a split by time needs them; split it at random.")
    time = np.where(np.isfinite(log.time), log.time, -np.inf)
    moments, moment = np.unique(time, return_inverse=True)
    if len(moments) < 2:
        raise InvalidInput("All lists of the log have the same time, so that none are later; split it at random.")
    later = np.cumsum(np.bincount(moment, weights=log.weights)[::-1])[::-1]  # weight from each moment on
    first = int(np.searchsorted(-later, -holdout * log.weights.sum()))
    held: Bools = moment >= min(max(first, 1), len(moments) - 1)
    return held
