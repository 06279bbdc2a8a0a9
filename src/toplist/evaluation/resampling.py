"""Means over lists, or visitors, drawn with replacement."""

from __future__ import annotations

import numpy as np

from toplist.core.compiling import compiled
from toplist.core.randomness import branch, uniform
from toplist.core.slate import Floats, Ints
from toplist.evaluation.units import IndependentUnits
from toplist.logs.patterns import speed

FEW = 4  # lists per row up to which rows that stand for several lists are drawn list by list


def resampled_means(columns: Floats, units: IndependentUnits, resamples: int, seed: int) -> Floats:
    """Means of columns over resampled lists, or visitors.

    Parameters
    ----------
    columns : ndarray of float, shape (lists, columns)
        What each list adds.
    units : IndependentUnits
        What is drawn.
    resamples : int
        How often.
    seed : int
        Seed; resample i depends on the seed and i alone.

    Returns
    -------
    ndarray of float, shape (resamples, columns)
        The means.

    Notes
    -----
    A unit that adds nothing need not be drawn by name: their number is binomial. Rows that stand for several equal
    lists are drawn as often as their weight says.
    """
    rng = np.random.Generator(np.random.Philox(key=[seed, 0]))
    if units.unit is None and not np.all(units.weight == 1.0):
        total = round(units.lists)
        if total <= FEW * len(columns) and np.all(units.weight % 1 == 0):
            each = np.repeat(columns, units.weight.astype(np.int64), axis=0)
            return resampled_means(each, IndependentUnits(np.ones(total), None, total), resamples, seed)
        share = units.weight / units.weight.sum()
        found = np.zeros((resamples, columns.shape[1]))
        for number in range(resamples):
            found[number] = rng.multinomial(total, share) @ columns / total
        return found
    sums = units.sums(columns)
    if units.unit is not None:  # visitors have different numbers of lists
        sums = np.concatenate([sums, units.sums(np.ones((len(columns), 1)))], axis=1)
    kept = np.ascontiguousarray(sums[(sums != 0).any(axis=1)])
    draws = rng.binomial(units.independent, len(kept) / units.independent, size=resamples).astype(np.int64)
    totals = np.zeros((resamples, sums.shape[1]))
    if len(kept):
        speed(add_draws, int(draws.sum()))(kept, draws, branch(seed, 1), totals)
    found = totals[:, : columns.shape[1]]
    return found / (units.independent if units.unit is None else totals[:, -1:])


@compiled
def add_draws(rows: Floats, draws: Ints, key: int, totals: Floats) -> None:
    """Add up rows drawn with replacement, per resample as many as `draws` says."""
    count, width = rows.shape
    for number in range(len(draws)):
        of_resample = branch(key, number)
        if width == 1:
            total = 0.0
            for draw in range(draws[number]):
                total += rows[int(uniform(of_resample, draw) * count), 0]
            totals[number, 0] = total
            continue
        for draw in range(draws[number]):
            row = int(uniform(of_resample, draw) * count)
            for column in range(width):
                totals[number, column] += rows[row, column]
