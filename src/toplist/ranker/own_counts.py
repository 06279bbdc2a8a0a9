"""What a ranker has learned itself, without its priors: looks and clicks per item, from which others can begin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from toplist.core.slate import Floats, Page, Slate


class OwnCounts:
    """Looks and clicks per slot, as the policy reads them.

    Parameters
    ----------
    capacity : int
        Number of slots.
    """

    def __init__(self, capacity: int) -> None:
        self.looks: Floats = np.zeros(capacity)
        self.clicks: Floats = np.zeros(capacity)

    def add(self, slate: Slate, page: Page) -> None:
        """Count a list that was just learned."""
        for place in range(slate.size[0]):
            weight = page.weight[place]
            if weight > 0.0:
                slot = slate.items[place]
                self.looks[slot] += weight
                self.clicks[slot] += weight * page.value[place]

    def clear(self, slots: Sequence[int]) -> None:
        """Forget slots, for their next items."""
        self.looks[slots] = self.clicks[slots] = 0.0

    def grow(self, capacity: int) -> None:
        """Make room for more slots."""
        more = np.zeros(capacity - len(self.looks))
        self.looks, self.clicks = np.append(self.looks, more), np.append(self.clicks, more)

    def fits(self, items: int, features: int) -> bool:
        """Whether it is that of a ranker of this size."""
        return self.looks.shape == self.clicks.shape == (items,)

    def arrays(self) -> dict[str, Any]:
        """What must be saved."""
        return {"own.looks": self.looks, "own.clicks": self.clicks}

    @classmethod
    def of(cls, arrays: dict[str, Any]) -> OwnCounts | None:
        """The counts that were saved; None if none were."""
        if "own.looks" not in arrays:
            return None
        counts = cls(0)
        counts.looks, counts.clicks = arrays["own.looks"].copy(), arrays["own.clicks"].copy()
        return counts
