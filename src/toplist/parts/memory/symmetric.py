"""Symmetric positive definite matrices: products, factors, inverses, and rank-one updates of an inverse.

Every inner loop runs along rows, and every sum has a fixed order: loops are vectorised, and results are the same
everywhere.
"""

from __future__ import annotations

import math

from toplist.core.compiling import helper, routine
from toplist.core.slate import Floats

ROWS = 32  # rows per step where a triangle is treated as a staircase
FEW_ROWS = 48  # up to this number, sums in registers are faster than loops along rows


@helper
def dot(first: Floats, second: Floats) -> float:
    """The dot product, as four sums that do not depend on each other."""
    a, b, c, e = 0.0, 0.0, 0.0, 0.0
    i, end = 0, len(first)
    while i + 4 <= end:
        a += first[i] * second[i]
        b += first[i + 1] * second[i + 1]
        c += first[i + 2] * second[i + 2]
        e += first[i + 3] * second[i + 3]
        i += 4
    while i < end:
        a += first[i] * second[i]
        i += 1
    return (a + b) + (c + e)


@routine
def add_rows(factors: Floats, matrix: Floats, first: int, end: int, column: int, sums: Floats) -> None:
    """Add factors[k] times row k, from a column on, to `sums`, for k from `first` to `end` - 1.

    Four at a time, so that the sums are loaded and stored once for all of them. At the end, factors of 0 fill up the
    four: on a GPU, threads with different numbers of rows would otherwise take turns.
    """
    count, k, last = len(sums), first, end - 1
    here = slice(column, column + count)
    while k + 2 <= end:
        third, fourth = min(k + 2, last), min(k + 3, last)
        a, b = factors[k], factors[k + 1]
        c, e = factors[third] if k + 2 <= last else 0.0, factors[fourth] if k + 3 <= last else 0.0
        if a != 0.0 or b != 0.0 or c != 0.0 or e != 0.0:  # features may be sparse
            w, x, y, z = matrix[k, here], matrix[k + 1, here], matrix[third, here], matrix[fourth, here]
            for i in range(count):
                sums[i] += (a * w[i] + b * x[i]) + (c * y[i] + e * z[i])
        k += 4
    if k == last:
        a, w = factors[k], matrix[k, here]
        if a != 0.0:
            for i in range(count):
                sums[i] += a * w[i]


@routine
def add_square(matrix: Floats, row: Floats, precision: float) -> None:
    """Add precision x x' to the upper triangle."""
    for i in range(len(row)):
        if row[i] != 0.0:
            scaled, line, rest = precision * row[i], matrix[i, i:], row[i:]
            for j in range(len(rest)):
                line[j] += scaled * rest[j]


@routine
def mirror(matrix: Floats) -> None:
    """Copy the upper triangle to the lower one."""
    for i in range(len(matrix)):
        for j in range(i):
            matrix[i, j] = matrix[j, i]


@routine
def multiply(matrix: Floats, vector: Floats, product: Floats) -> None:
    """Fill the product of a symmetric matrix and a vector."""
    for i in range(len(product)):
        product[i] = 0.0
    add_rows(vector, matrix, 0, len(vector), 0, product)


@routine
def shrink_inverse(inverse: Floats, row: Floats, precision: float, direction: Floats) -> float:
    """Update the inverse for precision x x' added to its matrix: subtract shrink direction direction'; returns shrink.

    The Sherman-Morrison formula. A negative precision removes an earlier term.
    """
    multiply(inverse, row, direction)
    shrink = precision / (1.0 + precision * dot(row, direction))
    for i in range(len(row)):
        scaled, line = shrink * direction[i], inverse[i]
        for j in range(len(row)):
            line[j] -= scaled * direction[j]
    return float(shrink)


@routine
def cholesky(matrix: Floats, upper: Floats) -> None:
    """Fill the upper triangle U with U'U = matrix; only the upper triangle of the matrix is read."""
    d = len(matrix)
    for i in range(d):
        line = upper[i, i:]
        for j in range(d - i):
            line[j] = -matrix[i, i + j]
        add_rows(upper[:, i], upper, 0, i, i, line)
        scale = -1.0 / math.sqrt(-line[0])
        for j in range(d - i):
            line[j] *= scale


