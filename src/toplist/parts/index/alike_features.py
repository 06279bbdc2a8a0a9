"""The best few of many items with sparse features, without scoring most of them.

Items that have the same features, to whatever degree, form a group, as films of the same genres do. The largest degrees
of a group bound the scores of its items under any weights. The groups of the last list are scored first, since weights
change little; then only groups whose bound reaches the last of the best. A bound is the sum of products in the order of
a score, and rounding is monotone, so no score is above it: the lists are the same as by scoring every item.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.layout import Layout, most_listed
from toplist.parts.index.select import FEW, insert
from toplist.parts.index.ties import wins_tie

MANY = 128  # items from which bounds pay
ITEMS_PER_GROUP = 2  # on average, at least, or else bounds do not pay
ASKED, GROUPED, GROUPS, LIST = range(4)  # entries of `state`


class AlikeFeatures(NamedTuple):
    """The groups, and scratch space for one list."""

    item: Ints  # items, group after group
    hashes: Ints  # scratch: a hash of the features of each item
    begin: Ints  # per group, where its items begin; one more for the end
    topic: Ints  # (most, groups): the features
    low: Floats  # (most, groups): the least degree ...
    high: Floats  # ... and the largest
    degree: Floats  # (most, items): degrees in the order of `item`
    group: Ints  # per item
    bound: Floats  # scratch: per group
    scored: Ints  # per group, the number of the last list for which it was scored
    last: Ints  # items of the last list
    state: Ints  # editions of the features that the last list and the groups are of; number of groups; of lists

    def used_bytes(self) -> int:
        """Bytes of the arrays as far as they were written to."""
        return sum(array.nbytes for array in self) if self.state[GROUPED] >= 0 else self.state.nbytes


def no_groups(problem: Problem) -> AlikeFeatures:
    """Nothing is grouped yet; the arrays are empty where groups are never made."""
    items = problem.items if problem.features > 0 and problem.items >= MANY else 0
    most, groups = most_listed(problem), items // ITEMS_PER_GROUP
    return AlikeFeatures(
        item=np.zeros(items, dtype=np.int64),
        hashes=np.zeros(items, dtype=np.int64),
        begin=np.zeros(groups + 1, dtype=np.int64),
        topic=np.zeros((most, groups), dtype=np.int64),
        low=np.zeros((most, groups)),
        high=np.zeros((most, groups)),
        degree=np.zeros((most, items)),
        group=np.zeros(items, dtype=np.int64),
        bound=np.zeros(groups),
        scored=np.zeros(groups, dtype=np.int64),
        last=np.zeros(problem.positions, dtype=np.int64),
        state=np.array([-1, -1, 0, 0]),
    )


@helper
def suits_groups(alike: AlikeFeatures, layout: Layout, request: Request, wanted: int) -> bool:
    """Whether the request is for the best of all items, and their features were grouped; groups them if need be.

    Features that change with every list are not grouped.
    """
    if len(request.candidates) != len(alike.item) or len(alike.item) == 0 or wanted > FEW:
        return False
    if layout.edition[1] == 0 or layout.most[0] == 0:  # dense features, or none at all
        return False
    state, edition = alike.state, request.edition
    if edition < 0 or state[ASKED] != edition:
        state[ASKED] = edition
        return False
    if state[GROUPED] != edition:
        group_items(alike, layout)
        state[GROUPED] = edition
    return bool(state[GROUPS] > 0)


@routine
def group_items(alike: AlikeFeatures, layout: Layout) -> None:
    """Form the groups; none if there are too many of them."""
    most, items, hashes, count = layout.most[0], alike.item, alike.hashes, len(alike.item)
    for i in range(count):
        items[i], hashes[i] = i, 0
        for row in range(most):
            hashes[i] = branch(hashes[i], layout.topic[row, i])
    sort_by_hash(items, hashes)
    groups = 0
    for i in range(count):
        if i == 0 or not has_same_features(layout, items[i], items[i - 1]):
            if groups == len(alike.bound):
                alike.state[GROUPS] = 0
                return
            alike.begin[groups] = i
            for row in range(most):
                alike.topic[row, groups] = layout.topic[row, items[i]]
                alike.low[row, groups], alike.high[row, groups] = np.inf, -np.inf
            alike.scored[groups] = -1
            groups += 1
        alike.group[items[i]] = groups - 1
        for row in range(most):
            degree = layout.degree[row, items[i]]
            alike.degree[row, i] = degree
            alike.low[row, groups - 1] = min(alike.low[row, groups - 1], degree)
            alike.high[row, groups - 1] = max(alike.high[row, groups - 1], degree)
    alike.begin[groups], alike.state[GROUPS] = count, groups
    for position in range(len(alike.last)):
        alike.last[position] = 0


@routine
def sort_by_hash(items: Ints, hashes: Ints) -> None:
    """Sort items by their hashes: Shell's method."""
    count, step = len(items), 1
    while step < count // 3:
        step = 3 * step + 1
    while step > 0:
        for i in range(step, count):
            item, j = items[i], i
            while j >= step and hashes[items[j - step]] > hashes[item]:
                items[j] = items[j - step]
                j -= step
            items[j] = item
        step //= 3


