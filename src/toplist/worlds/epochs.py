"""Worlds that are constant between breakpoints: another attraction of all items in each epoch."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.problem import InvalidInput, number, probabilities, refuse, whole
from toplist.core.slate import Floats, Ints
from toplist.support.catalogue import entry
from toplist.worlds.changing import FOREVER, Changing, Phase, draw_duration
from toplist.worlds.fixed import b_top_k


class Epochs(NamedTuple):
    """A way to change: another attraction of all items after each breakpoint.

    Parameters
    ----------
    later : array_like of float
        A row of attraction probabilities for each epoch after the first.
    breakpoints : sequence of int, optional
        Steps before each of these epochs, ascending; the epochs then come once.
    length : float, default 0.0
        Mean number of steps of an epoch, instead of breakpoints: each step is the last of its epoch with probability
        1 / length, drawn per run, and after the last epoch the first comes again.
    """

    later: Any
    breakpoints: Any = ()
    length: float = 0.0

    def checked(self, attraction: Floats, positions: int) -> Self:
        """Check that there is one row per epoch, and as many breakpoints."""
        rows = [probabilities("The attraction of an epoch", row, None, "item") for row in self.later]
        for row in rows:
            if len(row) != len(attraction):
                accepted = f"{len(attraction)} probabilities"
                raise refuse("An epoch", row.tolist(), accepted, "give one per item, as in the first")
        if not rows:
            raise InvalidInput("There is one epoch, but a change needs two; give a row of attractions for each.")
        breakpoints = _checked_breakpoints(self.breakpoints)
        length = number("The mean length of an epoch", self.length, 0.0, 1e15, "leave it out to give breakpoints")
        if length == 0.0 and len(breakpoints) != len(rows):
            advice = "give one fewer than epochs, or a mean length"
            raise refuse("breakpoints", breakpoints.tolist(), f"{len(rows)} steps", advice)
        if length > 0.0 and (len(breakpoints) > 0 or length < 1.0):
            raise refuse("The mean length of an epoch", length, "at least 1, without breakpoints", "give one of both")
        return self._replace(later=np.array(rows), breakpoints=breakpoints, length=length)

    def abrupt(self) -> bool:
        """Yes."""
        return True

    def shift(self, attraction: Floats, moment: Phase, step: int, key: int) -> bool:
        """Enter the next epoch."""
        epoch = moment.epoch[0]
        row = epoch % (len(self.later) + 1)
        for item in range(len(attraction)):
            moment.attraction[item] = attraction[item] if row == 0 else self.later[row - 1, item]
        if self.length > 0.0:
            moment.upcoming[0] = step + draw_duration(key, epoch, self.length)
        else:
            moment.upcoming[0] = self.breakpoints[epoch] if epoch < len(self.breakpoints) else FOREVER
        return True


def _checked_breakpoints(given: Any) -> Ints:
    """Breakpoints as a new array."""
    accepted, advice = "ascending whole numbers of at least 1", "give the numbers of steps before each change"
    try:
        steps = [operator.index(step) for step in given]
    except TypeError:
        raise refuse("breakpoints", given, accepted, advice) from None
    if any(step <= before for before, step in zip([0, *steps], steps, strict=False)):
        raise refuse("breakpoints", given, accepted, advice)
    return np.array(steps, dtype=np.int64)


@entry("Piecewise constant attraction")
def piecewise(
    attraction: Sequence[Sequence[float]] | Floats,
    positions: int,
    breakpoints: Sequence[int] | Ints = (),
    length: float = 0.0,
) -> Changing:
    """A row of attractions per epoch, with given or drawn breakpoints between them.

    Parameters
    ----------
    attraction : array_like of float
        A row of attraction probabilities per epoch.
    positions : int
        Number of positions K.
    breakpoints : sequence of int, optional
        The number of steps before each change, ascending.
    length : float, default 0.0
        Mean number of steps of an epoch, instead of breakpoints: each step is the last of its epoch with probability
        1 / length, drawn per run; after the last epoch the first comes again.

    Returns
    -------
    Changing
        The world.

    Examples
    --------
    >>> world = piecewise([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]], positions=1, breakpoints=[500, 800])
    >>> world.checked().breakpoints(key=0, steps=1000).tolist()
    [500, 800]
    """
    try:
        first, *later = attraction
    except (TypeError, ValueError):
        raise refuse("attraction", attraction, "a row of probabilities per epoch", "give one per item") from None
    return Changing(first, positions, Epochs(later, breakpoints, length))


@entry("B_L", "li2019")
def b_l(items: int = 16, attraction: float = 0.2, gap: float = 0.15, steps: int = 100_000) -> Changing:
    """The problem B_L of li2019, section 4.2: half of the items attract with p, the others with p - D; K = L / 2.

    Parameters
    ----------
    items : int, default 16
        Number of items L, even.
    attraction : float, default 0.2
        Attraction p of the better half.
    gap : float, default 0.15
        Gap D between the halves.
    steps : int, default 100000
        Number of lists of a run.

    Returns
    -------
    Changing
        The world, with two breakpoints.

    See Also
    --------
    toplist.bounds.li2019_theorem3 : Lower bound on the regret of any policy on this problem.

    Notes
    -----
    The paper does not say where the two breakpoints are and what changes; here the halves are exchanged after a third
    of the steps, and back after two thirds.

    Examples
    --------
    >>> b_l(items=4, steps=900).checked().breakpoints(key=0, steps=900).tolist()
    [300, 600]
    """
    items = whole("The number of items L", items, 2, "give the number of items")
    if items % 2 == 1:
        raise refuse("The number of items L", items, "an even number", "half of the items are shown, K = L / 2")
    steps = whole("The number of steps", steps, 3, "give how many lists each run shows")
    first = np.asarray(b_top_k(items, items // 2, attraction, gap).attraction)
    return piecewise(np.array([first, first[::-1], first]), items // 2, [steps // 3, 2 * steps // 3])
