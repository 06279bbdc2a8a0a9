"""The protocol of click models."""

from __future__ import annotations

from typing import Any, Protocol

from toplist.core.compiling import protocol
from toplist.core.protocols.prepared import Prepared
from toplist.core.slate import Floats, Ints, Page


@protocol
class HotUsers(Protocol):
    """How a visitor turns attraction into clicks (hot)."""

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """Fill `page.clicks` and `page.left` for one visitor.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
            Users that change with the world read it.
        items : ndarray of int
            Items of the list.
        attraction : ndarray of float
            Attraction per position.
        labels : ndarray of int
            Per item the number that identifies it to the random numbers.
        visitor : int
            Random key of the visitor.
        page : Page
            Page to fill.

        Returns
        -------
        int
            Number of clicks.
        """
        ...

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """Expected reward of a list.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
        items : ndarray of int
            Items of the list.
        attraction : ndarray of float
            Attraction per position.

        Returns
        -------
        float
            The expected reward.
        """
        ...

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """Fill `items` with the list of highest reward, where the attraction of an item does not depend on the others.

        Parameters
        ----------
        moment : NamedTuple of ndarray
            State of the world, from `World.begin`.
        attraction : ndarray of float
            Attraction per item; negative for items that are absent.
        items : ndarray of int
            List to fill. If fewer items are present than the page has positions, it has as many elements as items are
            present, and stands for the positions from the top.
        """


class Users(Prepared, HotUsers, Protocol):
    """A click model.

    Working arrays are fields, which `prepare` fills; every run has its own copies.
    """
