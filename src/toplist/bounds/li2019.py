"""Regret bounds of li2019: Li and de Rijke, Cascading Non-Stationary Bandits, IJCAI 2019."""

import math
from collections.abc import Sequence

from toplist.bounds.common import (
    CHANGES,
    ITEMS,
    STEPS,
    checked_inside,
    checked_levels,
    checked_problem,
    pair_with_rivals,
)
from toplist.core.problem import refuse, whole


def li2019_gaps(epochs: Sequence[Sequence[float]], positions: int) -> list[float]:
    """Smallest gap of each item to the K-th best item over the epochs between changes.

    Parameters
    ----------
    epochs : sequence of sequence of float
        The attraction probabilities w of all items, for each epoch.
    positions : int
        Number of positions K.

    Returns
    -------
    list of float
        The gap of each item; infinite for an item that is always optimal.

    Notes
    -----
    `D_a = min of w_K - w_a` over the epochs where a is suboptimal. li2019, section 4.1.

    Examples
    --------
    >>> [round(gap, 3) for gap in li2019_gaps([[0.5, 0.3, 0.1], [0.5, 0.3, 0.9]], 2)]
    [inf, 0.2, 0.2]
    """
    lengths = [len(epoch) for epoch in epochs]
    if len(set(lengths)) != 1:
        raise refuse("epoch lengths", lengths, "all the same, of one epoch or more", "list every item in every epoch")
    gaps = [math.inf] * lengths[0]
    for epoch in epochs:
        better = dict(pair_with_rivals(*checked_problem(epoch, positions)))
        gaps = list(map(min, gaps, (better.get(own, math.inf) - own for own in epoch)))
    return gaps


def li2019_theorem1(gaps: Sequence[float], changes: int, steps: int, discount: float, epsilon: float) -> float:
    """Bound the regret of CascadeDUCB from above.

    Parameters
    ----------
    gaps : sequence of float
        Gap D_a of each item, as `li2019_gaps` returns them.
    changes : int
        Number of changes Y.
    steps : int
        Number of lists n.
    discount : float
        Discount g per list, in (1/2, 1).
    epsilon : float
        Parameter eps, in (1/2, 1).

    Returns
    -------
    float
        Upper bound on the regret of n steps.

    Notes
    -----
    `L Y ln((1-g) eps) / ln g + sum over items of C_a * ceil(n (1-g)) * ln(1 / (1-g))`, where `C_a = 4 / ((1 - 1/e) ln(1
    + 4 sqrt(1 - 1/(2 eps)))) + 32 eps / (D_a g^(1/(1-g)))`. li2019, Theorem 1; (10) prints the logarithm as a factor,
    but its proof, (23), divides by it, and so does this.

    Examples
    --------
    >>> round(li2019_theorem1([math.inf] * 3 + [0.3] * 7, 5, 100_000, 0.999, 0.6))
    1257535
    """
    discount = checked_inside("discount", discount, 0.5, 1.0, "the theorem holds only inside", without=[0.5, 1.0])
    missed = 4 / ((1 - math.exp(-1)) * _peeling(epsilon, gaps))
    L, kept = len(gaps), math.pow(discount, 1 / (1 - discount))
    constants = sum(missed + 32 * epsilon / (gap * kept) for gap in gaps)
    biased = math.log((1 - discount) * epsilon) / math.log(discount)
    # The slack undoes rounding: 100_000 * (1 - 0.999) is a little over 100 in floating point.
    spans = math.ceil(whole("steps", steps, 1, STEPS) * (1 - discount) * (1 - 1e-12))
    return L * whole("changes", changes, 0, CHANGES) * biased - constants * spans * math.log(1 - discount)


def li2019_theorem2(gaps: Sequence[float], changes: int, steps: int, window: int, epsilon: float) -> float:
    """Bound the regret of CascadeSWUCB from above.

    Parameters
    ----------
    gaps : sequence of float
        Gap D_a of each item, as `li2019_gaps` returns them.
    changes : int
        Number of changes Y.
    steps : int
        Number of lists n.
    window : int
        Length tau of the window in lists, at least 2.
    epsilon : float
        Parameter eps, in (1/2, 1).

    Returns
    -------
    float
        Upper bound on the regret of n steps.

    Notes
    -----
    `L Y tau + L ln(tau)^2 / q + sum of C_a n ln(tau) / tau`, `q = ln(1 + 4 sqrt(1 - 1/(2 eps)))`,
    `C_a = 2 / ln(tau) * ceil(ln(tau) / q) + 8 eps / D_a * ceil(n / tau) / (n / tau)`. li2019, Theorem 2.

    Examples
    --------
    >>> round(li2019_theorem2([math.inf] * 3 + [0.3] * 7, 5, 100_000, 2000, 0.6))
    151162
    """
    L, peeling = len(gaps), _peeling(epsilon, gaps)
    window = whole("window", window, 2, "give the length of the window in lists")
    log_window, spans = math.log(window), whole("steps", steps, 1, STEPS) / window
    missed = L * (log_window**2 / peeling + 2 * spans * math.ceil(log_window / peeling))
    explored = sum(8 * epsilon / gap for gap in gaps) * math.ceil(spans) * log_window
    return L * whole("changes", changes, 0, CHANGES) * window + missed + explored


def li2019_theorem3(items: int, attraction: float, gap: float, steps: int) -> float:
    """Bound the worst-case regret of any policy from below, for large n, two changes and K = L/2.

    Parameters
    ----------
    items : int
        Number of items L, even.
    attraction : float
        Attraction p of the better half of the items, at every step.
    gap : float
        Gap D to the other half.
    steps : int
        Number of lists n.

    Returns
    -------
    float
        Lower bound on the regret of n steps.

    Notes
    -----
    `L D (1-p)^(K-1) sqrt(2 n / (3 KL(p-D || p)))`. li2019, Theorem 3.

    Examples
    --------
    >>> round(li2019_theorem3(16, 0.2, 0.15, 100_000), 3)
    423.997
    """
    L, steps, levels = whole("items", items, 2, ITEMS), whole("steps", steps, 1, STEPS), checked_levels(attraction, gap)
    if L % 2 == 1:
        raise refuse("items", items, "an even number", "show half of the items, K = L/2")
    observed = math.sqrt(2 * steps / (3 * levels.information))
    return L * levels.gap * math.pow(1 - levels.attraction, L // 2 - 1) * observed


def _peeling(epsilon: float, gaps: Sequence[float]) -> float:
    """ln(1 + 4 sqrt(1 - 1/(2 eps))); at the policies' eps = 1/2 it is 0, and the proof is void."""
    epsilon = checked_inside("epsilon", epsilon, 0.5, 1.0, "give one a little over 1/2", without=[0.5, 1.0])
    if not all(0 < gap <= 1 or gap == math.inf for gap in gaps):
        raise refuse("gaps", list(gaps), "in (0, 1], or inf for an item that always is optimal", "use li2019_gaps")
    return math.log1p(4 * math.sqrt(1 - 1 / (2 * epsilon)))
