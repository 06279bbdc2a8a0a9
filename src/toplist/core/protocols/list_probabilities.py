"""The probability with which a policy shows a list."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from toplist.core.slate import Bools, Floats, Ints, Request


class ListProbabilities(NamedTuple):
    """How likely a policy shows the items of a list at their positions.

    Parameters
    ----------
    conditional : ndarray of float
        Per position the probability of its item given the items above; their product is the probability of the list.
        0 from the first position on that the policy cannot fill so.
    marginal : ndarray of float
        Per position the probability of its item there, whatever stands elsewhere; nan where it has no closed form.
    conditional_error, marginal_error : ndarray of float
        Their standard errors; 0 where they are exact.
    """

    conditional: Floats
    marginal: Floats
    conditional_error: Floats
    marginal_error: Floats

    @classmethod
    def exact(cls, conditional: Floats, marginal: Floats) -> Self:
        """Probabilities without an error."""
        return cls(conditional, marginal, np.zeros(conditional.shape), np.zeros(marginal.shape))

    def of_list(self, number: int) -> ListProbabilities:
        """Those of one list, where there is a row per list."""
        return ListProbabilities(*(column[number] for column in self))


class Weighing(Protocol):
    """Optional for a policy: the exact probability of a list."""

    def list_probabilities(self, belief: Any, request: Request, items: Ints) -> ListProbabilities | None:
        """The probability of a list that fills all positions of a request.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        request : Request
            Input for the list; its random key does not matter.
        items : ndarray of int
            The list, from the top: as many different candidates as the policy shows.

        Returns
        -------
        ListProbabilities or None
            None where the probabilities have no closed form.
        """
        ...


class WeighingSeveral(Protocol):
    """Optional for a policy: the exact probabilities of several lists at once, quicker than one after the other."""

    def weigh_lists(self, belief: Any, request: Request, lists: Ints) -> ListProbabilities | None:
        """The probabilities of lists that fill all positions of a request.

        Parameters
        ----------
        belief, request
            As for `Weighing.list_probabilities`.
        lists : ndarray of int, shape (lists, positions)
            The lists, from the top; items that are no candidates have the probability 0.

        Returns
        -------
        ListProbabilities or None
            A row per list; None where the probabilities have no closed form.
        """
        ...


class Forcing(Protocol):
    """Optional for an arrangement that puts an item first by force, above others at random: which item it is."""

    def forced(self, belief: Any, request: Request) -> int:
        """The item that has the first free position of the next list by force.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        request : Request
            Input for the list; its random key does not matter.

        Returns
        -------
        int
            The item; -1 if the list is not forced.
        """
        ...


class DrawingIndependently(Protocol):
    """Optional for an index that ranks by independent draws from a posterior per item: its density."""

    def log_density(self, belief: Any, items: Ints, values: Floats) -> Floats:
        """Logarithm of the density of each item's draw, up to a constant per item; concave on [0, 1].

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        items : ndarray of int
            The items.
        values : ndarray of float, shape (items, any number)
            Per item the values at which the density is wanted.

        Returns
        -------
        ndarray of float, in the shape of `values`
            The logarithms.
        """
        ...


class DrawingOnce(Protocol):
    """Optional for an index that ranks by one standard normal number Z, shared by all items: lines over Z."""

    def lines(self, belief: Any, items: Ints) -> tuple[Floats, Floats]:
        """The score of each item as a line over Z.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        items : ndarray of int
            The items.

        Returns
        -------
        tuple of ndarray of float
            Per item its score at Z = 0, and by how much it grows with Z.
        """
        ...


class DrawingLast(Protocol):
    """Optional for an index that ranks by level, but may draw the last item from others: which they are."""

    def levels(self, belief: Any, items: Ints) -> Floats:
        """The level of each item.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        items : ndarray of int
            The items.

        Returns
        -------
        ndarray of float
            The levels.
        """
        ...

    def contenders(self, belief: Any, items: Ints, level: float) -> Bools:
        """Which items may replace a last item of some level; it is replaced every other time by one of them.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        items : ndarray of int
            The items.
        level : float
            Level of the last item.

        Returns
        -------
        ndarray of bool
            Per item whether it may.
        """
        ...
