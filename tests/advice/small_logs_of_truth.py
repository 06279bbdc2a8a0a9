"""Small logs of known visitors, for tests of the advice."""

from __future__ import annotations

import numpy as np

from toplist.advice.known_visitors import clicked_by, known_visitors, old_lists
from toplist.core.slate import Floats
from toplist.logs import ClickLog, FittedModel

GAIN: Floats = np.array([[0.05, 0.1, 0.15, 0.2, 0.4, 0.5]])  # the old ranking shows the worst items first
EQUAL: Floats = np.full((1, 6), 0.25)


def made_log(
    attraction: Floats, lists: int, visitors: str = "dcm", positions: int = 3, disorder: float = 0.6, seed: int = 0
) -> tuple[ClickLog, FittedModel]:
    """A log of an old ranking that prefers the first items, and its visitors."""
    truth = known_visitors(visitors, attraction, positions, seed)
    scores = np.tile(-np.arange(attraction.shape[1], dtype=np.float64), (len(attraction), 1))
    return clicked_by([truth], old_lists(scores, positions, lists, disorder, seed), seed), truth