@helper
def has_same_features(layout: Layout, item: int, other: int) -> bool:
    """Whether two items have the same features; equal hashes alone do not tell."""
    for row in range(layout.most[0]):
        if layout.topic[row, item] != layout.topic[row, other]:
            return False
    return True


@helper
def best_of_groups(
    alike: AlikeFeatures, weights: Floats, most: int, request: Request, chosen: Ints, scores: Floats
) -> None:
    """Fill `chosen` and `scores` with the items of the largest scores under these weights."""
    state, bound, groups = alike.state, alike.bound[: alike.state[GROUPS]], alike.state[GROUPS]
    fill_bounds_of_groups(alike, weights, most, bound)
    state[LIST] += 1
    filled, wanted = 0, len(chosen)
    for position in range(len(alike.last)):
        group = alike.group[alike.last[position]]
        if alike.scored[group] != state[LIST]:
            filled = score_group(alike, weights, most, group, request, filled, chosen, scores)
    group = 0
    while group < groups:
        if filled == wanted:
            worst = scores[wanted - 1]
            while group + 4 <= groups and max(
                bound[group], bound[group + 1], bound[group + 2], bound[group + 3]
            ) < worst:  # fmt: skip
                group += 4  # one comparison for four groups, since almost all are below
            if group == groups:
                break
        if (filled < wanted or bound[group] >= scores[wanted - 1]) and alike.scored[group] != state[LIST]:
            filled = score_group(alike, weights, most, group, request, filled, chosen, scores)
        group += 1
    for position in range(wanted):
        alike.last[position] = chosen[position]


@helper
def fill_bounds_of_groups(alike: AlikeFeatures, weights: Floats, most: int, bound: Floats) -> None:
    """Fill the largest score that an item of each group can have."""
    groups, row = len(bound), 0
    for group in range(groups):
        bound[group] = 0.0
    while row + 2 <= most:  # two at a time, so that a sum is loaded and stored once for both
        topic, low, high = alike.topic[row], alike.low[row], alike.high[row]
        beside, least, largest = alike.topic[row + 1], alike.low[row + 1], alike.high[row + 1]
        for group in range(groups):
            first, second = weights[topic[group]], weights[beside[group]]
            bound[group] = (bound[group] + max(first * low[group], first * high[group])) + max(
                second * least[group], second * largest[group]
            )
        row += 2
    if row < most:
        topic, low, high = alike.topic[row], alike.low[row], alike.high[row]
        for group in range(groups):
            first = weights[topic[group]]
            bound[group] += max(first * low[group], first * high[group])


@helper
def score_group(
    alike: AlikeFeatures, weights: Floats, most: int, group: int, request: Request, filled: int, chosen: Ints,
    scores: Floats,
) -> int:  # fmt: skip
    """Insert the items of a group that are among the best so far; the number of these."""
    wanted, two = len(chosen), most > 1
    alike.scored[group] = alike.state[LIST]
    first, second = weights[alike.topic[0, group]], weights[alike.topic[1, group]] if two else 0.0
    for i in range(alike.begin[group], alike.begin[group + 1]):
        value = 0.0 + first * alike.degree[0, i]
        if two:
            value += second * alike.degree[1, i]
        for row in range(2, most):
            value += weights[alike.topic[row, group]] * alike.degree[row, i]
        item = alike.item[i]
        if filled == wanted:
            if value < scores[wanted - 1]:
                continue
            if value == scores[wanted - 1] and wins_tie(chosen[wanted - 1], item, request.labels, request.key):
                continue
        else:
            filled += 1
        insert(value, item, filled, request.labels, request.key, chosen, scores)
    return filled
