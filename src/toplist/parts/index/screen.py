"""Which dense items can be the next of a diverse list: a cheap upper bound for each, the exact value for a few.

A gain x has as many features as the items, but placed items have covered most of some topics. With the features in two
groups, the head and the rest, the width sqrt(x' A x) is at most sqrt(h' A h) + sqrt(r' A r), where h and r are the two
parts of x. The head's width is computed in single precision, with a bound on its rounding error; that of the rest is
bounded by sums of absolute values, d products per item. Items are then scored exactly, the largest bound first, until
an exact value is the largest. So the chosen item is the one that scoring every item would choose.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core.compiling import helper, routine
from toplist.core.coverage import MAXIMUM, gain
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.link import LOGISTIC, apply_link
from toplist.parts.index.select import is_contiguous, largest
from toplist.parts.memory.symmetric import ROWS, add_rows, dot

Singles = NDArray[np.float32]

TOGETHER = 128  # items whose bounds are computed together: their features stay in the second cache
REST = 0.05  # width of a typical item's rest, compared with that of the best item
ROUNDING = 2.0**-23  # twice the largest relative error of one operation in single precision
SLACK = 1e-9  # relative, far above the rounding of double precision


class Screen(NamedTuple):
    """Scratch space for the bounds."""

    peak: Floats  # per feature, the largest absolute value ...
    typical: Floats  # ... and the root of the mean square over all items
    order: Ints  # features, those with the widest gains first: the head, then the rest
    usual: Floats  # per feature, a typical gain ...
    wide: Floats  # ... and its width
    spread: Floats  # per feature of the rest, its factor in the bound
    row: Floats  # gain of one item ...
    product: Floats  # ... and its product with parts of the matrix
    # In single precision, relative to the width of the item that seems best, in the order of the features:
    matrix: Singles  # (d + 3, d + 3): the head's, its lower triangle, doubled off the diagonal
    factors: Singles  # (3, d + 3): of the features, of the head's widths, and of the rest's squares
    rows: Singles  # ((d + 3) * TOGETHER): features of some items
    along: Singles  # (4 * TOGETHER): products of four rows of the matrix
    sums: Singles  # (3 * TOGETHER): means, the head's sums of widths, the rest's squares
    squares: Floats  # (TOGETHER)
    known: Ints  # per item, whether its value is exact


def empty_screen(problem: Problem) -> Screen:
    """Nothing is known yet."""
    d = problem.features
    return Screen(
        peak=np.zeros(d),
        typical=np.zeros(d),
        order=np.arange(d),
        usual=np.zeros(d),
        wide=np.zeros(d),
        spread=np.zeros(d),
        row=np.zeros(d),
        product=np.zeros(d),
        matrix=np.zeros((d + 3, d + 3), dtype=np.float32),
        factors=np.zeros((3, d + 3), dtype=np.float32),
        rows=np.zeros((d + 3) * TOGETHER, dtype=np.float32),
        along=np.zeros(4 * TOGETHER, dtype=np.float32),
        sums=np.zeros(3 * TOGETHER, dtype=np.float32),
        squares=np.zeros(TOGETHER),
        known=np.zeros(problem.items, dtype=np.int64),
    )


@routine
def measure_features(screen: Screen, columns: Floats) -> None:
    """Fill the size of every feature."""
    for feature in range(len(columns)):
        peak, square, column = 0.0, 0.0, columns[feature]
        for item in range(len(column)):
            peak = max(peak, abs(column[item]))
            square += column[item] * column[item]
        screen.peak[feature] = peak
        screen.typical[feature] = math.sqrt(square / len(column))


@helper
def fill_gain(columns: Floats, item: int, covered: Floats, kind: int, row: Floats) -> None:
    """Fill the gain of one item."""
    for feature in range(len(row)):
        row[feature] = gain(columns[feature, item], covered[feature], kind)


@routine
def exact_width(inverse: Floats, row: Floats, product: Floats) -> float:
    """sqrt(x' A x), from the lower triangle of the matrix: blocks below the diagonal count twice."""
    d, total = len(row), 0.0
    for first in range(0, d, ROWS):
        end = min(first + ROWS, d)
        for i in range(first, end):
            product[i] = 0.0
        add_rows(row, inverse, first, end, first, product[first:end])
        total += dot(product[first:end], row[first:end])
    for i in range(d):
        product[i] = 0.0
    for first in range(ROWS, d, ROWS):
        add_rows(row, inverse, first, min(first + ROWS, d), 0, product[:first])
    return math.sqrt(max(total + 2.0 * dot(product, row), 0.0))


@routine
def sort_features(order: Ints, wide: Floats) -> None:
    """Sort the features, the widest first: Shell's method."""
    count, step = len(order), 1
    while step < count // 3:
        step = 3 * step + 1
    while step > 0:
        for i in range(step, count):
            feature, j = order[i], i
            width = wide[feature]
            while j >= step and wide[order[j - step]] < width:
                order[j] = order[j - step]
                j -= step
            order[j] = feature
        step //= 3


@routine
def split_features(screen: Screen, inverse: Floats, covered: Floats, left: Floats, kind: int, scale: float) -> int:
    """Put the widest features first and return the size of the head; fill the factors in the bound of the rest.

    With B the rest's matrix and u the typical gains, x' B x is at most the sum of x_i^2 s_i, s_i = sum over j of
    |B_ij| u_j / u_i, because 2 |x_i x_j| is at most x_i^2 u_j / u_i + x_j^2 u_i / u_j.
    """
    order, wide, usual, spread, d = screen.order, screen.wide, screen.usual, screen.spread, len(covered)
    for i in range(d):
        usual[i] = abs(gain(screen.peak[i] if kind == MAXIMUM else screen.typical[i], covered[i], kind))
        wide[i] = scale * usual[i] * math.sqrt(max(inverse[i, i], 0.0))
        spread[i] = 0.0
        order[i] = i  # so that the order of equals does not depend on earlier lists
    sort_features(order, wide)
    head, total = d, 0.0
    while head > 0:
        i = order[head - 1]
        if total + wide[i] * wide[i] > REST * REST:
            break
        line, own = inverse[i], scale * scale * usual[i]
        total += wide[i] * wide[i]
        gathered = wide[i] * wide[i]
        for other in range(head, d):
            j = order[other]
            both = abs(line[j]) * own * usual[j]
            gathered += both
            spread[j] += both
            total += 2.0 * both
        spread[i] = gathered
        head -= 1
    for place in range(head, d):
        i = order[place]
        if usual[i] > 0.0:
            spread[i] *= left[i] * left[i] / (usual[i] * usual[i])
    return head


@routine
def fill_head(belief: Any, screen: Screen, weights: Floats, left: Floats, scale: float, head: int) -> None:
    """Fill the head's matrix, zeros after it, and the factors of all features."""
    inverse, order = belief.inverse, screen.order
    for a in range(head):
        i = order[a]
        line, row, own = inverse[i], screen.matrix[a], 2.0 * scale * scale * left[i]
        for b in range(a):
            row[b] = own * left[order[b]] * line[order[b]]
        row[a] = 0.5 * own * left[i] * line[i]
    for a in range(head, head + 3):  # up to a multiple of four
        for b in range(a + 1):
            screen.matrix[a, b] = 0.0
    for place in range(len(order)):
        i = order[place]
        screen.factors[0, place] = weights[i]
        own = scale * abs(left[i]) * math.sqrt(max(inverse[i, i], 0.0))
        screen.factors[1, place] = own if place < head else 0.0
        screen.factors[2, place] = 0.0 if place < head else screen.spread[i]


@routine
def copy_features(
    screen: Screen, columns: Floats, candidates: Ints, begin: int, count: int, covered: Floats, kind: int
) -> None:
    """Copy the features of some candidates in the features' order; their gains if these are not in proportion."""
    order, first = screen.order, candidates[begin]
    contiguous = candidates[begin + count - 1] - first + 1 == count
    for place in range(len(order)):
        column, row = columns[order[place]], screen.rows[place * TOGETHER : place * TOGETHER + count]
        if kind == MAXIMUM:
            already = covered[order[place]]
            for i in range(count):
                row[i] = gain(column[candidates[begin + i]], already, MAXIMUM)
        elif contiguous and count == TOGETHER:
            here = column[first : first + TOGETHER]
            for i in range(TOGETHER):
                row[i] = here[i]
        else:
            for i in range(count):
                row[i] = column[candidates[begin + i]]


# The loops below run over all TOGETHER items, whatever their number, along flat arrays: for such loops LLVM needs no
# tests whether arrays overlap, and keeps more sums in registers.


@routine
def fill_sums(screen: Screen) -> None:
    """Fill the means, the head's sums of the widths of single features, and the bounds on the rest's squares."""
    sums, factors = screen.sums, screen.factors
    for i in range(3 * TOGETHER):
        sums[i] = 0.0
    for place in range(0, len(screen.order), 4):
        x = screen.rows[place * TOGETHER : (place + 4) * TOGETHER]
        a0, a1, a2, a3 = factors[0, place], factors[0, place + 1], factors[0, place + 2], factors[0, place + 3]
        b0, b1, b2, b3 = factors[1, place], factors[1, place + 1], factors[1, place + 2], factors[1, place + 3]
        c0, c1, c2, c3 = factors[2, place], factors[2, place + 1], factors[2, place + 2], factors[2, place + 3]
        for i in range(TOGETHER):
            p, q, r, s = x[i], x[i + TOGETHER], x[i + 2 * TOGETHER], x[i + 3 * TOGETHER]
            sums[i] += (a0 * p + a1 * q) + (a2 * r + a3 * s)
            sums[i + TOGETHER] += (b0 * abs(p) + b1 * abs(q)) + (b2 * abs(r) + b3 * abs(s))
            sums[i + 2 * TOGETHER] += (c0 * (p * p) + c1 * (q * q)) + (c2 * (r * r) + c3 * (s * s))


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


@routine
def fill_bounds(
    belief: Any, screen: Screen, columns: Floats, candidates: Ints, link: int, bonus: float, covered: Floats,
    kind: int, width: float, head: int, values: Floats,
) -> None:  # fmt: skip
    """Fill an upper bound of the value of each candidate that may be chosen; infinity where there is none."""
    sums, squares, d = screen.sums, screen.squares, len(covered)
    error, deep = ROUNDING * (d + 4), ROUNDING * (head // 4 + 12)  # of a sum over features, and of a square
    doubt = 0.0
    for i in range(d):
        doubt += error * abs(belief.theta[i] * gain(screen.peak[i], covered[i], kind))
    for begin in range(0, len(candidates), TOGETHER):
        count = min(TOGETHER, len(candidates) - begin)
        copy_features(screen, columns, candidates, begin, count, covered, kind)
        fill_sums(screen)
        fill_squares_of_head(screen, head)
        for i in range(TOGETHER):
            size, rest = (1.0 + error) * float(sums[i + TOGETHER]), (1.0 + error) * float(sums[i + 2 * TOGETHER])
            squares[i] = math.sqrt(max(squares[i] + deep * (size * size), 0.0)) + math.sqrt(rest)
        for i in range(TOGETHER):
            squares[i] = float(sums[i]) + doubt + bonus * width * (squares[i] + SLACK * (1.0 + squares[i]))
        if link == LOGISTIC:
            for i in range(count):
                total = float(sums[i]) + doubt
                squares[i] += apply_link(total, link) - total
        keep_bounds(screen, candidates[begin : begin + count], values)


@routine
def keep_bounds(screen: Screen, candidates: Ints, values: Floats) -> None:
    """Set the values of some candidates to their bounds, unless they are not to be chosen."""
    bounds, count, first = screen.squares, len(candidates), candidates[0]
    if is_contiguous(candidates):
        here, known = values[first : first + count], screen.known[first : first + count]
        for i in range(count):
            bound = bounds[i] if bounds[i] < np.inf else np.inf  # single precision may overflow
            here[i] = bound if here[i] > -np.inf else -np.inf
        for i in range(count):
            known[i] = 0
        return
    for i in range(count):
        item = candidates[i]
        screen.known[item] = 0
        if values[item] > -np.inf:
            values[item] = bounds[i] if bounds[i] < np.inf else np.inf


@routine
def score_contenders(
    belief: Any, screen: Screen, columns: Floats, weights: Floats, left: Floats, request: Request, link: int,
    bonus: float, covered: Floats, kind: int, values: Floats,
) -> bool:  # fmt: skip
    """Score the gains that can have the largest value; each of the others gets an upper bound below that.

    On entry, `values` are those before the last item was placed, with -inf for items that are not to be chosen. Returns
    whether there were bounds: there are none if the item that seems best has a width of 0.
    """
    candidates = request.candidates
    best = largest(values, candidates, request.labels, request.key)  # it probably still is
    if values[best] == -np.inf:
        return True
    fill_gain(columns, best, covered, kind, screen.row)
    width = exact_width(belief.inverse, screen.row, screen.product)
    if not width > 0.0:
        return False
    head = split_features(screen, belief.inverse, covered, left, kind, 1.0 / width)
    fill_head(belief, screen, weights, left, 1.0 / width, head)
    fill_bounds(belief, screen, columns, candidates, link, bonus, covered, kind, width, head, values)
    while screen.known[best] == 0:
        fill_gain(columns, best, covered, kind, screen.row)
        width = exact_width(belief.inverse, screen.row, screen.product)
        values[best] = apply_link(dot(belief.theta, screen.row), link) + bonus * width
        screen.known[best] = 1
        best = largest(values, candidates, request.labels, request.key)
    return True
