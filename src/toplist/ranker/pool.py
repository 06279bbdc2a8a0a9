"""What is known of items from all segments together, as priors for a new segment: empirical Bayes over segments.

Per item, the attraction in a segment is a draw from a beta distribution around the item's mean over all segments. How
much segments differ is one number for all items, the strength of that distribution, and is found by the method of
moments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from toplist.core.item_id import ItemId
from toplist.core.prior import Prior
from toplist.core.slate import Floats
from toplist.ranker.own_counts import OwnCounts
from toplist.ranker.priors import MOST_STRENGTH

# Columns of the sums: looks n and clicks s of everybody without a segment; and over segments the sums of n, s, s^2,
# s n, n^2 and n^3.
COLUMNS = 8
EVERYBODY_LOOKS, EVERYBODY_CLICKS, LOOKS, CLICKS, CLICKS_2, CLICKS_LOOKS, LOOKS_2, LOOKS_3 = range(COLUMNS)
LARGEST_STRENGTH, SMALLEST_STRENGTH = 10_000.0, 1.0
# Until the segments say otherwise, they are taken as alike: else a division into equal ones would cost clicks. Where
# they differ, they are still better off than undivided.
USUAL_STRENGTH = LARGEST_STRENGTH
USUAL_WEIGHT = 10_000.0  # of the usual strength, in squared looks of a segment at an item
POOLED_ODDS = 10_000.0  # that a pool may set against an item being as good as the K-th best in a new segment


class Pool:
    """Sums of looks and clicks over segments, per item, and the priors that follow from them.

    Parameters
    ----------
    items : sequence of str or int
        The items, in the order of the sums.
    sums : array_like of float, shape (items, 8), optional
        Sums of an earlier pool; none by default.
    """

    def __init__(self, items: Sequence[ItemId] = (), sums: Any = None) -> None:
        self._row = {item: row for row, item in enumerate(items)}
        self._sums: Floats = np.zeros((len(items), COLUMNS)) if sums is None else np.array(sums, dtype=np.float64)

    @property
    def items(self) -> list[ItemId]:
        """The items that were ever examined, in the order of the sums."""
        return list(self._row)

    @property
    def sums(self) -> Floats:
        """The sums, one row per item."""
        return self._sums[: len(self._row)]

    @property
    def looks(self) -> float:
        """Number of looks at all items."""
        return float(self.sums[:, EVERYBODY_LOOKS].sum() + self.sums[:, LOOKS].sum())

    def add(self, names: Sequence[ItemId | None], counts: OwnCounts, is_segment: bool = True) -> None:
        """Add what one segment has counted, or what was counted without a segment.

        Parameters
        ----------
        names : sequence of str, int or None
            The item in each slot.
        counts : OwnCounts
            Looks and clicks per slot.
        is_segment : bool, default True
            Whether they are of one segment; else they tell of everybody.
        """
        slots = np.flatnonzero(counts.looks)
        items = [names[slot] for slot in slots.tolist()]
        slots = slots[[item is not None for item in items]]
        rows = np.array([self._row_of(item) for item in items if item is not None], dtype=np.int64)
        n, s = counts.looks[slots], counts.clicks[slots]
        if is_segment:
            self._sums[rows, LOOKS:] += np.stack([n, s, s * s, s * n, n * n, n**3], axis=1)
        else:
            self._sums[rows, :LOOKS] += np.stack([n, s], axis=1)

    def _row_of(self, item: ItemId) -> int:
        row = self._row.setdefault(item, len(self._row))
        if row == len(self._sums):
            self._sums = np.concatenate([self._sums, np.zeros((max(16, row), COLUMNS))])
        return row

    def strength(self) -> float:
        """How alike segments are: the strength of the prior of a segment, learned from the segments so far.

        Returns
        -------
        float
            Looks that the common mean of an item is worth in a new segment, between 1 and 10,000; the latter before
            there are segments to compare.

        Notes
        -----
        Let n looks at an item in a segment have s clicks, N the sum of n over segments, m the mean of the item over
        segments, and v = m (1 - m). With the correlation rho = 1 / (1 + strength) of two looks in a segment, the
        expectation of (s - n m)^2, summed over segments, is v (A + rho B), where A sums a n and B sums a n (n - 1) with
        a = 1 - 2 n / N + (sum of n^2) / N^2, which allows for the estimate of m. Summed over items, that is solved for
        rho; a weight of 10,000 squared looks holds it to the usual 1 / 10,001.
        """
        sums = self.sums[self.sums[:, LOOKS] > 1.0]
        total, squares = sums[:, LOOKS], sums[:, LOOKS_2]
        mean = sums[:, CLICKS] / total
        spread = mean * (1.0 - mean) * total / (total - 1.0)
        found = sums[:, CLICKS_2] - 2.0 * mean * sums[:, CLICKS_LOOKS] + mean**2 * squares
        alone = total - squares / total
        together = squares - 2.0 * sums[:, LOOKS_3] / total + squares**2 / total**2 - alone
        usual = 1.0 / (1.0 + USUAL_STRENGTH)
        seen = float(squares.sum())
        weight = USUAL_WEIGHT * float(spread @ squares) / seen if seen > 0.0 else 0.0
        information = float(spread @ together) + weight
        if information <= 0.0:
            return USUAL_STRENGTH
        rho = (float((found - spread * alone).sum()) + weight * usual) / information
        return 1.0 / min(max(rho, 1.0 / (1.0 + LARGEST_STRENGTH)), 1.0 / (1.0 + SMALLEST_STRENGTH)) - 1.0

    def priors(self, strength: float, known: Mapping[ItemId, Prior]) -> dict[ItemId, Prior]:
        """The priors of a new segment.

        Parameters
        ----------
        strength : float
            How alike segments are, stated or learned.
        known : mapping of str or int to Prior
            The priors that some items have apart from the segments.

        Returns
        -------
        dict
            A prior for every item that was examined. Its strength is below `strength` where an item was seldom
            examined: the mean over segments is then uncertain, too.
        """
        rho = 1.0 / (1.0 + strength)
        sums = self.sums
        added = np.array([known.get(item, _NOTHING) for item in self._row]).reshape(-1, 2)
        more = np.minimum(added[:, 1], MOST_STRENGTH)
        looks = sums[:, EVERYBODY_LOOKS] + sums[:, LOOKS] + more
        clicks = sums[:, EVERYBODY_CLICKS] + sums[:, CLICKS] + added[:, 0] * more
        doubt = (looks + rho * (sums[:, LOOKS_2] - sums[:, LOOKS])) / looks**2
        counted = np.maximum(1.0 / (rho + doubt) - 1.0, 0.0)
        means = np.minimum(clicks / looks, 1.0)
        return {
            item: Prior(mean, count)
            for item, mean, count in zip(self._row, means.tolist(), counted.tolist(), strict=True)
        }


_NOTHING = Prior(0.0, 0.0)
