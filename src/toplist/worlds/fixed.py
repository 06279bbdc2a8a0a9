"""Worlds whose attraction never changes, and the papers' problems of that kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.clicks import DCM
from toplist.core.problem import InvalidInput, Problem, float_array, number, probabilities, refuse, whole
from toplist.core.slate import NONE, Floats, Ints
from toplist.support.catalogue import entry


class Still(NamedTuple):
    """The state of a world that does not change."""

    nothing: Ints  # unused: a state needs a field


@entry("Fixed attraction", hides=("known",))
class Fixed(NamedTuple):
    """Each item attracts with its own probability, independent of the user and of the items above it.

    Parameters
    ----------
    attraction : array_like of float
        Attraction probability of each item.
    positions : int
        Number of positions K.
    known : array_like of float, optional
        Features that policies receive, a row per item; by default none.
    """

    attraction: Sequence[float] | Floats
    positions: int
    known: Any = ()

    def checked(self) -> Self:
        """This world with its parameters validated and coerced."""
        attraction = probabilities("Fixed's attraction", self.attraction, None, "item")
        known = known_rows("Fixed's known", self.known, len(attraction))
        return self._replace(
            attraction=attraction, positions=checked_positions(len(attraction), self.positions), known=known
        )

    def problem(self, steps: int | None = None) -> Problem:
        """L items, K positions, d features."""
        return Problem(len(self.attraction), self.positions, np.shape(self.known)[1] if len(self.known) else 0, steps)

    def begin(self) -> Still:
        """The state before the first step."""
        return Still(NONE)

    def features(self, moment: Still) -> Floats:
        """The features that policies receive."""
        known: Floats = self.known
        return known

    def revision(self, moment: Still) -> int:
        """0: the features never change."""
        return 0

    def order(self, moment: Still) -> Ints:
        """Empty: the order of the positions is unknown."""
        return NONE

    def eligible(self, moment: Still, candidates: Ints) -> int:
        """All items are always eligible."""
        return len(candidates)

    def advance(self, moment: Still, step: int, key: int) -> bool:
        """Nothing changes after the first step."""
        return step == 0

    def attract(self, moment: Still, items: Ints, attraction: Floats) -> None:
        """Fill the attraction of each listed item."""
        for place in range(len(items)):
            attraction[place] = self.attraction[items[place]]

    def best_list(self, moment: Still, users: Any, items: Ints) -> None:
        """The best list of the click model."""
        users.best(moment, self.attraction, items)


def checked_features(what: str, given: Any, items: int) -> Floats:
    """A row of finite features per item, as a new array."""
    rows = float_array(given)
    if rows.ndim != 2 or len(rows) != items or rows.shape[1] == 0 or not np.isfinite(rows).all():
        raise refuse(what, given, f"{items} rows of finite numbers", "give one row of features per item")
    return rows


def known_rows(what: str, given: Any, items: int) -> Floats:
    """The features that policies receive: a row per item, of length 0 where none are given."""
    return checked_features(what, given, items) if np.size(given) > 0 else np.zeros((items, 0))


def checked_positions(items: int, positions: int) -> int:
    """The number of positions, checked to be at most the number of items."""
    if items < 1:
        raise InvalidInput("There are no items, but a list needs at least one; give one attraction per item.")
    positions = whole("The number of positions K", positions, 1, "give the length of the list")
    if positions > items:
        raise InvalidInput(
            f"The number of positions K is {positions}, but there are only L = {items} items; "
            f"show at most {items} positions or add items."
        )
    return positions


@entry("B_top-K", "kveton2015")
def b_top_k(items: int = 16, positions: int = 4, attraction: float = 0.2, gap: float = 0.15) -> Fixed:
    """The problem B_top-K of kveton2015, section 4.3: K items attract with p, the others with p - D.

    Parameters
    ----------
    items : int, default 16
        Number of items L.
    positions : int, default 4
        Number of positions K.
    attraction : float, default 0.2
        Attraction p of the best items.
    gap : float, default 0.15
        Gap D between the best and the other items.

    Returns
    -------
    Fixed
        The world; its first K items are the best.

    Examples
    --------
    >>> b_top_k(items=5, positions=2, attraction=0.2, gap=0.15).attraction.round(2).tolist()
    [0.2, 0.2, 0.05, 0.05, 0.05]
    """
    items = whole("The number of items L", items, 1, "give the number of items")
    positions = checked_positions(items, positions)
    best = number("The attraction p", attraction, 0.0, 1.0, "give the attraction of the best items")
    gap = number("The gap D", gap, 0.0, best, "the other items attract with p - D, which is not below 0")
    return Fixed(np.where(np.arange(items) < positions, best, best - gap), positions)


@entry("B_LB", "katariya2016")
def b_lb(
    items: int = 16, positions: int = 4, attraction: float = 0.2, gap: float = 0.15, termination: float = 0.5
) -> tuple[Fixed, DCM]:
    """The problem B_LB of katariya2016, section 4.3: B_top-K, where every click satisfies with probability g.

    Parameters
    ----------
    items : int, default 16
        Number of items L.
    positions : int, default 4
        Number of positions K.
    attraction : float, default 0.2
        Attraction p of the best items.
    gap : float, default 0.15
        Gap D between the best and the other items.
    termination : float, default 0.5
        Probability g of leaving after a click, at every position.

    Returns
    -------
    Fixed
        The world; its first K items are the best.
    DCM
        The users.

    Examples
    --------
    >>> world, users = b_lb(items=16, positions=4, attraction=0.2, gap=0.15, termination=0.5)
    >>> users.termination
    0.5
    """
    world = b_top_k(items, positions, attraction, gap)
    return world, DCM(number("The termination g", termination, 0.0, 1.0, "give one probability"))
