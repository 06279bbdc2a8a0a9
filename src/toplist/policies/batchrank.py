"""BatchRank: batches of items own ranges of positions, are compared stage by stage, and split where they differ."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem, known_steps, number
from toplist.core.protocols import Assessment, Capabilities
from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.randomness import branch, uniform
from toplist.core.slate import Floats, Ints, Page, Request, Slate, empty_slate
from toplist.parts.index.kl_solver import exploration_budget, kl_upper
from toplist.parts.index.select import select
from toplist.parts.index.sort import sort_descending
from toplist.policies.by_name import entry

SERIAL, COUNTED = 0, 1  # the columns of the memo


class Batches(NamedTuple):
    """Positions and items of each batch, and the counts of its current stage.

    A batch is identified by its first position. All but the last have as many items as positions, so that the items of
    a batch stand in `order` at its positions.
    """

    order: Ints  # all items: batch after batch, then the dropped ones
    alive: Ints  # one element: number of items not dropped
    first: Ints  # per position: the first position of its batch
    stage: Ints  # per batch
    serial: Ints  # per batch: number of its current stage, unique over all batches and stages
    waiting: Ints  # per batch: number of items below the quota of this stage
    issued: Ints  # one element: serials issued so far
    shown: Floats  # per item, in this stage
    clicked: Floats  # per item, in this stage
    low: Floats  # per item: bounds on its click-through rate at the end of its last stage
    high: Floats
    clock: Ints  # one element: lists learned


class Draw(NamedTuple):
    """Scratch arrays for drawing the items of a batch."""

    score: Floats
    chosen: Ints
    drawn: Floats


@entry("BatchRank", hides=("enough", "budget"))
class BatchRank(NamedTuple):
    """Shows the items of a batch in random order on its positions, and splits it once some are certainly better.

    Parameters
    ----------
    steps : float or "theory", default "theory"
        Horizon n in lists, at least 2; "theory" is the number of steps of the simulation.

    Notes
    -----
    In stage l the least shown items are counted until each has `ceil(16 4^l log n)` impressions. Then KL bounds with
    budget `log n + 3 log log n` decide: where the lower bound of the worst of the better items exceeds the upper bounds
    of all others, the batch is split in two; otherwise items that cannot be among the best are dropped, and the next
    stage begins. Zoghi, Tunys, Ghavamzadeh, Kveton, Szepesvari and Wen, Online Learning to Rank in Stochastic Click
    Models, ICML 2017, algorithm 1; a baseline of li2019.
    """

    steps: float | str = "theory"
    enough: float = 0.0  # 16 log n; filled by `prepare`
    budget: float = 0.0  # log n + 3 log log n; filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """Resolve the parameters that depend on n."""
        if self.steps == "theory":
            # At least 2, so that it has a logarithm.
            steps = float(max(known_steps("BatchRank's steps", problem, "give the number of lists, as 1e6"), 2))
        else:
            steps = number("BatchRank's steps", self.steps, 2.0, 1e18, "give the number of lists to come, as 1e6")
        return self._replace(steps=steps, enough=16.0 * math.log(steps), budget=exploration_budget(steps, 3.0))

    def begin(self, problem: Problem) -> Batches:
        """One batch of all items and positions."""
        items, positions = problem.items, problem.positions
        waiting = np.zeros(positions, dtype=np.int64)
        waiting[0] = items
        return Batches(
            order=np.arange(items),
            alive=np.full(1, items),
            first=np.zeros(positions, dtype=np.int64),
            stage=np.zeros(positions, dtype=np.int64),
            serial=np.zeros(positions, dtype=np.int64),
            waiting=waiting,
            issued=np.zeros(1, dtype=np.int64),
            shown=np.zeros(items),
            clicked=np.zeros(items),
            low=np.zeros(items),
            high=np.ones(items),
            clock=np.zeros(1, dtype=np.int64),
        )

    def scratch(self, problem: Problem) -> Draw:
        """Arrays for drawing one batch."""
        places = problem.positions
        return Draw(np.zeros(problem.items), np.zeros(places, dtype=np.int64), np.zeros(places))

    def slate(self, problem: Problem) -> Slate:
        """The memo holds per position the serial of its batch, and whether its observation will be counted."""
        return empty_slate(problem.positions, problem.features, memo=2)

    def capabilities(self) -> Capabilities:
        """A stage ends when all items of a batch have been shown, so all must be eligible, and none can be added."""
        return Capabilities(
            adds_items=False, takes_subsets=False, takes_pins=False, learns_from_any_list=False, samples="nothing"
        )

    def rank(self, belief: Batches, cache: Draw, request: Request, slate: Slate) -> None:
        """Fill batch by batch with its least shown items, in random order."""
        size = min(request.positions, belief.alive[0])
        slate.size[0] = size
        place = 0
        while place < size:
            length, count = batch_size(belief, place)
            visible = min(length, size - place)
            members = belief.order[place : place + count]
            least = np.inf
            for i in range(count):
                shown = belief.shown[members[i]]
                cache.score[i] = -shown
                least = min(least, shown)
            chosen, drawn = cache.chosen[:visible], cache.drawn[:visible]
            select(cache.score, members, count, request.labels, request.key, chosen, drawn)
            key = branch(request.key, -1)  # independent of the key that breaks ties
            for i in range(visible):
                cache.score[i] = uniform(key, request.labels[chosen[i]])
            items = slate.items[place : place + visible]
            select(cache.score, chosen, visible, request.labels, request.key, items, drawn)
            for i in range(visible):
                slate.memo[place + i, SERIAL] = belief.serial[place]
                slate.memo[place + i, COUNTED] = 1.0 if belief.shown[items[i]] == least else 0.0
            place += length

    def learn(self, belief: Batches, slate: Slate, page: Page) -> None:
        """Count the observations of the least shown items, unless their stage is over."""
        belief.clock[0] += 1
        for place in range(slate.size[0]):
            batch = belief.first[place]
            if slate.memo[place, COUNTED] == 0.0 or slate.memo[place, SERIAL] != belief.serial[batch]:
                continue
            item = slate.items[place]
            belief.shown[item] += 1.0
            belief.clicked[item] += page.clicks[place]
            if belief.shown[item] == stage_quota(belief.stage[batch], self.enough):
                belief.waiting[batch] -= 1
        place = 0
        while place < len(belief.first):
            length, _ = batch_size(belief, place)
            if belief.waiting[place] == 0:
                end_stage(belief, place, self.budget)
            place += length

    def sample(self, belief: Batches, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Ignored: an item alone is compared with no other."""

    def list_probabilities(self, belief: Batches, request: Request, items: Ints) -> ListProbabilities:
        """Exact: a batch shows its least shown items, at random among equals, in random order."""
        conditional, marginal = np.zeros(len(items)), np.zeros(len(items))
        place, possible = 0, 1.0
        while place < len(items):
            length, count = batch_size(belief, place)
            visible = min(length, len(items) - place)
            shown = {int(item): belief.shown[item] for item in belief.order[place : place + count]}
            limit = sorted(shown.values())[visible - 1]
            equals = sum(times == limit for times in shown.values())
            drawn = visible - sum(times < limit for times in shown.values())  # of the equals
            chance = drawn / equals
            for position in range(place, place + visible):
                times = shown.pop(int(items[position]), np.inf)
                if times > limit:
                    possible = 0.0
                    continue
                marginal[position] = (chance if times == limit else 1.0) / visible
                here = drawn / equals if times == limit else 1.0
                conditional[position] = possible * here / (place + visible - position)
                if times == limit:
                    drawn, equals = max(drawn - 1, 0), equals - 1
            place += length
        return ListProbabilities.exact(conditional, marginal)

    def assess(self, belief: Batches, request: Request, place: int | None) -> Assessment:
        """Impressions and click-through rate in the current stage."""
        items = request.candidates
        mean = np.full(len(items), np.nan)
        shown = belief.shown[items]
        np.divide(belief.clicked[items], shown, out=mean, where=shown > 0.0)
        why = "at random among those not known to be better or worse"
        return Assessment(shown, mean, np.full(len(items), np.nan), why=why)


