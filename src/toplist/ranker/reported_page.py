"""Checks what was reported for a list: the clicks, the last position examined, and the positions in view."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from toplist.core.problem import number, refuse, several
from toplist.core.slate import Page, empty_page
from toplist.ranker.shown import Shown


def checked_page(shown: Shown, clicks: Any, left: Any, seen: Any, positions: int) -> Page:
    """A page of `positions` places, checked before anything is learned."""
    page = empty_page(positions)
    for place in _places(shown, clicks, "The clicks", "A click"):
        page.clicks[place] = 1
    if left is not None:
        page.left[0] = _place(shown, left, "left") + 1
    if isinstance(seen, Mapping):
        page.seen[:] = 0.0
        places = _places(shown, seen, "seen", "An entry of seen")
        if len(set(places)) < len(places):
            raise refuse("seen", dict(seen), "each position once", "name it by its number or by its item")
        for place, (given, share) in zip(places, seen.items(), strict=True):
            page.seen[place] = number(f"seen[{given!r}]", share, 0.0, 1.0, "give the probability that it was in view")
    elif seen is not None:
        page.seen[:] = 0.0
        page.seen[_places(shown, seen, "seen", "An entry of seen")] = 1.0
    return page


def _places(shown: Shown, given: Any, what: str, each: str) -> list[int]:
    """Several positions or items, as places counted from 0."""
    return [_place(shown, one, each) for one in several(what, given, "positions or items")]


def _place(shown: Shown, given: Any, what: str) -> int:
    """A position, counted from 1, or an item of the list, as a place counted from 0."""
    if isinstance(given, str):
        if given in shown.items:
            return shown.items.index(given)
        raise refuse(what, given, "an item of the list", f"the list holds {', '.join(map(repr, shown.items))}")
    try:
        position = operator.index(given)
    except TypeError:
        position = 0
    if isinstance(given, bool) or not 1 <= position <= len(shown):
        if len(shown) == 0:
            raise refuse(what, given, "left out", "the list is empty")
        accepted = f"a position between 1 and {len(shown)}, or an item of the list"
        raise refuse(what, given, accepted, "positions are counted from 1, from the top")
    return position - 1
