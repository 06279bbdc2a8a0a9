"""BubbleRank: a given ranking that changes only by exchanging neighbours that are certainly in the wrong order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem, refuse, several
from toplist.core.protocols import Assessment, Capabilities
from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.randomness import branch, toss, uniform
from toplist.core.slate import Ints, Page, Request, Slate, empty_slate
from toplist.policies.by_name import entry
from toplist.policies.duels import Flags, assess_duels, checked_delta, record_win

RIVAL, RIVAL_PLACE = 0, 1  # the columns of the memo
NO_RIVAL = -1.0
EXCHANGE, CHALLENGE = -2, -3  # branches of a list's key


class BaseList(NamedTuple):
    """The current ranking, and the duels won between items."""

    base: Ints  # all items, the best first
    wins: Ints  # (items, items): duels that the row's item won against the column's
    beats: Flags  # (items, items): 1 where the row's item is better with certainty
    clock: Ints  # one element: lists learned


class Pairing(NamedTuple):
    """Scratch arrays for making one list."""

    wanted: Ints  # per item: 1 if it may be listed
    listed: Ints  # items in the order of the base list
    place: Ints  # per rank in the list: its position on the page


@entry("BubbleRank", hides=("scale",))
class BubbleRank(NamedTuple):
    """Shows a given ranking, exchanging neighbours at random as long as their order is not certain.

    Parameters
    ----------
    ranking : sequence of int, optional
        All items, the best first; by default in the order of their numbers.
    delta : float or "theory", default "theory"
        Probability of exchanging two items wrongly; "theory" is n^-4 for n steps.

    Notes
    -----
    Every other list the pairs are (1, 2), (3, 4) and so on, otherwise (2, 3), (4, 5) and so on. Of a tried pair, the
    item clicked while the other is not wins a duel; once the lower one leads by `2 sqrt(N log(1 / delta))` in N duels,
    the two are exchanged for good. So with high probability no list has more than K/2 more pairs in the wrong order
    than the given ranking. Li, Kveton, Lattimore, Markov, de Rijke, Szepesvari and Zoghi, BubbleRank: Safe Online
    Learning to Re-Rank via Implicit Click Feedback, UAI 2019, algorithm 1, where delta is n^-4 and all items have a
    position. Where there are more items than positions, the last position is tried against an item without one.
    """

    ranking: Sequence[int] | Ints = ()
    delta: float | str = "theory"
    scale: float = 0.0  # 4 log(1 / delta); filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """Check the ranking, and resolve delta."""
        delta = checked_delta("BubbleRank", self.delta, problem, 4.0)
        ranking = several("BubbleRank's ranking", self.ranking, "items") or list(range(problem.items))
        whole_numbers = all(isinstance(item, int | np.integer) for item in ranking)
        if not whole_numbers or sorted(ranking) != list(range(problem.items)):
            accepted = f"each of the items 0 to {problem.items - 1} once"
            raise refuse("BubbleRank's ranking", ranking, accepted, "or leave it out for the order of the items")
        base = np.array(ranking, dtype=np.int64)
        return self._replace(ranking=base, delta=delta, scale=4.0 * math.log(1.0 / delta))

    def renumbered(self, order: Ints) -> Self:
        """The same policy for a numbering where item i is the former item `order[i]`."""
        ranking = self.ranking if len(self.ranking) > 0 else range(len(order))
        return self._replace(ranking=np.argsort(order)[np.array(ranking)])

    def begin(self, problem: Problem) -> BaseList:
        """The given ranking, without duels."""
        pairs = (problem.items, problem.items)
        wins, beats = np.zeros(pairs, dtype=np.int64), np.zeros(pairs, dtype=np.int8)
        return BaseList(np.array(self.ranking, dtype=np.int64), wins, beats, np.zeros(1, dtype=np.int64))

    def scratch(self, problem: Problem) -> Pairing:
        """Arrays for one list."""
        items, places = problem.items, problem.positions
        rooms = (np.zeros(size, dtype=np.int64) for size in (items, items, places))
        return Pairing(*rooms)

    def slate(self, problem: Problem) -> Slate:
        """The memo holds per position the item it was tried against, and the position of that item, if it has one."""
        return empty_slate(problem.positions, problem.features, memo=2)

    def capabilities(self) -> Capabilities:
        """Beliefs are about pairs, so items cannot be added; only random exchanges say which item is better."""
        return Capabilities(adds_items=False, learns_from_any_list=False, samples="nothing")

    def rank(self, belief: BaseList, cache: Pairing, request: Request, slate: Slate) -> None:
        """Fill the base list of the eligible items, with some neighbours exchanged."""
        size = min(request.positions, len(request.candidates))
        slate.size[0] = size
        free = lay_out_pins(cache, request, slate)
        count = list_eligible(belief, cache, request, size)
        for rank in range(free):
            place = cache.place[rank]
            slate.items[place] = cache.listed[rank]
            slate.memo[place, RIVAL], slate.memo[place, RIVAL_PLACE] = NO_RIVAL, NO_RIVAL
        coins = branch(request.key, EXCHANGE)
        for upper_rank in range(belief.clock[0] % 2, free, 2):
            upper, place = cache.listed[upper_rank], cache.place[upper_rank]
            if upper_rank + 1 < free:
                lower, below = cache.listed[upper_rank + 1], cache.place[upper_rank + 1]
            else:
                lower, below = challenger(belief, cache, request, free, count), -1
            if lower < 0 or belief.beats[upper, lower] == 1:
                continue
            certain = belief.beats[lower, upper] == 1
            if not certain:
                slate.memo[place, RIVAL], slate.memo[place, RIVAL_PLACE] = lower, below
            if certain or toss(coins, upper_rank, 0.5):
                slate.items[place] = lower
                if below >= 0:
                    slate.items[below] = upper
                elif not certain:
                    slate.memo[place, RIVAL] = upper

    def learn(self, belief: BaseList, slate: Slate, page: Page) -> None:
        """Of every tried pair, the item clicked while the other is not wins; one without a position is not clicked."""
        belief.clock[0] += 1
        for place in range(slate.size[0]):
            if slate.memo[place, RIVAL] == NO_RIVAL:
                continue
            below = int(slate.memo[place, RIVAL_PLACE])
            here, there = page.clicks[place], page.clicks[below] if below >= 0 else 0
            if here == there:
                continue
            one = slate.items[place]
            other = slate.items[below] if below >= 0 else int(slate.memo[place, RIVAL])
            winner, loser = (one, other) if here == 1 else (other, one)
            if record_win(belief.wins, winner, loser, self.scale, 0.0) and belief.beats[loser, winner] == 0:
                belief.beats[winner, loser] = 1
                move_above(belief, winner, loser)

    def sample(self, belief: BaseList, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Ignored: an item alone wins no duel."""

    def list_probabilities(self, belief: BaseList, request: Request, items: Ints) -> ListProbabilities:
        """Exact: each uncertain pair of neighbours is exchanged with probability 1/2."""
        size = len(items)
        cache = self.scratch(Problem(len(belief.base), size))
        slate = empty_slate(size, memo=2)
        slate.size[0] = size
        free = lay_out_pins(cache, request, slate)
        count = list_eligible(belief, cache, request, size)
        chances: list[dict[int, float]] = [{int(item): 1.0} for item in slate.items]  # per position
        partner: dict[int, int] = {}
        for rank in range(free):
            chances[cache.place[rank]] = {int(cache.listed[rank]): 1.0}
        for upper_rank in range(belief.clock[0] % 2, free, 2):
            upper, place = int(cache.listed[upper_rank]), int(cache.place[upper_rank])
            if upper_rank + 1 < free:
                lower, below = int(cache.listed[upper_rank + 1]), int(cache.place[upper_rank + 1])
                if belief.beats[lower, upper] == 1:
                    chances[place], chances[below] = {lower: 1.0}, {upper: 1.0}
                elif belief.beats[upper, lower] == 0:
                    chances[place] = chances[below] = {lower: 0.5, upper: 0.5}
                    partner |= {place: below, below: place}
            elif rivals := challengers(belief, cache, free, count):
                stays = 0.5 if belief.beats[rivals[0], upper] == 0 else 0.0
                chances[place] = {upper: stays} | dict.fromkeys(rivals, (1.0 - stays) / len(rivals))
        marginal = np.array([chances[place].get(int(items[place]), 0.0) for place in range(size)])
        conditional = marginal.copy()
        for place in range(size):
            if 0 <= partner.get(place, size) < place:  # the position above tells which of the two is left
                conditional[place] = float(marginal[place] > 0.0 and items[place] != items[partner[place]])
        conditional[np.cumsum(conditional == 0.0) > 0] = 0.0
        return ListProbabilities.exact(conditional, marginal)

    def assess(self, belief: BaseList, request: Request, place: int | None) -> Assessment:
        """Duels, and the share won."""
        return assess_duels(belief.wins, request, "by the ranking so far, neighbours at random where it is uncertain")


