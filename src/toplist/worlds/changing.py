"""Worlds whose attraction changes while policies learn it: abruptly, for a while, or slowly.

A breakpoint is counted like lists: one at 500 means that 500 lists were shown before the change.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import InvalidInput, Problem, number, probabilities, refuse, whole
from toplist.core.randomness import branch, toss, uniform
from toplist.core.slate import NONE, Floats, Ints
from toplist.support.catalogue import entry
from toplist.worlds.fixed import b_top_k, checked_positions, known_rows

FOREVER = 1 << 62  # a step that never comes
MOST_BREAKPOINTS = 1000  # a world with more of them counts as changing all the time


class Phase(NamedTuple):
    """The state of a changing world at one step, and the step of its next change."""

    attraction: Floats  # per item; negative: the item is not available
    there: Ints  # the available items, ascending, in the first elements
    present: Ints  # one element: number of available items
    epoch: Ints  # one element: number of changes so far
    upcoming: Ints  # one element: the step of the next change
    until: Ints  # per item: the step at which it next comes or goes
    turns: Ints  # per item: number of draws of that step


class Changing(NamedTuple):
    """Each item attracts with its own probability, which changes as `how` says.

    Parameters
    ----------
    attraction : array_like of float
        Attraction probability of each item at the beginning.
    positions : int
        Number of positions K.
    how : Epochs, Jumps, Walk or Stays
        The way to change.
    known : array_like of float, optional
        Features that policies receive, a row per item; by default none.

    Notes
    -----
    Random changes are drawn per run, and are the same for all policies of a run. Regret is against the best list of
    each step.
    """

    attraction: Any
    positions: int
    how: Any
    known: Any = ()

    def checked(self) -> Self:
        """This world with its parameters validated and coerced."""
        attraction = probabilities("The attraction", self.attraction, None, "item")
        positions = checked_positions(len(attraction), self.positions)
        known = known_rows("Changing's known", self.known, len(attraction))
        how = self.how.checked(attraction, positions)
        return self._replace(attraction=attraction, positions=positions, how=how, known=known)

    def problem(self, steps: int | None = None) -> Problem:
        """L items, K positions, d features."""
        return Problem(len(self.attraction), self.positions, np.shape(self.known)[1] if len(self.known) else 0, steps)

    def begin(self) -> Phase:
        """The state before the first step, with nothing drawn yet."""
        items = len(self.attraction)
        one = np.zeros(1, dtype=np.int64)
        per_item = np.zeros(items, dtype=np.int64)
        return Phase(
            attraction=np.zeros(items),
            there=per_item.copy(),
            present=one.copy(),
            epoch=one.copy(),
            upcoming=one.copy(),
            until=per_item.copy(),
            turns=per_item.copy(),
        )

    def features(self, moment: Phase) -> Floats:
        """The features that policies receive."""
        known: Floats = self.known
        return known

    def revision(self, moment: Phase) -> int:
        """0: the features never change."""
        return 0

    def order(self, moment: Phase) -> Ints:
        """Empty: the order of the positions is unknown."""
        return NONE

    def eligible(self, moment: Phase, candidates: Ints) -> int:
        """The available items."""
        for place in range(moment.present[0]):
            candidates[place] = moment.there[place]
        return moment.present[0]  # type: ignore[no-any-return]

    def advance(self, moment: Phase, step: int, key: int) -> bool:
        """Begin, or change if a change is due."""
        if 0 < step < moment.upcoming[0]:
            return False
        if step == 0:
            moment.epoch[0] = 0
            moment.present[0] = len(self.attraction)
            for item in range(len(self.attraction)):
                moment.attraction[item] = self.attraction[item]
                moment.there[item] = item
        return self.how.shift(self.attraction, moment, step, key)  # type: ignore[no-any-return]

    def attract(self, moment: Phase, items: Ints, attraction: Floats) -> None:
        """Fill the attraction of each listed item; 0 for items that are not available."""
        for place in range(len(items)):
            attraction[place] = max(0.0, moment.attraction[items[place]]) if items[place] >= 0 else 0.0

    def best_list(self, moment: Phase, users: Any, items: Ints) -> None:
        """The best list of the click model, of the available items."""
        size = min(len(items), moment.present[0])
        users.best(moment, moment.attraction, items[:size])
        for place in range(size, len(items)):
            items[place] = -1

    def breakpoints(self, key: int, steps: int) -> Ints:
        """The steps of a run before each abrupt change; none for a slow drift or a world that changes all the time."""
        found: list[int] = []
        if self.how.abrupt():
            moment = self.begin()
            self.advance(moment, 0, key)
            while (step := int(moment.upcoming[0])) < steps and len(found) <= MOST_BREAKPOINTS:
                if self.advance(moment, step, key):
                    found.append(step)
        return np.array(found if len(found) <= MOST_BREAKPOINTS else [], dtype=np.int64)

    def passing(self) -> bool:
        """Whether items come and go."""
        return bool(self.how.passing())


@helper
def draw_duration(key: int, turn: int, mean: float) -> int:
    """Draw a geometric number of steps, at least 1: each step is the last with probability 1 / mean."""
    if mean <= 1.0:
        return 1
    return 1 + int(math.log(1.0 - uniform(key, turn)) / math.log1p(-1.0 / mean))


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

    def passing(self) -> bool:
        """No."""
        return False

    def shift(self, attraction: Floats, moment: Phase, step: int, key: int) -> bool:
        """Enter the next epoch."""
        if step > 0:
            moment.epoch[0] += 1
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

    def passing(self) -> bool:
        """No."""
        return False

    def shift(self, attraction: Floats, moment: Phase, step: int, key: int) -> bool:
        """Raise items, or lower them again."""
        if step > 0:
            moment.epoch[0] += 1
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

    def passing(self) -> bool:
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
