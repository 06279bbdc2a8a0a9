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
from toplist.parts.index.screen_tiles import (
    FEWER,
    LEVELS,
    ROUNDING,
    TOGETHER,
    Screen,
    Singles,
    add_means,
    add_squares,
    copy_head,
    copy_tile,
    fill_sums,
)
from toplist.parts.index.select import is_contiguous, largest
from toplist.parts.memory.symmetric import dot

RESTS = (0.07, 0.025)  # per level: width of a typical item's rest around its mean, compared with that of all features
FEW = 8  # contenders that are scored exactly at once
TINY, LARGE = 2.0**-100, 2.0**60  # squares that do not matter, and sizes whose squares may overflow single precision
ROOT_2 = math.sqrt(2.0)
SLACK = 1e-6  # relative, for the last few operations in single precision


@helper
def typical_gain(screen: Screen, feature: int, covered: Floats, kind: int) -> float:
    """The size of a typical item's gain in one feature; 0 only if all gains are."""
    return abs(gain(screen.peak[feature] if kind == MAXIMUM else screen.typical[feature], covered[feature], kind))


@helper
def typical_width(screen: Screen, inverse: Floats, covered: Floats, kind: int) -> float:
    """About the width of a typical item: that of its features alone. The roots of the diagonal are filled, too."""
    total = 0.0
    for i in range(len(covered)):
        screen.roots[i] = math.sqrt(max(inverse[i, i], 0.0))
        usual = typical_gain(screen, i, covered, kind) * screen.roots[i]
        total += usual * usual
    return math.sqrt(total)


@routine
def exact_width(inverse: Floats, row: Floats, product: Floats) -> float:
    """sqrt(x' A x), from the lower triangle of the matrix: four rows at a time, whose part at the diagonal is apart."""
    d, half, k = len(row), 0.0, 0
    for i in range(d):
        product[i] = 0.0
    while k + 4 <= d:
        a, b, c, e = row[k], row[k + 1], row[k + 2], row[k + 3]
        w, x, y, z = inverse[k], inverse[k + 1], inverse[k + 2], inverse[k + 3]
        half += 0.5 * ((a * a * w[k] + b * b * x[k + 1]) + (c * c * y[k + 2] + e * e * z[k + 3]))
        half += (a * b * x[k] + c * (a * y[k] + b * y[k + 1])) + e * (a * z[k] + b * z[k + 1] + c * z[k + 2])
        for i in range(k):
            product[i] += (a * w[i] + b * x[i]) + (c * y[i] + e * z[i])
        k += 4
    while k < d:
        a, w = row[k], inverse[k]
        half += 0.5 * a * a * w[k]
        for i in range(k):
            product[i] += a * w[i]
        k += 1
    return math.sqrt(max(2.0 * (half + dot(product, row)), 0.0))


@routine
def order_features(order: Ints, wide: Floats, begin: Ints, ranks: Ints) -> None:
    """Put wide features before narrow ones, by classes of widths within a factor of the root of 2.

    Within a class, features keep their order: bounds need no more.
    """
    classes = len(begin)
    for each in range(classes):
        begin[each] = 0
    for i in range(len(wide)):
        ranks[i] = width_class(wide[i], classes)
        begin[ranks[i]] += 1
    place = 0
    for each in range(classes):
        place, begin[each] = place + begin[each], place
    for i in range(len(wide)):
        order[begin[ranks[i]]] = i
        begin[ranks[i]] += 1


@helper
def width_class(wide: float, classes: int) -> int:
    """The number of the class of a width, relative to a typical one."""
    square = wide * wide
    return int(min(max(1 - math.frexp(square)[1], 0), classes - 1)) if square > 0.0 else classes - 1


