"""Loops as an expert would write them by hand: compiled, fused, one policy, cascade users, every item scored.

They use the engine's random numbers, so for the key of a run they show the engine's lists: UCB1 exactly, KL-UCB except
for ties, which its warm start breaks by rounding. Each algorithm comes twice, in its obvious form and with one more
trick, to show the gain of the trick.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from toplist.core.compiling import compiled, helper
from toplist.core.randomness import CHOICES, VISITORS, beta, branch, toss
from toplist.core.slate import Floats, Ints
from toplist.parts.index.ties import is_behind, standing, wins_tie

ACCURACY = 1e-9  # of a KL-UCB index


class State(NamedTuple):
    """State of a run."""

    attraction: Floats
    examined: Floats
    clicked: Floats
    upper: Floats  # KL-UCB: the last index, from which the next search starts
    entropy: Floats  # KL-UCB: p log p + (1 - p) log(1 - p)
    score: Floats
    chosen: Ints
    labels: Ints  # items are their own labels


def begin(attraction: Floats, positions: int, key: int) -> State:
    """State of a run after one sample of every item."""
    items = len(attraction)
    state = State(
        attraction=attraction,
        examined=np.ones(items),
        clicked=np.zeros(items),
        upper=np.full(items, 0.5),
        entropy=np.zeros(items),
        score=np.zeros(items),
        chosen=np.zeros(positions, dtype=np.int64),
        labels=np.arange(items),
    )
    visitor = branch(branch(branch(key, VISITORS), -1), 0)
    state.clicked[:] = [toss(visitor, item, attraction[item]) for item in range(items)]
    return state


@helper
def pick(state: State, key: int) -> None:
    """Choose the items with the largest scores; ties are broken as toplist breaks them."""
    score, chosen, labels = state.score, state.chosen, state.labels
    wanted = len(chosen)
    filled = 0
    worst, lowest, compared = -np.inf, 0.0, False
    for item in range(len(score)):
        value = score[item]
        if filled == wanted:
            if value < worst:
                continue
            if value == worst:
                if not compared:
                    lowest, compared = standing(chosen[wanted - 1], labels, key), True
                if is_behind(item, lowest, labels, key) or not wins_tie(item, chosen[wanted - 1], labels, key):
                    continue
        else:
            filled += 1
        position = filled - 1
        while position > 0 and (
            score[chosen[position - 1]] < value
            or (score[chosen[position - 1]] == value and wins_tie(item, chosen[position - 1], labels, key))
        ):
            chosen[position] = chosen[position - 1]
            position -= 1
        chosen[position] = item
        worst, compared = score[chosen[filled - 1]], False


@helper
def reject(state: State) -> float:
    """Probability that no item of the chosen list attracts."""
    nothing = 1.0
    for position in range(len(state.chosen)):
        nothing *= 1.0 - state.attraction[state.chosen[position]]
    return nothing


@helper
def least_rejected(state: State) -> float:
    """The same probability for the best list: the first items in these problems."""
    nothing = 1.0
    for position in range(len(state.chosen)):
        nothing *= 1.0 - state.attraction[position]
    return nothing


@helper
def serve(state: State, visitor: int) -> None:
    """Show the list to one visitor and count the items up to the first click."""
    for position in range(len(state.chosen)):
        item = state.chosen[position]
        state.examined[item] += 1.0
        if toss(visitor, item, state.attraction[item]):
            state.clicked[item] += 1.0
            break


@helper
def serve_and_weigh(state: State, visitor: int) -> None:
    """The same, and update the entropies."""
    for position in range(len(state.chosen)):
        item = state.chosen[position]
        state.examined[item] += 1.0
        clicks = toss(visitor, item, state.attraction[item])
        if clicks:
            state.clicked[item] += 1.0
        mean = state.clicked[item] / state.examined[item]
        inside = 0.0 < mean < 1.0
        state.entropy[item] = mean * math.log(mean) + (1.0 - mean) * math.log(1.0 - mean) if inside else 0.0
        if clicks:
            break


@compiled
def ucb1(state: State, key: int, steps: int) -> float:
    """Regret of CascadeUCB1 with the formula of the paper."""
    choices, visitors = branch(key, CHOICES), branch(key, VISITORS)
    ideal, regret = least_rejected(state), 0.0
    for step in range(steps):
        budget = 1.5 * math.log(max(1, step))
        for item in range(len(state.score)):
            tries = state.examined[item]
            state.score[item] = state.clicked[item] / tries + math.sqrt(budget / tries)
        pick(state, branch(choices, step))
        regret += reject(state) - ideal
        serve(state, branch(visitors, step))
    return regret


@compiled
def ucb1_one_division(state: State, key: int, steps: int) -> float:
    """Regret of CascadeUCB1 with one division per item instead of two."""
    choices, visitors = branch(key, CHOICES), branch(key, VISITORS)
    ideal, regret = least_rejected(state), 0.0
    for step in range(steps):
        budget = 1.5 * math.log(max(1, step))
        for item in range(len(state.score)):
            tries = state.examined[item]
            state.score[item] = (state.clicked[item] + math.sqrt(budget * tries)) / tries
        pick(state, branch(choices, step))
        regret += reject(state) - ideal
        serve(state, branch(visitors, step))
    return regret


@compiled
def thompson(state: State, key: int, steps: int) -> float:
    """Regret of CascadeTS."""
    choices, visitors = branch(key, CHOICES), branch(key, VISITORS)
    ideal, regret = least_rejected(state), 0.0
    for step in range(steps):
        list_key = branch(choices, step)
        drawing = branch(list_key, -1)
        for item in range(len(state.score)):
            clicks = state.clicked[item]
            state.score[item] = beta(branch(drawing, item), 1.0 + clicks, 1.0 + state.examined[item] - clicks)
        pick(state, list_key)
        regret += reject(state) - ideal
        serve(state, branch(visitors, step))
    return regret


@helper
def score_kl_ucb(state: State, budget: float, early: bool) -> None:
    """Score every item by Newton's method, started from the item's last index.

    Without `early` it stops when a step is below the accuracy; the error is then about its square. With `early` it
    stops when the error is below the accuracy: a step s leaves about s^2 f'' / (2 f'), at most
    s^2 / min(q - p, 1 - q).
    """
    for item in range(len(state.score)):
        mean = state.clicked[item] / state.examined[item]
        radius = budget / state.examined[item]
        if mean >= 1.0:
            state.score[item] = 1.0
        elif mean <= 0.0:
            state.score[item] = 1.0 - math.exp(-radius)
        elif radius <= 0.0:
            state.score[item] = mean
        else:
            entropy = state.entropy[item]
            upper = state.upper[item]
            if upper <= mean or upper >= 1.0:
                upper = min(mean + math.sqrt(radius * 0.5), (1.0 + mean) * 0.5)
            for _ in range(50):
                excess = entropy - mean * math.log(upper) - (1.0 - mean) * math.log(1.0 - upper) - radius
                step = excess * upper * (1.0 - upper) / (upper - mean)
                following = upper - step
                if following <= mean:
                    following = 0.5 * (upper + mean)
                elif following >= 1.0:
                    following = 0.5 * (upper + 1.0)
                upper = following
                if abs(step) < ACCURACY or (early and step * step < ACCURACY * min(upper - mean, 1.0 - upper)):
                    break
            state.upper[item] = upper
            state.score[item] = upper


@compiled
def kl_ucb(state: State, key: int, steps: int, early: bool) -> float:
    """Regret of CascadeKL-UCB."""
    choices, visitors = branch(key, CHOICES), branch(key, VISITORS)
    ideal, regret = least_rejected(state), 0.0
    for step in range(steps):
        log = math.log(step + 1.0)
        score_kl_ucb(state, log + 3.0 * math.log(log) if log > 1.0 else log, early)
        pick(state, branch(choices, step))
        regret += reject(state) - ideal
        serve_and_weigh(state, branch(visitors, step))
    return regret
