"""UniRank: an order of blocks of items that cannot be told apart, and merges of neighbouring blocks."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem, number
from toplist.core.protocols import Assessment, Capabilities
from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.randomness import branch, uniform
from toplist.core.slate import NONE, Floats, Ints, Page, Request, Slate, empty_slate
from toplist.parts.arrange import lay_out
from toplist.parts.index.kl_solver import kl_upper
from toplist.parts.index.select import select
from toplist.parts.index.ties import wins_tie
from toplist.policies.by_name import entry
from toplist.policies.duels import Flags, assess_duels, last_block, loser, note_unplaced, rivals
from toplist.policies.leaders import LEADERS, count_lead, leader_name, times_led
from toplist.policies.propensity.levels import probabilities_by_level
from toplist.policies.propensity.positions import free_candidates, ranks_of_positions, with_pins

NAME, FLAGS = 1, 2  # columns of the memo: the name of the leader, and the first with flags
ORDER = -2  # the key of ties between promising items, the same for all lists
COUNT, PARTS, NAMED = 0, 1, 2  # what is found: the number of candidates, of parts, and the name of the leader
ROUNDED = 1.0 - 1e-12  # less than the rounding of a ratio leaves of it
CERTAIN = np.inf  # a budget without limit: every merge promises something
LOG_2 = math.log(2.0)
NEXT_TO_1 = 2.0**-54  # numbers as close to 1 are rounded to it
MARGIN = 1e-9  # more than rounding adds to a divergence


class Duels(NamedTuple):
    """Duels won between items, and how often orders of blocks were the leader."""

    wins: Ints  # (items, items): duels that the row's item won against the column's
    won: Ints  # per item, the duels that it won: where they are as many as before, its row of `wins` is the same
    names: Ints  # (LEADERS,)
    led: Floats
    clock: Floats  # one element: lists learned


class BlockScratch(NamedTuple):
    """The leader, which few lists change, and scratch arrays for one list."""

    order: Flags  # (items, items): 1 where the row's item is better than the column's, -1 where it is worse, else 0
    better: Ints  # per item, candidates that are better
    known: Ints  # per item, the duels that it had won when its row was filled; -1 if it has to be filled
    valid: Floats  # per item, the tolerance up to which its row stays the same if no duel is won
    now: Floats  # one element: the tolerance for which all this was found
    among: Ints  # the candidates among which it was
    found: Ints  # their number, the number of parts, and the name of the leader
    worse: Ints  # per item, candidates not placed yet that are better; -1 once it is placed
    placed: Ints  # the candidates, part after part
    first: Ints  # per part, where it begins there; and at the end, where the last one ends
    block: Ints  # per item, its block in the list
    score: Floats  # per candidate
    chosen: Ints  # per position
    drawn: Floats


@entry("UniRank")
class UniRank(NamedTuple):
    """Shows blocks of items, better blocks first, each in random order; merges neighbours whose order may be wrong.

    Parameters
    ----------
    slack : float, default 1.0
        Factor of log log t in the lead that makes one item better than another in the best known order.
    loglog : float, default 3.0
        Factor of log log m in the budget of the upper bounds.

    Notes
    -----
    Of two items in the same block, the one clicked while the other is not wins a duel. In the best known order, the
    leader, an item is worse than another if it is behind by more than `sqrt(slack N log log(t + 3))` in N duels; each
    part has the items that are not worse than any that is left, and the last part all that are left where there is no
    such item. An item may be better than another if the KL-UCB index of the share of duels that it won is above 1/2,
    with the budget `log m + loglog log log m`, where the leader led in m lists. From the top down, a part is merged
    with the next one if an item of that may be better than one of its own; the last part shown gets instead the item
    below with the largest index, if it may be better than one of its own. Each block is shown in random order.
    Gauthier, Gaudel and Fromont, UniRank: Unimodal Bandit Algorithms for Online Ranking, ICML 2022; constants as in
    the authors' code.
    """

    slack: float = 1.0
    loglog: float = 3.0

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        return self._replace(
            slack=number("UniRank's slack", self.slack, 0.0, 1e6, "the authors' is 1"),
            loglog=number("UniRank's loglog", self.loglog, 0.0, 1e6, "the paper's is 3"),
        )

    def begin(self, problem: Problem) -> Duels:
        """No duel was fought."""
        return Duels(
            wins=np.zeros((problem.items, problem.items), dtype=np.int64),
            won=np.zeros(problem.items, dtype=np.int64),
            names=np.zeros(LEADERS, dtype=np.int64),
            led=np.zeros(LEADERS),
            clock=np.zeros(1),
        )

    def scratch(self, problem: Problem) -> BlockScratch:
        """Arrays for one list."""
        return empty_blocks(problem.items, problem.positions)

    def slate(self, problem: Problem) -> Slate:
        """The memo holds the block of each position, the leader's name, and a flag per item without a position."""
        return empty_slate(problem.positions, problem.features, memo=FLAGS + -(-problem.items // problem.positions))

    def capabilities(self) -> Capabilities:
        """Beliefs are about pairs, so items cannot be added; only lists in random order say which item is better."""
        return Capabilities(adds_items=False, learns_from_any_list=False, samples="nothing")

    def rank(self, belief: Duels, cache: BlockScratch, request: Request, slate: Slate) -> None:
        """Find the leader, merge what may be in the wrong order, and shuffle each block."""
        candidates = request.candidates
        size = min(request.positions, len(candidates))
        slate.size[0] = size
        name = find_blocks(belief, cache, request, self.slack, self.loglog)
        key = branch(request.key, -1)  # independent of the key that breaks ties
        for i in range(len(candidates)):
            item = candidates[i]
            cache.score[i] = -(cache.block[item] + uniform(key, request.labels[item]))
        items, drawn = slate.items[:size], cache.drawn[:size]
        select(cache.score, candidates, len(candidates), request.labels, request.key, items, drawn)
        if len(request.pins) > 0 or len(request.order) > 0:
            lay_out(cache.chosen, request.order, request.pins, slate)
        note_unplaced(cache.block, request, slate, FLAGS)
        slate.memo[0, NAME] = float(name)

    def learn(self, belief: Duels, slate: Slate, page: Page) -> None:
        """Every clicked item wins against the items of its block that were not clicked or not shown."""
        belief.clock[0] += 1.0
        count_lead(belief.names, belief.led, int(slate.memo[0, NAME]))
        last, items = last_block(slate), len(belief.wins)
        for place in range(slate.size[0]):
            for asked in range(rivals(slate, page, place, last, items)):
                other = loser(slate, page, place, asked, FLAGS)
                if other >= 0:
                    belief.wins[slate.items[place], other] += 1
                    belief.won[slate.items[place]] += 1

    def sample(self, belief: Duels, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Ignored: an item alone wins no duel."""

    def list_probabilities(self, belief: Duels, request: Request, items: Ints) -> ListProbabilities:
        """Exact: a level per block."""
        return self.weigh_lists(belief, request, items[None]).of_list(0)

    def weigh_lists(self, belief: Duels, request: Request, lists: Ints) -> ListProbabilities:
        """The same for several lists."""
        size = lists.shape[1]
        blocks = empty_blocks(len(belief.wins), size)
        find_blocks(belief, blocks, request, self.slack, self.loglog)
        free, ranks = free_candidates(request, size), ranks_of_positions(request, NONE, size)
        by_block = probabilities_by_level(-blocks.block[free].astype(np.float64), free, ranks, lists)
        return with_pins(by_block, request, lists)

    def assess(self, belief: Duels, request: Request, place: int | None) -> Assessment:
        """Duels, and the share won."""
        return assess_duels(belief.wins, request, "at random among those whose order may be wrong")


def empty_blocks(items: int, positions: int) -> BlockScratch:
    """Scratch arrays for a number of items."""
    better, known, among, worse, placed, block = np.zeros((6, items), dtype=np.int64)
    return BlockScratch(
        np.zeros((items, items), dtype=np.int8), better, known, np.zeros(items), np.zeros(1), among,
        np.zeros(3, dtype=np.int64), worse, placed, np.zeros(items + 1, dtype=np.int64), block, np.zeros(items),
        np.zeros(positions, dtype=np.int64), np.zeros(positions),
    )  # fmt: skip


@helper
def may_be_better(wins: Ints, item: int, other: int, budget: float) -> bool:
    """Whether the upper bound of the share of duels that an item won against another is above 1/2."""
    won, lost = float(wins[item, other]), float(wins[other, item])
    if won >= lost or budget == CERTAIN:
        return True
    duels, lead = won + lost, lost - won
    # N KL(p || 1/2) is between half of lead^2 / N and all of it: few pairs need logarithms.
    if lead * lead < budget * duels:
        return True
    if lead * lead >= 2.0 * budget * duels:
        return False
    divergence = duels * math.log(2.0) + lost * math.log(lost / duels)
    if won > 0.0:
        divergence += won * math.log(won / duels)
    return divergence < budget


@helper
def promises_less(wins: Ints, item: int, other: int, budget: float, q: float, logs: tuple[float, float]) -> bool:
    """Whether `promise` is below q, by a bound that is quick to compute; `logs` are those of q and of 1 - q.

    It is if the share p is below q, and N KL(p || q) above the budget. The entropy of p is at most the first terms of
    its series, log 2 - y^2/2 - y^4/12 - y^6/30 - y^8/56 with y = 1 - 2 p: all that follow are negative.
    """
    won, lost = float(wins[item, other]), float(wins[other, item])
    duels = won + lost
    if won >= q * duels:
        return False
    square = ((won - lost) / duels) ** 2
    order = square * (1.0 / 2.0 + square * (1.0 / 12.0 + square * (1.0 / 30.0 + square * (1.0 / 56.0))))
    return duels * (order - LOG_2 - MARGIN) - won * logs[0] - lost * logs[1] > budget


@helper
def promise(wins: Ints, item: int, other: int, budget: float) -> float:
    """The upper bound of the share of duels that an item won against another."""
    duels = float(wins[item, other] + wins[other, item])
    return 1.0 if duels == 0.0 or budget == CERTAIN else kl_upper(duels, float(wins[item, other]), budget)


@routine
def find_blocks(belief: Duels, cache: BlockScratch, request: Request, slack: float, loglog: float) -> int:
    """Fill the blocks of the candidates; the name of the leader. Blocks that are not shown have the same number."""
    if compare_items(belief, cache, request, slack * math.log(math.log(belief.clock[0] + 3.0))):
        find_parts(cache, request)
    name = int(cache.found[NAMED])
    lists = times_led(belief.names, belief.led, name) + 1.0
    budget = CERTAIN
    if lists >= 3.0:
        budget = math.log(lists) + loglog * math.log(math.log(lists))
    merge_parts(belief.wins, cache, request, cache.found[PARTS], budget)
    return name


@routine
def compare_items(belief: Duels, cache: BlockScratch, request: Request, tolerance: float) -> bool:
    """Find which items are better than others; whether that has changed.

    A pair changes when one of its items wins a duel, or when the growing tolerance reaches its lead. So only the rows
    of such items are filled again.
    """
    candidates, among = request.candidates, cache.among
    changed = len(candidates) != cache.found[COUNT] or tolerance < cache.now[0]
    for i in range(len(candidates)):
        changed = changed or among[i] != candidates[i]
    if changed:
        cache.found[COUNT] = len(candidates)
        for i in range(len(candidates)):
            among[i], cache.known[candidates[i]], cache.better[candidates[i]] = candidates[i], -1, 0
            for other in candidates:
                cache.order[candidates[i], other] = 0
    cache.now[0] = tolerance
    for item in candidates:
        if cache.known[item] != belief.won[item] or tolerance >= cache.valid[item]:
            cache.known[item] = belief.won[item]
            changed = compare_item(belief.wins, cache, candidates, item, tolerance) or changed
    return bool(changed)


@routine
def compare_item(wins: Ints, cache: BlockScratch, candidates: Ints, item: int, tolerance: float) -> bool:
    """Fill an item's row of the order; whether it has changed.

    The better item has a lead above `sqrt(tolerance N)` in N duels.
    """
    order, valid, changed = cache.order, np.inf, False
    for other in candidates:
        won, lost = wins[item, other], wins[other, item]
        lead, square, duels = won - lost, float((won - lost) * (won - lost)), float(won + lost)
        sign = 0
        if square > tolerance * duels:
            sign = 1 if lead > 0 else -1
            valid = min(valid, square / duels)
        if sign != order[item, other]:
            cache.better[item] += (1 if sign < 0 else 0) - (1 if order[item, other] < 0 else 0)
            cache.better[other] += (1 if sign > 0 else 0) - (1 if order[item, other] > 0 else 0)
            order[item, other], order[other, item] = sign, -sign
            changed = True
    cache.valid[item] = valid * ROUNDED
    return changed


@routine
def find_parts(cache: BlockScratch, request: Request) -> None:
    """Fill the parts of the leader, their number and its name."""
    candidates, order, worse, placed = request.candidates, cache.order, cache.worse, cache.placed
    for item in candidates:
        worse[item] = cache.better[item]
    parts, end, hashed = 0, 0, 0
    while end < len(candidates):
        begin = end
        for circle in range(2):  # where every item left is worse than another, all of them
            for item in candidates:
                if worse[item] == 0 or (circle == 1 and worse[item] > 0):
                    placed[end] = item
                    end += 1
            if end > begin:
                break
        own = branch(0, parts)
        for i in range(begin, end):
            worse[placed[i]] = -1
            hashed ^= branch(own, request.labels[placed[i]])
        for i in range(begin, end):
            above = order[placed[i]]
            for item in candidates:
                if above[item] > 0 and worse[item] > 0:
                    worse[item] -= 1
        cache.first[parts] = begin
        parts += 1
    cache.first[parts] = end
    cache.found[PARTS], cache.found[NAMED] = parts, leader_name(hashed)


@routine
def merge_parts(wins: Ints, cache: BlockScratch, request: Request, parts: int, budget: float) -> None:
    """Fill the blocks: parts of the leader, merged where an item of the second may be better than one of the first."""
    placed, first, block = cache.placed, cache.first, cache.block
    size = min(request.positions, len(request.candidates))
    for item in request.candidates:
        block[item] = parts  # not shown
    now, shown = 0, 0
    while first[now + 1] < size:
        following = now + 2 if is_promising(wins, cache, now, budget) else now + 1
        for i in range(first[now], first[following]):
            block[placed[i]] = shown
        now = following
        shown += 1
        if first[now] >= size:
            return
    for i in range(first[now], first[now + 1]):
        block[placed[i]] = shown
    most, best, logs = 0.5, -1, (-LOG_2, -LOG_2)
    for i in range(first[now + 1], first[parts]):
        for j in range(first[now], first[now + 1]):
            if promises_less(wins, placed[i], placed[j], budget, most, logs):
                continue
            if may_be_better(wins, placed[i], placed[j], budget):
                value = promise(wins, placed[i], placed[j], budget)
                if value > most or (value == most and best >= 0 and wins_tie(placed[i], best, request.labels, ORDER)):
                    most, best, logs = value, placed[i], (math.log(value), math.log(max(1.0 - value, NEXT_TO_1)))
    if best >= 0:
        block[best] = shown


@helper
def is_promising(wins: Ints, cache: BlockScratch, upper: int, budget: float) -> bool:
    """Whether an item of the part below may be better than one of a part."""
    placed, first = cache.placed, cache.first
    for i in range(first[upper + 1], first[upper + 2]):
        for j in range(first[upper], first[upper + 1]):
            if may_be_better(wins, placed[i], placed[j], budget):
                return True
    return False
