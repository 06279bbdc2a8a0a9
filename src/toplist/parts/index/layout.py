"""Features laid out for speed: by columns for vectorised loops, and item by item where most are zero.

A `belief` here is any belief with the fields of `toplist.parts.memory.Linear` that a function reads.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.coverage import MAXIMUM, PROBABILISTIC, gain
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.link import LOGISTIC, apply_link
from toplist.parts.index.screen import score_contenders
from toplist.parts.index.screen_tiles import Screen, empty_screen, measure_features
from toplist.parts.index.select import is_contiguous

CHUNK = 256  # items scored together: small enough for the L1 cache
SPARSE = 3  # if at most 1/SPARSE of each item's features are not zero, items are scored feature by feature ...
MOST_LISTED = 16_384  # ... as long as the lists of an item take at most so many bytes,
TIMES_LISTED = 8  # or so many times as much as its features themselves
FEW_ITEMS, FEW_FEATURES = 32, 12  # below either, all dense items are scored, since bounds would not pay


class Layout(NamedTuple):
    """The items' features, by columns and, where most are zero, item by item and topic by topic; and scratch space."""

    columns: Floats  # (d, items)
    # If few features are not zero, these are listed: first those of every item, then those of the items that have
    # feature 1, feature 2 and so on. Each column of the lists is an item, padded with degrees of 0.
    listed: Ints  # item per column
    topic: Ints  # (most, columns)
    line: Ints  # (most, columns): d times the topic, the start of its row in the matrix
    degree: Floats  # (most, columns)
    begin: Ints  # per feature, the first column of the items that have it; one more for the end
    most: Ints  # one element: the largest number of features of an item
    edition: Ints  # two elements: that of the features, -1 for none; and whether they are sparse
    weights: Floats  # theta and M^-1, scaled so that they apply to features instead of gains
    matrix: Floats  # (d * d), row after row, its lower triangle, and its diagonal: where features are sparse
    diagonal: Floats
    left: Floats  # per feature, the share not covered
    chunk: Floats  # (d, CHUNK), or fewer columns if there are fewer items
    sums: Floats  # (2, CHUNK), likewise
    nothing: Floats  # per feature 0, the coverage of an empty list
    width: Floats  # per item x' M^-1 x of the belief ...
    width_of: Ints  # ... at this edition, refresh and update
    screen: Screen  # for bounds on dense items

    def lay_out_once(self, request: Request) -> tuple[Any, ...]:
        """Lay out features that never change; the arrays that nothing writes to from then on."""
        lay_out_features(self, request)
        lists = (self.columns, self.listed, self.topic, self.line, self.degree, self.begin, self.most, self.edition)
        screen = self.screen
        sizes = (screen.peak, screen.typical, screen.centre, screen.nothing, screen.around)
        return (*lists, *sizes, screen.tiles)

    def used_bytes(self) -> int:
        """Bytes of the arrays as far as they were written to: lists are of sparse features, and tiles of dense ones."""
        lists = (self.listed, self.topic, self.line, self.degree)
        unused = (*lists, self.screen.tiles) if self.edition[1] == 1 else lists
        size = sum(int(array.nbytes) for array in (*self[:-1], *self.screen) if not any(array is one for one in unused))
        return size + (int(self.begin[-1]) * (8 + 24 * int(self.most[0])) if self.edition[1] == 1 else 0)


