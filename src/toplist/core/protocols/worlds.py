"""The protocols of worlds: where attraction comes from, and how it changes."""

from __future__ import annotations

from typing import Any, Protocol, Self

from toplist.core.compiling import protocol
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints


@protocol
class HotWorld(Protocol):
    """Where attraction comes from (hot)."""

    def advance(self, moment: Any, step: int, key: int) -> bool:
        """Move to a step.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
        step : int
            The step; the first is 0.
        key : int
            Random key of the world's changes.

        Returns
        -------
        bool
            True at the first step, and where the best list or its reward may have changed.
        """

    def eligible(self, moment: Any, candidates: Ints) -> int:
        """Fill the items that can be shown now, ascending.

        Items eligible at the first step were present before it, and may have been sampled.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
        candidates : ndarray of int
            Array to fill.

        Returns
        -------
        int
            Number of eligible items, at least one.
        """
        ...

    def revision(self, moment: Any) -> int:
        """Version of the features.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.

        Returns
        -------
        int
            A number that changes whenever the features do; negative for features of one list only.
        """
        ...

    def attract(self, moment: Any, items: Ints, attraction: Floats) -> None:
        """Fill the attraction of each position of a list.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
        items : ndarray of int
            Items of the list; negative for an empty position, whose attraction is 0.
        attraction : ndarray of float
            Array to fill.
        """

    def best_list(self, moment: Any, users: Any, items: Ints) -> None:
        """Fill the best list for these users now.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
        users : Users
            The click model.
        items : ndarray of int
            List to fill; -1 at the end if too few items are present.
        """


class World(HotWorld, Protocol):
    """The items, and the page on which they are shown."""

    def checked(self) -> Self:
        """Validate and coerce the parameters.

        Returns
        -------
        Self
            A copy with the checked parameters.

        Raises
        ------
        InvalidInput
            If a parameter cannot be used.
        """
        ...

    def problem(self, steps: int | None) -> Problem:
        """The size of the problem.

        Parameters
        ----------
        steps : int or None
            Horizon; None if unknown.

        Returns
        -------
        Problem
            The size.
        """
        ...

    def begin(self) -> Any:
        """The moment before the first step.

        Returns
        -------
        NamedTuple of ndarray
            State of the world.
        """

    def features(self, moment: Any) -> Floats:
        """The features of the items.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.

        Returns
        -------
        ndarray of float, shape (items, features)
            The features; `advance` may rewrite this array in place.
        """
        ...

    def order(self, moment: Any) -> Ints:
        """The positions from the most to the least valuable.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.

        Returns
        -------
        ndarray of int
            The order, which `advance` may rewrite in place; empty if unknown.
        """
        ...


class Breaking(Protocol):
    """Optional for a world: its breakpoints, for plots."""

    def breakpoints(self, key: int, steps: int) -> Ints:
        """The steps after which the world changed abruptly in a run.

        Parameters
        ----------
        key : int
            Random key of the world's changes in the run.
        steps : int
            Number of steps of the run.

        Returns
        -------
        ndarray of int
            Numbers of steps, ascending.
        """
        ...


class Passing(Protocol):
    """Optional for a world and for a kind of change: whether items come and go."""

    def passing(self) -> bool:
        """Whether some items cannot be shown at some steps.

        Returns
        -------
        bool
            True if items come and go.
        """
        ...


@protocol
class HotShift(Protocol):
    """How a `Changing` world changes (hot)."""

    def shift(self, attraction: Floats, moment: Any, step: int, key: int) -> bool:
        """Change the moment for a step; called again at the step that it writes to `moment.upcoming`.

        Parameters
        ----------
        attraction : ndarray of float
            Initial attraction; the moment has the same at the first step, with all items present.
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
        step : int
            The step; the first is 0.
        key : int
            Random key of the world's changes.

        Returns
        -------
        bool
            True at the first step, and where something changed.
        """
        ...


class Shift(HotShift, Protocol):
    """A kind of change."""

    def checked(self, attraction: Floats, positions: int) -> Self:
        """Validate and coerce the parameters.

        Parameters
        ----------
        attraction : ndarray of float
            Initial attraction.
        positions : int
            Number of positions of a list.

        Returns
        -------
        Self
            A copy with the checked parameters.

        Raises
        ------
        InvalidInput
            If a parameter cannot be used.
        """
        ...

    def abrupt(self) -> bool:
        """Whether its changes are breakpoints, and not a slow drift.

        Returns
        -------
        bool
            True for breakpoints.
        """
        ...
