"""The protocols of memories: how observations are stored."""

from __future__ import annotations

from typing import Any, Protocol

from toplist.core.compiling import protocol
from toplist.core.problem import Problem
from toplist.core.protocols.prepared import Prepared
from toplist.core.slate import Floats, Request, Slate


@protocol
class HotMemory(Protocol):
    """How observations are stored (hot)."""

    def tick(self, belief: Any) -> None:
        """Begin to learn one more list; called before its positions are added.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        """

    def add(self, belief: Any, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Add the observation of one item at one position.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        item : int
            The item.
        weight : float
            How much the position was examined.
        value : float
            Observed value.
        slate : Slate
            The list.
        place : int
            Position in the list, counted from 0.
        """

    def conclude(self, belief: Any) -> None:
        """Finish a list whose positions have all been added.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        """


class Memory(Prepared, HotMemory, Protocol):
    """A memory."""

    def begin(self, problem: Problem) -> Any:
        """The belief before anything is learned.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        NamedTuple of ndarray
            Initial belief.
        """

    def keeps(self) -> str:
        """The kind of belief, which an index must be able to read.

        Returns
        -------
        str
            For example "counts" or "linear".
        """
        ...


class BeginningFrom(Protocol):
    """Optional for a memory of features: a prior of the weights."""

    def begin_from(self, problem: Problem, mean: Floats, precision: Floats) -> Any:
        """The belief of a prior, before anything is learned.

        Parameters
        ----------
        problem : Problem
            Size of the problem.
        mean : ndarray of float
            Mean of the weights, one per feature.
        precision : ndarray of float
            Inverse of their covariance matrix.

        Returns
        -------
        NamedTuple of ndarray
            Initial belief.

        Raises
        ------
        InvalidInput
            If the memory cannot keep such a prior.
        """
        ...


class AddingSums(Protocol):
    """Optional for a memory of features: it may begin with observations of others, of which only sums are known."""

    def add_sums(self, belief: Any, gram: Floats, total: Floats) -> None:
        """Count observations before any other.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            A belief that has learned nothing yet.
        gram : ndarray of float, shape (d, d)
            Their sum of weight x x', where x is the feature row.
        total : ndarray of float
            Their sum of weight value x.
        """
        ...


class Tallying(Protocol):
    """Optional for a memory: the counts behind a ranker's estimates."""

    def tally(self, belief: Any, request: Request) -> tuple[Floats, Floats]:
        """How much each candidate was examined, and its mean value.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        request : Request
            Input for the list.

        Returns
        -------
        tuple of ndarray of float
            Examinations and means, per candidate; nan where they are not stored.
        """
        ...


class Deviating(Protocol):
    """Optional for a memory of features: standard deviations."""

    def deviation(self, belief: Any, request: Request) -> Floats:
        """Standard deviation of the expected value of each candidate.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        request : Request
            Input for the list.

        Returns
        -------
        ndarray of float
            Standard deviation per candidate.
        """
        ...

    def doubt(self, belief: Any) -> Floats:
        """Standard deviation of the weight of each feature.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.

        Returns
        -------
        ndarray of float
            Standard deviation per feature.
        """
        ...


class Forgetting(Protocol):
    """Optional for a memory: whether it forgets."""

    def forgetful(self) -> bool:
        """Whether old observations count less, or not at all.

        Returns
        -------
        bool
            True if they do.
        """
        ...
