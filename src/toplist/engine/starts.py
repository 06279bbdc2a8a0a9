"""Starts: how a simulated policy first sees the items."""

from __future__ import annotations

from typing import NamedTuple, Self

from toplist.core.problem import Problem
from toplist.core.slate import Ints
from toplist.support.catalogue import entry


class Unpinned(NamedTuple):
    """A start that pins no item."""

    given: bool

    def prepare(self, problem: Problem) -> Self:
        """Return the same start without its subclass, so that the loop is compiled once for both."""
        return Unpinned(self.given)  # type: ignore[return-value]

    def sampled(self) -> bool:
        """Return whether samples are given before step 1."""
        return self.given

    def places(self, problem: Problem) -> int:
        """Return 0: no position is pinned."""
        return 0

    def pin(self, step: int, pins: Ints) -> None:
        """Pin nothing."""


@entry("One sample", hides=("given",))
class OneSample(Unpinned):
    """One sample of every item before step 1, not counted as steps or regret, as in the papers' simulations.

    Parameters
    ----------
    given : bool, default True
        Not a setting: compiled code needs a part to have a field.
    """

    __slots__ = ()

    def __new__(cls, given: bool = True) -> Self:
        """Make the start."""
        return super().__new__(cls, given)


@entry("Forced", "katariya2016", hides=("items",))
class Forced(NamedTuple):
    """Item t at position 1 at step t, for the first L steps, which count (katariya2016, section 3.3).

    Parameters
    ----------
    items : int, default 0
        Number of items, set by `prepare`.
    """

    items: int = 0

    def prepare(self, problem: Problem) -> Self:
        """Return a copy with the number of items."""
        return self._replace(items=problem.items)

    def sampled(self) -> bool:
        """Return False: there are no samples before step 1."""
        return False

    def places(self, problem: Problem) -> int:
        """Return the number of positions, any of which may be pinned."""
        return problem.positions

    def pin(self, step: int, pins: Ints) -> None:
        """Pin the next item to position 1 for the first L steps."""
        pins[0] = step if step < self.items else -1


@entry("Never seen first", hides=("given",))
class NeverSeenFirst(Unpinned):
    """No samples beforehand: items never seen rank above all others, as on a live page.

    Parameters
    ----------
    given : bool, default False
        Not a setting: compiled code needs a part to have a field.
    """

    __slots__ = ()

    def __new__(cls, given: bool = False) -> Self:
        """Make the start."""
        return super().__new__(cls, given)
