"""Scratch space for the bounds on dense items, and the loops over their features, a tile of items at a time."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core.compiling import routine
from toplist.core.coverage import MAXIMUM, gain
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints

Singles = NDArray[np.float32]

TOGETHER = 128  # items whose bounds are computed together, a tile: their features stay in the second cache
CLASSES = 64  # of widths; features narrower than 2^-31 of a typical width are not told apart


class Screen(NamedTuple):
    """Scratch space for the bounds."""

    peak: Floats  # per feature, the largest absolute value ...
    typical: Floats  # ... and the root of the mean square over all items
    order: Ints  # features, those with the widest gains first: the head, then the rest
    usual: Floats  # per feature, a typical gain, relative to a typical width ...
    wide: Floats  # ... and its width
    spread: Floats  # per feature of the rest, its factor in the bound
    shares: Singles  # per feature in that order, the factor of its values: the share that is not covered, times root 2
    row: Floats  # gain of one item ...
    product: Floats  # ... and its product with parts of the matrix
    # In single precision, relative to a typical width:
    matrix: Singles  # (d + 3, d + 3): the head's in its order, its lower triangle, halved on the diagonal
    factors: Singles  # (2, d + 3): of the features and of the rest's squares
    tiles: Singles  # features of all items: tile by tile, and in a tile feature by feature
    tile: Singles  # those of other items or gains
    rows: Singles  # ((d + 3) * TOGETHER): the head's part of a tile, in its order
    along: Singles  # (4 * TOGETHER): products of four rows of the matrix
    sums: Singles  # (2 * TOGETHER): means, and the rest's squares
    squares: Singles  # (TOGETHER): the head's
    margin: Singles  # two elements: added to the head's squares, and a factor of the rest's, against rounding
    known: Ints  # per item, whether its value is exact
    contenders: Ints  # items whose bound reaches the largest exact value
    classes: Ints  # (CLASSES): features per class of widths, and where they begin


def tile_size(d: int) -> int:
    """Length of a tile, whose number of features is rounded up to a multiple of four."""
    return -(-d // 4) * 4 * TOGETHER


def empty_screen(problem: Problem) -> Screen:
    """Nothing is known yet; arrays are 0, so that memory is taken only for dense features."""
    d, items = problem.features, problem.items
    return Screen(
        peak=np.zeros(d),
        typical=np.zeros(d),
        order=np.arange(d),
        usual=np.zeros(d),
        wide=np.zeros(d),
        spread=np.zeros(d),
        shares=np.zeros(d, dtype=np.float32),
        row=np.zeros(d),
        product=np.zeros(d),
        matrix=np.zeros((d + 3, d + 3), dtype=np.float32),
        factors=np.zeros((2, d + 3), dtype=np.float32),
        tiles=np.zeros(-(-items // TOGETHER) * tile_size(d), dtype=np.float32),
        tile=np.zeros(tile_size(d), dtype=np.float32),
        rows=np.zeros((d + 3) * TOGETHER, dtype=np.float32),
        along=np.zeros(4 * TOGETHER, dtype=np.float32),
        sums=np.zeros(2 * TOGETHER, dtype=np.float32),
        squares=np.zeros(TOGETHER, dtype=np.float32),
        margin=np.zeros(2, dtype=np.float32),
        known=np.zeros(items, dtype=np.int64),
        contenders=np.zeros(items, dtype=np.int64),
        classes=np.zeros(CLASSES, dtype=np.int64),
    )


@routine
def measure_features(screen: Screen, columns: Floats) -> None:
    """Fill the size of every feature, and the tiles."""
    size = len(screen.tile)
    for feature in range(len(columns)):
        peak, square, column = 0.0, 0.0, columns[feature]
        for item in range(len(column)):
            peak = max(peak, abs(column[item]))
            square += column[item] * column[item]
        screen.peak[feature] = peak
        screen.typical[feature] = math.sqrt(square / len(column))
        for begin in range(0, len(column), TOGETHER):
            here = column[begin : begin + TOGETHER]
            place = begin // TOGETHER * size + feature * TOGETHER
            there = screen.tiles[place : place + len(here)]
            for i in range(len(here)):
                there[i] = here[i]


@routine
def copy_tile(screen: Screen, columns: Floats, candidates: Ints, covered: Floats, kind: int) -> None:
    """Copy the features of at most TOGETHER candidates; their gains if these are not in proportion."""
    count = len(candidates)
    for feature in range(len(covered)):
        column, row = columns[feature], screen.tile[feature * TOGETHER : feature * TOGETHER + count]
        if kind == MAXIMUM:
            already = covered[feature]
            for i in range(count):
                row[i] = gain(column[candidates[i]], already, MAXIMUM)
        else:
            for i in range(count):
                row[i] = column[candidates[i]]


# The loops below run over all TOGETHER items, whatever their number, along flat arrays: for such loops LLVM needs no
# tests whether arrays overlap, and keeps more sums in registers.


@routine
def fill_sums(screen: Screen, tile: Singles) -> None:
    """Fill the means, and the bounds on the rest's squares."""
    sums, factors = screen.sums, screen.factors
    for i in range(2 * TOGETHER):
        sums[i] = 0.0
    for feature in range(0, len(screen.order), 4):
        x = tile[feature * TOGETHER : (feature + 4) * TOGETHER]
        a0, a1, a2, a3 = factors[0, feature], factors[0, feature + 1], factors[0, feature + 2], factors[0, feature + 3]
        c0, c1, c2, c3 = factors[1, feature], factors[1, feature + 1], factors[1, feature + 2], factors[1, feature + 3]
        for i in range(TOGETHER):
            p, q, r, s = x[i], x[i + TOGETHER], x[i + 2 * TOGETHER], x[i + 3 * TOGETHER]
            sums[i] += (a0 * p + a1 * q) + (a2 * r + a3 * s)
            sums[i + TOGETHER] += (c0 * (p * p) + c1 * (q * q)) + (c2 * (r * r) + c3 * (s * s))


