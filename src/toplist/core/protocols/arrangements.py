"""The protocol of arrangements: how a list is made from scores."""

from __future__ import annotations

from typing import Any, Protocol

from toplist.core.compiling import protocol
from toplist.core.problem import Problem
from toplist.core.protocols.prepared import Prepared
from toplist.core.slate import Request, Slate


@protocol
class HotArrangement(Protocol):
    """How a list is made from scores (hot)."""

    def arrange(self, scoring: Any, belief: Any, cache: Any, request: Request, slate: Slate) -> None:
        """Fill the slate.

        Parameters
        ----------
        scoring : Index
            The index.
        belief : NamedTuple of ndarray
            Learned state.
        cache : ComposedCache
            Scratch space of the arrangement and of the index.
        request : Request
            Input for the list.
        slate : Slate
            Slate to fill.
        """


class Arrangement(Prepared, HotArrangement, Protocol):
    """An arrangement."""

    def scratch(self, problem: Problem) -> Any:
        """Scratch space for one list.

        Parameters
        ----------
        problem : Problem
            Size of the problem.

        Returns
        -------
        NamedTuple of ndarray
            The working arrays.
        """

    def asks(self) -> str:
        """The method of the index that it calls.

        Returns
        -------
        str
            For example "top".
        """
        ...
