"""What came back for a list, as its page tells it: clicks, where the person left, what was in view."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any

from toplist.core.problem import number, refuse, several
from toplist.core.slate import Page, empty_page
from toplist.ranker.shown import Shown


def page_of(shown: Shown, clicks: Any, left: Any, seen: Any, positions: int) -> Page:
    """The page of a list with so many places, checked before anything is learned."""
    page = empty_page(positions)
    for place in _places(shown, clicks, "The clicks"):
        page.clicks[place] = 1
    if left is not None:
        page.left[0] = _place(shown, left, "left") + 1
    if isinstance(seen, Mapping):
        page.seen[:] = 0.0
        places = _places(shown, seen, "seen")
        if len(set(places)) < len(places):
            raise refuse("seen", dict(seen), "each place once", "name it by its position or by its item")
        for place, (given, share) in zip(places, seen.items(), strict=True):
            page.seen[place] = number(f"seen[{given!r}]", share, 0.0, 1.0, "give the probability that it was in view")
    elif seen is not None:
        page.seen[:] = 0.0
        page.seen[_places(shown, seen, "seen")] = 1.0
    return page


def _places(shown: Shown, given: Any, what: str) -> list[int]:
    return [_place(shown, one, f"A place of {what.lower()}") for one in several(what, given, "positions or items")]


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
        accepted = f"a position between 1 and {len(shown)}, or an item of the list" if len(shown) else "left out"
        raise refuse(what, given, accepted, "positions are counted from 1, from the top")
    return position - 1
