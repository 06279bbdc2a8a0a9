"""CascadeKL-UCB that finds every index by bisection and sorts all items, as PyClickLambdas does in Cython; by hand."""

from __future__ import annotations

import math

from benchmarks.fused import State, least_rejected, reject, serve
from toplist.core.compiling import compiled, helper
from toplist.core.randomness import CHOICES, VISITORS, branch, uniform
from toplist.parts.index.sort import sort_pairs

WIDTH = 1e-6  # of the interval at which a bisection stops
TIE_BREAK = 1e-9  # random noise of this size, so that ties are fair


@helper
def upper_by_bisection(mean: float, radius: float) -> float:
    """The largest q with KL(mean || q) <= radius."""
    low, high = mean, 1.0
    while high - low > WIDTH:
        middle = 0.5 * (low + high)
        divergence = mean * math.log(mean / middle) if mean > 0.0 else 0.0
        divergence += (1.0 - mean) * math.log((1.0 - mean) / (1.0 - middle)) if mean < 1.0 else 0.0
        if divergence > radius:
            high = middle
        else:
            low = middle
    return 0.5 * (low + high)


@compiled
def kl_ucb(state: State, key: int, steps: int) -> float:
    """Regret of CascadeKL-UCB; `state.labels` is scratch space for the sorted items."""
    choices, visitors, order = branch(key, CHOICES), branch(key, VISITORS), state.labels
    ideal, regret = least_rejected(state), 0.0
    for step in range(steps):
        log, ties = math.log(step + 1.0), branch(choices, step)
        budget = log + 3.0 * math.log(log) if log > 1.0 else log
        for item in range(len(order)):
            mean = state.clicked[item] / state.examined[item]
            state.score[item] = upper_by_bisection(mean, budget / state.examined[item])
            state.score[item] += TIE_BREAK * uniform(ties, item)
            order[item] = item
        sort_pairs(state.score, order)
        for position in range(len(state.chosen)):
            state.chosen[position] = order[position]
        regret += reject(state) - ideal
        serve(state, branch(visitors, step))
    return regret
