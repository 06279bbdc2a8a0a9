"""Regret bounds of hiranandani2019: Hiranandani and others, Cascading Linear Submodular Bandits, UAI 2019."""

import math

from toplist.bounds.common import FEATURES, POSITIONS, SHARE, checked_inside, checked_positive, log_and_log_log
from toplist.core.problem import number, whole


def hiranandani2019_theorem1(positions: int, strongest: float, termination: float = 1.0) -> float:
    """Share of the best list's reward that the greedy list is guaranteed to earn.

    Parameters
    ----------
    positions : int
        Number of positions K.
    strongest : float
        c_max, the largest attraction of an item shown alone.
    termination : float, default 1.0
        Probability zeta of leaving after a click.

    Returns
    -------
    float
        The share gamma.

    Notes
    -----
    `gamma = (1 - 1/e) max{1/K, 1 - (K-1) c_max / 2}`; for termination zeta, `zeta c_max` takes the place of c_max.
    hiranandani2019, Theorem 1.

    Examples
    --------
    >>> round(hiranandani2019_theorem1(4, 0.2), 6)
    0.442484
    """
    K = whole("positions", positions, 1, POSITIONS)
    top = number("strongest", strongest, 0.0, 1.0, SHARE) * number("termination", termination, 0.0, 1.0, SHARE)
    return (1 - math.exp(-1)) * max(1 / K, 1 - (K - 1) * top / 2)


def hiranandani2019_alpha(
    features: int, positions: int, steps: int, sigma: float = 0.1, preference_norm: float = 1.0
) -> float:
    """Smallest alpha of CascadeLSB for which its regret bound holds.

    Parameters
    ----------
    features : int
        Number of features d.
    positions : int
        Number of positions K.
    steps : int
        Number of lists n.
    sigma : float, default 0.1
        Noise parameter of the regression.
    preference_norm : float, default 1.0
        Length of the weights theta, at most 1.

    Returns
    -------
    float
        alpha.

    Notes
    -----
    `alpha = sqrt(d log(1 + n K / (d sigma^2)) + 2 log n) / sigma + |theta|`, where `|theta| <= 1`. hiranandani2019,
    Theorem 2, (10), with the norm outside the root as in Zong et al. 2016.

    Examples
    --------
    >>> round(hiranandani2019_alpha(18, 8, 20_000), 3)
    164.207
    """
    d, K = whole("features", features, 1, FEATURES), whole("positions", positions, 1, POSITIONS)
    log_steps, sigma = log_and_log_log(steps)[0], checked_positive("sigma", sigma, "leave it out for 0.1")
    norm = number("preference_norm", preference_norm, 0.0, 1.0, "scale the features so that it is at most 1")
    spread = d * math.log1p(steps * K / (d * sigma**2))
    return math.sqrt(spread + 2 * log_steps) / sigma + norm


def hiranandani2019_theorem2(
    features: int,
    positions: int,
    steps: int,
    ratio: float,
    sigma: float = 0.1,
    alpha: float | None = None,
    preference_norm: float = 1.0,
) -> float:
    """Bound the regret of CascadeLSB against the best list, its own reward divided by gamma.

    Parameters
    ----------
    features : int
        Number of features d.
    positions : int
        Number of positions K.
    steps : int
        Number of lists n.
    ratio : float
        gamma, which `hiranandani2019_theorem1` guarantees.
    sigma : float, default 0.1
        Noise parameter of the regression.
    alpha : float or None, default None
        Width of the confidence ellipsoid; None is the smallest permitted, `hiranandani2019_alpha`.
    preference_norm : float, default 1.0
        Length of the weights theta, at most 1.

    Returns
    -------
    float
        Upper bound on the regret of n steps.

    Notes
    -----
    `2 alpha K / gamma * sqrt(d n log(1 + n K / (d sigma^2)) / log(1 + 1/sigma^2)) + 1`. hiranandani2019, Theorem 2,
    (11).

    Examples
    --------
    >>> round(hiranandani2019_theorem2(18, 8, 20_000, ratio=0.5))
    5431583
    """
    least = hiranandani2019_alpha(features, positions, steps, sigma, preference_norm)
    if alpha is None:
        alpha = least
    else:
        alpha = checked_inside("alpha", alpha, least, math.inf, "leave it out for the least", without=[math.inf])
    ratio = checked_inside("ratio", ratio, 0.0, 1.0, "take hiranandani2019_theorem1's", without=[0.0])
    spread = math.log1p(steps * positions / (features * sigma**2)) / math.log1p(sigma**-2)
    return 2 * alpha * positions / ratio * math.sqrt(features * steps * spread) + 1
