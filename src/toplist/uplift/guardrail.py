"""A guardrail: when is it certain that the policy is worse than the baseline by a stated amount?"""

from __future__ import annotations

from typing import NamedTuple

from toplist.uplift.intervals import GroupComparison


class StopRule(NamedTuple):
    """Stops a policy whose metric is certainly below that of the holdout by more than a share of it.

    Parameters
    ----------
    metric : str
        One of `METRICS`.
    worse_by : float, default 0
        Loss that is still accepted, as a share of the holdout's: 0.05 stops what is certainly 5 % worse.
    level : float, default 0.05
        Chance at most that a policy is ever stopped that is not worse by that much.
    """

    metric: str
    worse_by: float = 0.0
    level: float = 0.05

    def is_broken(self, ratio: GroupComparison) -> bool:
        """Whether to stop, by the ratio of policy to holdout with its sequence at this level.

        Examples
        --------
        >>> from toplist.uplift import UpliftInterval
        >>> found = GroupComparison(0.8, UpliftInterval(0.7, 0.92), None)
        >>> StopRule("click_through", 0.05).is_broken(found), StopRule("click_through", 0.1).is_broken(found)
        (True, False)
        """
        return ratio.sequence is not None and ratio.sequence.high < 1.0 - self.worse_by
