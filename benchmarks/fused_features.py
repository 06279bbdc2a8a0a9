"""The loops over features that an expert would write by hand: compiled, fused, one policy, topics and cascade users.

They toss the engine's own coins, so that for the key of a run they show the lists that the engine shows, as long as no
two scores lie within their rounding: they add up in another order. What a list covers of a topic is taken from a row
and a column of the matrix instead of from every item. With sparse topics each item has its few products of degrees, and
only the items that share a topic with the one just placed are scored again; dense ones go in blocks, two rows of the
matrix at a time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from toplist.compiled import compiled, helper, routine
from toplist.coverage import gains
from toplist.randomness import VISITORS, branch, toss
from toplist.slate import NONE, Floats, Ints
from toplist.worlds import TopicCoverage

SIGMA = 0.1
BLOCK = 256  # items scored together: their sums stay in the nearest cache


class Listed(NamedTuple):
    """Some items' topics, by columns; where an item has fewer topics than another, it has the rest to degree 0."""

    topic: Ints  # (most, items)
    degree: Floats
    pair: Ints  # (pairs, items): where two topics of an item meet in the matrix ...
    product: Floats  # ... and the product of their degrees, twice that where they are two


class Items(NamedTuple):
    """The items and the person, which stay as they are."""

    columns: Floats  # (d, items)
    topic: Ints  # (items, most): the topics of an item ...
    degree: Floats  # ... and how far it covers them
    topics: Ints  # per item, how many
    items: Listed
    first: Ints  # per topic: where its items begin in `member`
    member: Ints
    members: Listed
    preferences: Floats


class State(NamedTuple):
    """Everything that a run writes to."""

    theta: Floats
    inverse: Floats
    total: Floats
    uncovered: Floats  # per topic
    rows: Floats  # (positions, d): what each item of the list was scored with
    weights: Floats  # theta and the inverse, with what is covered taken from them instead of from the items
    scaled: Floats  # (d * d): the inverse, row after row
    direction: Floats  # (positions, d): how the last list changed the inverse ...
    shrink: Floats
    updates: Ints  # ... one element: by how many terms
    width: Floats  # per item x' inverse x, where it is kept
    value: Floats
    room: Floats  # (2, BLOCK)
    chosen: Ints
    attraction: Floats  # per place


Loop = Callable[[Items, State, int, int, float, bool], float]


def lay_out(world: TopicCoverage) -> Items:
    """A world's items as these loops want them."""
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
        preferences=np.asarray(world.preferences),
    )


def by_columns(topic: Ints, degree: Floats, d: int, sparse: bool) -> Listed:
    """Lay some items out, if their topics are sparse."""
    most = topic.shape[1] if sparse else 0
    both = [(a, b) for a in range(most) for b in range(a + 1)]
    shape = (len(both), len(topic))
    return Listed(
        topic=np.ascontiguousarray(topic.T[:most]),
        degree=np.ascontiguousarray(degree.T[:most]),
        pair=np.array([topic[:, a] * d + topic[:, b] for a, b in both], dtype=np.int64).reshape(shape),
        product=np.array([degree[:, a] * degree[:, b] * (1 + (a != b)) for a, b in both]).reshape(shape),
    )


def begin(kept: Items, positions: int) -> State:
    """Before the first step."""
    d, items = kept.columns.shape
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
        width=(kept.columns * kept.columns).sum(axis=0),
        value=np.zeros(items),
        room=np.zeros((2, BLOCK)),
        chosen=np.zeros(positions, dtype=np.int64),
        attraction=np.zeros(positions),
    )


def greedy_reward(world: TopicCoverage) -> float:
    """The reward of the greedy list, which regret is counted from."""
    topics, preferences = np.asarray(world.topics), np.asarray(world.preferences)
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
    """For an empty list: theta and the inverse as they are."""
    d = len(state.theta)
    for i in range(d):
        state.uncovered[i] = 1.0
        state.weights[i] = state.theta[i]
        for j in range(d):
            state.scaled[i * d + j] = state.inverse[i, j]


@helper
def cover(kept: Items, state: State, item: int, place: int) -> None:
    """Put an item to its place, and take what it covers from theta and the inverse."""
    d = len(state.theta)
    state.chosen[place] = item
    state.value[item] = -np.inf
    for i in range(d):
        state.rows[place, i] = 0.0
    for each in range(kept.topics[item]):
        i, degree = kept.topic[item, each], kept.degree[item, each]
        state.rows[place, i] = degree * state.uncovered[i]
        left = 1.0 - degree
        state.uncovered[i] *= left
        state.weights[i] *= left
        for j in range(d):
            state.scaled[i * d + j] *= left
        for j in range(d):
            state.scaled[j * d + i] *= left


