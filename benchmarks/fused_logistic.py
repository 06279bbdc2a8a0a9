"""The loop over logistic features as an expert would write it by hand: compiled, fused, GL-CDCM with contexts.

It uses the engine's contexts and random numbers, so for the key of a run it shows the engine's lists, as long as no two
scores are within rounding of each other. The estimate is found as in toplist, by steps with a stored inverse, and
matrix products and inverses are toplist's. It omits what one policy in one world does not need: the matrix itself,
refreshing its inverse, and the counts of examinations.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from benchmarks.fused_kernels import BLOCK, best_few, weigh, weigh_squares
from toplist.core.compiling import compiled, helper, routine
from toplist.core.randomness import CHANGES, VISITORS, branch, normals, toss, uniform
from toplist.core.slate import Floats, Ints
from toplist.parts.memory.symmetric import add_rows, dot, invert, multiply, shrink_inverse
from toplist.worlds.contextual import ITEMS, LEAVING, WEIGHTS, Contextual, draw_on_sphere

RATE, PENALTY = 0.05, 1e-2
CAPACITY = 4096
STALE, CLOSE = 0.1, 1e-8


class State(NamedTuple):
    """State of a run."""

    weights: Floats  # theta*, and the rest of the world's state
    columns: Floats  # (d, items)
    directions: Floats
    attraction: Floats
    termination: Floats
    places: Ints  # by termination probability, the largest first
    theta: Floats
    inverse: Floats
    flat: Floats  # the same memory, row after row
    total: Floats
    direction: Floats  # (positions, d): changes of the inverse by the last list ...
    shrink: Floats
    updates: Ints  # ... one element: number of terms
    width: Floats  # per item x' inverse x, if features are fixed
    value: Floats
    room: Floats  # (2, BLOCK)
    finest: Ints  # items, the best by true attraction first
    chosen: Ints  # the best by score; for the first list, any
    shown: Ints  # per position
    rows: Floats  # (positions, d)
    history: Floats  # (CAPACITY, d)
    tries: Floats
    clicked: Floats
    curvature: Floats
    surprise: Floats
    bent: Floats  # curvature of each row in ...
    bend: Floats  # ... the inverse used for Newton steps
    row_of: Ints  # per item, if features are fixed
    used: Ints  # two elements: rows in use, and the next to write
    precision: Floats  # dropped rows, as a Gaussian
    pull: Floats
    step: Floats
    ahead: Floats
    hessian: Floats
    factor: Floats


def begin(world: Contextual) -> State:
    """State before the first step."""
    d, items, positions = world.dimension, world.items, world.positions
    inverse = np.eye(d) / positions
    return State(
        weights=np.zeros(d),
        columns=np.zeros((d, items)),
        directions=np.zeros(items * d),
        attraction=np.zeros(items),
        termination=np.zeros(positions),
        places=np.arange(positions),
        theta=np.zeros(d),
        inverse=inverse,
        flat=inverse.reshape(-1),
        total=np.zeros(d),
        direction=np.zeros((positions, d)),
        shrink=np.zeros(positions),
        updates=np.zeros(1, dtype=np.int64),
        width=np.full(items, 1.0 / positions),
        value=np.zeros(items),
        room=np.zeros((2, BLOCK)),
        finest=np.zeros(positions, dtype=np.int64),
        chosen=np.arange(positions),
        shown=np.zeros(positions, dtype=np.int64),
        rows=np.zeros((positions, d)),
        history=np.zeros((CAPACITY, d)),
        tries=np.zeros(CAPACITY),
        clicked=np.zeros(CAPACITY),
        curvature=np.zeros(CAPACITY),
        surprise=np.zeros(CAPACITY),
        bent=np.zeros(CAPACITY),
        bend=np.eye(d) / PENALTY,
        row_of=np.full(items, -1),
        used=np.zeros(2, dtype=np.int64),
        precision=np.zeros((d, d)),
        pull=np.zeros(d),
        step=np.zeros(d),
        ahead=np.zeros(d),
        hessian=np.zeros((d, d)),
        factor=np.zeros((d, d)),
    )


@routine
def draw(state: State, key: int, step: int, fresh: bool) -> float:
    """Advance the world by a step and return the reward of the best list."""
    d = len(state.weights)
    if step == 0:
        draw_on_sphere(branch(key, WEIGHTS), 1.0, state.weights)
    if step == 0 or fresh:
        normals(branch(branch(key, ITEMS), step), state.directions)
        for item in range(len(state.attraction)):
            square = 0.0
            for i in range(d):
                square += state.directions[d * item + i] ** 2
            scale = 1.0 / math.sqrt(square)
            total = 0.0
            for i in range(d):
                state.columns[i, item] = scale * state.directions[d * item + i]
                total += state.weights[i] * state.columns[i, item]
            state.attraction[item] = 1.0 / (1.0 + math.exp(-total))
        best_few(state.attraction, state.finest)
    leaving = branch(branch(key, LEAVING), step)
    for position in range(len(state.places)):
        state.termination[position] = uniform(leaving, position)
        rank = position
        while rank > 0 and state.termination[state.places[rank - 1]] < state.termination[position]:
            state.places[rank] = state.places[rank - 1]
            rank -= 1
        state.places[rank] = position
    nothing = 1.0
    for rank in range(len(state.places)):
        nothing *= 1.0 - state.termination[state.places[rank]] * state.attraction[state.finest[rank]]
    return 1.0 - nothing


@helper
def radius(d: int, positions: int, step: int, steps: int) -> float:
    """rho of liu2018."""
    return 0.25 * 0.5 / 0.1 * math.sqrt(0.5 * d * math.log1p(step / (positions * d)) + 0.5 * math.log(steps))


@routine
def score(state: State, rho: float, fresh: bool) -> None:
    """Score all items: from the inverse, or by subtracting the last list from the stored widths."""
    items = len(state.value)
    square = state.room[0]
    for begin in range(0, items, BLOCK):
        end = min(begin + BLOCK, items)
        value, width = state.value[begin:end], state.width[begin:end]
        if fresh:
            weigh_squares(state.columns, begin, end, state.theta, state.flat, value, square)
            for i in range(end - begin):
                width[i] = 2.0 * square[i]
        else:
            weigh(state.columns, begin, end - begin, state.theta, value)
            for update in range(state.updates[0]):
                weigh(state.columns, begin, end - begin, state.direction[update], square)
                shrink = state.shrink[update]
                for i in range(end - begin):
                    width[i] -= shrink * square[i] * square[i]
        for i in range(end - begin):
            value[i] = 1.0 / (1.0 + math.exp(-value[i])) + rho * math.sqrt(max(width[i], 0.0))


@routine
def serve(state: State, visitor: int, fresh: bool, fitted: bool) -> float:
    """Show the list to one visitor, learn from it up to the last click, and return its reward."""
    leaving = branch(visitor, -1)
    places, d = len(state.shown), len(state.theta)
    last, nothing, gone = -1, 1.0, False
    clicks = 0
    for position in range(places):
        item = state.shown[position]
        nothing *= 1.0 - state.termination[position] * state.attraction[item]
        if not gone and toss(visitor, item, state.attraction[item]):
            last = position
            clicks |= 1 << position
            gone = toss(leaving, position, state.termination[position])
    for i in range(d):
        state.total[i] = 0.0
    for position in range(last + 1):
        item, row = state.shown[position], state.rows[position]
        for i in range(d):
            row[i] = state.columns[i, item]
        state.shrink[position] = shrink_inverse(state.inverse, row, 1.0, state.direction[position])
        mean = 1.0 / (1.0 + math.exp(-dot(state.theta, row)))
        value = float(clicks >> position & 1)
        for i in range(d):
            state.total[i] += (value - mean) * row[i]
        if fitted:
            remember(state, item, row, value, mean, fresh)
    state.updates[0] = last + 1
    if last >= 0 and fitted:
        fit(state)
    elif last >= 0:
        for i in range(d):
            state.theta[i] += RATE * state.total[i]
    return 1.0 - nothing


@routine
def remember(state: State, item: int, features: Floats, value: float, mean: float, fresh: bool) -> None:
    """Add one observation to the history: in a new row, or in the row of its item."""
    at = -1 if fresh else state.row_of[item]
    if at < 0:
        at = state.used[1]
        state.row_of[item] = at
        if state.used[0] == CAPACITY:
            fold(state, at)
        else:
            state.used[0] += 1
        state.used[1] = (at + 1) % CAPACITY
        for i in range(len(features)):
            state.history[at, i] = features[i]
        state.tries[at], state.clicked[at], state.bent[at] = 0.0, 0.0, 0.0
    state.tries[at] += 1.0
    state.clicked[at] += value
    straighten(state, at, state.tries[at] * mean * (1.0 - mean))


@routine
def fold(state: State, at: int) -> None:
    """Replace the oldest row by a quadratic term."""
    features = state.history[at]
    along = dot(state.theta, features)
    mean = 1.0 / (1.0 + math.exp(-along))
    curvature = state.tries[at] * mean * (1.0 - mean)
    straighten(state, at, curvature)
    pull = state.clicked[at] - state.tries[at] * mean + curvature * along
    for i in range(len(features)):
        state.pull[i] += pull * features[i]
        scaled, line = curvature * features[i], state.precision[i]
        for j in range(len(features)):
            line[j] += scaled * features[j]


@helper
def straighten(state: State, at: int, curvature: float) -> None:
    """Update one row in the inverse used for Newton steps."""
    shrink_inverse(state.bend, state.history[at], curvature - state.bent[at], state.ahead)
    state.bent[at] = curvature


@routine
def fit(state: State) -> None:
    """Take Newton steps until they are small; the first uses the gradient that the list added."""
    rows, d = state.used[0], len(state.theta)
    multiply(state.bend, state.total, state.ahead)
    slope = dot(state.total, state.ahead)
    for _ in range(100):
        largest = 0.0
        for i in range(d):
            state.step[i] = state.ahead[i]
            state.theta[i] += state.step[i]
            largest = max(largest, abs(state.step[i]))
        if largest < CLOSE:
            return
        following = differentiate(state, rows)
        share = 1.0
        while following > slope and share > 1e-6:
            share *= 0.5
            for i in range(d):
                state.theta[i] -= share * state.step[i]
            following = differentiate(state, rows)
        if renew(state, rows, following > 0.25 * slope):
            multiply(state.bend, state.total, state.ahead)
            following = dot(state.total, state.ahead)
        slope = following


@routine
def differentiate(state: State, rows: int) -> float:
    """Fill gradient, curvatures and the next step; return the squared gradient in the norm of steps."""
    surprise = state.surprise
    for at in range(rows):
        surprise[at] = dot(state.theta, state.history[at])
    for at in range(rows):
        surprise[at] = 1.0 / (1.0 + math.exp(-surprise[at]))
    for at in range(rows):
        state.curvature[at] = state.tries[at] * surprise[at] * (1.0 - surprise[at])
        surprise[at] = state.clicked[at] - state.tries[at] * surprise[at]
    multiply(state.precision, state.theta, state.total)
    for i in range(len(state.theta)):
        state.total[i] = state.pull[i] - PENALTY * state.theta[i] - state.total[i]
    add_rows(surprise, state.history, 0, rows, 0, state.total)
    multiply(state.bend, state.total, state.ahead)
    return dot(state.total, state.ahead)


@routine
def renew(state: State, rows: int, slow: bool) -> bool:
    """Update the inverse used for Newton steps, by rows or at once; return whether anything changed."""
    d, stale = len(state.theta), 0
    for at in range(rows):
        stale += 1 if abs(state.curvature[at] - state.bent[at]) > STALE * state.bent[at] else 0
    if 4 * stale <= rows + d and not (stale == 0 and slow):
        if stale > 0:
            for at in range(rows):
                if abs(state.curvature[at] - state.bent[at]) > STALE * state.bent[at]:
                    straighten(state, at, state.curvature[at])
        return stale > 0
    for i in range(d):
        for j in range(i, d):
            state.hessian[i, j] = state.precision[i, j]
        state.hessian[i, i] += PENALTY
    for at in range(rows):
        features = state.history[at]
        state.bent[at] = state.curvature[at]
        for i in range(d):
            scaled, line = state.bent[at] * features[i], state.hessian[i]
            for j in range(i, d):
                line[j] += scaled * features[j]
    invert(state.hessian, state.factor, state.bend)
    return True


@compiled
def play(state: State, key: int, steps: int, fresh: bool, fitted: bool) -> float:
    """Regret of GL-CDCM if `fitted`, else of GL-CDCM (SGD), with `fresh` or fixed contexts."""
    visitors, changes = branch(key, VISITORS), branch(key, CHANGES)
    d, positions, regret = len(state.theta), len(state.places), 0.0
    for step in range(steps):
        ideal = draw(state, changes, step, fresh)
        if step > 0:  # before, all scores are equal
            score(state, radius(d, positions, step, steps), fresh)
            best_few(state.value, state.chosen)
        for rank in range(positions):
            state.shown[state.places[rank]] = state.chosen[rank]
        regret += ideal - serve(state, branch(visitors, step), fresh, fitted)
    return regret
