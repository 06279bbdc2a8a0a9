"""Which dense items can be the next of a diverse list: a cheap upper bound for each, the exact value for a few.

A gain x has as many features as the items, but placed items have covered most of some topics. With the features in two
groups, the head and the rest, the width sqrt(x' A x) is at most sqrt(h' A h) + sqrt(r' A r), where h and r are the two
parts of x. The head's width is computed in single precision, with a bound on its rounding error; that of the rest is
bounded by sums of absolute values, d products per item. The item with the largest bound is then scored exactly, and so
is every other whose bound reaches the largest exact value. So the chosen item is the one that scoring every item would
choose.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.coverage import MAXIMUM, gain
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.link import LOGISTIC, apply_link
from toplist.parts.index.screen_tiles import TOGETHER, Screen, copy_head, copy_tile, fill_squares_of_head, fill_sums
from toplist.parts.index.select import is_contiguous, largest
from toplist.parts.memory.symmetric import ROWS, add_rows, dot

REST = 0.035  # width of a typical item's rest, compared with that of all its features
ROUNDING = 2.0**-23  # twice the largest relative error of one operation in single precision
TINY, LARGE = 2.0**-100, 2.0**60  # squares that do not matter, and sizes whose squares may overflow single precision
ROOT_2 = math.sqrt(2.0)
SLACK = 1e-6  # relative, for the last few operations in single precision


@helper
def typical_gain(screen: Screen, feature: int, covered: Floats, kind: int) -> float:
    """The size of a typical item's gain in one feature; 0 only if all gains are."""
    return abs(gain(screen.peak[feature] if kind == MAXIMUM else screen.typical[feature], covered[feature], kind))


@routine
def typical_width(screen: Screen, inverse: Floats, covered: Floats, kind: int) -> float:
    """About the width of a typical item: that of its features alone."""
    total = 0.0
    for i in range(len(covered)):
        usual = typical_gain(screen, i, covered, kind)
        total += usual * usual * max(inverse[i, i], 0.0)
    return math.sqrt(total)


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
def order_features(order: Ints, wide: Floats, begin: Ints) -> None:
    """Put wide features before narrow ones, by classes of widths within a factor of the root of 2.

    Within a class, features keep their order: bounds need no more.
    """
    classes = len(begin)
    for each in range(classes):
        begin[each] = 0
    for i in range(len(wide)):
        begin[width_class(wide[i], classes)] += 1
    place = 0
    for each in range(classes):
        place, begin[each] = place + begin[each], place
    for i in range(len(wide)):
        each = width_class(wide[i], classes)
        order[begin[each]] = i
        begin[each] += 1


@helper
def width_class(wide: float, classes: int) -> int:
    """The number of the class of a width, relative to a typical one."""
    square = wide * wide
    return int(min(max(1 - math.frexp(square)[1], 0), classes - 1)) if square > 0.0 else classes - 1


@routine
def split_features(screen: Screen, inverse: Floats, covered: Floats, left: Floats, kind: int, scale: float) -> int:
    """Put the widest features first and return the size of the head; fill the factors in the bound of the rest.

    With B the rest's matrix and u the typical gains, x' B x is at most the sum of x_i^2 s_i, s_i = sum over j of
    |B_ij| u_j / u_i, because 2 |x_i x_j| is at most x_i^2 u_j / u_i + x_j^2 u_i / u_j.
    """
    order, wide, usual, spread, d = screen.order, screen.wide, screen.usual, screen.spread, len(covered)
    for i in range(d):
        usual[i] = scale * typical_gain(screen, i, covered, kind)
        wide[i] = usual[i] * math.sqrt(max(inverse[i, i], 0.0))
        spread[i] = 0.0
    order_features(order, wide, screen.classes)
    head, total = d, 0.0
    while head > 0:
        i = order[head - 1]
        total += wide[i] * wide[i] + 2.0 * usual[i] * spread[i]
        if total > REST * REST:
            break
        line, own = inverse[i], usual[i]
        for j in range(d):  # vectorised
            spread[j] += abs(line[j]) * own
        head -= 1
    for place in range(head, d):
        i = order[place]
        spread[i] = spread[i] * left[i] * left[i] * scale * scale / usual[i] if usual[i] > 0.0 else 0.0
    return head


@routine
def fill_head(belief: Any, screen: Screen, weights: Floats, left: Floats, scale: float, head: int) -> None:
    """Fill the head's matrix, zeros after it, and the factors of all features."""
    inverse, order, shares = belief.inverse, screen.order, screen.shares
    for a in range(head):
        shares[a] = ROOT_2 * scale * left[order[a]]
    for a in range(head):
        line, row = inverse[order[a]], screen.matrix[a]
        for b in range(a):
            row[b] = line[order[b]]
        row[a] = 0.5 * line[order[a]]
    for a in range(head, head + 3):  # up to a multiple of four
        for b in range(a + 1):
            screen.matrix[a, b] = 0.0
    for i in range(len(order)):
        screen.factors[0, i], screen.factors[1, i] = weights[i], screen.spread[i]
    for a in range(head):
        screen.factors[1, order[a]] = 0.0


