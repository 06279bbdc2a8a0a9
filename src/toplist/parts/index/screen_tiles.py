"""Scratch space for the bounds on dense items, and the loops over their features, a tile of items at a time."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core.compiling import helper, routine
from toplist.core.coverage import MAXIMUM, gain
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints

Singles = NDArray[np.float32]

TOGETHER = 112  # items whose bounds are computed together, a tile: their features stay in the second cache
FEWER = 16  # likewise, where few items are left
LEVELS = 2  # of bounds: a coarse one for every item, and a fine one for those that it leaves
ROUNDING = 2.0**-23  # twice the largest relative error of one operation in single precision
CLASSES = 64  # of widths; features narrower than 2^-31 of a typical width are not told apart


class Screen(NamedTuple):
    """Scratch space for the bounds."""

    peak: Floats  # per feature, the largest absolute value, ...
    typical: Floats  # ... the root of the mean square over all items, ...
    centre: Singles  # ... the mean, ...
    nothing: Singles  # zeros, the mean of gains that are not in proportion
    around: Floats  # ... and the root of the mean square of the distance from it
    roots: Floats  # per feature, the root of the matrix's diagonal
    order: Ints  # features, those with the widest gains first: the head, then the rest
    usual: Floats  # per feature, a typical distance of gains from their mean, relative to a typical width ...
    wide: Floats  # ... and its width
    spread: Floats  # per feature of the rest, its factor in the bound
    mean: Floats  # per feature, the product of the matrix and the rest's mean
    heads: Ints  # per level, the size of the head
    extra: Floats  # per level, the square of the mean rest
    shares: Singles  # per feature in that order, the factor of its values: the share that is not covered, times root 2
    row: Floats  # gain of one item ...
    product: Floats  # ... and its product with parts of the matrix
    # In single precision, relative to a typical width:
    matrix: Singles  # (d + 3, d + 3): the head's in its order, its lower triangle, halved on the diagonal
    weights: Singles  # (d + 3): of the features
    spreads: Singles  # (LEVELS, d + 3): factors of the rest's squares
    means: Singles  # (LEVELS, d + 3): factors of the head, in its order, for its product with the mean rest
    tiles: Singles  # features of all items: tile by tile, and in a tile feature by feature
    tile: Singles  # those of other items or gains
    rows: Singles  # ((d + 3) * TOGETHER): the head's part of a tile, in its order
    along: Singles  # (4 * TOGETHER): products of four rows of the matrix
    sums: Singles  # (2 * TOGETHER): means, and the rest's squares
    squares: Singles  # (TOGETHER): the head's
    coarse: Singles  # per item, the square of the coarse head
    margin: Singles  # against rounding: added to the squares, a factor of the rest's squares, added to its width
    known: Ints  # per item, whether its value is exact
    contenders: Ints  # items whose bound reaches the largest exact value
    classes: Ints  # (CLASSES): features per class of widths, and where they begin
    ranks: Ints  # per feature, its class


def tile_size(d: int) -> int:
    """Length of a tile, whose number of features is rounded up to a multiple of four."""
    return -(-d // 4) * 4 * TOGETHER


def empty_screen(problem: Problem) -> Screen:
    """Nothing is known yet; arrays are 0, so that memory is taken only for dense features."""
    d, items = problem.features, problem.items
    return Screen(
        peak=np.zeros(d),
        typical=np.zeros(d),
        centre=np.zeros(d + 3, dtype=np.float32),
        nothing=np.zeros(d + 3, dtype=np.float32),
        around=np.zeros(d),
        roots=np.zeros(d),
        order=np.arange(d),
        usual=np.zeros(d),
        wide=np.zeros(d),
        spread=np.zeros(d),
        mean=np.zeros(d),
        heads=np.zeros(LEVELS, dtype=np.int64),
        extra=np.zeros(LEVELS),
        shares=np.zeros(d, dtype=np.float32),
        row=np.zeros(d),
        product=np.zeros(d),
        matrix=np.zeros((d + 3, d + 3), dtype=np.float32),
        weights=np.zeros(d + 3, dtype=np.float32),
        spreads=np.zeros((LEVELS, d + 3), dtype=np.float32),
        means=np.zeros((LEVELS, d + 3), dtype=np.float32),
        tiles=np.zeros(-(-items // TOGETHER) * tile_size(d), dtype=np.float32),
        tile=np.zeros(tile_size(d), dtype=np.float32),
        rows=np.zeros((d + 3) * TOGETHER, dtype=np.float32),
        along=np.zeros(4 * TOGETHER, dtype=np.float32),
        sums=np.zeros(2 * TOGETHER, dtype=np.float32),
        squares=np.zeros(TOGETHER, dtype=np.float32),
        coarse=np.zeros(items, dtype=np.float32),
        margin=np.zeros(3, dtype=np.float32),
        known=np.zeros(items, dtype=np.int64),
        contenders=np.zeros(items, dtype=np.int64),
        classes=np.zeros(CLASSES, dtype=np.int64),
        ranks=np.zeros(d, dtype=np.int64),
    )


@routine
def measure_features(screen: Screen, columns: Floats) -> None:
    """Fill the size of every feature, and the tiles."""
    size = len(screen.tile)
    for feature in range(len(columns)):
        peak, total, square, column = 0.0, 0.0, 0.0, columns[feature]
        for item in range(len(column)):
            peak = max(peak, abs(column[item]))
            total += column[item]
            square += column[item] * column[item]
        screen.peak[feature] = peak
        screen.typical[feature] = math.sqrt(square / len(column))
        screen.centre[feature] = total / len(column)
        centre, square = float(screen.centre[feature]), 0.0
        for item in range(len(column)):
            square += (column[item] - centre) * (column[item] - centre)
        screen.around[feature] = math.sqrt(square / len(column)) + ROUNDING * peak
        for begin in range(0, len(column), TOGETHER):
            here = column[begin : begin + TOGETHER]
            place = begin // TOGETHER * size + feature * TOGETHER
            there = screen.tiles[place : place + len(here)]
            for i in range(len(here)):
                there[i] = here[i]


@routine
def copy_tile(tile: Singles, columns: Floats, candidates: Ints, width: int, covered: Floats, kind: int) -> None:
    """Copy the features of candidates to a tile; their gains if these are not in proportion."""
    count = len(candidates)
    for feature in range(len(covered)):
        column, row = columns[feature], tile[feature * width : feature * width + count]
        if kind == MAXIMUM:
            already = covered[feature]
            for i in range(count):
                row[i] = gain(column[candidates[i]], already, MAXIMUM)
        else:
            for i in range(count):
                row[i] = column[candidates[i]]


# The loops below run over the whole width of a tile, whatever the number of items, along flat arrays: for such loops
# LLVM needs no tests whether arrays overlap, and keeps more sums in registers. They are inlined, so that the width is a
# constant.


@helper
def fill_sums(screen: Screen, tile: Singles, width: int, spreads: Singles, centre: Singles) -> None:
    """Fill the means, and the bounds on the squares of the rest's distance from its mean."""
    sums, weights = screen.sums, screen.weights
    for i in range(2 * width):
        sums[i] = 0.0
    for feature in range(0, len(screen.order), 4):
        x = tile[feature * width : (feature + 4) * width]
        a0, a1, a2, a3 = weights[feature], weights[feature + 1], weights[feature + 2], weights[feature + 3]
        c0, c1, c2, c3 = spreads[feature], spreads[feature + 1], spreads[feature + 2], spreads[feature + 3]
        m0, m1, m2, m3 = centre[feature], centre[feature + 1], centre[feature + 2], centre[feature + 3]
        for i in range(width):
            p, q, r, s = x[i], x[i + width], x[i + 2 * width], x[i + 3 * width]
            sums[i] += (a0 * p + a1 * q) + (a2 * r + a3 * s)
            p, q, r, s = p - m0, q - m1, r - m2, s - m3
            sums[i + width] += (c0 * (p * p) + c1 * (q * q)) + (c2 * (r * r) + c3 * (s * s))