@routine
def copy_head(screen: Screen, tile: Singles, head: int) -> None:
    """Copy the head's features in their order, scaled."""
    for place in range(head):
        feature = screen.order[place]
        here = tile[feature * TOGETHER : (feature + 1) * TOGETHER]
        there, share = screen.rows[place * TOGETHER : (place + 1) * TOGETHER], screen.shares[place]
        for i in range(TOGETHER):
            there[i] = share * here[i]


@routine
def fill_squares_of_head(screen: Screen, head: int) -> None:
    """Fill x' matrix x over the head: twice the lower triangle, four rows and four columns at a time."""
    along, squares = screen.along, screen.squares
    for i in range(TOGETHER):
        squares[i] = 0.0
    for row in range(0, head, 4):
        a, b, c, e = screen.matrix[row], screen.matrix[row + 1], screen.matrix[row + 2], screen.matrix[row + 3]
        for i in range(4 * TOGETHER):
            along[i] = 0.0
        for column in range(0, row, 4):
            x = screen.rows[column * TOGETHER : (column + 4) * TOGETHER]
            a0, a1, a2, a3 = a[column], a[column + 1], a[column + 2], a[column + 3]
            b0, b1, b2, b3 = b[column], b[column + 1], b[column + 2], b[column + 3]
            c0, c1, c2, c3 = c[column], c[column + 1], c[column + 2], c[column + 3]
            e0, e1, e2, e3 = e[column], e[column + 1], e[column + 2], e[column + 3]
            for i in range(TOGETHER):
                p, q, r, s = x[i], x[i + TOGETHER], x[i + 2 * TOGETHER], x[i + 3 * TOGETHER]
                along[i] += (a0 * p + a1 * q) + (a2 * r + a3 * s)
                along[i + TOGETHER] += (b0 * p + b1 * q) + (b2 * r + b3 * s)
                along[i + 2 * TOGETHER] += (c0 * p + c1 * q) + (c2 * r + c3 * s)
                along[i + 3 * TOGETHER] += (e0 * p + e1 * q) + (e2 * r + e3 * s)
        x = screen.rows[row * TOGETHER : (row + 4) * TOGETHER]
        a0, b0, b1, c0, c1, c2 = a[row], b[row], b[row + 1], c[row], c[row + 1], c[row + 2]
        e0, e1, e2, e3 = e[row], e[row + 1], e[row + 2], e[row + 3]
        for i in range(TOGETHER):
            p, q, r, s = x[i], x[i + TOGETHER], x[i + 2 * TOGETHER], x[i + 3 * TOGETHER]
            squares[i] += (
                p * (along[i] + a0 * p)
                + q * (along[i + TOGETHER] + (b0 * p + b1 * q))
                + r * (along[i + 2 * TOGETHER] + (c0 * p + c1 * q + c2 * r))
                + s * (along[i + 3 * TOGETHER] + (e0 * p + e1 * q + e2 * r + e3 * s))
            )
