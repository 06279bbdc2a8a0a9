"""Counts of the latest lists: older observations are removed."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.problem import InvalidInput, Problem, number, refuse, whole
from toplist.core.slate import Floats, Ints, Request, Slate
from toplist.parts.memory.counts import tally_counts, touch, touch_all, untouched_blocks
from toplist.parts.memory.horizon import DOUBLING, expected_changes, steps_or_doubling, window_for

LISTS, OLDEST, SLOT, OLDEST_SLOT, NEXT_TAU, OPEN, SAMPLES_LEAVE = range(7)  # the elements of `at`

LONGEST_WINDOW = 1e7  # lists
MOST_STORED = 300_000_000  # numbers of a window: the longest one for lists of ten


class WindowedCounts(NamedTuple):
    """Counts, and the observations to be removed from them later."""

    examined: Floats  # per item
    clicked: Floats
    unit: Floats  # one element: 1
    clock: Floats  # one element: lists in the window
    touched: Ints  # per BLOCK of items
    tau: Floats  # one element: the length of the window
    # Lists learned; the oldest in the window; their slots in the ring; the list at which tau is updated next;
    # whether a list is being learned; the list at which the next free sample leaves, 0 for never.
    at: Ints
    held: Ints  # per item, the number of its observations in the window
    since: Ints  # per item, the list of its first observation since it was reset; -1 for none
    sampled: Floats  # per item, the weight of its free samples, ...
    sampled_clicked: Floats
    sampled_at: Ints  # ... and the number of lists before them; -1 for none
    item: Ints  # (longest, positions): observations, list by list, in a ring
    weight: Floats
    value: Floats
    filled: Ints  # per list in the ring, its number of observations


class Window(NamedTuple):
    """Learns from the latest tau lists only.

    The observations in the window are stored, so doubling ends at `longest` lists. Free samples and priors leave the
    window like a list that was learned when they were added.

    Parameters
    ----------
    tau : int or {"theory", "doubling"}, default "theory"
        Number of lists. "theory" is 2 sqrt(n ln(n) / changes) for n steps; "doubling" is the same with the largest
        power of 2 among the numbers of lists so far as n. "theory" with an unknown horizon is "doubling".
    changes : float, default 1.0
        Expected number of changes of the users.
    longest : int, default 10000
        Largest tau that doubling reaches.

    Notes
    -----
    The memory of CascadeSWUCB (li2019).

    Examples
    --------
    >>> from toplist.core.problem import Problem
    >>> Window().prepare(Problem(items=10, positions=3, steps=10_000)).tau
    606.0
    """

    tau: Any = "theory"
    changes: float = 1.0
    longest: int = 10_000

    def prepare(self, problem: Problem) -> Self:
        """Resolve tau, and the number of lists to store."""
        changes = expected_changes("Window", self.changes, problem)
        longest = whole("Window's longest", self.longest, 1, "give the largest number of lists to store")
        tau, advice = self.tau, "give the number of lists to remember"
        if isinstance(tau, str):
            steps = steps_or_doubling("Window's tau", tau, problem, advice)
            tau = DOUBLING
            if steps is not None:
                most = changes * (LONGEST_WINDOW / 2.0) ** 2  # of steps ln(steps), for the longest window
                if steps * math.log(steps) > most:
                    accepted = f"at most {LONGEST_WINDOW:g} lists, but more for {steps} steps and {changes:g} changes"
                    raise refuse("Window's tau", self.tau, accepted, advice)
                tau = window_for(float(steps), changes)
        elif tau != DOUBLING:
            tau = float(int(number("Window's tau", tau, 1.0, LONGEST_WINDOW, advice)))
        longest = longest if tau == DOUBLING else int(tau)
        stored = longest * problem.positions * max(3, problem.features)
        if stored > MOST_STORED:
            raise InvalidInput(
                f"A window of {longest} lists with {problem.positions} positions would store {stored} numbers, but "
                f"{MOST_STORED} are the most; give a smaller tau."
            )
        return self._replace(tau=tau, changes=changes, longest=longest)

    def begin(self, problem: Problem) -> WindowedCounts:
        """An empty belief."""
        none = np.full(problem.items, -1)
        ring = (self.longest, problem.positions)
        return WindowedCounts(
            examined=np.zeros(problem.items),
            clicked=np.zeros(problem.items),
            unit=np.ones(1),
            clock=np.zeros(1),
            touched=untouched_blocks(problem),
            tau=np.full(1, max(1.0, self.tau)),
            at=np.array([0, 1, 0, 1 % self.longest, 1, 0, 0]),
            held=np.zeros(problem.items, dtype=np.int64),
            since=none,
            sampled=np.zeros(problem.items),
            sampled_clicked=np.zeros(problem.items),
            sampled_at=none.copy(),
            item=np.zeros(ring, dtype=np.int64),
            weight=np.zeros(ring),
            value=np.zeros(ring),
            filled=np.zeros(self.longest, dtype=np.int64),
        )

    def keeps(self) -> str:
        """Counts."""
        return "counts"

    def forgetful(self) -> bool:
        """Observations older than the window are removed."""
        return True

    def tally(self, belief: WindowedCounts, request: Request) -> tuple[Floats, Floats]:
        """Examinations and means within the window."""
        return tally_counts(belief, request.candidates)

    def tick(self, belief: WindowedCounts) -> None:
        """One more list: the oldest may leave the window."""
        gone = open_list(belief, self.tau, self.changes)
        while belief.at[OLDEST] <= gone:
            remove_oldest_list(belief)
        if 0 < belief.at[SAMPLES_LEAVE] <= belief.at[LISTS]:
            remove_old_samples(belief, gone)
        if begin_slot(belief):
            recompute_sums(belief)

    def add(self, belief: WindowedCounts, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Count and store one observation; outside of a list it is a free sample."""
        if belief.at[OPEN] == 1:
            store_observation(belief, item, weight, value)
        else:
            store_sample(belief, item, weight, value)

    def conclude(self, belief: WindowedCounts) -> None:
        """The list is complete."""
        belief.at[OPEN] = 0


