"""Links from a weighted sum of features to the expected value."""

from __future__ import annotations

import math

from toplist.core.compiling import helper

IDENTITY, LOGISTIC = 0, 1


@helper
def apply_link(total: float, link: int) -> float:
    """The expected value for a weighted sum of features."""
    return 1.0 / (1.0 + math.exp(-total)) if link == LOGISTIC else total
