"""Loops over features as an expert would write them by hand: compiled, fused, one policy, topics, cascade users.

They use the engine's random numbers, so for the key of a run they show the engine's lists, as long as no two scores
are within rounding of each other: sums are added in another order. The coverage of a topic is subtracted from a row and
a column of the matrix instead of from every item. With sparse topics each item has its few products of degrees, and
only the items that share a topic with the one just placed are scored again; dense ones are scored in blocks, two rows
of the matrix at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from benchmarks.fused_kernels import BLOCK, best, best_few, observe, weigh, weigh_squares
from toplist.core.compiling import compiled, helper, routine
from toplist.core.coverage import gains
from toplist.core.randomness import VISITORS, branch, toss
from toplist.core.slate import NONE, Floats, Ints
from toplist.worlds import TopicCoverage

SIGMA = 0.1


class Listed(NamedTuple):
    """Topics of some items, by columns; an item with fewer topics is padded with degree 0."""

    topic: Ints  # (most, items)
    degree: Floats
    pair: Ints  # (pairs, items): index in the matrix of two topics of an item ...
    product: Floats  # ... and the product of their degrees, doubled off the diagonal


class Items(NamedTuple):
    """The items and the visitor, which do not change."""

    columns: Floats  # (d, items)
    topic: Ints  # (items, most): topics of an item ...
    degree: Floats  # ... and the degrees to which it covers them
    topics: Ints  # number of topics per item
    items: Listed
    first: Ints  # per topic: offset of its items in `member`
    member: Ints
    members: Listed
    preferences: Floats


class State(NamedTuple):
    """State of a run."""

    theta: Floats
    inverse: Floats
    total: Floats
    uncovered: Floats  # per topic
    rows: Floats  # (positions, d): features with which each item of the list was scored
    weights: Floats  # theta and the inverse, with the coverage subtracted from them instead of from the items
    scaled: Floats  # (d * d): the inverse, row after row
    direction: Floats  # (positions, d): changes of the inverse by the last list ...
    shrink: Floats
    updates: Ints  # ... one element: number of terms
    width: Floats  # per item x' inverse x, if stored
    value: Floats
    room: Floats  # (2, BLOCK)
    chosen: Ints
    attraction: Floats  # per position


def lay_out(world: TopicCoverage) -> Items:
    """Items of a world in the layout of these loops."""
    topics = np.asarray(world.topics)
    d = topics.shape[1]
    counts = (topics != 0).sum(axis=1)
    topic = np.argsort(topics == 0, axis=1, kind="stable")[:, : counts.max()]
    degree = np.take_along_axis(topics, topic, axis=1)
    sparse = topic.shape[1] < d
    members = [np.flatnonzero(topics[:, each]) if sparse else NONE for each in range(d)]
    member = np.concatenate(members)
    return Items(
        columns=np.ascontiguousarray(topics.T),
        topic=np.ascontiguousarray(topic),
        degree=degree,
        topics=counts,
        items=by_columns(topic, degree, d, sparse),
        first=np.cumsum([0, *map(len, members)]),
        member=member,
        members=by_columns(topic[member], degree[member], d, sparse),
        preferences=np.ravel(world.preferences),
    )


def by_columns(topic: Ints, degree: Floats, d: int, sparse: bool) -> Listed:
    """Layout of some items with sparse topics."""
    most = topic.shape[1] if sparse else 0
    both = [(a, b) for a in range(most) for b in range(a + 1)]
    shape = (len(both), len(topic))
    return Listed(
        topic=np.ascontiguousarray(topic.T[:most]),
        degree=np.ascontiguousarray(degree.T[:most]),
        pair=np.array([topic[:, a] * d + topic[:, b] for a, b in both], dtype=np.int64).reshape(shape),
        product=np.array([degree[:, a] * degree[:, b] * (1 + (a != b)) for a, b in both]).reshape(shape),
    )


def begin(layout: Items, positions: int) -> State:
    """State before the first step."""
    d, items = layout.columns.shape
    return State(
        theta=np.zeros(d),
        inverse=np.eye(d),
        total=np.zeros(d),
        uncovered=np.ones(d),
        rows=np.zeros((positions, d)),
        weights=np.zeros(d),
        scaled=np.zeros(d * d),
        direction=np.zeros((positions, d)),
        shrink=np.zeros(positions),
        updates=np.zeros(1, dtype=np.int64),
        width=(layout.columns * layout.columns).sum(axis=0),
        value=np.zeros(items),
        room=np.zeros((2, BLOCK)),
        chosen=np.zeros(positions, dtype=np.int64),
        attraction=np.zeros(positions),
    )


def greedy_reward(world: TopicCoverage) -> float:
    """Reward of the greedy list, from which regret is measured."""
    topics, preferences = np.asarray(world.topics), np.ravel(world.preferences)
    chosen: list[int] = []
    uncovered = np.ones(len(preferences))
    for _ in range(world.positions):
        worth = topics @ (uncovered * preferences)
        worth[chosen] = -1.0
        chosen.append(int(worth.argmax()))
        uncovered *= 1.0 - topics[chosen[-1]]
    return float(1.0 - np.prod(1.0 - gains(topics[chosen]) @ preferences))


@helper
def radius(d: int, positions: int, steps: int) -> float:
    """alpha of hiranandani2019's figures."""
    return math.sqrt(d * math.log1p(steps * positions / (d * SIGMA * SIGMA)) + 2.0 * math.log(steps)) + 1.0


