"""How a simulated policy gets its first look at the items."""

from __future__ import annotations

from typing import NamedTuple, Self

from toplist.core.problem import Problem
from toplist.core.slate import Ints
from toplist.support.catalogue import entry


@entry("One sample", hides=("given",))
class OneSample(NamedTuple):
    """One sample of everything before step 1, not counted as steps or regret, as the papers simulate."""

    given: bool = True

    def prepare(self, problem: Problem) -> Self:
        """Nothing to resolve."""
        return self

    def sampled(self) -> bool:
        """Yes."""
        return self.given

    def places(self, problem: Problem) -> int:
        """No place is ever forced."""
        return 0

    def pin(self, step: int, pins: Ints) -> None:
        """Nothing is forced."""


@entry("Forced", "katariya2016", hides=("items",))
class Forced(NamedTuple):
    """Item t at position 1 at step t, for the first L steps, which count (katariya2016, section 3.3)."""

    items: int = 0

    def prepare(self, problem: Problem) -> Self:
        """The number of items."""
        return self._replace(items=problem.items)

    def sampled(self) -> bool:
        """No."""
        return False

    def places(self, problem: Problem) -> int:
        """Any place may be."""
        return problem.positions

    def pin(self, step: int, pins: Ints) -> None:
        """The next item, while there is one."""
        pins[0] = step if step < self.items else -1


@entry("Never seen first", hides=("given",))
class NeverSeenFirst(NamedTuple):
    """Nothing beforehand: what was never seen ranks above everything seen. The start of a live page."""

    given: bool = False

    def prepare(self, problem: Problem) -> Self:
        """Nothing to resolve."""
        return self

    def sampled(self) -> bool:
        """No."""
        return self.given

    def places(self, problem: Problem) -> int:
        """No place is ever forced."""
        return 0

    def pin(self, step: int, pins: Ints) -> None:
        """Nothing is forced."""
