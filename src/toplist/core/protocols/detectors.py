"""The protocols of change detection."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from toplist.core.compiling import protocol
from toplist.core.protocols.prepared import Prepared
from toplist.core.slate import Floats


class Change(NamedTuple):
    """A detected change of an item.

    Parameters
    ----------
    learned : int
        Number of lists learned at the detection.
    item : int
        The item.
    mean : float
        Mean observed value of the item until then.
    """

    learned: int
    item: int
    mean: float


@protocol
class HotDetector(Protocol):
    """Whether the observations of an item have changed (hot)."""

    def watch(self, row: Floats, weight: float, value: float) -> bool:
        """Process an observation.

        Parameters
        ----------
        row : ndarray of float
            State of the stream; all 0 before the first observation.
        weight : float
            Weight of the observation.
        value : float
            Observed value.

        Returns
        -------
        bool
            Whether the stream has changed.
        """
        ...


class Detector(Prepared, HotDetector, Protocol):
    """A change detector."""

    def room(self) -> int:
        """Size of the state of one stream.

        Returns
        -------
        int
            Number of elements of a row.
        """
        ...


class Detecting(Protocol):
    """Optional for a memory: the changes it has detected."""

    def alarms(self, belief: Any, after: int = 0) -> list[Change]:
        """The latest changes.

        Parameters
        ----------
        belief : NamedTuple of ndarray
            Learned state.
        after : int, default 0
            Number of changes to skip, counted from the first one ever detected.

        Returns
        -------
        list of Change
            The changes, in order.
        """
        ...
