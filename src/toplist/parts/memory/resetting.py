"""Counts that are reset when a change detector raises an alarm for an item."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import routine
from toplist.core.problem import Problem, expect, refuse
from toplist.core.protocols import Change
from toplist.core.slate import Floats, Ints, Request, Slate
from toplist.parts.detectors import GLR
from toplist.parts.memory.counts import tally_counts, touch, untouched_blocks

STORED_CHANGES = 256  # the latest
SCOPES = {"item": 0, "everything": 1}


class WatchedCounts(NamedTuple):
    """Counts, the state of the detectors, and the detected changes."""

    examined: Floats  # per item
    clicked: Floats
    unit: Floats  # one element: 1
    clock: Floats  # one element: lists learned since everything was forgotten
    touched: Ints  # per BLOCK of items
    watched: Floats  # (items, elements): the detector's state per item
    lists: Ints  # two elements: lists learned, and whether one is being learned
    found: Ints  # one element: number of changes ever detected
    when: Ints  # (STORED_CHANGES,): per change the list, counted from 1 ...
    which: Ints  # ... the item ...
    mean: Floats  # ... and its mean until then


class Resetting(NamedTuple):
    """Counts all observations until a detector raises an alarm.

    An item that is not shown cannot be watched, so "item" misses unseen items that have become better. Free samples and
    priors are not watched.

    Parameters
    ----------
    detector : Detector, default GLR()
        Change detector that watches the observations of each item: GLR(level) or CUSUM(level, slack, samples).
    forgets : {"everything", "item"}, default "everything"
        What an alarm resets: everything, the clock included, so that all items are explored again; or the item alone.
    """

    detector: Any = GLR()
    forgets: Any = "everything"

    def prepare(self, problem: Problem) -> Self:
        """Prepare the detector; `forgets` becomes a number."""
        expect("The detector", self.detector, ("prepare", "room", "watch"), "a detector, like GLR()")
        forgets: Any = SCOPES.get(self.forgets) if isinstance(self.forgets, str) else self.forgets
        if isinstance(forgets, bool) or forgets not in SCOPES.values():
            raise refuse(
                "Resetting's forgets", self.forgets, " or ".join(map(repr, SCOPES)), "choose what an alarm resets"
            )
        return self._replace(detector=self.detector.prepare(problem), forgets=int(forgets))

    def begin(self, problem: Problem) -> WatchedCounts:
        """An empty belief."""
        return WatchedCounts(
            examined=np.zeros(problem.items),
            clicked=np.zeros(problem.items),
            unit=np.ones(1),
            clock=np.zeros(1),
            touched=untouched_blocks(problem),
            watched=np.zeros((problem.items, self.detector.room())),
            lists=np.zeros(2, dtype=np.int64),
            found=np.zeros(1, dtype=np.int64),
            when=np.zeros(STORED_CHANGES, dtype=np.int64),
            which=np.zeros(STORED_CHANGES, dtype=np.int64),
            mean=np.zeros(STORED_CHANGES),
        )

    def keeps(self) -> str:
        """Counts."""
        return "counts"

    def forgetful(self) -> bool:
        """An alarm resets counts."""
        return True

    def tally(self, belief: WatchedCounts, request: Request) -> tuple[Floats, Floats]:
        """Examinations and means since the last change."""
        return tally_counts(belief, request.candidates)

    def alarms(self, belief: WatchedCounts, after: int = 0) -> list[Change]:
        """The latest changes, without the first `after` ever detected."""
        found = int(belief.found[0])
        slots = [number % STORED_CHANGES for number in range(max(after, found - STORED_CHANGES), found)]
        return [Change(int(belief.when[slot]), int(belief.which[slot]), float(belief.mean[slot])) for slot in slots]

    def tick(self, belief: WatchedCounts) -> None:
        """One more list."""
        belief.clock[0] += 1.0
        belief.lists[0] += 1
        belief.lists[1] = 1

    def add(self, belief: WatchedCounts, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Count one observation, and reset if it reveals a change."""
        belief.examined[item] += weight
        belief.clicked[item] += weight * value
        touch(belief, item)
        if belief.lists[1] == 1 and self.detector.watch(belief.watched[item], weight, value):
            record_change(belief, item)
            if self.forgets == 1:
                for other in range(len(belief.examined)):
                    forget_item(belief, other)
                belief.clock[0] = 0.0
            else:
                forget_item(belief, item)

    def conclude(self, belief: WatchedCounts) -> None:
        """The list is complete."""
        belief.lists[1] = 0


@routine
def record_change(belief: Any, item: int) -> None:
    """Store which item changed, when, and its mean."""
    slot = belief.found[0] % STORED_CHANGES
    belief.when[slot], belief.which[slot] = belief.lists[0], item
    belief.mean[slot] = belief.clicked[item] / belief.examined[item]
    belief.found[0] += 1


@routine
def forget_item(belief: Any, item: int) -> None:
    """Reset the counts and the detector of an item."""
    belief.examined[item], belief.clicked[item] = 0.0, 0.0
    touch(belief, item)
    for i in range(belief.watched.shape[1]):
        belief.watched[item, i] = 0.0