@helper
def best(value: Floats) -> int:
    """Where the largest value stands."""
    count = len(value)
    most = -np.inf
    where = 0
    i = 0
    while i + 4 <= count:
        # One question for four items, almost always answered with no.
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
        place = filled - 1
        while place > 0 and value[chosen[place - 1]] < value[item]:
            chosen[place] = chosen[place - 1]
            place -= 1
        chosen[place] = item
        if filled == wanted:
            worst = value[chosen[wanted - 1]]


@helper
def score_few(state: State, listed: Listed, begin: int, count: int, alpha: float, value: Floats) -> None:
    """Some items with sparse topics: loops that run on vectors, and gather from the matrix."""
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
def score_sparse(kept: Items, state: State, alpha: float) -> None:
    """All items with sparse topics."""
    for begin in range(0, len(state.value), BLOCK):
        count = min(BLOCK, len(state.value) - begin)
        score_few(state, kept.items, begin, count, alpha, state.value[begin : begin + count])


@routine
def score_touched(kept: Items, state: State, placed: int, place: int, alpha: float) -> None:
    """Those again that share a topic with the item just placed."""
    value = state.room[1]
    for each in range(kept.topics[placed]):
        topic = kept.topic[placed, each]
        for begin in range(kept.first[topic], kept.first[topic + 1], BLOCK):
            count = min(BLOCK, kept.first[topic + 1] - begin)
            score_few(state, kept.members, begin, count, alpha, value)
            for i in range(count):
                state.value[kept.member[begin + i]] = value[i]
    for above in range(place + 1):
        state.value[state.chosen[above]] = -np.inf


@routine
def score_dense(kept: Items, state: State, alpha: float) -> None:
    """All items with dense topics: a block of items, two rows and four columns of the matrix at a time."""
    d, scaled, square = len(state.theta), state.scaled, state.room[0]
    for begin in range(0, len(state.value), BLOCK):
        end = min(begin + BLOCK, len(state.value))
        count = end - begin
        value = state.value[begin:end]
        for i in range(count):
            value[i] = 0.0
            square[i] = 0.0
        for row in range(0, d - 1, 2):
            x, y = kept.columns[row, begin:end], kept.columns[row + 1, begin:end]
            upper, lower = scaled[row * d : row * d + d], scaled[row * d + d : row * d + 2 * d]
            own, both, other = 0.5 * upper[row], lower[row], 0.5 * lower[row + 1]
            a, b = state.weights[row], state.weights[row + 1]
            for i in range(count):
                value[i] += a * x[i] + b * y[i]
                square[i] += x[i] * (own * x[i] + both * y[i]) + other * y[i] * y[i]
            column = 0
            while column + 4 <= row:
                a, b, c, e = upper[column], upper[column + 1], upper[column + 2], upper[column + 3]
                f, g, h, k = lower[column], lower[column + 1], lower[column + 2], lower[column + 3]
                p, q = kept.columns[column, begin:end], kept.columns[column + 1, begin:end]
                r, s = kept.columns[column + 2, begin:end], kept.columns[column + 3, begin:end]
                for i in range(count):
                    square[i] += x[i] * ((a * p[i] + b * q[i]) + (c * r[i] + e * s[i])) + y[i] * (
                        (f * p[i] + g * q[i]) + (h * r[i] + k * s[i])
                    )
                column += 4
            while column < row:
                a, b, p = upper[column], lower[column], kept.columns[column, begin:end]
                for i in range(count):
                    square[i] += p[i] * (a * x[i] + b * y[i])
                column += 1
        if d % 2 == 1:
            last = d - 1
            x, own = kept.columns[last, begin:end], 0.5 * scaled[last * d + last]
            for i in range(count):
                value[i] += state.weights[last] * x[i]
                square[i] += own * x[i] * x[i]
            for column in range(last):
                a, p = scaled[last * d + column], kept.columns[column, begin:end]
                for i in range(count):
                    square[i] += a * p[i] * x[i]
        for i in range(count):
            value[i] += alpha * math.sqrt(max(2.0 * square[i], 0.0))


@routine
def weigh(columns: Floats, begin: int, count: int, weights: Floats, sums: Floats) -> None:
    """The sum of weights times features for each item of a block, four features at a time."""
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


@helper
def serve(state: State, visitor: int, every: bool) -> float:
    """Show the list to one visitor, and learn from it up to the first click, or from all; the list's reward."""
    nothing = 1.0
    examined, clicked = len(state.chosen), -1
    for place in range(len(state.chosen)):
        nothing *= 1.0 - state.attraction[place]
        if clicked < 0 and toss(visitor, state.chosen[place], state.attraction[place]):
            clicked = place
            if not every:
                examined = place + 1
    for place in range(examined):
        observe(state, place)
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