@routine
def fill_bounds(
    belief: Any, screen: Screen, columns: Floats, candidates: Ints, link: int, bonus: float, covered: Floats,
    kind: int, width: float, head: int, values: Floats,
) -> None:  # fmt: skip
    """Fill an upper bound of the value of each candidate that may be chosen; infinity where there is none."""
    squares, sums, d = screen.squares, screen.sums, len(covered)
    error, deep = ROUNDING * (d + 4), ROUNDING * (head // 4 + 16)  # of a sum over features, and of a square
    doubt, size = 0.0, 0.0  # of a mean; and the largest sum of the widths of the head's single features
    for i in range(d):
        doubt += error * abs(belief.theta[i] * gain(screen.peak[i], covered[i], kind))
    for a in range(head):
        i = screen.order[a]
        size += abs(gain(screen.peak[i], covered[i], kind)) * math.sqrt(max(belief.inverse[i, i], 0.0)) / width
    screen.margin[0] = deep * size * size + TINY if size < LARGE else np.inf
    screen.margin[1] = 1.0 + error
    for begin in range(0, len(candidates), TOGETHER):
        some = candidates[begin : begin + TOGETHER]
        tile, number = screen.tile, some[0] // TOGETHER
        if kind != MAXIMUM and some[0] % TOGETHER == 0 and is_contiguous(some):
            tile = screen.tiles[number * len(tile) : (number + 1) * len(tile)]
        else:
            copy_tile(screen, columns, some, covered, kind)
        fill_sums(screen, tile)
        copy_head(screen, tile, head)
        fill_squares_of_head(screen, head)
        more, times = screen.margin[0], screen.margin[1]
        for i in range(TOGETHER):
            squares[i] = math.sqrt(max(squares[i] + more, more))
        for i in range(TOGETHER):
            sums[i + TOGETHER] = math.sqrt(times * sums[i + TOGETHER])
        for i in range(TOGETHER):
            squares[i] += sums[i + TOGETHER]
        keep_bounds(screen, some, link, doubt, bonus * width * (1.0 + SLACK), values)


@routine
def keep_bounds(screen: Screen, candidates: Ints, link: int, doubt: float, scale: float, values: Floats) -> None:
    """Set the values of some candidates to their bounds, unless they are not to be chosen."""
    sums, widths, count, first = screen.sums, screen.squares, len(candidates), candidates[0]
    if link != LOGISTIC and is_contiguous(candidates):
        here, known = values[first : first + count], screen.known[first : first + count]
        for i in range(count):
            bound = float(sums[i]) + doubt + scale * float(widths[i])
            bound = bound if bound < np.inf else np.inf  # single precision may overflow
            here[i] = bound if here[i] > -np.inf else -np.inf
        for i in range(count):
            known[i] = 0
        return
    for i in range(count):
        item = candidates[i]
        screen.known[item] = 0
        if values[item] > -np.inf:
            bound = apply_link(float(sums[i]) + doubt, link) + scale * float(widths[i])
            values[item] = bound if bound < np.inf else np.inf


@routine
def score_contenders(
    belief: Any, screen: Screen, columns: Floats, weights: Floats, left: Floats, request: Request, link: int,
    bonus: float, covered: Floats, kind: int, values: Floats,
) -> bool:  # fmt: skip
    """Score the gains that can have the largest value; each of the others gets an upper bound below that.

    On entry, `values` are those before the last item was placed, with -inf for items that are not to be chosen. Returns
    whether there were bounds: there are none if a typical item has a width of 0.
    """
    candidates = request.candidates
    width = typical_width(screen, belief.inverse, covered, kind)
    if not width > 0.0:
        return False
    head = split_features(screen, belief.inverse, covered, left, kind, 1.0 / width)
    fill_head(belief, screen, weights, left, 1.0 / width, head)
    fill_bounds(belief, screen, columns, candidates, link, bonus, covered, kind, width, head, values)
    best = largest(values, candidates, request.labels, request.key)
    if values[best] == -np.inf:
        return True
    most = score_exactly(belief, screen, request, best, link, bonus, covered, kind, values)
    found = list_contenders(screen, candidates, values, most)
    while found > 0:  # the largest bound first, so that few are left
        at = 0
        for i in range(1, found):
            at = i if values[screen.contenders[i]] > values[screen.contenders[at]] else at
        item = screen.contenders[at]
        if values[item] < most:
            break
        most = max(most, score_exactly(belief, screen, request, item, link, bonus, covered, kind, values))
        found -= 1
        screen.contenders[at] = screen.contenders[found]
    return True


@helper
def list_contenders(screen: Screen, candidates: Ints, values: Floats, most: float) -> int:
    """List the candidates whose bound reaches the largest exact value; their number."""
    found = 0
    for begin in range(0, len(candidates), TOGETHER):
        some = candidates[begin : begin + TOGETHER]
        if is_contiguous(some) and not reaches(values[some[0] : some[0] + len(some)], most):
            continue
        for i in range(len(some)):
            if values[some[i]] >= most and screen.known[some[i]] == 0:
                screen.contenders[found] = some[i]
                found += 1
    return found


@helper
def reaches(values: Floats, least: float) -> bool:
    """Whether one of the values reaches a bound; vectorised, and mostly none does."""
    reaching = 0
    for i in range(len(values)):
        reaching += 1 if values[i] >= least else 0
    return reaching > 0


@routine
def score_exactly(
    belief: Any, screen: Screen, request: Request, item: int, link: int, bonus: float, covered: Floats, kind: int,
    values: Floats,
) -> float:  # fmt: skip
    """Fill the value of one item, and return it."""
    for feature in range(len(covered)):
        screen.row[feature] = gain(request.features[item, feature], covered[feature], kind)
    width = exact_width(belief.inverse, screen.row, screen.product)
    values[item], screen.known[item] = apply_link(dot(belief.theta, screen.row), link) + bonus * width, 1
    return float(values[item])
