"""What a ranker over features has learned itself, without its prior: sums of its observations, in two halves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from toplist.core.slate import Floats, Page, Slate
from toplist.ranker.own_counts import OwnCounts

HALVES = 2  # every other list: what both halves say is not chance


class OwnSums:
    """Sums over the observations of a ranker, as the policy reads them.

    Parameters
    ----------
    features : int
        Number of features that the policy sees.
    """

    def __init__(self, features: int) -> None:
        self.gram: Floats = np.zeros((HALVES, features, features))  # of x x'
        self.total: Floats = np.zeros((HALVES, features))  # of value x
        self.counts: Floats = np.zeros((HALVES, 3))  # lists, looks, and the sum of squared values

    @property
    def looks(self) -> float:
        """Number of looks."""
        return float(self.counts[:, 1].sum())

    def add(self, slate: Slate, page: Page) -> None:
        """Add a list that was just learned."""
        half = int(self.counts[:, 0].sum()) % HALVES
        self.counts[half, 0] += 1.0
        for place in range(slate.size[0]):
            weight, value = float(page.weight[place]), float(page.value[place])
            if weight > 0.0:
                row = slate.rows[place]
                self.gram[half] += weight * np.outer(row, row)
                self.total[half] += weight * value * row
                self.counts[half, 1:] += weight, weight * value * value

    def clear(self, slots: Sequence[int]) -> None:
        """Nothing: the sums are not those of items."""

    def grow(self, capacity: int) -> None:
        """Nothing: the sums are not those of items."""

    def fits(self, items: int, features: int) -> bool:
        """Whether it is that of a ranker of this size."""
        shapes = (HALVES, features, features), (HALVES, features), (HALVES, 3)
        return (self.gram.shape, self.total.shape, self.counts.shape) == shapes

    def arrays(self) -> dict[str, Any]:
        """What must be saved."""
        return {"own.gram": self.gram, "own.total": self.total, "own.counts": self.counts}


Own = OwnCounts | OwnSums


def own_of(arrays: dict[str, Any]) -> Own | None:
    """The counts or sums that were saved; None if none were."""
    if "own.gram" not in arrays:
        return OwnCounts.of(arrays)
    sums = OwnSums(0)
    sums.gram, sums.total, sums.counts = (arrays[f"own.{name}"].copy() for name in ("gram", "total", "counts"))
    return sums