@helper
def open_list(belief: Any, tau: float, changes: float) -> int:
    """Count a list, and update tau; returns the latest list that has left the window."""
    at = belief.at
    at[OPEN] = 1
    at[LISTS] += 1
    lists = at[LISTS]
    if tau == DOUBLING and lists == at[NEXT_TAU]:
        belief.tau[0] = min(window_for(float(lists), min(float(lists), changes)), float(len(belief.filled)))
        at[NEXT_TAU] *= 2
    belief.clock[0] = min(float(lists), belief.tau[0])
    return int(lists - int(belief.tau[0]))


@helper
def begin_slot(belief: Any) -> bool:
    """Begin to store a list; True once around the ring, when all sums must be recomputed."""
    slot = next_slot(belief, belief.at[SLOT])
    belief.at[SLOT] = slot
    belief.filled[slot] = 0
    return bool(slot == 0)


@helper
def next_slot(belief: Any, slot: int) -> int:
    """The next slot of the ring."""
    return slot + 1 if slot + 1 < len(belief.filled) else 0


@helper
def store_observation(belief: Any, item: int, weight: float, value: float) -> tuple[int, int]:
    """Count an observation of the list being learned; returns its slot and its index in the slot."""
    belief.examined[item] += weight
    belief.clicked[item] += weight * value
    touch(belief, item)
    belief.held[item] += 1
    if belief.since[item] < 0:
        belief.since[item] = belief.at[LISTS]
    slot = belief.at[SLOT]
    last = belief.filled[slot]
    belief.item[slot, last], belief.weight[slot, last], belief.value[slot, last] = item, weight, value
    belief.filled[slot] = last + 1
    return slot, last


@helper
def store_sample(belief: Any, item: int, weight: float, value: float) -> None:
    """Count a free sample, which leaves the window like a list learned now."""
    belief.examined[item] += weight
    belief.clicked[item] += weight * value
    touch(belief, item)
    belief.sampled[item] += weight
    belief.sampled_clicked[item] += weight * value
    belief.sampled_at[item] = belief.at[LISTS]
    if belief.at[SAMPLES_LEAVE] == 0:
        belief.at[SAMPLES_LEAVE] = belief.at[LISTS] + int(belief.tau[0])


@helper
def remove_oldest_list(belief: Any) -> None:
    """Remove the observations of the oldest list, except of items that were reset since."""
    oldest, slot = belief.at[OLDEST], belief.at[OLDEST_SLOT]
    for i in range(belief.filled[slot]):
        item = belief.item[slot, i]
        if 0 <= belief.since[item] <= oldest:
            touch(belief, item)
            belief.held[item] -= 1
            belief.examined[item] -= belief.weight[slot, i]
            belief.clicked[item] -= belief.weight[slot, i] * belief.value[slot, i]
            if belief.held[item] == 0:  # without rounding errors
                belief.examined[item], belief.clicked[item] = belief.sampled[item], belief.sampled_clicked[item]
    belief.at[OLDEST], belief.at[OLDEST_SLOT] = oldest + 1, next_slot(belief, slot)


@routine
def remove_old_samples(belief: Any, gone: int) -> None:
    """Remove the free samples that have left the window, and find when the next are due."""
    due = 0
    for item in range(len(belief.examined)):
        sampled_at = belief.sampled_at[item]
        if 0 <= sampled_at <= gone:
            touch(belief, item)
            belief.examined[item] -= belief.sampled[item]
            belief.clicked[item] -= belief.sampled_clicked[item]
            belief.sampled[item], belief.sampled_clicked[item], belief.sampled_at[item] = 0.0, 0.0, -1
            if belief.held[item] == 0:
                belief.examined[item], belief.clicked[item] = 0.0, 0.0
        elif sampled_at >= 0:
            leaves = sampled_at + int(belief.tau[0])
            due = leaves if due == 0 else min(due, leaves)
    belief.at[SAMPLES_LEAVE] = due


@routine
def recompute_sums(belief: Any) -> None:
    """Recompute all sums, so that rounding errors cannot add up."""
    touch_all(belief)
    for item in range(len(belief.examined)):
        belief.examined[item], belief.clicked[item] = belief.sampled[item], belief.sampled_clicked[item]
    for each in range(belief.at[OLDEST], belief.at[LISTS]):
        slot = each % len(belief.filled)
        for i in range(belief.filled[slot]):
            item = belief.item[slot, i]
            if 0 <= belief.since[item] <= each:
                belief.examined[item] += belief.weight[slot, i]
                belief.clicked[item] += belief.weight[slot, i] * belief.value[slot, i]