@routine
def invert(matrix: Floats, work: Floats, inverse: Floats) -> None:
    """Fill the inverse of a matrix, of which only the upper triangle is read; `work` has the same shape.

    With T = U'^-1, which is lower triangular, it is T'T, a sum over the rows of T.
    """
    d = len(matrix)
    cholesky(matrix, inverse)
    for i in range(d):
        line = work[i]
        for j in range(d):
            line[j] = 0.0
        for first in range(0, i, ROWS):
            end = min(first + ROWS, i)
            add_rows(inverse[:, i], work, first, end, 0, line[:end])  # beyond their diagonal, rows of T are zero
        scale = -1.0 / inverse[i, i]
        for j in range(i):
            line[j] *= scale
        line[i] = -scale
    for i in range(d):
        line = inverse[i, : i + 1]
        for j in range(i + 1):
            line[j] = 0.0
        add_rows(work[:, i], work, i, d, 0, line)
    for i in range(d):
        for j in range(i):
            inverse[j, i] = inverse[i, j]


@routine
def factor_few(matrix: Floats, upper: Floats) -> None:
    """`cholesky` for few rows, where loops along rows are too short to pay: two rows at a time, sums in registers.

    The diagonal is filled with the reciprocals that solving needs.
    """
    d, i = len(matrix), 0
    while i + 2 <= d:
        one, both, two = matrix[i, i], matrix[i, i + 1], matrix[i + 1, i + 1]
        for k in range(i):
            a, b = upper[k, i], upper[k, i + 1]
            one, both, two = one - a * a, both - a * b, two - b * b
        first = 1.0 / math.sqrt(one)
        both *= first
        second = 1.0 / math.sqrt(two - both * both)
        upper[i, i], upper[i, i + 1], upper[i + 1, i + 1] = first, both, second
        j = i + 2
        while j + 4 <= d:
            p, q, r, s = matrix[i, j], matrix[i, j + 1], matrix[i, j + 2], matrix[i, j + 3]
            t, u, v, w = matrix[i + 1, j], matrix[i + 1, j + 1], matrix[i + 1, j + 2], matrix[i + 1, j + 3]
            for k in range(i):
                a, b = upper[k, i], upper[k, i + 1]
                x, y, z, e = upper[k, j], upper[k, j + 1], upper[k, j + 2], upper[k, j + 3]
                p, q, r, s = p - a * x, q - a * y, r - a * z, s - a * e
                t, u, v, w = t - b * x, u - b * y, v - b * z, w - b * e
            p, q, r, s = first * p, first * q, first * r, first * s
            upper[i, j], upper[i, j + 1], upper[i, j + 2], upper[i, j + 3] = p, q, r, s
            upper[i + 1, j], upper[i + 1, j + 1] = second * (t - both * p), second * (u - both * q)
            upper[i + 1, j + 2], upper[i + 1, j + 3] = second * (v - both * r), second * (w - both * s)
            j += 4
        while j < d:
            p, t = matrix[i, j], matrix[i + 1, j]
            for k in range(i):
                x = upper[k, j]
                p, t = p - upper[k, i] * x, t - upper[k, i + 1] * x
            p *= first
            upper[i, j], upper[i + 1, j] = p, second * (t - both * p)
            j += 1
        i += 2
    if i < d:
        one = matrix[i, i]
        for k in range(i):
            one -= upper[k, i] * upper[k, i]
        upper[i, i] = 1.0 / math.sqrt(one)


@routine
def factor(matrix: Floats, upper: Floats) -> None:
    """`cholesky`, with reciprocals on the diagonal."""
    if len(matrix) <= FEW_ROWS:
        factor_few(matrix, upper)
        return
    cholesky(matrix, upper)
    for i in range(len(matrix)):
        upper[i, i] = 1.0 / upper[i, i]


@routine
def solve_lower(upper: Floats, sums: Floats) -> None:
    """Replace b by the solution y of U'y = b, for U as `factor` fills it."""
    for i in range(len(sums)):
        own, line = sums[i] * upper[i, i], upper[i]
        sums[i] = own
        for j in range(i + 1, len(sums)):
            sums[j] -= own * line[j]


@routine
def solve_upper(upper: Floats, sums: Floats) -> None:
    """Replace y by the solution x of U x = y, for U as `factor` fills it."""
    for i in range(len(sums) - 1, -1, -1):
        sums[i] = (sums[i] - dot(upper[i, i + 1 :], sums[i + 1 :])) * upper[i, i]
