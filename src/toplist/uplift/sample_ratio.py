"""Checks that visitors come to the groups as assigned: a test by betting that is valid at any time.

The evidence against the assigned share p, after x of n visitors came to the holdout, is the likelihood of a share drawn
from a Beta distribution around p over that of p itself. If visitors come as assigned, it is a martingale that starts at
1, so that by Ville's inequality it ever reaches 1 / level with a probability of at most `level`; however often one
looks. See Lindon and Malek, "Anytime-valid inference for multinomial count data" (NeurIPS 2022).
"""

from __future__ import annotations

import math

STRENGTH = 100.0  # of the Beta distribution: shares some points away from p are found soonest
ALARM_LEVEL = 0.01


def log_evidence(holdout: int, policy: int, share: float) -> float:
    """The logarithm of the evidence against an assigned share.

    Parameters
    ----------
    holdout, policy : int
        Visitors that came to each group.
    share : float
        Share assigned to the holdout, between 0 and 1.

    Returns
    -------
    float
        0 before the first visitor; an alarm is due above log(1 / level).

    Examples
    --------
    >>> log_evidence(100, 900, 0.1) < 0, log_evidence(60, 940, 0.1) > math.log(100)
    (True, True)
    """
    before = STRENGTH * share, STRENGTH * (1.0 - share)
    likelihood = holdout * math.log(share) + policy * math.log1p(-share)
    return _log_beta(before[0] + holdout, before[1] + policy) - _log_beta(*before) - likelihood


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