@helper
def add_means(screen: Screen, width: int, head: int, means: Singles) -> None:
    """Add twice the product of the head and the mean rest to the squares."""
    along = screen.along
    for i in range(width):
        along[i] = 0.0
    for place in range(0, head, 4):
        x = screen.rows[place * width : (place + 4) * width]
        a, b, c, e = means[place], means[place + 1], means[place + 2], means[place + 3]
        for i in range(width):
            along[i] += (a * x[i] + b * x[i + width]) + (c * x[i + 2 * width] + e * x[i + 3 * width])
    for i in range(width):
        screen.squares[i] += along[i]


@helper
def copy_head(screen: Screen, tile: Singles, width: int, head: int) -> None:
    """Copy the head's features in their order, scaled."""
    for place in range(head):
        feature = screen.order[place]
        here = tile[feature * width : (feature + 1) * width]
        there, share = screen.rows[place * width : (place + 1) * width], screen.shares[place]
        for i in range(width):
            there[i] = share * here[i]


@helper
def add_squares(screen: Screen, width: int, first: int, head: int) -> None:
    """Add the part of x' matrix x over the head from row `first` on, a multiple of four, to the squares.

    It is twice the lower triangle, four rows and four columns at a time.
    """
    along, squares = screen.along, screen.squares
    for row in range(first, head, 4):
        a, b, c, e = screen.matrix[row], screen.matrix[row + 1], screen.matrix[row + 2], screen.matrix[row + 3]
        for i in range(4 * width):
            along[i] = 0.0
        for column in range(0, row, 4):
            x = screen.rows[column * width : (column + 4) * width]
            a0, a1, a2, a3 = a[column], a[column + 1], a[column + 2], a[column + 3]
            b0, b1, b2, b3 = b[column], b[column + 1], b[column + 2], b[column + 3]
            c0, c1, c2, c3 = c[column], c[column + 1], c[column + 2], c[column + 3]
            e0, e1, e2, e3 = e[column], e[column + 1], e[column + 2], e[column + 3]
            for i in range(width):
                p, q, r, s = x[i], x[i + width], x[i + 2 * width], x[i + 3 * width]
                along[i] += (a0 * p + a1 * q) + (a2 * r + a3 * s)
                along[i + width] += (b0 * p + b1 * q) + (b2 * r + b3 * s)
                along[i + 2 * width] += (c0 * p + c1 * q) + (c2 * r + c3 * s)
                along[i + 3 * width] += (e0 * p + e1 * q) + (e2 * r + e3 * s)
        x = screen.rows[row * width : (row + 4) * width]
        a0, b0, b1, c0, c1, c2 = a[row], b[row], b[row + 1], c[row], c[row + 1], c[row + 2]
        e0, e1, e2, e3 = e[row], e[row + 1], e[row + 2], e[row + 3]
        for i in range(width):
            p, q, r, s = x[i], x[i + width], x[i + 2 * width], x[i + 3 * width]
            squares[i] += (
                p * (along[i] + a0 * p)
                + q * (along[i + width] + (b0 * p + b1 * q))
                + r * (along[i + 2 * width] + (c0 * p + c1 * q + c2 * r))
                + s * (along[i + 3 * width] + (e0 * p + e1 * q + e2 * r + e3 * s))
            )
