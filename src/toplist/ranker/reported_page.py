"""Checks what was reported for a list: the clicks, the last position examined, and the positions in view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toplist.core.problem import number, refuse, several
from toplist.core.slate import Page, empty_page
from toplist.ranker.list_positions import ListPositions
from toplist.ranker.shown import Shown

NAMED = "positions or items"


def checked_page(shown: Shown, clicks: Any, left: Any, seen: Any, positions: int) -> Page:
    """A page of `positions` places, checked before anything is learned."""
    page, listed = empty_page(positions), ListPositions(shown.items)
    for given in several("The clicks", clicks, NAMED):
        page.clicks[listed.find(given, "A click") - 1] = 1
    if left is not None:
        page.left[0] = listed.find(left, "left")
    if seen is not None:
        page.seen[:] = 0.0
        for position, probability in _in_view(listed, seen).items():
            page.seen[position - 1] = probability
    return page


def _in_view(listed: ListPositions, seen: Any) -> dict[int, float]:
    """The probability of each named position that it was in view."""
    what, in_view = "An entry of seen", {}
    if isinstance(seen, Mapping):
        for given, share in seen.items():
            position = listed.find(given, what)
            if position in in_view:
                raise refuse("seen", dict(seen), "each position once", "name it by its number or by its item")
            in_view[position] = _probability(f"seen[{given!r}]", share)
        return in_view
    for given in several("seen", seen, NAMED):
        named, share = given, 1.0
        if isinstance(given, Mapping) and "probability" in given:
            named = {name: value for name, value in given.items() if name != "probability"}
            share = _probability(f"The probability of {named}", given["probability"])
        position = listed.find(named, what)
        in_view[position] = max(share, in_view.get(position, 0.0))
    return in_view


def _probability(what: str, share: Any) -> float:
    return number(what, share, 0.0, 1.0, "give the probability that it was in view")
