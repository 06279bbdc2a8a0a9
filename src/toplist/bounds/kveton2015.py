"""Regret bounds of kveton2015: Kveton, Szepesvari, Wen and Ashkan, Cascading Bandits, ICML 2015."""

import math
from collections.abc import Callable, Sequence

from toplist.bounds.common import (
    ITEMS,
    POSITIONS,
    checked_inside,
    checked_levels,
    checked_positive,
    checked_problem,
    divergence,
    log_and_log_log,
    pair_with_rivals,
)
from toplist.core.problem import whole


def kveton2015_theorem1(positions: int, attraction: float, gap: float, observations: float) -> tuple[float, float]:
    """Bound the regret of a cascade policy on both sides by its observations of suboptimal items.

    Parameters
    ----------
    positions : int
        Number of positions K.
    attraction : float
        Attraction p of the K best items.
    gap : float
        Gap D between the K best and the other items.
    observations : float
        Expected number of observations T, summed over suboptimal items, after the start.

    Returns
    -------
    tuple of float
        Lower and upper bound.

    Notes
    -----
    `(1-p)^(K-1) D T <= R(n) <= D T`, exact at every n where K items have attraction p and the others p - D. kveton2015,
    Theorem 1.

    Examples
    --------
    >>> kveton2015_theorem1(2, 0.5, 0.25, 2000.0)
    (250.0, 500.0)
    """
    K, levels = whole("positions", positions, 1, POSITIONS), checked_levels(attraction, gap)
    upper = levels.gap * checked_inside("observations", observations, 0.0, math.inf, "sum counts", without=[math.inf])
    return math.pow(1 - levels.attraction, K - 1) * upper, upper


def kveton2015_theorem2(attraction: Sequence[float], positions: int, steps: int) -> float:
    """Bound the regret of CascadeUCB1 from above.

    Parameters
    ----------
    attraction : sequence of float
        Attraction probability w of each item, in any order.
    positions : int
        Number of positions K.
    steps : int
        Number of lists n.

    Returns
    -------
    float
        Upper bound on the regret of n steps.

    Notes
    -----
    `sum over suboptimal e of 12 / D_e * log n + pi^2 L / 3`, D_e the gap of e to the K-th best. kveton2015, Theorem 2.

    Examples
    --------
    >>> round(kveton2015_theorem2([0.2] * 4 + [0.05] * 12, 4, 100_000), 3)
    11105.046
    """
    ranked, K = checked_problem(attraction, positions)
    slope = sum(12 / (better - own) for own, better in pair_with_rivals(ranked, K))
    return slope * log_and_log_log(steps)[0] + math.pi**2 / 3 * len(ranked)


def kveton2015_theorem3(attraction: Sequence[float], positions: int, steps: int, epsilon: float | None = None) -> float:
    """Bound the regret of CascadeKL-UCB from above, with the best epsilon unless one is given.

    Parameters
    ----------
    attraction : sequence of float
        Attraction probability w of each item, in any order.
    positions : int
        Number of positions K.
    steps : int
        Number of lists n.
    epsilon : float or None, default None
        Parameter eps, above 0; None minimises the bound over it.

    Returns
    -------
    float
        Upper bound on the regret of n steps.

    Notes
    -----
    `(1+eps) sum of D_e (1 + log(1/D_e)) / KL(w_e || w_K) * (log n + 3 log log n) + K L C2 n^-beta + 7 K log log n`,
    where `C2 = 1 / (1 - exp(-KL(r || w_e)))`, `beta = (1+eps) KL(r || w_e) / KL(w_e || w)` and `KL(r || w) = KL(w_e ||
    w) / (1+eps)`, at the pair of a suboptimal w_e and one of the best K, w, whose `C2 n^-beta` is largest; log log n is
    0 at n < 3. kveton2015, Theorem 3, with the "1 +" of its appendix A.2; C2 and beta: Garivier and Cappe 2011.

    Examples
    --------
    >>> round(kveton2015_theorem3([0.2] * 4 + [0.05] * 12, 4, 100_000), 3)
    2376.012
    """
    ranked, K = checked_problem(attraction, positions)
    log_steps, log_log_steps = log_and_log_log(steps)
    terms = [(better - own, divergence(own, better)) for own, better in pair_with_rivals(ranked, K)]
    slope = sum(gap * (1 - math.log(gap)) / information for gap, information in terms)
    # A set, because many items share their attraction and each pair needs a root search.
    pairs = {(own, best) for own in ranked[K:] for best in ranked[:K] if best > own}

    def bound(epsilon: float) -> float:
        leading = (1 + epsilon) * slope * (log_steps + 3 * log_log_steps)
        late = max((_late(own, best, epsilon, log_steps) for own, best in pairs), default=0.0)
        return leading + K * len(ranked) * late + 7 * K * log_log_steps

    return (
        _least(bound) if epsilon is None else bound(checked_positive("epsilon", epsilon, "leave it out for the best"))
    )