@helper
def scale_all(state: State) -> None:
    """Weights for an empty list: theta and the inverse unchanged."""
    d = len(state.theta)
    for i in range(d):
        state.uncovered[i] = 1.0
        state.weights[i] = state.theta[i]
        for j in range(d):
            state.scaled[i * d + j] = state.inverse[i, j]


@helper
def cover(layout: Items, state: State, item: int, position: int) -> None:
    """Put an item at its position and subtract its coverage from theta and the inverse."""
    d = len(state.theta)
    state.chosen[position] = item
    state.value[item] = -np.inf
    for i in range(d):
        state.rows[position, i] = 0.0
    for each in range(layout.topics[item]):
        i, degree = layout.topic[item, each], layout.degree[item, each]
        state.rows[position, i] = degree * state.uncovered[i]
        left = 1.0 - degree
        state.uncovered[i] *= left
        state.weights[i] *= left
        for j in range(d):
            state.scaled[i * d + j] *= left
        for j in range(d):
            state.scaled[j * d + i] *= left


@helper
def score_few(state: State, listed: Listed, begin: int, count: int, alpha: float, value: Floats) -> None:
    """Score some items with sparse topics, in vectorised loops that gather from the matrix."""
    square = state.room[0]
    for i in range(count):
        value[i] = 0.0
        square[i] = 0.0
    for each in range(len(listed.topic)):
        topic, degree = listed.topic[each, begin : begin + count], listed.degree[each, begin : begin + count]
        for i in range(count):
            value[i] += state.weights[topic[i]] * degree[i]
    for each in range(len(listed.pair)):
        pair, product = listed.pair[each, begin : begin + count], listed.product[each, begin : begin + count]
        for i in range(count):
            square[i] += state.scaled[pair[i]] * product[i]
    for i in range(count):
        value[i] += alpha * math.sqrt(max(square[i], 0.0))


@routine
def score_sparse(layout: Items, state: State, alpha: float) -> None:
    """Score all items with sparse topics."""
    for begin in range(0, len(state.value), BLOCK):
        count = min(BLOCK, len(state.value) - begin)
        score_few(state, layout.items, begin, count, alpha, state.value[begin : begin + count])


@routine
def score_touched(layout: Items, state: State, placed: int, position: int, alpha: float) -> None:
    """Score the items again that share a topic with the item just placed."""
    value = state.room[1]
    for each in range(layout.topics[placed]):
        topic = layout.topic[placed, each]
        for begin in range(layout.first[topic], layout.first[topic + 1], BLOCK):
            count = min(BLOCK, layout.first[topic + 1] - begin)
            score_few(state, layout.members, begin, count, alpha, value)
            for i in range(count):
                state.value[layout.member[begin + i]] = value[i]
    for above in range(position + 1):
        state.value[state.chosen[above]] = -np.inf


@routine
def score_dense(layout: Items, state: State, alpha: float) -> None:
    """Score all items with dense topics."""
    square = state.room[0]
    for begin in range(0, len(state.value), BLOCK):
        end = min(begin + BLOCK, len(state.value))
        value = state.value[begin:end]
        weigh_squares(layout.columns, begin, end, state.weights, state.scaled, value, square)
        for i in range(end - begin):
            value[i] += alpha * math.sqrt(max(2.0 * square[i], 0.0))