@helper
def lay_out_pins(cache: Pairing, request: Request, slate: Slate) -> int:
    """Place the pinned items, and list the other positions from the most valuable; return their number."""
    size, free = slate.size[0], 0
    for rank in range(len(slate.items)):
        place = request.order[rank] if len(request.order) > 0 else rank
        if place >= size:
            continue
        if len(request.pins) > 0 and request.pins[place] >= 0:
            slate.items[place] = request.pins[place]
            slate.memo[place, RIVAL] = NO_RIVAL
        else:
            cache.place[free] = place
            free += 1
    return free


@helper
def list_eligible(belief: BaseList, cache: Pairing, request: Request, size: int) -> int:
    """Fill the eligible items that are not pinned in the order of the base list; return their number."""
    if len(request.candidates) == len(belief.base) and len(request.pins) == 0:
        for rank in range(len(belief.base)):
            cache.listed[rank] = belief.base[rank]
        return len(belief.base)
    cache.wanted[:] = 0
    for item in request.candidates:
        cache.wanted[item] = 1
    for place in range(min(size, len(request.pins))):
        if request.pins[place] >= 0:
            cache.wanted[request.pins[place]] = 0
    count = 0
    for item in belief.base:
        if cache.wanted[item] == 1:
            cache.listed[count] = item
            count += 1
    return count