def kveton2015_theorem4(items: int, positions: int, attraction: float, gap: float, steps: int) -> float:
    """Bound the regret of any consistent cascade policy from below, for large n.

    Parameters
    ----------
    items : int
        Number of items L.
    positions : int
        Number of positions K.
    attraction : float
        Attraction p of the K best items.
    gap : float
        Gap D between the K best and the other items.
    steps : int
        Number of lists n.

    Returns
    -------
    float
        Lower bound on the regret of n steps.

    Notes
    -----
    `(L-K) (1-p)^(K-1) D / KL(p-D || p) * log n`: the asymptotic slope times log n. kveton2015, Theorem 4.

    Examples
    --------
    >>> round(kveton2015_theorem4(16, 4, 0.2, 0.15, 100_000), 3)
    112.944
    """
    K, levels = whole("positions", positions, 1, POSITIONS), checked_levels(attraction, gap)
    L, rate = whole("items", items, K, ITEMS), levels.gap / levels.information * log_and_log_log(steps)[0]
    return (L - K) * math.pow(1 - levels.attraction, K - 1) * rate


def _late(own: float, best: float, epsilon: float, log_steps: float) -> float:
    """C2 n^-beta: how often an item at `own` is mistaken for `best` after its share of trials."""
    if own == 0:
        return 0.0  # never clicked, so never overestimated
    information = divergence(own, best)
    if math.isinf(information):
        return 1 / (1 - own)  # best is 1: mistaken for it until its first skip (r = 1, beta = 0)
    target, mean = information / (1 + epsilon), own
    # KL(. || best) is convex and decreasing, so Newton's method from the left climbs to r and never passes it.
    for _ in range(100):
        fall = math.log(best / mean) + math.log((1 - mean) / (1 - best))
        climbed = mean + (divergence(mean, best) - target) / fall
        if not mean < climbed < best:
            break
        mean = climbed
    away = divergence(mean, own)
    if away == 0:
        return math.inf  # epsilon is too small to distinguish r from `own`
    return math.exp(-(1 + epsilon) * away / information * log_steps) / -math.expm1(-away)


def _least(bound: Callable[[float], float]) -> float:
    """Minimise over epsilon: the best point of a grid on log epsilon, then golden section there."""
    # Any epsilon gives a valid bound, so range and spacing of the grid only cost tightness.
    golden, grid = (math.sqrt(5) - 1) / 2, [place / 2 for place in range(-28, 29)]
    least, centre = min((bound(math.exp(point)), point) for point in grid)
    low, high = centre - 0.5, centre + 0.5
    while high - low > 1e-9:
        left, right = high - golden * (high - low), low + golden * (high - low)
        at_left, at_right = bound(math.exp(left)), bound(math.exp(right))
        least = min(least, at_left, at_right)
        low, high = (low, right) if at_left < at_right else (left, high)
    return least
