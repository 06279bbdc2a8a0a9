"""The protocols of ranked bandits: their arms, an item at a position each, and beliefs that are copied arm by arm."""

from __future__ import annotations

from typing import Any, Protocol

from toplist.core.compiling import protocol
from toplist.core.slate import Request


@protocol
class HotArms(Protocol):
    """How the arms of ranked bandits are numbered for their index (hot)."""

    def follow_arms(self, belief: Any, request: Request, places: int) -> None:
        """Prepare the arms of the candidates for the next list.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        request : Request
            Input for the list.
        places : int
            Number of positions.
        """

    def arms_belief(self, belief: Any) -> Any:
        """The belief about the arms, in their numbers.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.

        Returns
        -------
        NamedTuple of ndarray
            What the index reads.
        """
        ...

    def arm_number(self, item: int, place: int, places: int) -> int:
        """The number of an arm; at each position, the numbers of the items ascend.

        Parameters
        ----------
        item : int
            The item.
        place : int
            The position, counted from 0.
        places : int
            Number of positions.

        Returns
        -------
        int
            The number.
        """
        ...


@protocol
class HotCopied(Protocol):
    """Optional for a belief: copies of it in another order (hot)."""

    def copy_arm(self, source: Any, arm: int, to: int) -> bool:
        """Copy what another belief knows about an arm.

        Parameters
        ----------
        source : NamedTuple of ndarray
            The other belief.
        arm : int
            The arm there.
        to : int
            The arm here.

        Returns
        -------
        bool
            Whether that changed anything.
        """
        ...

    def count_changes(self, source: Any, first: int, end: int) -> int:
        """The number of arms in a range about which another belief, in the same order, knows something else.

        Parameters
        ----------
        source : NamedTuple of ndarray
            The other belief.
        first : int
            The first arm.
        end : int
            One after the last arm.

        Returns
        -------
        int
            The number.
        """
        ...

    def copy_rest(self, source: Any) -> None:
        """Copy what another belief knows besides its arms.

        Parameters
        ----------
        source : NamedTuple of ndarray
            The other belief.
        """
