"""Regret bound of liu2018: Liu, Li and Zhang, Contextual Dependent Click Bandit Algorithm, COCOON 2018."""

import math

from toplist.bounds.common import FEATURES, POSITIONS, SHARE, checked_inside, checked_positive, log_and_log_log
from toplist.core.problem import number, whole


def liu2018_theorem1(
    features: int, positions: int, steps: int, drop: float, ridge: float, scale: float = 1.25
) -> float:
    """Bound the regret of GL-CDCM, whose delta is 1 / sqrt(n), from above.

    Parameters
    ----------
    features : int
        Number of features d.
    positions : int
        Number of positions K.
    steps : int
        Number of lists n.
    drop : float
        p_v, the largest `v_i - v_(i+1)` over positions (`v_(K+1) = 0`, v sorted downwards) and steps.
    ridge : float
        lambda, at least K.
    scale : float, default 1.25
        s, which is `k_mu sigma / c_mu`.

    Returns
    -------
    float
        Upper bound on the regret of n steps.

    Notes
    -----
    `4 d K p_v s * sqrt(n K log((1 + n / (lambda d)) sqrt(n)) log(1 + K n / (lambda d)))`. liu2018, Theorem 1.

    Examples
    --------
    >>> round(liu2018_theorem1(10, 4, 10_000, drop=0.2, ridge=4), 3)
    66928.017
    """
    d, K = whole("features", features, 1, FEATURES), whole("positions", positions, 1, POSITIONS)
    log_steps, scale = log_and_log_log(steps)[0], checked_positive("scale", scale, "leave it out for 1.25")
    drop = number("drop", drop, 0.0, 1.0, SHARE)
    ridge = checked_inside("ridge", ridge, K, math.inf, f"give K = {K}", without=[math.inf])
    confidence = math.log1p(steps / (ridge * d)) + log_steps / 2
    spread = math.sqrt(steps * K * confidence * math.log1p(K * steps / (ridge * d)))
    return 4 * d * K * drop * scale * spread
