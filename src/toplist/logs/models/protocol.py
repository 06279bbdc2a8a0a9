"""The protocol of click models that are fitted to a log.

Every parameter of every model is the probability of a coin: an item attracts or not, a position is examined or not, a
visitor leaves or stays. The clicks of a list tell how often each coin was tossed and fell heads, some for certain, the
others in expectation. That is all that EM needs.

The coins of a fit are one array: those of the (query, item) pairs first, pair by pair, then the shared ones.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from toplist.core.compiling import protocol
from toplist.core.slate import Floats, Ints

COINS_PER_POSITION = 4  # at most, in any model


class Coins(NamedTuple):
    """The parameters of a model for lists of up to a number of positions.

    Parameters
    ----------
    own : tuple of str
        Kinds of coins that each (query, item) pair has, one coin of each.
    shared : tuple of tuple of str
        Kind and label of each coin that all pairs share.
    fixed : tuple of int
        Shared coins that are 1 by convention, which fixes the scale of the others.
    """

    own: tuple[str, ...]
    shared: tuple[tuple[str, str], ...] = ()
    fixed: tuple[int, ...] = ()


class ListWorkspace(NamedTuple):
    """Scratch arrays for one list."""

    attracted: Floats  # per position: probability of a click if examined
    clicked_on: Floats  # probability of going on after a click
    skipped_on: Floats  # probability of going on without a click
    silence: Floats  # probability of no click from this position on, if it is examined
    reach: Floats  # probability of examining this position and clicking nothing since the last click
    used: Ints  # per position: number of coins
    coin: Any  # (positions, coins): which coins
    by_click: Floats  # (positions, coins): derivative of `clicked_on`
    by_skip: Floats  # (positions, coins): derivative of `skipped_on`
    twist: Floats  # (positions, coins, coins): second derivative of `clicked_on`
    pull: Floats  # (positions, coins): derivative of the logarithm of `reach` below this position
    tail: Floats  # (positions, coins): derivative of the probability of what follows the last click


def workspace(positions: int) -> ListWorkspace:
    """Scratch arrays for lists of up to a number of positions."""
    size = max(positions, 1)
    wide = (size, COINS_PER_POSITION)
    return ListWorkspace(
        attracted=np.zeros(size + 1), clicked_on=np.zeros(size + 1), skipped_on=np.zeros(size + 1),
        silence=np.zeros(size + 1), reach=np.zeros(size + 1), used=np.zeros(size, dtype=np.int64),
        coin=np.zeros(wide, dtype=np.int64), by_click=np.zeros(wide), by_skip=np.zeros(wide),
        twist=np.zeros((*wide, COINS_PER_POSITION)), pull=np.zeros(wide), tail=np.zeros(wide),
    )  # fmt: skip


class Row(NamedTuple):
    """A list with its clicks, as models see it.

    Parameters
    ----------
    pairs : ndarray of int32
        The pairs shown, from the top.
    clicks : ndarray of uint8
        1 for a click, per position.
    shared : int
        Place of the first shared coin.
    weight : float
        Number of equal lists.
    """

    pairs: NDArray[np.int32]
    clicks: NDArray[np.uint8]
    shared: int
    weight: float


class CoinSums(NamedTuple):
    """Expected heads and tosses of each coin, summed over lists."""

    heads: Floats
    tosses: Floats


class Derivatives(NamedTuple):
    """Derivatives of the logarithm of the probability of a list's clicks.

    Parameters
    ----------
    coins : ndarray of int
        The coins involved; one may occur several times.
    slope : ndarray of float
        Derivative by each of them.
    bend : ndarray of float, shape (coins, coins)
        Second derivatives; only the lower triangle is filled.
    """

    coins: Ints
    slope: Floats
    bend: Floats


def empty_derivatives(positions: int) -> Derivatives:
    """Derivatives to be filled, for lists of up to a number of positions."""
    size = max(positions, 1) * COINS_PER_POSITION
    return Derivatives(np.zeros(size, dtype=np.int64), np.zeros(size), np.zeros((size, size)))


@protocol
class HotClickModel(Protocol):
    """What a click model says about one list (hot)."""

    def expect_coins(self, theta: Floats, row: Row, sums: CoinSums, work: ListWorkspace) -> float:
        """Add the expected heads and tosses of each coin, given the clicks.

        Parameters
        ----------
        theta : ndarray of float
            Probability of heads of each coin.
        row : Row
            The list.
        sums : CoinSums
            Sums to add to.
        work : ListWorkspace
            Scratch arrays.

        Returns
        -------
        float
            Logarithm of the probability of the clicks, times the weight of the list.
        """
        ...

    def fill_derivatives(self, theta: Floats, row: Row, found: Derivatives, work: ListWorkspace) -> int:
        """Fill the first and second derivatives of the logarithm of the probability of the clicks.

        Parameters
        ----------
        theta : ndarray of float
            Probability of heads of each coin, inside (0, 1) where it matters.
        row : Row
            The list.
        found : Derivatives
            Derivatives to fill, for one list whatever the weight.
        work : ListWorkspace
            Scratch arrays.

        Returns
        -------
        int
            Number of coins filled in.
        """
        ...

    def predict_clicks(self, theta: Floats, row: Row, given: Floats, marginal: Floats, work: ListWorkspace) -> None:
        """Fill the probability of a click at each position, given the clicks above and without them.

        Parameters
        ----------
        theta : ndarray of float
            Probability of heads of each coin.
        row : Row
            The list.
        given : ndarray of float
            Per position the probability given the clicks above, to fill.
        marginal : ndarray of float
            Per position the probability, to fill.
        work : ListWorkspace
            Scratch arrays.
        """


class ClickModel(HotClickModel, Protocol):
    """A click model that can be fitted to a log."""

    @property
    def name(self) -> str:
        """Name of the model, as in commands and tables."""
        ...

    def coins(self) -> Coins:
        """Its parameters.

        Returns
        -------
        Coins
            The coins of each pair, and the shared ones.
        """
        ...

    def iterates(self) -> bool:
        """Whether the fit needs iterations.

        Returns
        -------
        bool
            False for a closed form: the expected tosses do not depend on the parameters.
        """
        ...

    def users(self, own: Floats, shared: Floats, positions: int) -> Any:
        """The users of a simulation who click as this model says.

        Parameters
        ----------
        own : ndarray of float, shape (items, kinds)
            The coins of the items that can be shown.
        shared : ndarray of float
            The shared coins.
        positions : int
            Number of positions of the page, at most that of the model.

        Returns
        -------
        click model
            Users as in `toplist.clicks`, for items that attract by their first coin, or always if they have none.

        Raises
        ------
        InvalidInput
            If there are no such users.
        """
        ...