@helper
def split_features(screen: Screen, inverse: Floats, covered: Floats, left: Floats, kind: int, scale: float) -> None:
    """Put the widest features first, and fill the sizes of the heads and the factors of features in the bounds.

    With B the rest's matrix and u the typical distances, x' B x is at most the sum of x_i^2 s_i, s_i = sum over j of
    |B_ij| u_j / u_i, because 2 |x_i x_j| is at most x_i^2 u_j / u_i + x_j^2 u_i / u_j.
    """
    order, wide, usual, d = screen.order, screen.wide, screen.usual, len(covered)
    spread, mean = screen.spread, screen.mean
    for i in range(d):
        around = typical_gain(screen, i, covered, kind) if kind == MAXIMUM else screen.around[i] * abs(left[i])
        usual[i] = scale * around
        wide[i] = usual[i] * screen.roots[i]
        spread[i], mean[i] = 0.0, 0.0
    order_features(order, wide, screen.classes, screen.ranks)
    head, total, level = d, 0.0, LEVELS - 1
    while level >= 0:
        group = order[max(head - (head % 4 if head % 4 > 0 else 4), 0) : head]  # heads are multiples of four
        for i in group:
            total += wide[i] * wide[i] + 2.0 * usual[i] * spread[i]
        while level >= 0 and (head == 0 or (total > RESTS[level] * RESTS[level] and head % 4 == 0)):
            keep_level(screen, left, scale, level, head)
            level -= 1
        if level >= 0:
            add_to_rest(screen, inverse, group, left, kind)
            head -= len(group)


@helper
def add_to_rest(screen: Screen, inverse: Floats, group: Ints, left: Floats, kind: int) -> None:
    """Add up to four features to the rest: their part of its factors, and of its mean's product with the matrix."""
    spread, mean, usual, centre = screen.spread, screen.mean, screen.usual, screen.centre
    times = 0.0 if kind == MAXIMUM else 1.0
    if len(group) == 4:  # at once, so that the sums are loaded and stored once for all of them
        i, j, k, m = group[0], group[1], group[2], group[3]
        p, q, r, s = usual[i], usual[j], usual[k], usual[m]
        a, b = times * left[i] * float(centre[i]), times * left[j] * float(centre[j])
        c, e = times * left[k] * float(centre[k]), times * left[m] * float(centre[m])
        w, x, y, z = inverse[i], inverse[j], inverse[k], inverse[m]
        for i in range(len(spread)):
            spread[i] += (abs(w[i]) * p + abs(x[i]) * q) + (abs(y[i]) * r + abs(z[i]) * s)
            mean[i] += (w[i] * a + x[i] * b) + (y[i] * c + z[i] * e)
        return
    for j in group:
        p, a, w = usual[j], times * left[j] * float(centre[j]), inverse[j]
        for i in range(len(spread)):
            spread[i] += abs(w[i]) * p
            mean[i] += w[i] * a


@helper
def keep_level(screen: Screen, left: Floats, scale: float, level: int, head: int) -> None:
    """Keep the size of a level's head, and the factors of all features at that level."""
    order, spreads, means, d = screen.order, screen.spreads[level], screen.means[level], len(left)
    extra = 0.0
    for place in range(d):
        i = order[place]
        if place < head:
            spreads[i], means[place] = 0.0, ROOT_2 * scale * screen.mean[i]
        else:
            usual = screen.usual[i]
            spreads[i] = screen.spread[i] * left[i] * left[i] * scale * scale / usual if usual > 0.0 else 0.0
            extra += left[i] * float(screen.centre[i]) * screen.mean[i]
    for place in range(head, head + 3):
        means[place] = 0.0
    screen.heads[level], screen.extra[level] = head, scale * scale * extra


@routine
def fill_head(
    inverse: Floats, order: Ints, left: Floats, scale: float, first: int, head: int, shares: Singles, matrix: Singles
) -> None:
    """Fill the head's matrix from row `first` on, and zeros after it."""
    for a in range(first, head):
        shares[a] = ROOT_2 * scale * left[order[a]]
        line, row = inverse[order[a]], matrix[a]
        for b in range(a):
            row[b] = line[order[b]]
        row[a] = 0.5 * line[order[a]]
    for a in range(head, head + 3):  # up to a multiple of four
        for b in range(a + 1):
            matrix[a, b] = 0.0


