"""Features laid out for speed: by columns for loops that run on vectors, and item by item where most are zero.

A `belief` here is any that has the fields of `toplist.memory.Linear` which a function reads.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from toplist.compiled import helper, routine
from toplist.coverage import CHANCES, FARTHEST, gain
from toplist.index.select import side_by_side
from toplist.problem import Problem
from toplist.slate import Floats, Ints, Request

IDENTITY, LOGISTIC = 0, 1  # how a sum of features becomes an expectation
BLOCK = 128  # items scored together: small enough for the nearest cache
SPARSE = 3  # items with at most one of so many features other than zero are scored feature by feature


class Layout(NamedTuple):
    """The items' features, by columns and, where most are zero, item by item and topic by topic; and room."""

    columns: Floats  # (d, items)
    # Where few features are not zero, these are listed: first those of every item, then those of the items that have
    # feature 1, feature 2 and so on. Each column of the lists is an item, filled up with degrees of 0.
    listed: Ints  # per column, its item
    topic: Ints  # (most, columns)
    degree: Floats  # (most, columns)
    begin: Ints  # per feature, where the items that have it begin; one more for the end
    most: Ints  # one element: the largest number of features that an item has
    edition: Ints  # two elements: of the features laid out, -1 for none; and whether they are sparse
    weights: Floats  # theta and M^-1 as they apply to features as they are, whatever is covered already
    matrix: Floats
    block: Floats  # (d, BLOCK)
    sums: Floats  # (3, BLOCK)
    nothing: Floats  # per feature 0: what an empty list covers
    width: Floats  # per item x' M^-1 x, of the belief as it was ...
    width_of: Ints  # ... at this edition, refresh and update