@helper
def challenger(belief: BaseList, cache: Pairing, request: Request, free: int, count: int) -> int:
    """The item tried against the last of the list: one without a position that is not known to be worse, or -1.

    One known to be better comes first; there can be one only where the list is made of a subset of the items.
    """
    last, found, largest = cache.listed[free - 1], -1, -1.0
    key = branch(request.key, CHALLENGE)
    for rank in range(free, count):
        item = cache.listed[rank]
        if belief.beats[last, item] == 0:
            drawn = 1.0 if belief.beats[item, last] == 1 else uniform(key, request.labels[item])
            if drawn > largest:
                found, largest = item, drawn
    return found


def challengers(belief: BaseList, cache: Pairing, free: int, count: int) -> list[int]:
    """The items that `challenger` may find, each equally likely."""
    last = cache.listed[free - 1]
    found = [int(item) for item in cache.listed[free:count] if belief.beats[last, item] == 0]
    better = [item for item in found if belief.beats[item, last] == 1]
    return better[:1] or found


@helper
def move_above(belief: BaseList, winner: int, loser: int) -> None:
    """Move the winner directly above the loser, if it is below; neighbours are thereby exchanged."""
    place, base = 0, belief.base
    while base[place] != loser and base[place] != winner:
        place += 1
    carried = winner
    if base[place] == loser:
        while base[place] != winner:
            base[place], carried = carried, base[place]
            place += 1
        base[place] = carried