@helper
def stage_quota(stage: int, enough: float) -> float:
    """Impressions that each item needs in a stage: ceil(16 4^l log n)."""
    return math.ceil(enough * 4.0**stage)


@helper
def batch_size(belief: Batches, batch: int) -> tuple[int, int]:
    """The number of positions and the number of items of a batch."""
    positions = len(belief.first)
    length = 1
    while batch + length < positions and belief.first[batch + length] == batch:
        length += 1
    return length, length if batch + length < positions else belief.alive[0] - batch


@routine
def end_stage(belief: Batches, batch: int, budget: float) -> None:
    """Split a batch where its items separate; otherwise drop those that cannot be among the best, and go on."""
    length, count = batch_size(belief, batch)
    members = belief.order[batch : batch + count]
    for item in members:
        shown, clicked = belief.shown[item], belief.clicked[item]
        belief.high[item] = kl_upper(shown, clicked, budget)
        belief.low[item] = 1.0 - kl_upper(shown, shown - clicked, budget)
    sort_descending(members, belief.low)
    split, best_below = 0, 0.0
    for k in range(count - 1, 0, -1):
        best_below = max(best_below, belief.high[members[k]])
        if k < length and belief.low[members[k - 1]] > best_below:
            split = k
            break
    if split > 0:
        for place in range(batch + split, batch + length):
            belief.first[place] = batch + split
        begin_stage(belief, batch + split, 0)
        begin_stage(belief, batch, 0)
        return
    if count > length:
        needed = belief.low[members[length - 1]]
        kept = 0
        for k in range(count):  # in place, keeping the order; dropped items are never read again
            if belief.high[members[k]] >= needed:
                members[kept] = members[k]
                kept += 1
        belief.alive[0] = batch + kept
    begin_stage(belief, batch, belief.stage[batch] + 1)


@helper
def begin_stage(belief: Batches, batch: int, stage: int) -> None:
    """Reset the counts of a batch and give it a new serial."""
    _, count = batch_size(belief, batch)
    belief.stage[batch] = stage
    belief.issued[0] += 1
    belief.serial[batch] = belief.issued[0]
    belief.waiting[batch] = count
    for item in belief.order[batch : batch + count]:
        belief.shown[item] = 0.0
        belief.clicked[item] = 0.0