def layout_room(problem: Problem) -> Layout:
    """Nothing is laid out yet."""
    d, items = problem.features, problem.items
    most = max(1, d // SPARSE)
    columns = items * (1 + most)
    return Layout(
        columns=np.zeros((d, items)),
        listed=np.zeros(columns, dtype=np.int64),
        topic=np.zeros((most, columns), dtype=np.int64),
        degree=np.zeros((most, columns)),
        begin=np.zeros(d + 1, dtype=np.int64),
        most=np.zeros(1, dtype=np.int64),
        edition=np.array([-1, 0]),
        weights=np.zeros(d),
        matrix=np.zeros((d, d)),
        block=np.zeros((d, BLOCK)),
        sums=np.zeros((3, BLOCK)),
        nothing=np.zeros(d),
        width=np.zeros(items),
        width_of=np.full(3, -1),
    )


@routine
def lay_out_features(layout: Layout, request: Request) -> None:
    """Bring the layout up to date with the request's features."""
    if request.edition >= 0 and layout.edition[0] == request.edition:
        return
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


@helper
def list_item(layout: Layout, at: int, item: int) -> int:
    """Fill one column of the lists; the next."""
    layout.listed[at] = item
    found = 0
    for feature in range(layout.columns.shape[0]):
        if layout.columns[feature, item] != 0.0:
            layout.topic[found, at], layout.degree[found, at] = feature, layout.columns[feature, item]
            found += 1
    for rest in range(found, layout.most[0]):
        layout.topic[rest, at], layout.degree[rest, at] = 0, 0.0
    return at + 1


@helper
def linked(total: float, link: int) -> float:
    """The expectation that a sum of features stands for."""
    return 1.0 / (1.0 + math.exp(-total)) if link == LOGISTIC else total


@routine
def look_through(belief: Any, layout: Layout, covered: Floats, kind: int) -> None:
    """Fill `weights` and `matrix`: where gains are features times what is left of a topic, that can be theirs."""
    for i in range(len(covered)):
        left = 1.0 - covered[i] if kind == CHANCES else 1.0
        layout.weights[i] = left * belief.theta[i]
        for j in range(len(covered)):
            other = 1.0 - covered[j] if kind == CHANCES else 1.0
            layout.matrix[i, j] = left * other * belief.inverse[i, j]


@routine
def score_all(
    belief: Any, layout: Layout, candidates: Ints, link: int, bonus: float, covered: Floats, kind: int, values: Floats
) -> None:
    """Fill link(theta'x) + bonus sqrt(x' M^-1 x) at each candidate, x its gain over what is covered."""
    look_through(belief, layout, covered, kind)
    if layout.edition[1] == 1:
        if side_by_side(candidates):
            first = candidates[0]
            score_listed(layout, first, first + len(candidates), link, bonus, covered, kind, values)
        else:
            for item in candidates:
                score_listed(layout, item, item + 1, link, bonus, covered, kind, values)
    else:
        score_dense(layout, candidates, link, bonus, covered, kind, values)


@routine
def score_touched(
    belief: Any, layout: Layout, candidates: Ints, link: int, bonus: float, covered: Floats, kind: int, placed: int,
    values: Floats,
) -> None:  # fmt: skip
    """Bring the values up to date with an item that was placed: only what shares a feature with it has changed."""
    look_through(belief, layout, covered, kind)
    if layout.edition[1] == 0:
        score_dense(layout, candidates, link, bonus, covered, kind, values)
        return
    for row in range(layout.most[0]):
        if layout.degree[row, placed] != 0.0:
            feature = layout.topic[row, placed]
            score_listed(layout, layout.begin[feature], layout.begin[feature + 1], link, bonus, covered, kind, values)


@routine
def score_listed(
    layout: Layout, first: int, end: int, link: int, bonus: float, covered: Floats, kind: int, values: Floats
) -> None:
    """Columns of the lists, a block at a time: one row after the other, on vectors."""
    mean, square = layout.sums[0], layout.sums[1]
    for begin in range(first, end, BLOCK):
        count = min(BLOCK, end - begin)
        here = slice(begin, begin + count)
        for i in range(count):
            mean[i], square[i] = 0.0, 0.0
        for row in range(layout.most[0]):
            topic, degree, x = layout.topic[row, here], layout.degree[row, here], layout.block[row]
            for i in range(count):
                x[i] = gain(degree[i], covered[topic[i]], FARTHEST) if kind == FARTHEST else degree[i]
            for i in range(count):
                mean[i] += layout.weights[topic[i]] * x[i]
                square[i] += layout.matrix[topic[i], topic[i]] * x[i] * x[i]
            for other in range(row):
                beside, y = layout.topic[other, here], layout.block[other]
                for i in range(count):
                    square[i] += 2.0 * layout.matrix[topic[i], beside[i]] * x[i] * y[i]
        for i in range(count):
            mean[i] = linked(mean[i], link)
        if bonus > 0.0:
            for i in range(count):
                mean[i] += bonus * math.sqrt(max(square[i], 0.0))
        for i in range(count):
            values[layout.listed[begin + i]] = mean[i]


@routine
def score_dense(
    layout: Layout, candidates: Ints, link: int, bonus: float, covered: Floats, kind: int, values: Floats
) -> None:
    """A block of items at a time; every loop over the items of a block runs on vectors."""
    d = len(layout.weights)
    block, mean, square = layout.block, layout.sums[0], layout.sums[1]
    together = side_by_side(candidates)
    for begin in range(0, len(candidates), BLOCK):
        count = min(BLOCK, len(candidates) - begin)
        first = candidates[begin]
        for feature in range(d):
            row = block[feature]
            if together:
                column = layout.columns[feature, first : first + count]
                for i in range(count):
                    row[i] = column[i]
            else:
                for i in range(count):
                    row[i] = layout.columns[feature, candidates[begin + i]]
            if kind == FARTHEST and covered[feature] > 0.0:
                for i in range(count):
                    row[i] = gain(row[i], covered[feature], kind)
        weigh_block(block, count, layout.weights, mean)
        if bonus > 0.0:
            square_block(block, count, layout.matrix, layout.sums[2], square)
            for i in range(count):
                mean[i] = linked(mean[i], link) + bonus * math.sqrt(max(square[i], 0.0))
        else:
            for i in range(count):
                mean[i] = linked(mean[i], link)
        for i in range(count):
            values[candidates[begin + i]] = mean[i]


@routine
def weigh_block(block: Floats, count: int, weights: Floats, sums: Floats) -> None:
    """Fill the sum of weights times features for each item of a block."""
    for i in range(count):
        sums[i] = 0.0
    for feature in range(len(weights)):
        weight = weights[feature]
        row = block[feature]
        for i in range(count):
            sums[i] += weight * row[i]


@routine
def square_block(block: Floats, count: int, inverse: Floats, room: Floats, squares: Floats) -> None:
    """Fill x' inverse x for each item of a block, with half of the products, since the inverse is symmetric."""
    for i in range(count):
        squares[i] = 0.0
    for feature in range(len(inverse)):
        row = block[feature]
        half = 0.5 * inverse[feature, feature]
        for i in range(count):
            room[i] = half * row[i]
        other = 0
        while other + 4 <= feature:  # four at a time, so that the sum is fetched and stored once for them all
            a, b = inverse[feature, other], inverse[feature, other + 1]
            c, e = inverse[feature, other + 2], inverse[feature, other + 3]
            first, second, third, fourth = block[other], block[other + 1], block[other + 2], block[other + 3]
            for i in range(count):
                room[i] += (a * first[i] + b * second[i]) + (c * third[i] + e * fourth[i])
            other += 4
        while other < feature:
            a, first = inverse[feature, other], block[other]
            for i in range(count):
                room[i] += a * first[i]
            other += 1
        for i in range(count):
            squares[i] += 2.0 * room[i] * row[i]


@routine
def score_everything(belief: Any, layout: Layout, link: int, bonus: float, values: Floats) -> None:
    """Fill link(theta'x) + bonus sqrt(x' M^-1 x) for all items with dense features as they are.

    What is under the root is remembered, and changes with every update u by shrink[u] (x'direction[u])^2: d products
    an item instead of d^2 / 2. It starts from the base, so that its rounding does not depend on when one looks.
    """
    items = layout.columns.shape[1]
    same = (
        layout.width_of[0] == layout.edition[0]
        and layout.width_of[1] == belief.updates[1]
        and layout.width_of[2] <= belief.updates[0]
    )
    known = layout.width_of[2] if same else 0
    block, mean, room = layout.block, layout.sums[0], layout.sums[2]
    for begin in range(0, items, BLOCK):
        count = min(BLOCK, items - begin)
        width = layout.width[begin : begin + count]
        for feature in range(len(belief.theta)):
            row, column = block[feature], layout.columns[feature, begin : begin + count]
            for i in range(count):
                row[i] = column[i]
        weigh_block(block, count, belief.theta, mean)
        if not same:
            square_block(block, count, belief.base, room, width)
        for update in range(known, belief.updates[0]):
            weigh_block(block, count, belief.direction[update], room)
            shrink = belief.shrink[update]
            for i in range(count):
                width[i] -= shrink * room[i] * room[i]
        for i in range(count):
            values[begin + i] = linked(mean[i], link) + bonus * math.sqrt(max(width[i], 0.0))
    layout.width_of[0], layout.width_of[1], layout.width_of[2] = (
        layout.edition[0], belief.updates[1], belief.updates[0],
    )  # fmt: skip
