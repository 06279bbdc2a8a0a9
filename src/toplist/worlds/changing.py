"""Worlds whose attraction changes while policies learn it; a `Shift` says how.

A breakpoint is counted like lists: one at 500 means that 500 lists were shown before the change.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem, probabilities
from toplist.core.randomness import uniform
from toplist.core.slate import NONE, Floats, Ints
from toplist.worlds.fixed import checked_positions, known_rows

FOREVER = 1 << 62  # a step that never comes
MOST_BREAKPOINTS = 1000  # a world with more of them counts as changing all the time


class Phase(NamedTuple):
    """The state of a changing world at one step, and the step of its next change."""

    attraction: Floats  # per item; negative: the item is not available
    there: Ints  # the available items, ascending, in the first elements
    present: Ints  # one element: number of available items
    epoch: Ints  # one element: number of calls of `shift` after the first step
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
        else:
            moment.epoch[0] += 1
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
        return hasattr(self.how, "passing") and bool(self.how.passing())


@helper
def draw_duration(key: int, turn: int, mean: float) -> int:
    """Draw a geometric number of steps, at least 1: each step is the last with probability 1 / mean."""
    if mean <= 1.0:
        return 1
    return 1 + int(math.log(1.0 - uniform(key, turn)) / math.log1p(-1.0 / mean))
