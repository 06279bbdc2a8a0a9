"""Begins a fit where that to some of its lists has ended, so that few iterations over all of them are left.

Newton's steps may then take the second derivatives of the sample for those of all lists: the maximum is where the first
derivatives vanish, which are of all lists, and the steps lead there nearly as fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from toplist.logs.fitting.loops import FitRows
from toplist.logs.fitting.maximise import FitSettings, LocalWorkers, Maximiser, maximise
from toplist.logs.fitting.partition import Partition
from toplist.logs.fitting.prior import CoinPrior
from toplist.logs.patterns import Patterns

WORTH = 4  # times as many lists as the sample has, or they are fitted at once
INSIDE = 1e-4  # coins that a sample sends to 0 or 1 begin so far inside, since others may want them back
OBSERVED = 1000  # positions per pair from which on the sample's second derivatives stand for those of all lists
TOLERANCE = 1e-4  # of the fit to the sample, which has an error of its own


def begin_from_sample(maximiser: Maximiser, prior: CoinPrior, sample: int, settings: FitSettings) -> bool:
    """Fit a sample of the lists, and let a fit begin with its coins.

    Parameters
    ----------
    maximiser : Maximiser
        The fit, before its first iteration.
    prior : CoinPrior
        Its prior.
    sample : int
        Number of lists of the sample; equal ones count once.
    settings : FitSettings
        Those of the fit.

    Returns
    -------
    bool
        Whether it did: not if the lists are few, or are not all in memory.
    """
    parts: Sequence[Partition] = getattr(maximiser.workers, "partitions", ())
    if not sample or len(parts) != 1 or parts[0].per_query:
        return False
    part = parts[0]
    patterns = part.patterns
    if not isinstance(patterns, Patterns) or len(patterns.weight) < WORTH * sample:
        return False
    chosen = some_rows(patterns, np.arange(0, len(patterns.weight), len(patterns.weight) // sample))
    small = Partition(chosen, part.model, prior, part.per_query, maximiser.found.shared)
    first = Maximiser(
        LocalWorkers([small]), maximiser.found.shared, np.flatnonzero(maximiser.fixed).tolist(), prior, chosen.lists,
        part.per_query,
    )  # fmt: skip
    maximise(first, settings._replace(tolerance=max(settings.tolerance, TOLERANCE)), lambda _: None)
    part.theta[:] = np.where(part.fixed, part.theta, np.clip(small.theta, INSIDE, 1.0 - INSIDE))
    shared = np.clip(first.found.shared, INSIDE, 1.0 - INSIDE)
    maximiser.found.shared[:] = np.where(maximiser.fixed, maximiser.found.shared, shared)
    if len(chosen.pair) >= OBSERVED * len(patterns.item_code):
        weight = chosen.weight * (patterns.lists / chosen.lists)
        rows = FitRows(chosen.start, chosen.pair, chosen.click, weight, chosen.query, part.pair_coins, 0)
        part.curved = [rows]
    return True


def some_rows(patterns: Patterns, rows: Any) -> Patterns:
    """Some rows of patterns, with the same pairs."""
    sizes = np.diff(patterns.start)[rows]
    start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
    at = np.arange(int(start[-1])) + np.repeat(patterns.start[rows] - start[:-1], sizes)
    return patterns._replace(
        start=start, pair=patterns.pair[at], click=patterns.click[at], weight=patterns.weight[rows],
        query=patterns.query[rows],
    )  # fmt: skip
