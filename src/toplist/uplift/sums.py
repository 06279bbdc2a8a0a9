"""Sums over the visitors of a group: whole numbers, from which means per list and their variances by visitor follow."""

from __future__ import annotations

from typing import Any, NamedTuple

METRICS = ("click_through", "clicks_per_list", "clicks_at_1")  # lists with a click, clicks, and clicks at the top


class VisitorCounts(NamedTuple):
    """What a visitor did in closed lists."""

    lists: int = 0
    clicked: int = 0  # lists with at least one click
    clicks: int = 0
    first: int = 0  # lists with a click at position 1

    def plus(self, other: VisitorCounts) -> VisitorCounts:
        """Both together.

        >>> VisitorCounts(2, 1, 3, 0).plus(VisitorCounts(1, 1, 1, 1))
        VisitorCounts(lists=3, clicked=2, clicks=4, first=1)
        """
        return VisitorCounts(*(mine + more for mine, more in zip(self, other, strict=True)))


class RatioEstimate(NamedTuple):
    """A mean per list with the variance of the estimate, where the visitor is the unit."""

    mean: Any  # a float, or an array of floats at several looks
    variance: Any


def ratio_estimate(visitors: Any, lists: Any, squared: Any, total: Any, total_squared: Any, both: Any) -> RatioEstimate:
    """The mean per list and its variance, by the delta method over visitors.

    Parameters
    ----------
    visitors : int
        Number of visitors n; at least 2.
    lists, squared : int
        Sums of their lists N and of the squares.
    total, total_squared, both : int
        Sums of their results Y, of the squares, and of the products with N.

    Returns
    -------
    RatioEstimate
        The sum of Y over that of N, and n / (n - 1) times the sum of (Y - mean N)^2 over the square of that of N.
        Arrays of sums give arrays.

    Examples
    --------
    Two visitors with one list each, one of them with a click, and one with four lists and two clicks.

    >>> ratio_estimate(3, 6, 18, 3, 5, 9)
    RatioEstimate(mean=0.5, variance=0.020833333333333332)
    """
    mean = total / lists
    spread = total_squared - 2.0 * mean * both + mean * mean * squared
    return RatioEstimate(mean, visitors / (visitors - 1) * spread / (lists * lists))


class GroupSums(NamedTuple):
    """Sums over the visitors of a group; they are exact, and a visitor who comes again changes them in one step.

    Only the visitor's own counts are needed for that, so whoever keeps these can take in any number of lists.
    """

    visitors: int = 0
    lists: int = 0
    lists_squared: int = 0
    clicked: int = 0
    clicked_squared: int = 0
    clicked_lists: int = 0  # sum of products
    clicks: int = 0
    clicks_squared: int = 0
    clicks_lists: int = 0
    first: int = 0
    first_squared: int = 0
    first_lists: int = 0

    def changed(self, before: VisitorCounts, after: VisitorCounts) -> GroupSums:
        """The sums once a visitor's counts are `after` instead of `before`; a new visitor had no lists.

        >>> sums = GroupSums().changed(VisitorCounts(), VisitorCounts(1, 1, 2, 0))
        >>> sums.changed(VisitorCounts(1, 1, 2, 0), VisitorCounts(3, 1, 2, 0))[:6]
        (1, 3, 9, 1, 1, 3)
        """
        old, new = before.lists, after.lists
        moments = [self.visitors + (old == 0), self.lists + new - old, self.lists_squared + new * new - old * old]
        for n, (was, now) in enumerate(zip(before[1:], after[1:], strict=True)):
            total, squared, both = self[3 + 3 * n : 6 + 3 * n]
            moments += (total + now - was, squared + now * now - was * was, both + now * new - was * old)
        return GroupSums(*moments)

    @property
    def effective_visitors(self) -> float:
        """Number of visitors with equally many lists that would say as much: (sum of N)^2 / sum of N^2.

        >>> GroupSums(visitors=100, lists=199, lists_squared=10_099).effective_visitors.__round__(1)
        3.9
        """
        return self.lists * self.lists / self.lists_squared if self.lists_squared else 0.0

    def total(self, metric: int) -> int:
        """The sum of a metric's results, by its number in `METRICS`."""
        return self[3 + 3 * metric]

    def estimate(self, metric: int) -> RatioEstimate | None:
        """The mean per list of a metric; None with fewer than two visitors."""
        if self.visitors < 2:
            return None
        at = 3 + 3 * metric
        return ratio_estimate(self.visitors, self.lists, self.lists_squared, *self[at : at + 3])
