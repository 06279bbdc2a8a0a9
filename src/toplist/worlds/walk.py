"""Worlds whose attraction drifts slowly: a random walk per item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from toplist.core.problem import number, probabilities, refuse
from toplist.core.randomness import branch, toss
from toplist.core.slate import Floats
from toplist.support.catalogue import entry
from toplist.worlds.changing import Changing, Phase


class Walk(NamedTuple):
    """A way to change: a random walk of each item, up or down by `speed` at each step, between two walls.

    Parameters
    ----------
    speed : float or array_like of float, default 0.001
        Change per step, one for all items or one per item.
    low : float, default 0.0
        Lower wall; a step that would cross it is reflected.
    high : float, default 1.0
        Upper wall; likewise.

    Notes
    -----
    After t steps an item has moved by about `speed * sqrt(t)`.
    """

    speed: Any = 0.001
    low: float = 0.0
    high: float = 1.0

    def checked(self, attraction: Floats, positions: int) -> Self:
        """Check that the walls enclose all items; one speed per item."""
        low = number("The lower wall", self.low, 0.0, 1.0, "give one probability")
        high = number("The upper wall", self.high, low, 1.0, "give one probability, not below the lower wall")
        if attraction.min() < low or attraction.max() > high:
            raise refuse("The attraction", attraction.tolist(), f"between {low:g} and {high:g}", "move the walls")
        speed = probabilities("The speed", self.speed, len(attraction), "item")
        if speed.max() > high - low:
            accepted = f"at most the distance of the walls, {high - low:g}"
            raise refuse("The speed", float(speed.max()), accepted, "0.001 is usual")
        return self._replace(speed=speed, low=low, high=high)

    def abrupt(self) -> bool:
        """No."""
        return False

    def shift(self, attraction: Floats, moment: Phase, step: int, key: int) -> bool:
        """Move each item by one step."""
        moment.upcoming[0] = step + 1
        if step > 0:
            coins = branch(key, step)
            for item in range(len(attraction)):
                moved = moment.attraction[item] + (self.speed[item] if toss(coins, item, 0.5) else -self.speed[item])
                if moved > self.high:
                    moved = 2.0 * self.high - moved
                elif moved < self.low:
                    moved = 2.0 * self.low - moved
                moment.attraction[item] = min(max(moved, self.low), self.high)  # against rounding
        return True


@entry("Drifting attraction")
def drifting(
    attraction: Sequence[float] | Floats, positions: int, speed: Any = 0.001, low: float = 0.0, high: float = 1.0
) -> Changing:
    """Each attraction is a random walk: at every step up or down by `speed`, reflected at `low` and `high`.

    Parameters
    ----------
    attraction : array_like of float
        Attraction probability of each item at the beginning.
    positions : int
        Number of positions K.
    speed : float or array_like of float, default 0.001
        Change per step, one for all items or one per item.
    low : float, default 0.0
        Smallest attraction.
    high : float, default 1.0
        Largest attraction.

    Returns
    -------
    Changing
        The world.

    Notes
    -----
    The steps are drawn per run. After t steps an attraction has moved by about `speed * sqrt(t)`. Restless bandits of
    this kind are Slivkins and Upfal's (Adapting to a Changing Environment, COLT 2008).

    Examples
    --------
    >>> drifting([0.5, 0.4, 0.1], positions=2, speed=0.01).how.speed
    0.01
    """
    return Changing(attraction, positions, Walk(speed, low, high))