@routine
def observe(state: State, place: int) -> None:
    """Sherman and Morrison's rank-one term for one row."""
    d = len(state.theta)
    row, direction = state.rows[place], state.direction[place]
    for i in range(d):
        direction[i] = 0.0
    for j in range(d):
        x = row[j]
        if x != 0.0:
            for i in range(d):
                direction[i] += state.inverse[j, i] * x
    width = 0.0
    for j in range(d):
        width += row[j] * direction[j]
    state.shrink[place] = 1.0 / (SIGMA * SIGMA + width)
    for i in range(d):
        scaled = state.shrink[place] * direction[i]
        for j in range(d):
            state.inverse[i, j] -= scaled * direction[j]


@helper
def weigh_gains(kept: Items, state: State) -> None:
    """What each item of a list adds, where its rows are gains."""
    for place in range(len(state.chosen)):
        worth = 0.0
        for i in range(len(state.theta)):
            worth += kept.preferences[i] * state.rows[place, i]
        state.attraction[place] = worth


@helper
def weigh_list(kept: Items, state: State) -> None:
    """What each item of a list adds, where its rows are to be features as they are."""
    d = len(state.theta)
    for i in range(d):
        state.uncovered[i] = 1.0
    for place in range(len(state.chosen)):
        worth = 0.0
        for i in range(d):
            degree = kept.columns[i, state.chosen[place]]
            worth += kept.preferences[i] * degree * state.uncovered[i]
            state.uncovered[i] *= 1.0 - degree
            state.rows[place, i] = degree
        state.attraction[place] = worth


@compiled
def lsb_sparse(kept: Items, state: State, key: int, steps: int, ideal: float, every: bool) -> float:
    """CascadeLSB, or LSBGreedy where `every` place counts as examined; the regret."""
    visitors, places = branch(key, VISITORS), len(state.chosen)
    alpha, regret = radius(len(state.theta), places, steps), 0.0
    for step in range(steps):
        scale_all(state)
        score_sparse(kept, state, alpha)
        for place in range(places):
            placed = best(state.value)
            cover(kept, state, placed, place)
            if place + 1 < places:
                score_touched(kept, state, placed, place, alpha)
        weigh_gains(kept, state)
        regret += ideal - serve(state, branch(visitors, step), every)
    return regret


@compiled
def lsb_dense(kept: Items, state: State, key: int, steps: int, ideal: float, every: bool) -> float:
    """The same, every item scored at every place; the regret."""
    visitors, places = branch(key, VISITORS), len(state.chosen)
    alpha, regret = radius(len(state.theta), places, steps), 0.0
    for step in range(steps):
        scale_all(state)
        for place in range(places):
            score_dense(kept, state, alpha)
            for above in range(place):
                state.value[state.chosen[above]] = -np.inf
            cover(kept, state, best(state.value), place)
        weigh_gains(kept, state)
        regret += ideal - serve(state, branch(visitors, step), every)
    return regret


@compiled
def lin_ucb_sparse(kept: Items, state: State, key: int, steps: int, ideal: float, every: bool) -> float:
    """CascadeLinUCB; the regret."""
    visitors = branch(key, VISITORS)
    alpha, regret = radius(len(state.theta), len(state.chosen), steps), 0.0
    for step in range(steps):
        scale_all(state)
        score_sparse(kept, state, alpha)
        best_few(state.value, state.chosen)
        weigh_list(kept, state)
        regret += ideal - serve(state, branch(visitors, step), every)
    return regret


@compiled
def lin_ucb_dense(kept: Items, state: State, key: int, steps: int, ideal: float, every: bool) -> float:
    """The same, its widths kept by what each observation takes from them; the regret."""
    visitors = branch(key, VISITORS)
    alpha, regret = radius(len(state.theta), len(state.chosen), steps), 0.0
    items = len(state.value)
    for step in range(steps):
        for begin in range(0, items, BLOCK):
            count = min(BLOCK, items - begin)
            value, width = state.value[begin : begin + count], state.width[begin : begin + count]
            along = state.room[0]
            weigh(kept.columns, begin, count, state.theta, value)
            for update in range(state.updates[0]):
                weigh(kept.columns, begin, count, state.direction[update], along)
                shrink = state.shrink[update]
                for i in range(count):
                    width[i] -= shrink * along[i] * along[i]
            for i in range(count):
                value[i] += alpha * math.sqrt(max(width[i], 0.0))
        best_few(state.value, state.chosen)
        weigh_list(kept, state)
        regret += ideal - serve(state, branch(visitors, step), every)
    return regret
