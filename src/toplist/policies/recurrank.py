"""RecurRank: blocks of items own ranges of positions, are explored by a design over features, and split recursively."""

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
from toplist.parts.design import Design, empty_design, find_design
from toplist.parts.index.sort import sort_descending
from toplist.parts.memory.symmetric import dot, factor, solve_lower, solve_upper
from toplist.policies.by_name import entry

PHASE, QUOTA, SUPPORT = 0, 1, 2  # the columns of the memo
ORDER = 1  # the key of the order in which items begin
ROUNDING = 1e-9  # a quota is not rounded up for less, and rates are not compared more finely


class Observed(NamedTuple):
    """What was seen in the first position of each block; a block is known by its phase and its first position."""

    gram: Floats  # (phases, positions, d, d): sum of x x'
    total: Floats  # (phases, positions, d): sum of click x
    shown: Ints  # (phases, positions, items): lists learned with the item in that position, up to its quota
    filled: Ints  # (phases, positions): items that have reached their quota
    over: Ints  # one element: blocks whose phase is over
    clock: Ints  # one element: lists learned


class RecursiveBlocks(NamedTuple):
    """The current blocks, which follow from what was observed and from the features; and scratch arrays.

    All blocks but the last have as many items as positions, so that the items of a block stand in `order` at its
    positions.
    """

    order: Ints  # all items: block after block, then those that have no position
    alive: Ints  # one element: number of items in blocks
    first: Ints  # per position: the first position of its block
    phase: Ints  # per position: the phase of the block that begins there, from 0
    quota: Ints  # per item: lists with the item in the first position that its block needs
    known: Ints  # edition of the features, and number of phases that are over, for which all this holds
    score: Floats  # per item, scratch
    design: Design
    moments: Floats  # (d, d), scratch
    upper: Floats  # (d, d), scratch
    weights: Floats  # (d,), scratch


