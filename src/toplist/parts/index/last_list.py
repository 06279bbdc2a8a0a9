"""The form of an index over counts for a GPU, for many items: the best by way of those of the last list.

Little is remembered, since memory is slower there than arithmetic. The items of the last list, and others that came
next, are scored first. The K-th best index of theirs is a level that all of the best items reach, so that of the others
only those are scored that may reach it.

Many items often have equal counts, and so equal indices. Some items of each of the best counts are kept, since those
that were shown fall below others, and at last all that had the best counts. Of the items with the counts of the K-th
best, only those with the highest standings can be in the list, so that a share of them is scored.

Estimates serve where they determine the order; else the index is computed. It is a pure function of the counts and the
budget, so the lists are those of the index itself.

Runs play in step, one per thread. So loops over all candidates only note the hits, and indices are computed in loops of
their own: the first of all runs go together, then the second ones, and so on.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.index.gaps import is_listed
from toplist.parts.index.select import is_contiguous
from toplist.parts.memory.counts import Counts, place_of_counts

KINDS, SPARE = 4, 2  # different counts of which items are kept, and how many of each beside the length of a list
RECENT = 16  # counts that others are compared with
CROWDS = 64  # a power of 2
HALF = 2.0**63  # standings lie between minus this number and this number


class LastList(NamedTuple):
    """The items of the last list, and those that came next; and scratch space."""

    items: Ints
    held: Ints  # one element: how many these are
    crowds: Floats  # (CROWDS, 3): counts, and how many items had them
    pool: Ints  # items that can be among the best
    same: Ints  # the number of the counts of each
    examined: Floats  # per number, the counts, ...
    clicked: Floats
    worth: Floats  # ... their index or an estimate, ...
    error: Floats  # ... a bound of the estimate's error, ...
    size: Ints  # ... and how many items of the pool have them
    leading: Ints  # the best items, in order, ...
    leading_worth: Floats  # ... their indices, ...
    standing: Ints  # ... standings ...
    number: Ints  # ... and the numbers of their counts
    solves: Ints  # one element: number of computed indices that replaced estimates, to monitor the cost


class ByLastList(NamedTuple):
    """An index that chooses the same items as another; it is quicker on a GPU, and slower elsewhere.

    Parameters
    ----------
    scoring : HotLevel
        The index, prepared.
    """

    scoring: Any

    def prepare(self, problem: Problem) -> Self:
        """It is made of a prepared index."""
        return self

    def scratch(self, problem: Problem) -> LastList:
        """Any items serve as the last list before the first one."""
        items, positions = problem.items, problem.positions
        kept, next_best = min(positions + KINDS * (positions + SPARE), items), min(positions + 1, items)
        pool, same, size = (np.zeros(items + kept, dtype=np.int64) for _ in range(3))
        examined, clicked, worth, error = (np.zeros(items + kept) for _ in range(4))
        best, standing, number = (np.zeros(next_best, dtype=np.int64) for _ in range(3))
        return LastList(
            items=np.arange(kept),
            held=np.full(1, next_best),
            crowds=np.zeros((CROWDS, 3)),
            pool=pool,
            same=same,
            examined=examined,
            clicked=clicked,
            worth=worth,
            error=error,
            size=size,
            leading=best,
            leading_worth=np.zeros(next_best),
            standing=standing,
            number=number,
            solves=np.zeros(1, dtype=np.int64),
        )

    def reads(self) -> str:
        """Counts."""
        return "counts"

    def top(self, belief: Counts, cache: LastList, request: Request, chosen: Ints, scores: Floats) -> None:
        """Score the last list and what can be better, and take the best."""
        scoring, wanted = self.scoring, min(len(chosen), len(request.candidates))
        budget = scoring.allowance(belief)
        held = begin_pool(cache, request.candidates, wanted)
        known = number_counts(belief, cache, 0, held, 0)
        error = estimate(scoring, cache, 0, known, budget)
        take_best(cache, request, held)
        level = scoring.level_for(belief, budget, cache.leading_worth[wanted - 1] - error)
        # Not all of them need be good enough; those that are will be found again.
        found = find_others(scoring, belief, cache, request, cache.leading[wanted - 1], wanted, level)
        end = add_kept(scoring, cache, held, found, known, level)
        distinct = number_counts(belief, cache, 0, end, known)
        error = max(error, estimate(scoring, cache, known, distinct, budget))
        take_best(cache, request, end)
        while solve_unclear(scoring, cache, min(end, wanted + 1), distinct, budget, error):
            take_best(cache, request, end)
        note_crowds(cache, found, distinct)
        keep_of_each(cache, end, distinct, wanted)
        for j in range(wanted):
            chosen[j], scores[j] = cache.leading[j], cache.leading_worth[j]


@helper
def begin_pool(cache: LastList, candidates: Ints, wanted: int) -> int:
    """Begin the pool with the kept items, or with the first candidates if one of them is no candidate; their number."""
    gaps = candidates[len(candidates) - 1] - candidates[0] + 1 - len(candidates)
    held, absent = cache.held[0], 0
    for j in range(held):
        cache.pool[j] = cache.items[j]
        absent += 0 if is_listed(candidates, cache.items[j], gaps) else 1
    if absent > 0 or held < wanted:
        held = wanted
        for j in range(held):
            cache.pool[j], cache.items[j] = candidates[j], candidates[j]
    return int(held)


@helper
def number_counts(belief: Counts, cache: LastList, begin: int, end: int, distinct: int) -> int:
    """Number the different counts of items of the pool, after those that are numbered; how many there are then.

    Compared with the last few only: equal counts with several numbers do no harm.
    """
    for j in range(begin, end):
        item, number, oldest = cache.pool[j], distinct - 1, max(0, distinct - RECENT)
        examined, clicked = belief.examined[item], belief.clicked[item]
        while number >= oldest and not (cache.examined[number] == examined and cache.clicked[number] == clicked):
            number -= 1
        if number < oldest:
            number = distinct
            cache.examined[number], cache.clicked[number] = examined, clicked
            distinct += 1
        cache.same[j] = number
    return distinct


@helper
def estimate(scoring: Any, cache: LastList, first: int, end: int, budget: float) -> float:
    """Estimate the indices of some different counts; the largest error."""
    most = 0.0
    for number in range(first, end):
        worth, error = scoring.estimated(cache.examined[number], cache.clicked[number], budget)
        cache.worth[number], cache.error[number] = worth, error
        most = max(most, error)
    return most


@helper
def take_best(cache: LastList, request: Request, end: int) -> None:
    """Take the best of the pool, in order; ties as in `ties`, for fewer than MANY items."""
    best, worth, standing, kind, most = (
        cache.leading,
        cache.leading_worth,
        cache.standing,
        cache.number,
        len(cache.leading),
    )
    for j in range(end):
        index, position = cache.worth[cache.same[j]], min(j, most - 1)
        if j >= most and index < worth[position]:
            continue
        item = cache.pool[j]
        own = branch(request.key, request.labels[item])
        if j >= most and index == worth[position] and own < standing[position]:
            continue
        while position > 0 and (
            worth[position - 1] < index or (worth[position - 1] == index and standing[position - 1] < own)
        ):
            best[position], worth[position] = best[position - 1], worth[position - 1]
            standing[position], kind[position] = standing[position - 1], kind[position - 1]
            position -= 1
        best[position], worth[position], standing[position], kind[position] = item, index, own, cache.same[j]


@helper
def find_others(
    scoring: Any, belief: Counts, cache: LastList, request: Request, kth: int, wanted: int, level: Any
) -> int:
    """Fill the pool with candidates whose index can reach a level; their number.

    Of those with the counts of the item `kth`, a share with the highest standings, if it fills a list.
    """
    candidates, pool, key, labels = request.candidates, cache.pool, request.key, request.labels
    examined, clicked, first, dense = (
        belief.examined[kth],
        belief.clicked[kth],
        candidates[0],
        is_contiguous(candidates),
    )
    crowd, lowest, alike = cache.crowds[place_of_counts(examined, clicked, len(cache.crowds))], -np.inf, 0
    if crowd[0] == examined and crowd[1] == clicked:
        share = (wanted + 3.0 * math.sqrt(wanted) + 4.0) / max(1.0, crowd[2])
        lowest = HALF - 2.0 * HALF * share if share < 1.0 else -np.inf
    while True:
        end, alike, high = 0, 0, 0
        following, next_examined, next_clicked = first, belief.examined[first], belief.clicked[first]
        for i in range(len(candidates)):
            # The counts of the next item are read before this one is looked at, since memory is slow.
            item, own_examined, own_clicked = following, next_examined, next_clicked
            if i + 1 < len(candidates):
                following = item + 1 if dense else candidates[i + 1]
                next_examined, next_clicked = belief.examined[following], belief.clicked[following]
            if own_examined == examined and own_clicked == clicked:
                alike += 1
                hit = float(branch(key, labels[item])) >= lowest
                high += 1 if hit else 0
            else:
                hit = scoring.may_reach(own_examined, own_clicked, level)
            if hit:
                pool[end] = item
                end += 1
        if high >= wanted or lowest == -np.inf:
            break
        lowest = -np.inf
    crowd[0], crowd[1], crowd[2] = examined, clicked, -float(alike)  # negative: `note_crowds` is to leave it
    return end


@helper
def note_crowds(cache: LastList, found: int, distinct: int) -> None:
    """Note how many items have each of the counts in the first `found` places of the pool."""
    count_sizes(cache, found, distinct)
    for number in range(distinct):
        examined, clicked = cache.examined[number], cache.clicked[number]
        crowd = cache.crowds[place_of_counts(examined, clicked, len(cache.crowds))]
        if crowd[2] < 0.0:
            crowd[2] = -crowd[2]
        elif cache.size[number] > 0:
            crowd[0], crowd[1], crowd[2] = examined, clicked, cache.size[number]


@helper
def count_sizes(cache: LastList, end: int, distinct: int) -> None:
    """Count how many items of the pool have each of the counts."""
    for number in range(distinct):
        cache.size[number] = 0
    for j in range(end):
        cache.size[cache.same[j]] += 1


@helper
def add_kept(scoring: Any, cache: LastList, held: int, found: int, known: int, level: Any) -> int:
    """Add the kept items to the pool that were not found, for the next list; the new length of the pool."""
    end = found
    for number in range(known):
        reaches = scoring.may_reach(cache.examined[number], cache.clicked[number], level)
        cache.size[number] = 1 if reaches else 0
    for j in range(held):
        if cache.size[cache.same[j]] == 0:
            cache.pool[end] = cache.items[j]
            end += 1
    return end


@helper
def is_one_of(item: int, items: Ints, count: int) -> bool:
    """Whether an item is one of the first `count`."""
    same = 0
    for j in range(count):
        same += 1 if items[j] == item else 0
    return same > 0


@helper
def solve_unclear(scoring: Any, cache: LastList, count: int, distinct: int, budget: float, error: float) -> bool:
    """Compute indices among the best where errors of this size leave their order open; whether there were any."""
    solved = 0
    for j in range(1, count):
        if (
            cache.number[j - 1] != cache.number[j]
            and cache.leading_worth[j - 1] - cache.leading_worth[j] <= 2.0 * error
        ):
            solved += solve_number(scoring, cache, cache.number[j - 1], budget)
            solved += solve_number(scoring, cache, cache.number[j], budget)
    tied, least = cache.number[count - 1], cache.leading_worth[count - 1]
    if count > 1 and cache.number[count - 2] == tied:  # further ones can be as close to the last of the list
        for number in range(distinct):
            if number != tied and least - 2.0 * error <= cache.worth[number] <= least + 2.0 * error:
                solved += solve_number(scoring, cache, number, budget)
                solved += solve_number(scoring, cache, tied, budget)
    cache.solves[0] += solved
    return solved > 0


@helper
def solve_number(scoring: Any, cache: LastList, number: int, budget: float) -> int:
    """Replace the estimate for different counts by the index; 1 if it was one."""
    if cache.error[number] == 0.0:
        return 0
    cache.worth[number] = scoring.solved(cache.examined[number], cache.clicked[number], budget)
    cache.error[number] = 0.0
    return 1


@helper
def keep_of_each(cache: LastList, end: int, distinct: int, wanted: int) -> None:
    """Keep the list, and, from the best counts on, about a list of items of each."""
    items, held, size, each = cache.items, wanted, cache.size, wanted + SPARE
    for j in range(wanted):
        items[j] = cache.leading[j]
    count_sizes(cache, end, distinct)
    for number in range(distinct):
        better = 0
        for other in range(distinct):
            better += min(size[other], each) if cache.worth[other] > cache.worth[number] else 0
        cache.error[number] = 0.0 if better <= len(items) - wanted - each else each  # how many are kept
    for j in range(end):
        number = cache.same[j]
        if cache.error[number] < each and held < len(items) and not is_one_of(cache.pool[j], cache.leading, wanted):
            items[held] = cache.pool[j]
            held += 1
            cache.error[number] += 1.0
    cache.held[0] = held