def most_listed(problem: Problem) -> int:
    """Largest number of features that items may have for these to be listed.

    >>> most_listed(Problem(1000, 10, 18)), most_listed(Problem(1000, 10, 900))
    (6, 48)
    """
    d = problem.features
    longest = max(MOST_LISTED, TIMES_LISTED * 8 * d) // 24  # entries of an item: most * (1 + most)
    return max(1, min(d // SPARSE, (math.isqrt(1 + 4 * longest) - 1) // 2))


def empty_layout(problem: Problem) -> Layout:
    """Nothing is laid out yet."""
    d, items = problem.features, problem.items
    most = most_listed(problem)
    columns = items * (1 + most)
    return Layout(
        columns=np.zeros((d, items)),
        listed=np.zeros(columns, dtype=np.int64),
        topic=np.zeros((most, columns), dtype=np.int64),
        line=np.zeros((most, columns), dtype=np.int64),
        degree=np.zeros((most, columns)),
        begin=np.zeros(d + 1, dtype=np.int64),
        most=np.zeros(1, dtype=np.int64),
        edition=np.array([-1, 0]),
        weights=np.zeros(d),
        matrix=np.zeros(d * d),
        diagonal=np.zeros(d),
        left=np.zeros(d),
        chunk=np.zeros((d, min(CHUNK, items))),
        sums=np.zeros((2, min(CHUNK, items))),
        nothing=np.zeros(d),
        width=np.zeros(items),
        width_of=np.full(3, -1),
        screen=empty_screen(problem),
    )


@helper
def lay_out_features(layout: Layout, request: Request) -> None:
    """Update the layout for the request's features, if it is of others; to call a function takes longer than to ask."""
    if request.edition < 0 or layout.edition[0] != request.edition:
        lay_out_anew(layout, request)


@routine
def lay_out_anew(layout: Layout, request: Request) -> None:
    """Lay out the request's features."""
    items, d = request.features.shape
    longest = 0
    for item in range(items):
        found = 0
        for feature in range(d):
            layout.columns[feature, item] = request.features[item, feature]
            found += 1 if request.features[item, feature] != 0.0 else 0
        longest = max(longest, found)
    sparse = d >= SPARSE and longest <= layout.topic.shape[0]
    layout.most[0] = longest
    layout.edition[0], layout.edition[1] = request.edition, 1 if sparse else 0
    layout.width_of[0] = -1
    if sparse:
        at = 0
        for item in range(items):
            at = list_item(layout, at, item)
        for feature in range(d):
            layout.begin[feature] = at
            for item in range(items):
                if layout.columns[feature, item] != 0.0:
                    at = list_item(layout, at, item)
        layout.begin[d] = at
    else:
        measure_features(layout.screen, layout.columns)


@helper
def list_item(layout: Layout, at: int, item: int) -> int:
    """Fill one column of the lists; returns the next."""
    d = layout.columns.shape[0]
    layout.listed[at] = item
    found = 0
    for feature in range(d):
        if layout.columns[feature, item] != 0.0:
            layout.topic[found, at], layout.line[found, at] = feature, feature * d
            layout.degree[found, at] = layout.columns[feature, item]
            found += 1
    for rest in range(found, layout.most[0]):
        layout.topic[rest, at], layout.line[rest, at], layout.degree[rest, at] = 0, 0, 0.0
    return at + 1


@routine
def fill_weights(belief: Any, layout: Layout, covered: Floats, kind: int) -> None:
    """Fill `weights`, scaled by the uncovered share of each topic if gains are proportional to it."""
    for i in range(len(covered)):
        layout.left[i] = 1.0 - covered[i] if kind == PROBABILISTIC else 1.0
        layout.weights[i] = layout.left[i] * belief.theta[i]


@routine
def fill_matrix(belief: Any, layout: Layout) -> None:
    """Fill the lower triangle of `matrix`, scaled like the weights."""
    d, left = len(layout.left), layout.left
    for i in range(d):
        row, inverse, own = layout.matrix[i * d : (i + 1) * d], belief.inverse[i], left[i]
        for j in range(i + 1):
            row[j] = own * left[j] * inverse[j]
        layout.diagonal[i] = row[i]


@routine
def scale_feature(belief: Any, layout: Layout, feature: int, squared: bool, covered: Floats, kind: int) -> None:
    """Scale weights and matrix anew after the coverage of one feature has changed."""
    if kind != PROBABILISTIC:  # nothing is scaled
        return
    d, left = len(layout.left), layout.left
    own = 1.0 - covered[feature]
    left[feature], layout.weights[feature] = own, own * belief.theta[feature]
    if squared:
        row, inverse = layout.matrix[feature * d : (feature + 1) * d], belief.inverse[feature]
        for j in range(feature + 1):
            row[j] = own * left[j] * inverse[j]
        layout.diagonal[feature] = row[feature]
        for i in range(feature + 1, d):
            layout.matrix[i * d + feature] = left[i] * own * belief.inverse[i, feature]


@routine
def score_all(
    belief: Any, layout: Layout, candidates: Ints, link: int, bonus: float, covered: Floats, kind: int, values: Floats
) -> None:
    """Fill link(theta'x) + bonus sqrt(x' M^-1 x) at each candidate, where x is its gain."""
    fill_weights(belief, layout, covered, kind)
    if layout.edition[1] == 1:
        if bonus > 0.0:
            fill_matrix(belief, layout)
        if is_contiguous(candidates):
            first = candidates[0]
            score_listed(layout, first, first + len(candidates), link, bonus, covered, kind, values)
            return
        begin = 0
        while begin < len(candidates):
            end = begin + 1
            while end < len(candidates) and candidates[end] == candidates[end - 1] + 1:
                end += 1
            score_listed(layout, candidates[begin], candidates[end - 1] + 1, link, bonus, covered, kind, values)
            begin = end
    else:
        score_dense(belief, layout, candidates, link, bonus, covered, kind, values)


@routine
def score_changed(
    belief: Any, layout: Layout, request: Request, link: int, bonus: float, covered: Floats, kind: int, placed: int,
    values: Floats,
) -> None:  # fmt: skip
    """Update the values after an item was placed: only items that share a feature with it have changed.

    All dense items have changed; if there are many features, those that cannot be the best get upper bounds.
    """
    if layout.edition[1] == 1:
        for row in range(layout.most[0]):
            if layout.degree[row, placed] != 0.0:
                scale_feature(belief, layout, layout.topic[row, placed], bonus > 0.0, covered, kind)
        for row in range(layout.most[0]):
            if layout.degree[row, placed] != 0.0:
                feature = layout.topic[row, placed]
                first, end = layout.begin[feature], layout.begin[feature + 1]
                score_listed(layout, first, end, link, bonus, covered, kind, values)
        return
    fill_weights(belief, layout, covered, kind)
    many = len(covered) >= FEW_FEATURES and len(request.candidates) >= FEW_ITEMS
    if not (bonus > 0.0 and many) or not score_contenders(
        belief, layout.screen, layout.columns, layout.weights, layout.left, request, link, bonus, covered, kind, values
    ):
        score_dense(belief, layout, request.candidates, link, bonus, covered, kind, values)


@routine
def score_listed(
    layout: Layout, first: int, end: int, link: int, bonus: float, covered: Floats, kind: int, values: Floats
) -> None:
    """Score columns of the lists, a chunk at a time."""
    mean, square = layout.sums[0], layout.sums[1]
    for begin in range(first, end, CHUNK):
        count = min(CHUNK, end - begin)
        if kind == MAXIMUM:
            for row in range(layout.most[0]):
                for i in range(count):
                    degree, topic = layout.degree[row, begin + i], layout.topic[row, begin + i]
                    layout.chunk[row, i] = gain(degree, covered[topic], MAXIMUM)
            sum_listed(layout, layout.chunk, 0, begin, count, bonus > 0.0, mean, square)
        else:
            sum_listed(layout, layout.degree, begin, begin, count, bonus > 0.0, mean, square)
        add_bonus(mean, square, count, link, bonus)
        if begin + count <= layout.columns.shape[1]:  # the items themselves, contiguous
            here = values[begin : begin + count]
            for i in range(count):
                here[i] = mean[i]
        else:
            for i in range(count):
                values[layout.listed[begin + i]] = mean[i]


@routine
def sum_listed(
    layout: Layout, degrees: Floats, at: int, begin: int, count: int, squared: bool, mean: Floats, square: Floats
) -> None:
    """Fill theta'x, and x' M^-1 x if `squared`, for a chunk of listed items, row by row, vectorised."""
    here, there, most, row = slice(begin, begin + count), slice(at, at + count), layout.most[0], 0
    for i in range(count):
        mean[i], square[i] = 0.0, 0.0
    while row + 2 <= most:  # two at a time, so that a sum is loaded and stored once for both
        topic, x = layout.topic[row, here], degrees[row, there]
        beside, y = layout.topic[row + 1, here], degrees[row + 1, there]
        for i in range(count):
            mean[i] = (mean[i] + layout.weights[topic[i]] * x[i]) + layout.weights[beside[i]] * y[i]
        row += 2
    if row < most:
        topic, x = layout.topic[row, here], degrees[row, there]
        for i in range(count):
            mean[i] += layout.weights[topic[i]] * x[i]
    if not squared:
        return
    for row in range(most):
        topic, line, x = layout.topic[row, here], layout.line[row, here], degrees[row, there]
        for i in range(count):
            square[i] += layout.diagonal[topic[i]] * (x[i] * x[i])
        for other in range(row):
            beside, y = layout.topic[other, here], degrees[other, there]
            for i in range(count):
                square[i] += layout.matrix[line[i] + beside[i]] * (2.0 * x[i] * y[i])


@helper
def add_bonus(mean: Floats, square: Floats, count: int, link: int, bonus: float) -> None:
    """Turn the sums of a chunk into values."""
    if link == LOGISTIC:
        for i in range(count):
            mean[i] = apply_link(mean[i], link)
    if bonus > 0.0:
        for i in range(count):
            mean[i] += bonus * math.sqrt(max(square[i], 0.0))


@routine
def score_dense(
    belief: Any, layout: Layout, candidates: Ints, link: int, bonus: float, covered: Floats, kind: int, values: Floats
) -> None:
    """Score a chunk of items at a time; every loop over a chunk is vectorised."""
    mean, square = layout.sums[0], layout.sums[1]
    as_they_are = is_contiguous(candidates) and kind != MAXIMUM
    for begin in range(0, len(candidates), CHUNK):
        count = min(CHUNK, len(candidates) - begin)
        columns, first = layout.columns, candidates[begin]
        if not as_they_are:
            columns, first = layout.chunk, 0
            for feature in range(len(layout.weights)):
                row, column = layout.chunk[feature], layout.columns[feature]
                for i in range(count):
                    row[i] = column[candidates[begin + i]]
                if kind == MAXIMUM:
                    for i in range(count):
                        row[i] = gain(row[i], covered[feature], kind)
        fill_products(columns, first, count, layout.weights, mean)
        if bonus > 0.0:
            fill_squares(columns, first, count, belief.inverse, layout.left, square)
        add_bonus(mean, square, count, link, bonus)
        if as_they_are:
            here = values[first : first + count]
            for i in range(count):
                here[i] = mean[i]
        else:
            for i in range(count):
                values[candidates[begin + i]] = mean[i]


@routine
def fill_products(columns: Floats, first: int, count: int, weights: Floats, sums: Floats) -> None:
    """Fill the sums of weights times features for contiguous items."""
    here = slice(first, first + count)
    for i in range(count):
        sums[i] = 0.0
    feature = 0
    while feature + 4 <= len(weights):  # four at a time, so that a sum is loaded and stored once for all of them
        a, b, c, e = weights[feature], weights[feature + 1], weights[feature + 2], weights[feature + 3]
        p, q = columns[feature, here], columns[feature + 1, here]
        r, s = columns[feature + 2, here], columns[feature + 3, here]
        for i in range(count):
            sums[i] += (a * p[i] + b * q[i]) + (c * r[i] + e * s[i])
        feature += 4
    while feature < len(weights):
        a, p = weights[feature], columns[feature, here]
        for i in range(count):
            sums[i] += a * p[i]
        feature += 1


@routine
def fill_squares(columns: Floats, first: int, count: int, matrix: Floats, left: Floats, squares: Floats) -> None:
    """Fill x' D matrix D x for contiguous items, with D the diagonal matrix of `left`: twice the lower triangle.

    Two rows and four columns of the matrix at a time, so that a sum is loaded and stored once for eight products. They
    are scaled as they are read: another array for the scaled matrix would cost a GPU more.
    """
    d, here = len(columns), slice(first, first + count)
    for i in range(count):
        squares[i] = 0.0
    for row in range(0, d - 1, 2):
        x, y = columns[row, here], columns[row + 1, here]
        upper, lower, z, m = matrix[row], matrix[row + 1], left[row], left[row + 1]
        own, both, other = 0.5 * (z * z * upper[row]), m * z * lower[row], 0.5 * (m * m * lower[row + 1])
        for i in range(count):
            squares[i] += x[i] * (own * x[i] + both * y[i]) + other * y[i] * y[i]
        column = 0
        while column + 4 <= row:
            t, u, v, w = left[column], left[column + 1], left[column + 2], left[column + 3]
            a, b = z * t * upper[column], z * u * upper[column + 1]
            c, e = z * v * upper[column + 2], z * w * upper[column + 3]
            f, g = m * t * lower[column], m * u * lower[column + 1]
            h, k = m * v * lower[column + 2], m * w * lower[column + 3]
            p, q = columns[column, here], columns[column + 1, here]
            r, s = columns[column + 2, here], columns[column + 3, here]
            for i in range(count):
                along = (a * p[i] + b * q[i]) + (c * r[i] + e * s[i])
                beside = (f * p[i] + g * q[i]) + (h * r[i] + k * s[i])
                squares[i] += x[i] * along + y[i] * beside
            column += 4
        while column < row:
            a, f, p = z * left[column] * upper[column], m * left[column] * lower[column], columns[column, here]
            for i in range(count):
                squares[i] += p[i] * (a * x[i] + f * y[i])
            column += 1
    if d % 2 == 1:
        x, last, z = columns[d - 1, here], matrix[d - 1], left[d - 1]
        for column in range(d):
            a, p = z * left[column] * last[column], columns[column, here]
            a = a if column < d - 1 else 0.5 * a
            for i in range(count):
                squares[i] += a * p[i] * x[i]
    for i in range(count):
        squares[i] *= 2.0


@routine
def score_everything(belief: Any, layout: Layout, link: int, bonus: float, values: Floats) -> None:
    """Fill link(theta'x) + bonus sqrt(x' M^-1 x) for all items with dense features, without coverage.

    The terms under the root are cached, and change with every update u by shrink[u] (x'direction[u])^2: d products per
    item instead of d^2 / 2. They start from the base, so that their rounding does not depend on when they are computed.
    """
    items = layout.columns.shape[1]
    same = (
        layout.width_of[0] == layout.edition[0]
        and layout.width_of[1] == belief.updates[1]
        and layout.width_of[2] <= belief.updates[0]
    )
    known, d = layout.width_of[2] if same else 0, len(belief.theta)
    if not same:
        for i in range(d):
            layout.left[i] = 1.0
    product = layout.sums[1]
    for begin in range(0, items, CHUNK):
        count = min(CHUNK, items - begin)
        width, mean = layout.width[begin : begin + count], values[begin : begin + count]
        if not same:
            fill_squares(layout.columns, begin, count, belief.base, layout.left, width)
        for update in range(known, belief.updates[0]):
            fill_products(layout.columns, begin, count, belief.direction[update], product)
            shrink = belief.shrink[update]
            for i in range(count):
                width[i] -= shrink * product[i] * product[i]
        fill_products(layout.columns, begin, count, belief.theta, mean)
        add_bonus(mean, width, count, link, bonus)
    layout.width_of[0], layout.width_of[1], layout.width_of[2] = (
        layout.edition[0], belief.updates[1], belief.updates[0],
    )  # fmt: skip
