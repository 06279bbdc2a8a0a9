"""Pages of a search log as a world: features from the clicks of visitors, and a set of pages that changes in stages."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.problem import Problem, probabilities
from toplist.core.randomness import branch, uniform
from toplist.core.slate import NONE, Floats, Ints
from toplist.logs import ClickLog
from toplist.worlds.fixed import checked_positions

PAGES, VISITOR = 0, 1  # branches of the key of a run's changes
NO_RANK = 1e-9  # singular values below this share of the largest count as 0


class ClickFeatures(NamedTuple):
    """Features of visitors and items.

    Parameters
    ----------
    visitors : ndarray of float, shape (visitors, features)
        A row per visitor who clicked.
    items : ndarray of float, shape (items, features)
        A row per item of the log, by code; 0 for items never clicked.
    """

    visitors: Floats
    items: Floats


def click_features(log: ClickLog, most: int) -> ClickFeatures:
    """Features from the singular value decomposition of the numbers of clicks of visitors on items.

    Parameters
    ----------
    log : ClickLog
        The log; without visitors, each list is a visitor of its own.
    most : int
        Largest number of features; fewer if the matrix has a lower rank.

    Returns
    -------
    ClickFeatures
        Left and right singular vectors, scaled to rows of length 1 at most.

    Examples
    --------
    >>> log = ClickLog.from_lists(["q"] * 3, [["a", "b"]] * 3, [[1], [1, 2], [2]], visitors=["x", "y", "z"])
    >>> found = click_features(log, most=200)
    >>> found.visitors.shape, found.items.shape
    ((3, 2), (2, 2))
    """
    at = np.flatnonzero(log.click)
    rows = np.repeat(np.arange(len(log)), log.lengths)[at]
    visitor = rows if log.visitor is None else log.visitor[rows]
    cells, counts = np.unique(visitor.astype(np.int64) * len(log.items) + log.item[at], return_counts=True)
    people, person = np.unique(cells // len(log.items), return_inverse=True)
    clicked, page = np.unique(cells % len(log.items), return_inverse=True)
    gram = np.zeros((len(clicked), len(clicked)))
    shift = 0  # cells are sorted by visitor: pairs of one visitor are a few places apart
    while shift < len(cells):
        same = np.flatnonzero(person[shift:] == person[: len(person) - shift])
        if not len(same):
            break
        products = (counts[same] * counts[same + shift]).astype(np.float64)
        np.add.at(gram, (page[same], page[same + shift]), products)
        if shift:
            np.add.at(gram, (page[same + shift], page[same]), products)
        shift += 1
    values, vectors = np.linalg.eigh(gram)
    singular = np.sqrt(np.maximum(values[::-1][:most], 0.0))
    kept = singular > NO_RANK * singular.max(initial=1.0)
    right = vectors[:, ::-1][:, :most][:, kept]
    left = np.zeros((len(people), right.shape[1]))
    np.add.at(left, person, counts[:, None] * right[page] / singular[kept])
    items = np.zeros((len(log.items), right.shape[1]))
    items[clicked] = right
    return ClickFeatures(shortened(left), shortened(items))


def shortened(rows: Floats) -> Floats:
    """Rows divided by the length of the longest: contexts have length 1 at most."""
    longest = float(np.sqrt((rows**2).sum(axis=1)).max(initial=0.0))
    return rows / longest if longest > 0 else rows


class PagesMoment(NamedTuple):
    """The state of `LoggedPages` at one step."""

    attraction: Floats  # per page; negative: it cannot be shown now
    there: Ints  # the pages that can be shown, ascending, in the first elements
    shuffled: Ints  # all pages in the order of the draw
    context: Floats  # (pages, features)


class LoggedPages(NamedTuple):
    """Pages of a query with fixed attraction, of which some can be shown at a time; perhaps with a visitor's features.

    Parameters
    ----------
    attraction : array_like of float
        Attraction of each page.
    positions : int
        Number of positions K.
    pages : ndarray of float
        Features of each page.
    visitors : ndarray of float
        Features of each visitor, of whom one is drawn at every step; no rows for features of pages alone.
    ground : int
        Number of pages that can be shown at a time, L.
    stage : int
        Steps after which these pages are drawn anew.
    """

    attraction: Any
    positions: int
    pages: Any
    visitors: Any
    ground: int
    stage: int

    def checked(self) -> Self:
        """This world with its parameters validated."""
        attraction = probabilities("The attraction", self.attraction, None, "page")
        return self._replace(attraction=attraction, positions=checked_positions(self.ground, self.positions))

    def problem(self, steps: int | None = None) -> Problem:
        """All pages, K positions, the features of a page and those of a visitor."""
        return Problem(len(self.attraction), self.positions, self._dimension(), steps)

    def _dimension(self) -> int:
        return int(self.pages.shape[1]) + (int(self.visitors.shape[1]) if len(self.visitors) else 0)

    def begin(self) -> PagesMoment:
        """The state before the first step, with nothing drawn yet."""
        size = len(self.attraction)
        context = np.zeros((size, self._dimension()))
        context[:, : self.pages.shape[1]] = self.pages
        return PagesMoment(np.zeros(size), np.zeros(size, dtype=np.int64), np.arange(size), context)

    def features(self, moment: PagesMoment) -> Floats:
        """The features of this step."""
        return moment.context

    def revision(self, moment: PagesMoment) -> int:
        """0, or -1 with features of visitors, which belong to one list only."""
        return -1 if len(self.visitors) > 0 else 0

    def order(self, moment: PagesMoment) -> Ints:
        """Empty: policies take higher positions as more valuable."""
        return NONE

    def eligible(self, moment: PagesMoment, candidates: Ints) -> int:
        """The pages of this stage."""
        for place in range(self.ground):
            candidates[place] = moment.there[place]
        return self.ground

    def advance(self, moment: PagesMoment, step: int, key: int) -> bool:
        """Draw the pages of a stage, and the visitor of a step."""
        size, own = len(self.attraction), self.pages.shape[1]
        if len(self.visitors) > 0:
            visitor = int(uniform(branch(key, VISITOR), step) * len(self.visitors))
            for page in range(size):
                for feature in range(self.visitors.shape[1]):
                    moment.context[page, own + feature] = self.visitors[visitor, feature]
        if step % self.stage != 0:
            return False
        drawn = branch(branch(key, PAGES), step // self.stage)
        for page in range(size):
            moment.shuffled[page] = page
            moment.attraction[page] = -1.0
        for place in range(self.ground):
            other = place + int(uniform(drawn, place) * (size - place))
            page = moment.shuffled[other]
            moment.shuffled[other] = moment.shuffled[place]
            moment.shuffled[place] = page
            moment.attraction[page] = self.attraction[page]
        filled = 0
        for page in range(size):
            if moment.attraction[page] >= 0.0:
                moment.there[filled] = page
                filled += 1
        return True

    def attract(self, moment: PagesMoment, items: Ints, attraction: Floats) -> None:
        """Fill the attraction of each listed page."""
        for place in range(len(items)):
            attraction[place] = max(0.0, moment.attraction[items[place]]) if items[place] >= 0 else 0.0

    def best_list(self, moment: PagesMoment, users: Any, items: Ints) -> None:
        """The best list of the click model, of the pages of this stage."""
        users.best(moment, moment.attraction, items)

    def passing(self) -> bool:
        """Whether some pages cannot be shown at times."""
        return self.ground < len(self.attraction)
