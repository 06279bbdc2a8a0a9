"""The arms of ranked bandits, one per item and position: their numbers in the belief, and in a copy of it by position.

A belief keeps the arms of an item together, so that items can be added and forgotten. A bandit reads the arms of its
position. So the cache has a copy of the belief with the arms of a position together: loops over them are vectorised,
their blocks have ceilings, and items placed above are a few exceptions instead of a list of all the others. Only arms
that have changed are copied again; of many, only those in touched blocks are compared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.beliefs import BLOCK, MANY, TOUCHED, block_count
from toplist.core.compiling import helper
from toplist.core.problem import Problem
from toplist.core.slate import Ints, Request
from toplist.parts.memory.counts import Counts
from toplist.parts.memory.weights import Weights

OFTEN = 1e300  # examinations of the arms that fill up a position's last block: their index is that of the worst item
TOGETHER = 16  # arms compared in a vectorised loop


class OwnArms(NamedTuple):
    """The arms as a belief of any kind has them: an item's arms together."""

    numbers: Ints  # every arm
    labels: Ints  # per arm: the label of its item

    def follow_arms(self, belief: Any, request: Request, places: int) -> None:
        """Label the arms."""
        for item in request.candidates:
            for arm in range(item * places, (item + 1) * places):
                self.labels[arm] = request.labels[item]

    def arms_belief(self, belief: Any) -> Any:
        """The belief itself."""
        return belief

    def arm_number(self, item: int, place: int, places: int) -> int:
        """Item by item."""
        return item * places + place


class CopiedArms(NamedTuple):
    """The arms by position, and a copy of the belief in which they have these numbers."""

    numbers: Ints  # every arm
    labels: Ints  # per arm: the label of its item
    by_place: Any  # the copy
    known: Ints  # per block of the belief: its touch count when it was copied; -1 for never
    own: Any  # another copy of the belief, in its own order: compared with it in vectorised loops
    item_labels: Ints  # per item: its label when that was copied

    def follow_arms(self, belief: Any, request: Request, places: int) -> None:
        """Copy the arms that have changed; if the belief does not track changes, all are compared."""
        self.by_place.copy_rest(belief)
        arms = places * len(request.labels)
        if len(belief.touched) == 0:
            copy_changes(self, belief, request, places, 0, arms)
        for block in range(len(belief.touched)):
            if self.known[block] != belief.touched[block]:
                self.known[block] = belief.touched[block]
                copy_changes(self, belief, request, places, block * BLOCK, min((block + 1) * BLOCK, arms))

    def arms_belief(self, belief: Any) -> Any:
        """The copy."""
        return self.by_place

    def arm_number(self, item: int, place: int, places: int) -> int:
        """Position by position."""
        return place * (len(self.numbers) // places) + item


@helper
def copy_changes(arms: CopiedArms, belief: Any, request: Request, places: int, begin: int, end: int) -> None:
    """Copy the arms of a range that have changed, and the labels of their items."""
    stride, tracks = len(arms.numbers) // places, len(arms.by_place.touched) > 0
    for item in range(begin // places, (end + places - 1) // places):
        if arms.item_labels[item] != request.labels[item]:
            arms.item_labels[item] = request.labels[item]
            for place in range(places):
                arms.labels[place * stride + item] = request.labels[item]
                if tracks:
                    arms.by_place.touched[(place * stride + item) // BLOCK] += 1  # an index may keep labels
    for first in range(begin, end, TOGETHER):
        if arms.own.count_changes(belief, first, min(first + TOGETHER, end)) > 0:
            for arm in range(first, min(first + TOGETHER, end)):
                if arms.own.copy_arm(belief, arm, arm):
                    item = arm // places
                    to = (arm - item * places) * stride + item
                    arms.by_place.copy_arm(belief, arm, to)
                    if tracks:
                        arms.by_place.touched[to // BLOCK] += 1


def make_arms(memory: Any, problem: Problem) -> tuple[OwnArms | CopiedArms, Problem]:
    """The arms of a problem as the index of a memory's beliefs reads them, and the problem of the index."""
    items, places = problem.items, problem.positions
    kept = memory.keeps()
    if kept not in ("counts", "weights") or not hasattr(memory.begin(problem._replace(items=1)), TOUCHED):
        arms = items * places
        return OwnArms(np.arange(arms), np.zeros(arms, dtype=np.int64)), problem._replace(items=arms)
    stride = items if items * places < MANY else -(-items // BLOCK) * BLOCK  # a block has arms of one position
    arms = stride * places
    by_arm = problem._replace(items=arms)
    touched, blocks = np.zeros(block_count(by_arm), dtype=np.int64), block_count(problem._replace(items=items * places))
    unknown = np.full(items * places, np.nan)  # other than any count or weight
    copy: Any
    own: Any
    if kept == "counts":
        copy = Counts(np.full(arms, OFTEN), np.zeros(arms), np.ones(1), np.zeros(1), touched)
        own = copy._replace(examined=unknown, clicked=unknown.copy())
    else:
        copy = Weights(np.full(arms, -np.inf), np.zeros(1), np.zeros(1), touched)
        own = copy._replace(logarithm=unknown)
    numbers, labels = np.arange(arms), np.zeros(arms, dtype=np.int64)
    return CopiedArms(numbers, labels, copy, np.full(blocks, -1), own, np.zeros(items, dtype=np.int64)), by_arm
