"""The protocol of starts: a simulated policy's first observations."""

from __future__ import annotations

from typing import Protocol

from toplist.core.compiling import protocol
from toplist.core.problem import Problem
from toplist.core.protocols.prepared import Prepared
from toplist.core.slate import Ints


@protocol
class HotStart(Protocol):
    """How a simulated policy gets its first observations of the items (hot)."""

    def pin(self, step: int, pins: Ints) -> None:
        """Force items at a step.

        Parameters
        ----------
        step : int
            The step; the first is 0.
        pins : ndarray of int
            Per position the forced item, or -1; to be filled.
        """


class Start(Prepared, HotStart, Protocol):
    """A start."""

    def sampled(self) -> bool:
        """Whether one sample of everything is given before the first step.

        Returns
        -------
        bool
            True if it is.
        """
        ...

    def places(self, problem: Problem) -> int:
        """Number of positions that `pin` may write to.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        int
            All positions, or 0 if nothing is ever forced.
        """
        ...
