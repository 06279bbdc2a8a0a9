"""Readings: which places of a page were examined, and what each one said.

All but `UntilSatisfied` go by the clicks alone. Where the page knows what was in view (`page.seen`), a place counts
by that much; a clicked place was in view whatever the page says.
"""

from __future__ import annotations

from typing import NamedTuple, Self

from toplist.core.compiling import helper
from toplist.core.problem import Problem, number, refuse
from toplist.core.slate import Page

# The loops below have a fixed length and no exit: where a person clicks cannot be foreseen, and a wrongly foreseen
# branch costs more than the whole loop.


@helper
def last_click(page: Page, size: int) -> int:
    """The place of the last click, counted from 1; 0 without a click."""
    last = 0
    for position in range(size):
        last = position + 1 if page.clicks[position] == 1 else last
    return last


@helper
def scale_by_view(page: Page, size: int) -> None:
    """Where the page knows what was in view, let each place count by that much; a clicked one was in view."""
    if page.seen[0] >= 0.0:
        for position in range(size):
            if page.clicks[position] == 0:
                page.weight[position] *= page.seen[position]


@helper
def mark_examined(page: Page, size: int, examined: int, only: int, weight: float) -> None:
    """Take the first `examined` places as examined; `only`, where not 0, is the one place whose click counts."""
    for position in range(size):
        page.weight[position] = weight if position < examined else 0.0
        page.value[position] = float(page.clicks[position])
    scale_by_view(page, size)
    if only > 0:
        for position in range(size):
            page.value[position] = 1.0 if position + 1 == only else 0.0


def _checked_weight(part: str, given: float) -> float:
    weight = number(f"{part}'s weight", given, 0.0, 1e9, "give how much one observation counts, as 1.0")
    if weight == 0.0:
        raise refuse(f"{part}'s weight", given, "above 0", "with weight 0 nothing would ever be learned")
    return weight


def _checked_choice(what: str, given: str | bool, yes: str, no: str) -> bool:
    """One of two words as a boolean; a boolean is a choice made before."""
    if given not in (yes, no, True, False):
        raise refuse(what, given, f"{yes!r} or {no!r}", "choose one of the two")
    return given in (yes, True)


class ThroughFirstClick(NamedTuple):
    """Examined up to the first click, and everywhere without one; the click says 1.

    The cascade model's reading (kveton2015), and First-Click's (katariya2016).
    """

    weight: float = 1.0

    def prepare(self, problem: Problem) -> Self:
        """Check the weight."""
        return self._replace(weight=_checked_weight("ThroughFirstClick", self.weight))

    def read(self, page: Page, size: int) -> None:
        """Fill the page's weights and values."""
        weight = self.weight
        for position in range(size):
            page.weight[position] = weight
            page.value[position] = float(page.clicks[position])
            weight = 0.0 if page.clicks[position] == 1 else weight
        scale_by_view(page, size)


class OnlyLastClick(NamedTuple):
    """Examined up to the last click, and everywhere without one; only the last click says 1.

    Last-Click (katariya2016), and CascadeKL-UCB on DBN users (kveton2015).
    """

    weight: float = 1.0

    def prepare(self, problem: Problem) -> Self:
        """Check the weight."""
        return self._replace(weight=_checked_weight("OnlyLastClick", self.weight))

    def read(self, page: Page, size: int) -> None:
        """Fill the page's weights and values."""
        last = last_click(page, size)
        mark_examined(page, size, last if last > 0 else size, last, self.weight)


class ThroughLastClick(NamedTuple):
    """Examined up to the last click; every click on the way says 1.

    `none` says what a page without clicks means: "everything" was examined and refused (katariya2016, dcmKL-UCB), or
    "nothing" is known (liu2018, GL-CDCM as printed). Because it selects its sample, the means it leads to are too
    high.
    """

    none: str | bool = "everything"
    weight: float = 1.0

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters; `none` becomes whether everything was examined."""
        none = _checked_choice("ThroughLastClick's none", self.none, "everything", "nothing")
        return self._replace(none=none, weight=_checked_weight("ThroughLastClick", self.weight))

    def read(self, page: Page, size: int) -> None:
        """Fill the page's weights and values."""
        last = last_click(page, size)
        mark_examined(page, size, size if last == 0 and self.none else last, 0, self.weight)


class UntilSatisfied(NamedTuple):
    """Examined up to where the person left, which this setting reveals; every click says 1 (hiranandani2019, dcmLSB).

    Where nobody knows the place, up to the last click, and everywhere without one.
    """

    weight: float = 1.0

    def prepare(self, problem: Problem) -> Self:
        """Check the weight."""
        return self._replace(weight=_checked_weight("UntilSatisfied", self.weight))

    def read(self, page: Page, size: int) -> None:
        """Fill the page's weights and values."""
        end = max(page.left[0], last_click(page, size))  # a clicked place was examined, whatever the page says
        mark_examined(page, size, end if end > 0 else size, 0, self.weight)


class EveryPlace(NamedTuple):
    """Every place was examined; `counts` says whether "every" click says 1 or only the "last" one.

    LSBGreedy (hiranandani2019) and the ranked bandits; kveton2015 lets the latter see the last click alone.
    """

    counts: str | bool = "every"
    weight: float = 1.0

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters; `counts` becomes whether every click counts."""
        counts = _checked_choice("EveryPlace's counts", self.counts, "every", "last")
        return self._replace(counts=counts, weight=_checked_weight("EveryPlace", self.weight))

    def read(self, page: Page, size: int) -> None:
        """Fill the page's weights and values."""
        mark_examined(page, size, size, 0 if self.counts else last_click(page, size), self.weight)


__all__ = [
    "EveryPlace",
    "OnlyLastClick",
    "ThroughFirstClick",
    "ThroughLastClick",
    "UntilSatisfied",
]
