"""Worlds in which some items jump up for a while."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.problem import number, refuse, whole
from toplist.core.randomness import branch, uniform
from toplist.core.slate import Floats
from toplist.support.catalogue import entry
from toplist.worlds.changing import Changing, Phase


class Jumps(NamedTuple):
    """A way to change: at times, some items outside the K most attractive jump to `height`.

    Parameters
    ----------
    raised : int, default 3
        Number of items that jump.
    height : float, default 0.9
        Their attraction probability while they are up.
    up : int, default 10000
        Steps that a jump lasts (m1).
    down : int, default 10000
        Steps between jumps, and before the first one (m2).

    Notes
    -----
    The items are drawn each time. Ties for the K most attractive items, at the beginning, go to the lower index.
    """

    raised: int = 3
    height: float = 0.9
    up: int = 10_000
    down: int = 10_000
    suboptimal: Any = ()  # items outside the K best, the most attractive first; filled by `checked`

    def checked(self, attraction: Floats, positions: int) -> Self:
        """Check the numbers, and list the items that may jump."""
        suboptimal = np.argsort(-attraction, kind="stable")[positions:]
        raised = whole("The number of items that jump", self.raised, 1, "give a number")
        if raised > len(suboptimal):
            accepted = f"at most {len(suboptimal)}, the items that are not among the K most attractive"
            raise refuse("The number of items that jump", raised, accepted, "let fewer jump, or add items")
        return self._replace(
            raised=raised,
            height=number("The height of a jump", self.height, 0.0, 1.0, "give one probability"),
            up=whole("The length of a jump", self.up, 1, "the paper's is 10,000"),
            down=whole("The number of steps between jumps", self.down, 1, "the paper's is 10,000"),
            suboptimal=suboptimal,
        )

    def abrupt(self) -> bool:
        """Yes."""
        return True

    def shift(self, attraction: Floats, moment: Phase, step: int, key: int) -> bool:
        """Raise items, or lower them again."""
        for item in range(len(attraction)):
            moment.attraction[item] = attraction[item]
        moment.upcoming[0] = step + (self.up if moment.epoch[0] % 2 == 1 else self.down)
        if moment.epoch[0] % 2 == 1:
            # The largest numbers win; drawn by rank, so that the numbering of the items does not matter.
            drawn, below = branch(key, moment.epoch[0]), 2.0
            for _ in range(self.raised):
                chosen, most = -1, -1.0
                for rank in range(len(self.suboptimal)):
                    own = uniform(drawn, rank)
                    if most < own < below:
                        chosen, most = self.suboptimal[rank], own
                moment.attraction[chosen] = self.height
                below = most
        return True


@entry("Jumping attraction", "li2019")
def jumping(
    attraction: Sequence[float] | Floats,
    positions: int,
    raised: int = 3,
    height: float = 0.9,
    up: int = 10_000,
    down: int = 10_000,
) -> Changing:
    """Every other epoch, some items outside the K most attractive jump to `height`, as in li2019, section 5.

    Parameters
    ----------
    attraction : array_like of float
        Attraction probability of each item at the beginning.
    positions : int
        Number of positions K.
    raised : int, default 3
        Number of items that jump, drawn each time and per run.
    height : float, default 0.9
        Their attraction probability while they are up.
    up : int, default 10000
        Steps that a jump lasts (m1).
    down : int, default 10000
        Steps between jumps, and before the first one (m2).

    Returns
    -------
    Changing
        The world.

    Examples
    --------
    >>> jumping([0.5, 0.4, 0.1, 0.1, 0.1], positions=2).checked().breakpoints(key=0, steps=50_000).tolist()
    [10000, 20000, 30000, 40000]
    """
    return Changing(attraction, positions, Jumps(raised, height, up, down))
