"""Means over lists, or visitors, drawn with replacement."""

from __future__ import annotations

import numpy as np

from toplist.core.compiling import compiled
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints
from toplist.evaluation.units import IndependentUnits
from toplist.logs.patterns import speed

FEW = 4  # lists per row up to which rows that stand for several lists are drawn list by list
MANY_TIMES = 40  # equal rows; it takes as long to draw how often they come as to draw so many
BLOCK = 1 << 21  # numbers of rows that are kept at once
HALF = (1 << 32) - 1


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
        add_draws(kept, draws, rng, branch(seed, 1), totals)
    found = totals[:, : columns.shape[1]]
    return found / (units.independent if units.unit is None else totals[:, -1:])


def add_draws(rows: Floats, draws: Ints, rng: np.random.Generator, key: int, totals: Floats) -> None:
    """Add up rows drawn with replacement, per resample as many as `draws` says.

    A resample is known by how often it has each different row, so that the sums of many resamples are one product of
    matrices. Of rows that are there many times, these numbers are drawn; the others are drawn one by one.
    """
    different, number_of, times = different_rows(rows)
    often = np.flatnonzero(times >= MANY_TIMES)
    rest = number_of[times[number_of] < MANY_TIMES]
    chances = np.append(times[often], len(rest)) / len(rows)
    at_once = max(1, BLOCK // len(different))
    for first in range(0, len(draws), at_once):
        some = draws[first : first + at_once]
        counts = np.zeros((len(some), len(different)))
        if len(often):
            drawn = rng.multinomial(some, chances)
            counts[:, often] = drawn[:, :-1]
            some = np.ascontiguousarray(drawn[:, -1])
        if len(rest):
            speed(count_draws, int(some.sum()))(rest, some, key, first, counts)
        totals[first : first + at_once] = counts @ different


def different_rows(rows: Floats) -> tuple[Floats, Ints, Ints]:
    """The different rows, per row the number of the one that it equals, and how often each is there."""
    direction = np.random.Generator(np.random.Philox(key=[len(rows), 1])).random(rows.shape[1])
    _, first, number_of, times = np.unique(
        (rows * direction).sum(axis=1), return_index=True, return_inverse=True, return_counts=True
    )
    different = rows[first]
    if np.array_equal(different[number_of], rows):
        return different, number_of.astype(np.int64), times
    return rows, np.arange(len(rows)), np.ones(len(rows), dtype=np.int64)  # two of them agree in that direction only


@compiled
def count_draws(number_of: Ints, draws: Ints, key: int, first: int, counts: Floats) -> None:
    """Count how often each different row is drawn in resample `first` and those after it."""
    rows = len(number_of)
    for resample in range(len(draws)):
        own, wanted = branch(key, first + resample), draws[resample]
        for draw in range(0, wanted - 1, 2):  # two of each 64 random bits
            bits = branch(own, draw)
            counts[resample, number_of[((bits & HALF) * rows) >> 32]] += 1.0
            counts[resample, number_of[(((bits >> 32) & HALF) * rows) >> 32]] += 1.0
        if wanted % 2 == 1:
            counts[resample, number_of[((branch(own, wanted) & HALF) * rows) >> 32]] += 1.0