@routine
def fill_margins(
    theta: Floats, roots: Floats, peaks: Floats, head: Ints, spreads: Singles, extra: float, covered: Floats,
    kind: int, scale: float, margin: Singles,
) -> float:  # fmt: skip
    """Fill the margins against rounding at a level, given the features of its head; return the largest error of a mean.

    `spreads` and `extra` are those of the level.
    """
    d = len(covered)
    error, deep = ROUNDING * (d + 4), ROUNDING * (len(head) // 4 + 18)  # of a sum over features, and of a square
    doubt, size, apart = 0.0, math.sqrt(max(extra, 0.0)), 0.0
    for i in range(d):
        doubt += error * abs(theta[i]) * abs(gain(peaks[i], covered[i], kind))
        apart += float(spreads[i]) * peaks[i] * peaks[i]
    for i in head:  # the largest sum of the widths of single features
        size += abs(gain(peaks[i], covered[i], kind)) * roots[i] * scale
    margin[0] = deep * size * size + TINY if size < LARGE else np.inf
    margin[1] = 1.0 + error
    margin[2] = ROUNDING * math.sqrt(apart)
    return doubt


@helper
def level_margins(belief: Any, screen: Screen, covered: Floats, kind: int, width: float, level: int) -> float:
    """Fill the margins of a level, and return the largest error of a mean."""
    return fill_margins(
        belief.theta, screen.roots, screen.peak, screen.order[: screen.heads[level]], screen.spreads[level],
        screen.extra[level], covered, kind, 1.0 / width, screen.margin,
    )  # fmt: skip


@helper
def fill_bounds(
    screen: Screen, tile: Singles, width: int, candidates: Ints, link: int, doubt: float, scale: float, level: int,
    kind: int, values: Floats,
) -> None:  # fmt: skip
    """Set the values of a tile's candidates to their bounds, from the squares of their heads."""
    squares, sums, head = screen.squares, screen.sums, screen.heads[level]
    fill_sums(screen, tile, width, screen.spreads[level], screen.nothing if kind == MAXIMUM else screen.centre)
    if kind != MAXIMUM:
        add_means(screen, width, head, screen.means[level])
    more, times, apart = screen.margin[0], screen.margin[1], screen.margin[2]
    least, more = more, more + np.float32(screen.extra[level])
    for i in range(width):
        squares[i] = math.sqrt(max(squares[i] + more, least))
    for i in range(width):
        sums[i + width] = math.sqrt(times * sums[i + width])
    for i in range(width):
        squares[i] += sums[i + width] + apart
    keep_bounds(sums, squares, candidates, link, doubt, scale, screen.known, values)


@routine
def keep_bounds(
    sums: Singles, widths: Singles, candidates: Ints, link: int, doubt: float, scale: float, known: Ints, values: Floats
) -> None:
    """Set the values of some candidates to their bounds, unless they are not to be chosen."""
    count, first = len(candidates), candidates[0]
    if link != LOGISTIC and is_contiguous(candidates):
        here, known = values[first : first + count], known[first : first + count]
        for i in range(count):
            bound = float(sums[i]) + doubt + scale * float(widths[i])
            bound = bound if bound < np.inf else np.inf  # single precision may overflow
            here[i] = bound if here[i] > -np.inf else -np.inf
        for i in range(count):
            known[i] = 0
        return
    for i in range(count):
        item = candidates[i]
        known[item] = 0
        if values[item] > -np.inf:
            bound = apply_link(float(sums[i]) + doubt, link) + scale * float(widths[i])
            values[item] = bound if bound < np.inf else np.inf


@helper
def fill_coarse_bounds(
    screen: Screen, columns: Floats, candidates: Ints, link: int, doubt: float, scale: float, covered: Floats,
    kind: int, values: Floats,
) -> None:  # fmt: skip
    """Fill an upper bound of the value of each candidate that may be chosen; infinity where there is none."""
    squares, head = screen.squares, screen.heads[0]
    for begin in range(0, len(candidates), TOGETHER):
        some = candidates[begin : begin + TOGETHER]
        tile, number = screen.tile, some[0] // TOGETHER
        if kind != MAXIMUM and some[0] % TOGETHER == 0 and is_contiguous(some):
            tile = screen.tiles[number * len(tile) : (number + 1) * len(tile)]
        else:
            copy_tile(screen.tile, columns, some, TOGETHER, covered, kind)
        copy_head(screen, tile, TOGETHER, head)
        for i in range(TOGETHER):
            squares[i] = 0.0
        add_squares(screen, TOGETHER, 0, head)
        for i in range(len(some)):
            screen.coarse[some[i]] = squares[i]
        fill_bounds(screen, tile, TOGETHER, some, link, doubt, scale, 0, kind, values)


@helper
def fill_fine_bounds(
    screen: Screen, columns: Floats, candidates: Ints, link: int, doubt: float, scale: float, covered: Floats,
    kind: int, values: Floats,
) -> None:  # fmt: skip
    """Fill a closer bound for some candidates, from the squares of their coarse heads."""
    squares, first, head = screen.squares, screen.heads[0], screen.heads[1]
    for begin in range(0, len(candidates), FEWER):
        some = candidates[begin : begin + FEWER]
        copy_tile(screen.tile, columns, some, FEWER, covered, kind)
        copy_head(screen, screen.tile, FEWER, head)
        for i in range(len(some)):
            squares[i] = screen.coarse[some[i]]
        add_squares(screen, FEWER, first, head)
        fill_bounds(screen, screen.tile, FEWER, some, link, doubt, scale, 1, kind, values)


@routine
def score_contenders(
    belief: Any, screen: Screen, columns: Floats, weights: Floats, left: Floats, request: Request, link: int,
    bonus: float, covered: Floats, kind: int, values: Floats,
) -> bool:  # fmt: skip
    """Score the gains that can have the largest value; each of the others gets an upper bound below that.

    On entry, `values` are those before the last item was placed, with -inf for items that are not to be chosen. Returns
    whether there were bounds: there are none if a typical item has a width of 0.
    """
    candidates, inverse = request.candidates, belief.inverse
    width = typical_width(screen, inverse, covered, kind)
    if not width > 0.0:
        return False
    split_features(screen, inverse, covered, left, kind, 1.0 / width)
    for i in range(len(weights)):
        screen.weights[i] = weights[i]
    fill_head(inverse, screen.order, left, 1.0 / width, 0, screen.heads[0], screen.shares, screen.matrix)
    doubt, scale = level_margins(belief, screen, covered, kind, width, 0), bonus * width * (1.0 + SLACK)
    fill_coarse_bounds(screen, columns, candidates, link, doubt, scale, covered, kind, values)
    best = largest(values, candidates, request.labels, request.key)
    if values[best] == -np.inf:
        return True
    most = score_exactly(belief, screen, request, best, link, bonus, covered, kind, values)
    found = list_contenders(screen, candidates, values, most)
    if found > FEW:
        first, head = screen.heads[0], screen.heads[1]
        fill_head(inverse, screen.order, left, 1.0 / width, first, head, screen.shares, screen.matrix)
        doubt = level_margins(belief, screen, covered, kind, width, 1)
        some = screen.contenders[:found]
        fill_fine_bounds(screen, columns, some, link, doubt, scale, covered, kind, values)
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


@helper
def score_exactly(
    belief: Any, screen: Screen, request: Request, item: int, link: int, bonus: float, covered: Floats, kind: int,
    values: Floats,
) -> float:  # fmt: skip
    """Fill the value of one item, and return it."""
    values[item], screen.known[item] = exact_value(
        belief.theta, belief.inverse, request.features[item], link, bonus, covered, kind, screen.row, screen.product
    ), 1  # fmt: skip
    return float(values[item])


@routine
def exact_value(
    theta: Floats, inverse: Floats, features: Floats, link: int, bonus: float, covered: Floats, kind: int, row: Floats,
    product: Floats,
) -> float:  # fmt: skip
    """The value of an item's gain; given single arrays, since a call with all of the scratch space takes longer."""
    for feature in range(len(covered)):
        row[feature] = gain(features[feature], covered[feature], kind)
    width = exact_width(inverse, row, product)
    return float(apply_link(dot(theta, row), link) + bonus * width)
