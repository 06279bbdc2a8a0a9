"""The protocols of policies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

from toplist.core.compiling import protocol
from toplist.core.problem import Problem
from toplist.core.protocols.capabilities import Capabilities
from toplist.core.protocols.prepared import Prepared
from toplist.core.slate import Floats, Ints, Page, Request, Slate


@dataclass(frozen=True)
class Assessment:
    """A policy's estimates of some items, for display.

    Parameters
    ----------
    examined : ndarray of float
        How often each item was examined.
    mean : ndarray of float
        Mean observed value; nan for items never examined.
    index : ndarray of float
        Index of each item; nan where there is none.
    drawn : bool, default False
        Whether the index is the probability of being drawn.
    why : str, default "drawn by chance"
        Reason for showing an item that has no index.
    deviation : ndarray of float or None, default None
        Standard deviation of the mean, where the memory has a better one than the number of examinations gives.
    sampled : bool, default False
        Whether items are ranked by a random draw from the posterior of each, so that there is no index.
    """

    examined: Floats
    mean: Floats
    index: Floats
    drawn: bool = False
    why: str = "drawn by chance"
    deviation: Floats | None = None
    sampled: bool = False


@protocol
class HotPolicy(Protocol):
    """An algorithm at work (hot)."""

    def rank(self, belief: Any, cache: Any, request: Request, slate: Slate) -> None:
        """Make a list; writes the cache and the slate, never the belief.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        cache : NamedTuple of ndarray
            Scratch space, from `scratch`.
        request : Request
            Input for the list.
        slate : Slate
            Slate to fill.
        """

    def learn(self, belief: Any, slate: Slate, page: Page) -> None:
        """Learn from a list shown at any earlier time.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        slate : Slate
            The list.
        page : Page
            The clicks.
        """

    def sample(self, belief: Any, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Learn free samples of an item at a position, before it was ever shown.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        item : int
            The item.
        place : int
            The position, counted from 0.
        weight : float
            Number of samples.
        value : float
            Their mean.
        slate : Slate
            A slate to work in.
        """


@runtime_checkable
class PolicyLike(Prepared, HotPolicy, Protocol):
    """An algorithm with its parameters."""

    def begin(self, problem: Problem) -> Any:
        """The belief before anything is learned.

        If items can be added, an array with data per item has the items along its first axis, each with the same number
        of rows, so that a belief about more items begins like one about fewer.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        NamedTuple of ndarray
            Initial belief.
        """

    def scratch(self, problem: Problem) -> Any:
        """Scratch space for one belief, which may be discarded at any time.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        NamedTuple of ndarray
            The cache of `rank`.
        """

    def slate(self, problem: Problem) -> Slate:
        """An empty slate with the memo that this policy needs.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        Slate
            The slate.
        """

    def capabilities(self) -> Capabilities:
        """What the policy supports.

        Returns
        -------
        Capabilities
            Its capabilities.
        """
        ...


class Assessing(Protocol):
    """Optional for a policy: estimates and reasons for a ranker."""

    def assess(self, belief: Any, request: Request, place: int | None) -> Assessment:
        """Estimates of the candidates.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        request : Request
            Input for the list.
        place : int or None
            Position, counted from 0; None for estimates over all positions.

        Returns
        -------
        Assessment
            The estimates.
        """
        ...


class Renumbering(Protocol):
    """Optional for a policy that is given a ranking of the items, by their numbers."""

    def renumbered(self, order: Ints) -> Self:
        """The same policy for items with other numbers.

        Parameters
        ----------
        order : ndarray of int
            Item i is the former item `order[i]`.

        Returns
        -------
        Self
            The policy with the new numbers.
        """
        ...
