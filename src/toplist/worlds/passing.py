"""Worlds whose items come and go, with given or drawn lifetimes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import InvalidInput, number, refuse
from toplist.core.randomness import branch, uniform
from toplist.core.slate import Floats, Ints
from toplist.support.catalogue import entry
from toplist.worlds.changing import FOREVER, Changing, Phase, draw_duration

GIVE_LIFETIMES = "give [0, 500] for an item that goes after 500 steps, [500, None] for one that comes then and stays"


class Stays(NamedTuple):
    """A way to change: items come and go, with given or drawn lifetimes.

    Parameters
    ----------
    lifetimes : sequence of pairs of int, optional
        Per item the steps before it comes and the steps before it goes, or None for never. Such an item is available
        once.
    stay : float, default 2000.0
        Without lifetimes, the mean number of steps that an item is available.
    away : float, default 2000.0
        Without lifetimes, the mean number of steps that an item is absent.

    Notes
    -----
    Without lifetimes items come and go for ever, independently: at each step a stay ends with probability 1 / stay, and
    an absence with 1 / away. The last K available items stay until another comes.
    """

    lifetimes: Any = ()
    stay: float = 2000.0
    away: float = 2000.0
    least: int = 0  # number of items that stay at least, K; filled by `checked`

    def checked(self, attraction: Floats, positions: int) -> Self:
        """Check the lifetimes: whole steps, and an item available at each."""
        advice = "give the mean number of steps"
        return self._replace(
            lifetimes=_checked_lifetimes(self.lifetimes, len(attraction)),
            stay=number("The mean stay", self.stay, 1.0, 1e15, advice),
            away=number("The mean absence", self.away, 1.0, 1e15, advice),
            least=positions,
        )

    def abrupt(self) -> bool:
        """Yes."""
        return True

    def passing(self) -> bool:
        """Yes."""
        return True

    def shift(self, attraction: Floats, moment: Phase, step: int, key: int) -> bool:
        """Add and remove the items that are due."""
        given = len(self.lifetimes) > 0
        if step == 0:
            for item in range(len(attraction)):
                moment.attraction[item] = -1.0
                moment.turns[item] = 0
                moment.until[item] = self.lifetimes[item, 0] if given else 0
            moment.present[0] = 0
            if not given:
                draw_initial_items(moment, self.stay, self.away, self.least, key)
        changed = step == 0
        moment.upcoming[0] = FOREVER
        for item in range(len(attraction)):
            if moment.until[item] <= step:
                comes = moment.attraction[item] < 0.0
                goes = not comes and (given or moment.present[0] > self.least)
                if comes or goes:
                    moment.attraction[item] = attraction[item] if comes else -1.0
                    moment.present[0] += 1 if comes else -1
                    changed = True
                if given:
                    moment.until[item] = self.lifetimes[item, 1] if comes else FOREVER
                else:
                    mean = self.away if goes else self.stay
                    moment.until[item] = step + draw_duration(branch(key, item), moment.turns[item], mean)
                    moment.turns[item] += 1
            moment.upcoming[0] = min(moment.upcoming[0], moment.until[item])
        filled = 0
        for item in range(len(attraction)):
            if moment.attraction[item] >= 0.0:
                moment.there[filled] = item
                filled += 1
        return changed


@helper
def draw_initial_items(moment: Phase, stay: float, away: float, least: int, key: int) -> None:
    """Draw the items of the first step from the stationary distribution; if too few, add those nearest to it."""
    share, here = stay / (stay + away), 0
    for item in range(len(moment.until)):
        if uniform(branch(key, item), -1) < share:
            here += 1
        else:
            moment.until[item] = draw_duration(branch(key, item), 0, away)
            moment.turns[item] = 1
    while here < least:
        nearest, lowest = -1, 2.0
        for item in range(len(moment.until)):
            own = uniform(branch(key, item), -1)
            if moment.until[item] > 0 and own < lowest:
                nearest, lowest = item, own
        moment.until[nearest] = 0
        here += 1


def _checked_lifetimes(given: Any, items: int) -> Ints:
    """A row per item, with at least one item available at every step."""
    accepted = f"{items} pairs of whole numbers, the first at least 0 and the second larger or None"
    rows = np.zeros((0, 2), dtype=np.int64)
    try:
        if len(given) > 0:
            rows = np.array([[come, FOREVER if go is None else go] for come, go in given])
    except (TypeError, ValueError):
        raise refuse("lifetimes", given, accepted, GIVE_LIFETIMES) from None
    if len(rows) == 0:
        return rows
    if rows.dtype.kind not in "iu" or len(rows) != items or (rows[:, 0] < 0).any() or (rows[:, 0] >= rows[:, 1]).any():
        raise refuse("lifetimes", given, accepted, GIVE_LIFETIMES)
    for step in sorted({0, *rows[:, 1].tolist()} - {FOREVER}):
        if not ((rows[:, 0] <= step) & (step < rows[:, 1])).any():
            raise InvalidInput(f"After {step} steps no item is available, but a list needs one; let one stay.")
    return rows.astype(np.int64)


@entry("Items that come and go")
def coming_and_going(
    attraction: Sequence[float] | Floats,
    positions: int,
    lifetimes: Sequence[Any] | Ints = (),
    stay: float = 2000.0,
    away: float = 2000.0,
) -> Changing:
    """Items that are available at some steps only: within given `lifetimes`, or coming and going at random.

    Parameters
    ----------
    attraction : array_like of float
        Attraction probability of each item.
    positions : int
        Number of positions K.
    lifetimes : sequence of pairs of int, optional
        Per item the steps before it comes and the steps before it goes, or None for never.
    stay : float, default 2000.0
        Without lifetimes, the mean number of steps that an item is available.
    away : float, default 2000.0
        Without lifetimes, the mean number of steps that an item is absent.

    Returns
    -------
    Changing
        The world.

    Notes
    -----
    Without lifetimes the items come and go independently, drawn per run, with geometric durations; the last K available
    items stay until another comes. An item that returns is the same item. Lists, including the best one, hold available
    items only, and are shorter where there are fewer than K.

    Examples
    --------
    >>> world = coming_and_going([0.5, 0.3, 0.9], positions=1, lifetimes=[[0, None], [0, 700], [400, 600]])
    >>> world.checked().breakpoints(key=0, steps=1000).tolist()
    [400, 600, 700]
    """
    return Changing(attraction, positions, Stays(lifetimes, stay, away))