@routine
def score_stored(layout: Items, state: State, alpha: float) -> None:
    """Score all items with dense topics; widths are stored, and each observation is subtracted from them."""
    items, along = len(state.value), state.room[0]
    for begin in range(0, items, BLOCK):
        count = min(BLOCK, items - begin)
        value, width = state.value[begin : begin + count], state.width[begin : begin + count]
        weigh(layout.columns, begin, count, state.theta, value)
        for update in range(state.updates[0]):
            weigh(layout.columns, begin, count, state.direction[update], along)
            shrink = state.shrink[update]
            for i in range(count):
                width[i] -= shrink * along[i] * along[i]
        for i in range(count):
            value[i] += alpha * math.sqrt(max(width[i], 0.0))


@helper
def serve(state: State, visitor: int, every: bool) -> float:
    """Show the list to one visitor, learn from all items or up to the first click, and return its reward."""
    nothing = 1.0
    examined, clicked = len(state.chosen), -1
    for position in range(len(state.chosen)):
        nothing *= 1.0 - state.attraction[position]
        if clicked < 0 and toss(visitor, state.chosen[position], state.attraction[position]):
            clicked = position
            if not every:
                examined = position + 1
    for position in range(examined):
        state.shrink[position] = observe(state.inverse, state.rows[position], SIGMA * SIGMA, state.direction[position])
    if clicked >= 0:
        for i in range(len(state.theta)):
            state.total[i] += state.rows[clicked, i]
    state.updates[0] = examined
    scale = 1.0 / (SIGMA * SIGMA)
    for i in range(len(state.theta)):
        product = 0.0
        for j in range(len(state.theta)):
            product += state.inverse[i, j] * state.total[j]
        state.theta[i] = scale * product
    return 1.0 - nothing


@helper
def weigh_gains(layout: Items, state: State) -> None:
    """Gains of a list whose rows are gains."""
    for position in range(len(state.chosen)):
        worth = 0.0
        for i in range(len(state.theta)):
            worth += layout.preferences[i] * state.rows[position, i]
        state.attraction[position] = worth


@helper
def weigh_list(layout: Items, state: State) -> None:
    """Gains of a list whose rows are plain features."""
    d = len(state.theta)
    for i in range(d):
        state.uncovered[i] = 1.0
    for position in range(len(state.chosen)):
        worth = 0.0
        for i in range(d):
            degree = layout.columns[i, state.chosen[position]]
            worth += layout.preferences[i] * degree * state.uncovered[i]
            state.uncovered[i] *= 1.0 - degree
            state.rows[position, i] = degree
        state.attraction[position] = worth


@helper
def rank_diverse(layout: Items, state: State, alpha: float, sparse: bool) -> None:
    """Fill the list from the top: sparse items are scored again only if changed, dense ones at every position."""
    positions = len(state.chosen)
    scale_all(state)
    if sparse:
        score_sparse(layout, state, alpha)
    for position in range(positions):
        if not sparse:
            score_dense(layout, state, alpha)
            for above in range(position):
                state.value[state.chosen[above]] = -np.inf
        placed = best(state.value)
        cover(layout, state, placed, position)
        if sparse and position + 1 < positions:
            score_touched(layout, state, placed, position, alpha)
    weigh_gains(layout, state)


@helper
def rank_best(layout: Items, state: State, alpha: float, sparse: bool) -> None:
    """Fill the list with the best items."""
    if sparse:
        scale_all(state)
        score_sparse(layout, state, alpha)
    else:
        score_stored(layout, state, alpha)
    best_few(state.value, state.chosen)
    weigh_list(layout, state)


@compiled
def play(
    layout: Items, state: State, key: int, steps: int, ideal: float, sparse: bool, diverse: bool, every: bool
) -> float:
    """Regret of CascadeLSB if `diverse`, LSBGreedy if `every` position counts as examined, else CascadeLinUCB."""
    visitors = branch(key, VISITORS)
    alpha, regret = radius(len(state.theta), len(state.chosen), steps), 0.0
    for step in range(steps):
        if diverse:
            rank_diverse(layout, state, alpha, sparse)
        else:
            rank_best(layout, state, alpha, sparse)
        regret += ideal - serve(state, branch(visitors, step), every)
    return regret
