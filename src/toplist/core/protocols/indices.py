"""The protocols of indices: the numbers by which items are ranked."""

from __future__ import annotations

from typing import Any, Protocol

from toplist.core.compiling import protocol
from toplist.core.problem import Problem
from toplist.core.protocols.prepared import Prepared
from toplist.core.slate import Floats, Ints, Request


@protocol
class HotIndex(Protocol):
    """Upper bounds or draws by which items are ranked (hot)."""

    def top(self, belief: Any, cache: Any, request: Request, chosen: Ints, scores: Floats) -> None:
        """Fill the best eligible items, the best first.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        cache : NamedTuple of ndarray
            Scratch space, from `scratch`.
        request : Request
            Input for the list.
        chosen : ndarray of int
            Items to fill.
        scores : ndarray of float
            Scores to fill, in the order of `chosen`.
        """


@protocol
class HotGauge(Protocol):
    """Optional for an index over features: values of gains (hot)."""

    def gauge(
        self, belief: Any, cache: Any, request: Request, covered: Floats, kind: int, placed: int, values: Floats
    ) -> None:
        """Fill the value of each candidate, at its item, for its gain over the topics that a list already covers.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        cache : NamedTuple of ndarray
            Scratch space, from `scratch`.
        request : Request
            Input for the list.
        covered : ndarray of float
            Per topic how far the list covers it.
        kind : int
            Kind of coverage.
        placed : int
            Item placed last, before which `values` were computed; negative at the first position, where nothing is
            covered.
        values : ndarray of float
            Per item the value to fill. After the first position, items that are not to be chosen have -inf on entry,
            and an item that cannot be the best may get an upper bound of its value instead, below the best value.
        """


@protocol
class HotTangent(Protocol):
    """Optional for an index over counts: its slope, so that not every one of very many items is scored (hot)."""

    def tangent(self, examined: float, clicked: float, budget: float) -> tuple[float, float]:
        """The index of an item at a budget, and its derivative with respect to the budget.

        Parameters
        ----------
        examined : float
            Sum of weights of the item.
        clicked : float
            Sum of weights times values.
        budget : float
            Exploration budget.

        Returns
        -------
        tuple of float
            The index, bit for bit that of `top`, and the slope. The index is never below 0, and concave in the budget;
            an index that does not grow has slope 0.
        """
        ...


@protocol
class HotLevel(Protocol):
    """Optional for an index over counts: which items can reach a level, for its form on a GPU (hot)."""

    def allowance(self, belief: Any) -> float:
        """The exploration budget of the next list.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Counts.

        Returns
        -------
        float
            The budget, in the units of the counts.
        """
        ...

    def solved(self, examined: float, clicked: float, budget: float) -> float:
        """The index of an item at a budget, as `HotTangent.tangent` gives it.

        Parameters
        ----------
        examined : float
            Sum of weights of the item.
        clicked : float
            Sum of weights times values.
        budget : float
            Exploration budget.

        Returns
        -------
        float
            The index, bit for bit that of `top`.
        """
        ...

    def estimated(self, examined: float, clicked: float, budget: float) -> tuple[float, float]:
        """An estimate of the index, which costs less where that can be.

        Parameters
        ----------
        examined, clicked, budget : float
            As for `solved`.

        Returns
        -------
        tuple of float
            The estimate, and a bound of its error; 0 for the index itself.
        """
        ...

    def level_for(self, belief: Any, budget: float, least: float) -> Any:
        """What `may_reach` needs to know about a level.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Counts.
        budget : float
            Exploration budget.
        least : float
            The level.

        Returns
        -------
        tuple of float
            The level.
        """
        ...

    def may_reach(self, examined: float, clicked: float, level: Any) -> bool:
        """Whether the index of an item can reach a level.

        Parameters
        ----------
        examined, clicked : float
            As for `solved`.
        level : tuple of float
            From `level_for`.

        Returns
        -------
        bool
            False only if it is below.
        """
        ...


@protocol
class HotShortlist(Protocol):
    """Scratch space of an index over counts that finds the best of very many items (hot)."""

    def suits(self, candidates: Ints, wanted: int) -> bool:
        """Whether candidates are so many, and so dense, that not all of them need be scored.

        Parameters
        ----------
        candidates : ndarray of int
            Eligible items, in increasing order.
        wanted : int
            Number of items to choose.

        Returns
        -------
        bool
            Whether to call `take_best` instead of scoring all candidates.
        """
        ...

    def take_best(
        self, scoring: Any, belief: Any, request: Request, budget: float, chosen: Ints, scores: Floats
    ) -> int:
        """Fill the best candidates, the best first.

        Parameters
        ----------
        scoring : HotTangent
            The index.
        belief : NamedTuple of ndarray
            Counts, always of the same belief.
        request : Request
            Input for the list.
        budget : float
            Exploration budget.
        chosen : ndarray of int
            Items to fill.
        scores : ndarray of float
            Their indices to fill.

        Returns
        -------
        int
            Number of computed indices.
        """
        ...

    def outdate(self) -> None:
        """Forget all that was computed, since indices of unchanged counts have changed."""


@protocol
class HotSelection(Protocol):
    """Scratch space of what selects: the best few of many, for the lengths that lists can have (hot)."""

    def select_best(
        self, values: Floats, slots: Ints, count: int, labels: Ints, key: int, chosen: Ints, scores: Floats
    ) -> int:
        """Fill the slots of the largest values, the largest first; ties are broken at random.

        Parameters
        ----------
        values : ndarray of float
            Values to choose by.
        slots : ndarray of int
            The slot of each.
        count : int
            How many of these there are.
        labels : ndarray of int
            Label per slot.
        key : int
            Key by which ties are broken.
        chosen : ndarray of int
            Slots to fill.
        scores : ndarray of float
            Their values to fill.

        Returns
        -------
        int
            Number of slots that were filled.
        """
        ...


class Index(Prepared, HotIndex, Protocol):
    """An index."""

    def scratch(self, problem: Problem) -> Any:
        """Scratch space for one belief, which may be discarded at any time.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        NamedTuple of ndarray
            The cache of `top`.
        """

    def reads(self) -> str:
        """The kind of belief it can read.

        Returns
        -------
        str
            A kind of belief, or "any".
        """
        ...


class Exact(Protocol):
    """Optional for an index: its values, for a ranker's estimates and reasons."""

    def exact(self, belief: Any, request: Request) -> Floats:
        """The index of every candidate, for display.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        request : Request
            Input for the list.

        Returns
        -------
        ndarray of float
            Index per candidate; nan where there is none.
        """
        ...


class DrawingOne(Protocol):
    """Optional for an index: whether it draws a single item; without the method, it fills a whole list."""

    def draws_one(self) -> bool:
        """Whether it fills only the first position, as a bandit of one position needs.

        Returns
        -------
        bool
            True if it does.
        """
        ...
