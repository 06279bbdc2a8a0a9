"""Kernels of the fused loops over features: argmax, sums over blocks of items, rank-one updates."""

from __future__ import annotations

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.slate import Floats, Ints

BLOCK = 256  # items scored together: their sums stay in the nearest cache


@helper
def best(value: Floats) -> int:
    """Index of the largest value."""
    count = len(value)
    most = -np.inf
    where = 0
    i = 0
    while i + 4 <= count:
        # One comparison for four items, almost always false.
        if max(value[i], value[i + 1], value[i + 2], value[i + 3]) > most:
            for each in range(i, i + 4):
                if value[each] > most:
                    most, where = value[each], each
        i += 4
    while i < count:
        if value[i] > most:
            most, where = value[i], i
        i += 1
    return where


@helper
def best_few(value: Floats, chosen: Ints) -> None:
    """The items with the largest values, the largest first."""
    wanted = len(chosen)
    filled = 0
    worst = -np.inf
    for item in range(len(value)):
        if value[item] <= worst:
            continue
        filled = min(filled + 1, wanted)
        position = filled - 1
        while position > 0 and value[chosen[position - 1]] < value[item]:
            chosen[position] = chosen[position - 1]
            position -= 1
        chosen[position] = item
        if filled == wanted:
            worst = value[chosen[wanted - 1]]


@routine
def weigh_squares(
    columns: Floats, begin: int, end: int, weights: Floats, matrix: Floats, value: Floats, square: Floats
) -> None:
    """Fill weights'x and half of x'Mx for each item of a block, two rows and four columns of the matrix at a time.

    The matrix is symmetric and flat, row after row.
    """
    d, count = len(weights), end - begin
    for i in range(count):
        value[i] = 0.0
        square[i] = 0.0
    for row in range(0, d - 1, 2):
        x, y = columns[row, begin:end], columns[row + 1, begin:end]
        upper, lower = matrix[row * d : row * d + d], matrix[row * d + d : row * d + 2 * d]
        own, both, other = 0.5 * upper[row], lower[row], 0.5 * lower[row + 1]
        a, b = weights[row], weights[row + 1]
        for i in range(count):
            value[i] += a * x[i] + b * y[i]
            square[i] += x[i] * (own * x[i] + both * y[i]) + other * y[i] * y[i]
        column = 0
        while column + 4 <= row:
            a, b, c, e = upper[column], upper[column + 1], upper[column + 2], upper[column + 3]
            f, g, h, k = lower[column], lower[column + 1], lower[column + 2], lower[column + 3]
            p, q = columns[column, begin:end], columns[column + 1, begin:end]
            r, s = columns[column + 2, begin:end], columns[column + 3, begin:end]
            for i in range(count):
                square[i] += x[i] * ((a * p[i] + b * q[i]) + (c * r[i] + e * s[i])) + y[i] * (
                    (f * p[i] + g * q[i]) + (h * r[i] + k * s[i])
                )
            column += 4
        while column < row:
            a, b, p = upper[column], lower[column], columns[column, begin:end]
            for i in range(count):
                square[i] += p[i] * (a * x[i] + b * y[i])
            column += 1
    if d % 2 == 1:
        last = d - 1
        x, own = columns[last, begin:end], 0.5 * matrix[last * d + last]
        for i in range(count):
            value[i] += weights[last] * x[i]
            square[i] += own * x[i] * x[i]
        for column in range(last):
            a, p = matrix[last * d + column], columns[column, begin:end]
            for i in range(count):
                square[i] += a * p[i] * x[i]


@routine
def weigh(columns: Floats, begin: int, count: int, weights: Floats, sums: Floats) -> None:
    """Fill the sum of weights times features for each item of a block, four features at a time."""
    for i in range(count):
        sums[i] = 0.0
    feature = 0
    while feature + 4 <= len(weights):
        a, b, c, e = weights[feature], weights[feature + 1], weights[feature + 2], weights[feature + 3]
        first = columns[feature, begin : begin + count]
        second = columns[feature + 1, begin : begin + count]
        third = columns[feature + 2, begin : begin + count]
        fourth = columns[feature + 3, begin : begin + count]
        for i in range(count):
            sums[i] += (a * first[i] + b * second[i]) + (c * third[i] + e * fourth[i])
        feature += 4
    while feature < len(weights):
        a = weights[feature]
        first = columns[feature, begin : begin + count]
        for i in range(count):
            sums[i] += a * first[i]
        feature += 1


@routine
def observe(inverse: Floats, row: Floats, noise: float, direction: Floats) -> float:
    """Update the inverse for x x' / noise added to its matrix: subtract shrink direction direction'; return shrink."""
    d = len(row)
    for i in range(d):
        direction[i] = 0.0
    for j in range(d):
        x = row[j]
        if x != 0.0:
            for i in range(d):
                direction[i] += inverse[j, i] * x
    width = 0.0
    for j in range(d):
        width += row[j] * direction[j]
    shrink = 1.0 / (noise + width)
    for i in range(d):
        scaled = shrink * direction[i]
        for j in range(d):
            inverse[i, j] -= scaled * direction[j]
    return shrink