@entry("RecurRank", hides=("doubt", "phases"))
class RecurRank(NamedTuple):
    """Explores the items of a block in its first position by a design over their features, and splits it by rates.

    Parameters
    ----------
    steps : float or "theory", default "theory"
        Horizon n in lists, at least 2; "theory" is the number of steps of the simulation.

    Notes
    -----
    Phase l of a block has a nearly G-optimal design over its items. Item a stands in the first position of the block
    `ceil(g share(a) log(2 A K l (l + 1) sqrt(n)) 4^l / 2)` times, A being the number of items and g the largest
    variance of the design, which is d for an optimal one; the first of the other items fill the positions below. A
    regression of the clicks in that position then says the rates of all items up to `2^-l`. Items with a rate `2 2^-l`
    below that of the last position fall out, and the block is split where neighbours above are as far apart. Features
    must not change. Li, Lattimore and Szepesvari, Online Learning to Rank with Features, ICML 2019, algorithm 1, with
    delta = 1 / sqrt(n).
    """

    steps: float | str = "theory"
    doubt: float = 0.0  # log(2 K sqrt(n)); filled by `prepare`
    phases: int = 0  # that n lists can begin; filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """Resolve the parameters that depend on n."""
        if self.steps == "theory":
            steps = float(max(known_steps("RecurRank's steps", problem, "give the number of lists, as 1e6"), 2))
        else:
            steps = number("RecurRank's steps", self.steps, 2.0, 1e18, "give the number of lists to come, as 1e6")
        doubt = math.log(2.0 * problem.positions * math.sqrt(steps))
        return self._replace(steps=steps, doubt=doubt, phases=math.ceil(math.log(2.0 * steps, 4.0)) + 1)

    def begin(self, problem: Problem) -> Observed:
        """Nothing observed yet."""
        blocks = (self.phases, problem.positions)
        return Observed(
            gram=np.zeros((*blocks, problem.features, problem.features)),
            total=np.zeros((*blocks, problem.features)),
            shown=np.zeros((*blocks, problem.items), dtype=np.int64),
            filled=np.zeros(blocks, dtype=np.int64),
            over=np.zeros(1, dtype=np.int64),
            clock=np.zeros(1, dtype=np.int64),
        )

    def scratch(self, problem: Problem) -> RecursiveBlocks:
        """Arrays for blocks that are yet to be found."""
        items, places, d = problem.items, problem.positions, problem.features
        return RecursiveBlocks(
            order=np.zeros(items, dtype=np.int64),
            alive=np.zeros(1, dtype=np.int64),
            first=np.zeros(places, dtype=np.int64),
            phase=np.zeros(places, dtype=np.int64),
            quota=np.zeros(items, dtype=np.int64),
            known=np.full(2, -1),
            score=np.zeros(items),
            design=empty_design(items, d),
            moments=np.zeros((d, d)),
            upper=np.zeros((d, d)),
            weights=np.zeros(d),
        )

    def slate(self, problem: Problem) -> Slate:
        """The memo holds, in the first position of a block, its phase, the quota of the item, and how many have one."""
        return empty_slate(problem.positions, problem.features, memo=3)

    def capabilities(self) -> Capabilities:
        """A phase ends when all items of its design were shown, so all must be eligible, and none can be added."""
        return Capabilities(
            adds_items=False, takes_subsets=False, takes_pins=False, learns_from_any_list=False, samples="nothing",
            needs_features=True,
        )  # fmt: skip

    def rank(self, belief: Observed, cache: RecursiveBlocks, request: Request, slate: Slate) -> None:
        """Fill block by block: an item that its design still needs, then the others in their order."""
        if request.edition < 0 or cache.known[0] != request.edition or cache.known[1] != belief.over[0]:
            find_blocks(belief, cache, request, self.doubt)
        size = min(request.positions, cache.alive[0])
        slate.size[0] = size
        place = 0
        while place < size:
            length, count = block_size(cache, place)
            members = cache.order[place : place + count]
            shown = belief.shown[cache.phase[place], place]
            chosen = draw_needed(members, cache.quota, shown, uniform(branch(request.key, -1), place))
            item, support = members[chosen], 0
            for i in range(count):
                support += 1 if cache.quota[members[i]] > 0 else 0
            slate.items[place] = item
            slate.memo[place, PHASE] = cache.phase[place]
            slate.memo[place, QUOTA] = cache.quota[item]
            slate.memo[place, SUPPORT] = support
            for i in range(1, min(length, size - place)):
                slate.items[place + i] = members[i - 1 if i <= chosen else i]
                slate.memo[place + i, PHASE] = -1.0
            place += length
        for place in range(size):
            row, features = slate.rows[place], request.features[slate.items[place]]
            for j in range(len(row)):
                row[j] = features[j]

    def learn(self, belief: Observed, slate: Slate, page: Page) -> None:
        """Add the observations in first positions, unless their item has its quota."""
        belief.clock[0] += 1
        for place in range(slate.size[0]):
            phase = int(slate.memo[place, PHASE])
            if phase < 0:
                continue
            item, quota = slate.items[place], slate.memo[place, QUOTA]
            shown = belief.shown[phase, place]
            if shown[item] >= quota:  # this list was made before the last that was needed was learned
                continue
            shown[item] += 1
            row, gram, total = slate.rows[place], belief.gram[phase, place], belief.total[phase, place]
            for i in range(len(row)):
                for j in range(len(row)):
                    gram[i, j] += row[i] * row[j]
                if page.clicks[place] == 1:
                    total[i] += row[i]
            if shown[item] == quota:
                belief.filled[phase, place] += 1
                if belief.filled[phase, place] == slate.memo[place, SUPPORT]:
                    belief.over[0] += 1

    def sample(self, belief: Observed, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Ignored: a design says how often to look at each item."""

    def list_probabilities(self, belief: Observed, request: Request, items: Ints) -> ListProbabilities:
        """Exact: every block draws the item in its first position, and the others follow."""
        cache = self.scratch(Problem(belief.shown.shape[2], belief.shown.shape[1], belief.total.shape[2]))
        find_blocks(belief, cache, request, self.doubt)
        conditional, marginal = np.zeros(len(items)), np.zeros(len(items))
        place, possible = 0, 1.0
        while place < len(items):
            length, count = block_size(cache, place)
            members = cache.order[place : place + count]
            needed = (cache.quota - belief.shown[cache.phase[place], place])[members]
            chance = needed / needed.sum()
            given = items[place : place + length]
            found = [int(index) for index in np.flatnonzero(members == given[0])]
            drawn = found[0] if found else -1
            below = np.delete(members, drawn) if found else members[:0]
            for i, item in enumerate(given.tolist()):
                if i == 0:
                    marginal[place] = chance[drawn] if found else 0.0
                    possible *= marginal[place]
                else:
                    marginal[place + i] = np.where(members[i - 1] == item, chance[i:].sum(), 0.0)
                    if i < count:
                        marginal[place + i] += np.where(members[i] == item, chance[:i].sum(), 0.0)
                    possible *= 1.0 if i - 1 < len(below) and below[i - 1] == item else 0.0
                conditional[place + i] = (marginal[place] if i == 0 else 1.0) if possible > 0.0 else 0.0
            place += length
        return ListProbabilities.exact(conditional, marginal)

    def assess(self, belief: Observed, request: Request, place: int | None) -> Assessment:
        """Lists with the item in the first position of a block; single rates are not kept."""
        items = request.candidates
        unknown = np.full(len(items), np.nan)
        shown = belief.shown[:, :, items].sum(axis=(0, 1)).astype(np.float64)
        return Assessment(shown, unknown, unknown, why="among those not known to be better or worse")


@helper
def block_size(cache: RecursiveBlocks, block: int) -> tuple[int, int]:
    """The number of positions and the number of items of a block."""
    positions = len(cache.first)
    length = 1
    while block + length < positions and cache.first[block + length] == block:
        length += 1
    return length, length if block + length < positions else cache.alive[0] - block


@helper
def draw_needed(members: Ints, quota: Ints, shown: Ints, chance: float) -> int:
    """An item of a block, each with a probability that goes with the number of lists that it still needs."""
    left = 0
    for item in members:
        left += max(quota[item] - shown[item], 0)
    level, chosen = chance * left, 0
    for i in range(len(members)):
        needed = max(quota[members[i]] - shown[members[i]], 0)
        if needed > 0:
            chosen = i
            if level < needed:
                break
            level -= needed
    return chosen


@routine
def find_blocks(belief: Observed, cache: RecursiveBlocks, request: Request, doubt: float) -> None:
    """Find the current blocks from the first one on, which has all items and positions."""
    cache.known[0], cache.known[1] = request.edition, belief.over[0]
    items, order = len(cache.order), cache.order
    for item in range(items):
        order[item] = item
        cache.score[item] = uniform(branch(ORDER, 0), request.labels[item])
    sort_descending(order, cache.score)
    cache.alive[0] = items
    for place in range(len(cache.first)):
        cache.first[place] = 0
    cache.phase[0] = 0
    place = 0
    while place < len(cache.first):
        length, count = block_size(cache, place)
        rank, support = set_quotas(cache, request.features, place, count, doubt)
        phase = cache.phase[place]
        if belief.filled[phase, place] == support and phase + 1 < len(belief.filled):
            split(belief, cache, request.features, place, rank)
        else:
            place += length


@helper
def set_quotas(cache: RecursiveBlocks, features: Floats, place: int, count: int, doubt: float) -> tuple[int, int]:
    """Design a phase of a block; the number of directions of its items, and of items in the design."""
    members = cache.order[place : place + count]
    rank, worst = find_design(cache.design, features, members)
    level = cache.phase[place] + 1
    lists = worst * 0.5 * 4.0**level * (doubt + math.log(count * level * (level + 1.0)))
    support = 0
    for i in range(count):
        quota = math.ceil(lists * cache.design.share[i] - ROUNDING)
        cache.quota[members[i]] = quota
        support += 1 if quota > 0 else 0
    return rank, support


@helper
def split(belief: Observed, cache: RecursiveBlocks, features: Floats, place: int, rank: int) -> None:
    """End the phase of a block: order its items by their rates, and split where neighbours are far apart."""
    length, count = block_size(cache, place)
    phase, members, design = cache.phase[place], cache.order[place : place + count], cache.design
    moments, upper, weights = cache.moments[:rank, :rank], cache.upper[:rank, :rank], cache.weights[:rank]
    gram, d = belief.gram[phase, place], features.shape[1]
    for i in range(rank):
        weights[i] = dot(design.basis[i], belief.total[phase, place])
        for j in range(rank):
            moments[i, j] = 0.0
            for k in range(d):
                moments[i, j] += design.basis[i, k] * dot(gram[k], design.basis[j])
    if rank > 0:
        factor(moments, upper)
        solve_lower(upper, weights)
        solve_upper(upper, weights)
    for i in range(count):
        cache.score[members[i]] = dot(design.place[i, :rank], weights)
    sort_descending(members, cache.score)
    begin, apart, kept = 0, 2.0 * 0.5 ** (phase + 1) - ROUNDING, length
    while kept < count and cache.score[members[length - 1]] - cache.score[members[kept]] < apart:
        kept += 1
    if kept < count:  # the last block: whoever is far below the last position falls out
        cache.alive[0] = place + kept
    for i in range(length):
        if i + 1 < length and cache.score[members[i]] - cache.score[members[i + 1]] < apart:
            continue
        for position in range(place + begin, place + i + 1):
            cache.first[position] = place + begin
        cache.phase[place + begin] = phase + 1
        begin = i + 1
