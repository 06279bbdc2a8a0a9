"""Rows drawn at random by their number, the same however a log is cut into parts."""

from __future__ import annotations

import numpy as np

from toplist.core.compiling import compiled
from toplist.core.randomness import branch, uniform
from toplist.core.slate import Bools
from toplist.logs.patterns import speed

HOLDOUT = 20  # branch of the seed: other random numbers of the same seed are unrelated


def random_rows(rows: int, first: int, share: float, seed: int) -> Bools:
    """Draw rows of a log, each with the same probability.

    Parameters
    ----------
    rows : int
        Number of rows of the part.
    first : int
        Number of its first row in the whole log, from 0.
    share : float
        Probability of each row; a larger share has the rows of a smaller one.
    seed : int
        Seed of the draws.

    Returns
    -------
    ndarray of bool
        Which rows are drawn.

    Examples
    --------
    >>> whole = random_rows(10, 0, 0.4, seed=1)
    >>> bool((whole[6:] == random_rows(4, 6, 0.4, seed=1)).all()), int(whole.sum())
    (True, 4)
    """
    drawn = np.zeros(rows, dtype=np.bool_)
    speed(draw_rows, rows)(branch(seed, HOLDOUT), first, share, drawn)
    return drawn


@compiled
def draw_rows(key: int, first: int, share: float, drawn: Bools) -> None:
    """Fill which rows are drawn."""
    for row in range(len(drawn)):
        drawn[row] = uniform(key, first + row) < share
