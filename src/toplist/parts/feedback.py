"""Readings: which positions of a page were examined, and the value observed at each.

All but `UntilSatisfied` use the clicks alone. If the page reports what was in view (`page.seen`), a position counts by
that probability; a clicked position was in view in any case.
"""

from __future__ import annotations

from typing import NamedTuple, Self

from toplist.core.compiling import helper
from toplist.core.problem import Problem, number, refuse
from toplist.core.slate import Page

# The loops below have a fixed length and no exit: clicks are unpredictable, and a mispredicted branch costs more than
# the whole loop.


@helper
def last_click(page: Page, size: int) -> int:
    """Position of the last click, counted from 1; 0 without a click."""
    last = 0
    for position in range(size):
        last = position + 1 if page.clicks[position] == 1 else last
    return last


@helper
def scale_by_view(page: Page, size: int) -> None:
    """If the page reports what was in view, scale the weights by it, except at clicked positions."""
    if page.seen[0] >= 0.0:
        for position in range(size):
            if page.clicks[position] == 0:
                page.weight[position] *= page.seen[position]


@helper
def mark_examined(page: Page, size: int, examined: int, only: int, weight: float) -> None:
    """Mark the first `examined` positions as examined; if `only` is not 0, only the click there counts."""
    for position in range(size):
        page.weight[position] = weight if position < examined else 0.0
        page.value[position] = float(page.clicks[position])
    scale_by_view(page, size)
    if only > 0:
        for position in range(size):
            page.value[position] = 1.0 if position + 1 == only else 0.0


def _checked_weight(part: str, given: float) -> float:
    weight = number(f"{part}'s weight", given, 0.0, 1e9, "give the weight of one observation, as 1.0")
    if weight == 0.0:
        raise refuse(f"{part}'s weight", given, "above 0", "with weight 0 nothing would ever be learned")
    return weight


def _checked_choice(what: str, given: str | bool, yes: str, no: str) -> bool:
    """One of two words as a boolean; a boolean is accepted as already resolved."""
    if given not in (yes, no, True, False):
        raise refuse(what, given, f"{yes!r} or {no!r}", "choose one of the two")
    return given in (yes, True)


class ThroughFirstClick(NamedTuple):
    """Learns from every item up to and including the first click, or from all items without a click.

    Parameters
    ----------
    weight : float, default 1.0
        Weight of one observation.

    Notes
    -----
    The reading of the cascade model (kveton2015), and of First-Click (katariya2016).

    Examples
    --------
    >>> from toplist.core.slate import empty_page
    >>> page = empty_page(4)
    >>> page.clicks[:] = 0, 1, 1, 0
    >>> ThroughFirstClick().read(page, 4)
    >>> page.weight.tolist(), page.value.tolist()
    ([1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0])
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
    """Learns from every item up to the last click, or from all items without a click; only the last click counts.

    Parameters
    ----------
    weight : float, default 1.0
        Weight of one observation.

    Notes
    -----
    The reading of Last-Click (katariya2016), and of CascadeKL-UCB on DBN users (kveton2015).

    Examples
    --------
    >>> from toplist.core.slate import empty_page
    >>> page = empty_page(4)
    >>> page.clicks[:] = 0, 1, 1, 0
    >>> OnlyLastClick().read(page, 4)
    >>> page.weight.tolist(), page.value.tolist()
    ([1.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0])
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
    """Learns from every item up to and including the last click; every click counts.

    The reading selects its sample, so the means are biased upwards.

    Parameters
    ----------
    none : {"everything", "nothing"}, default "everything"
        Meaning of a page without clicks: "everything" was examined and not clicked (katariya2016, dcmKL-UCB), or
        "nothing" is known (liu2018, GL-CDCM as printed).
    weight : float, default 1.0
        Weight of one observation.

    Examples
    --------
    >>> from toplist.core.slate import empty_page
    >>> page = empty_page(4)
    >>> page.clicks[:] = 0, 1, 1, 0
    >>> ThroughLastClick().read(page, 4)
    >>> page.weight.tolist(), page.value.tolist()
    ([1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0])
    """

    none: str | bool = "everything"
    weight: float = 1.0

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters; `none` becomes a boolean, True for everything."""
        none = _checked_choice("ThroughLastClick's none", self.none, "everything", "nothing")
        return self._replace(none=none, weight=_checked_weight("ThroughLastClick", self.weight))

    def read(self, page: Page, size: int) -> None:
        """Fill the page's weights and values."""
        last = last_click(page, size)
        mark_examined(page, size, size if last == 0 and self.none else last, 0, self.weight)


class UntilSatisfied(NamedTuple):
    """Learns from every item up to the position where the user left; every click counts.

    If that position is unknown, learns up to the last click, or from all items without a click.

    Parameters
    ----------
    weight : float, default 1.0
        Weight of one observation.

    Notes
    -----
    The reading of dcmLSB (hiranandani2019), in whose setting that position is observed.

    Examples
    --------
    >>> from toplist.core.slate import empty_page
    >>> page = empty_page(4)
    >>> page.clicks[:] = 0, 1, 1, 0
    >>> UntilSatisfied().read(page, 4)
    >>> page.weight.tolist(), page.value.tolist()
    ([1.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0])
    """

    weight: float = 1.0

    def prepare(self, problem: Problem) -> Self:
        """Check the weight."""
        return self._replace(weight=_checked_weight("UntilSatisfied", self.weight))

    def read(self, page: Page, size: int) -> None:
        """Fill the page's weights and values."""
        end = max(page.left[0], last_click(page, size))  # a clicked position was examined in any case
        mark_examined(page, size, end if end > 0 else size, 0, self.weight)


class EveryPlace(NamedTuple):
    """Learns from every item of the list.

    Parameters
    ----------
    counts : {"every", "last"}, default "every"
        Which clicks count: every click, or only the last one.
    weight : float, default 1.0
        Weight of one observation.

    Notes
    -----
    The reading of LSBGreedy (hiranandani2019) and of the ranked bandits, which in kveton2015 observe only the last
    click.

    Examples
    --------
    >>> from toplist.core.slate import empty_page
    >>> page = empty_page(4)
    >>> page.clicks[:] = 0, 1, 1, 0
    >>> EveryPlace().read(page, 4)
    >>> page.weight.tolist(), page.value.tolist()
    ([1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0])
    """

    counts: str | bool = "every"
    weight: float = 1.0

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters; `counts` becomes a boolean, True for every click."""
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
