"""GRAB: the best known list, and the lists one exchange away from it, in the position-based model."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem, number, refuse
from toplist.core.protocols import Assessment, Capabilities
from toplist.core.protocols.kinds import expect_kind
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, Page, Request, Slate, empty_slate
from toplist.parts.feedback import EveryPlace
from toplist.parts.index.kl_solver import kl_upper
from toplist.parts.index.select import select
from toplist.parts.index.ties import wins_tie
from toplist.policies.by_name import entry
from toplist.policies.leaders import LEADERS, count_lead, leader_name, times_led

ORDER = -2  # the key by which items are ordered before a leader is searched for, the same for all lists


class Exchanges(NamedTuple):
    """Clicks per item and position, and how often lists were the leader."""

    clicked: Floats  # (items, positions)
    shown: Floats
    names: Ints  # (LEADERS,): leaders by the last bits of their hash; a new one takes the place of an old one
    led: Floats  # (LEADERS,): for how many lists each was the leader
    clock: Floats  # one element: lists learned


class ExchangeScratch(NamedTuple):
    """What few lists change, and scratch arrays for one list."""

    items: Ints  # the candidates that are not pinned, in an order that does not depend on their numbers
    among: Ints  # the same, as they were given ...
    labels: Ints  # ... and their labels
    ordered: Ints  # one element: how many there are
    upper: Floats  # (items, positions): KL-UCB indices ...
    displays: Floats  # ... after this number of displays, which changes if the clicks do ...
    budget: Floats  # ... with this budget
    value: Floats  # per candidate
    places: Ints  # the positions that are not pinned ...
    leader: Ints  # ... and their items in the leader
    ranked: Ints  # the same positions, by descending mean of their items
    row_price: Floats  # of the assignment, each with one more element at the beginning
    price: Floats
    row: Ints
    way: Ints
    slack: Floats
    used: Ints


class GRAB(NamedTuple):
    """Shows the best known list, or the list one exchange away from it with the largest upper bound.

    Parameters
    ----------
    period : float, default 10.0
        gamma: the leader itself is shown in one of `period` lists.
    steps : float or "theory", default "theory"
        Number of lists n; "theory" is that of the simulation, and where it is unknown the number of the next list.
    reading : part of `toplist.parts.feedback`, default EveryPlace()
        Which positions count as shown.
    """

    period: float = 10.0
    steps: Any = "theory"
    reading: Any = EveryPlace()

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters; 0 steps stand for an unknown number."""
        expect_kind("The reading", self.reading, "reading")
        steps = self.steps
        if isinstance(steps, str):
            if steps != "theory":
                raise refuse("GRAB's steps", steps, "a number of lists or 'theory'", "give the number of lists")
            steps = 0.0 if problem.steps is None else float(problem.steps)
        return self._replace(
            period=number("GRAB's period", self.period, 1.0, 1e15, "the paper's is 10"),
            steps=number("GRAB's steps", steps, 0.0, 1e18, "give the number of lists, as 1e6"),
            reading=self.reading.prepare(problem),
        )

    def begin(self, problem: Problem) -> Exchanges:
        """Nothing was shown."""
        places = (problem.items, problem.positions)
        return Exchanges(
            clicked=np.zeros(places),
            shown=np.zeros(places),
            names=np.zeros(LEADERS, dtype=np.int64),
            led=np.zeros(LEADERS),
            clock=np.zeros(1),
        )

    def scratch(self, problem: Problem) -> ExchangeScratch:
        """Arrays for one list."""
        items, places = problem.items, problem.positions
        upper, displays, budget = np.zeros((3, items, places))
        return ExchangeScratch(
            items=np.zeros(items, dtype=np.int64),
            among=np.zeros(items, dtype=np.int64),
            labels=np.zeros(items, dtype=np.int64),
            ordered=np.zeros(1, dtype=np.int64),
            upper=upper,
            displays=displays,
            budget=budget,
            value=np.zeros(items),
            places=np.zeros(places, dtype=np.int64),
            leader=np.zeros(places, dtype=np.int64),
            ranked=np.zeros(places, dtype=np.int64),
            row_price=np.zeros(places + 1),
            price=np.zeros(items + 1),
            row=np.zeros(items + 1, dtype=np.int64),
            way=np.zeros(items + 1, dtype=np.int64),
            slack=np.zeros(items + 1),
            used=np.zeros(items + 1, dtype=np.int64),
        )

    def slate(self, problem: Problem) -> Slate:
        """The memo holds the name of the leader when the list was made."""
        return empty_slate(problem.positions, problem.features, memo=1)

    def capabilities(self) -> Capabilities:
        """Counts of leaders are about all items, so none can be added."""
        return Capabilities(adds_items=False, samples="nothing")

    def rank(self, belief: Exchanges, cache: ExchangeScratch, request: Request, slate: Slate) -> None:
        """Find the leader, and show it or the best list one exchange away."""
        slate.size[0] = min(request.positions, len(request.candidates))
        free, count = find_leader(belief, cache, request)
        name = name_of(cache, request.labels, free)
        if free > 0 and times_led(belief.names, belief.led, name) % self.period > 0.0:
            budget = math.log(self.steps if self.steps > 0.0 else belief.clock[0] + 1.0)
            exchange_best(belief, cache, request, free, count, budget)
        for place in range(slate.size[0]):
            if len(request.pins) > 0 and request.pins[place] >= 0:
                slate.items[place] = request.pins[place]
        for i in range(free):
            slate.items[cache.places[i]] = cache.leader[i]
        slate.memo[0, 0] = float(name)

    def learn(self, belief: Exchanges, slate: Slate, page: Page) -> None:
        """Count what was shown, and for whom it led."""
        size = slate.size[0]
        self.reading.read(page, size)
        belief.clock[0] += 1.0
        for place in range(size):
            count_shown(belief, slate.items[place], place, page.weight[place], page.value[place])
        name = int(slate.memo[0, 0])
        if name > 0:  # a list of its own
            count_lead(belief.names, belief.led, name)

    def sample(self, belief: Exchanges, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Count displays of an item at a position."""
        count_shown(belief, item, place, weight, value)

    def assess(self, belief: Exchanges, request: Request, place: int | None) -> Assessment:
        """Displays, clicks per display, and no index."""
        clicked = belief.clicked.sum(axis=1)[request.candidates]
        shown = belief.shown.sum(axis=1)[request.candidates]
        mean = np.full(len(shown), np.nan)
        np.divide(clicked, shown, out=mean, where=shown > 0.0)
        return Assessment(shown, mean, np.full(len(shown), np.nan), why="in the best known list, or one exchange away")


@entry("GRAB")
def grab(period: float = 10.0, steps: float | str = "theory") -> GRAB:
    """Shows the best known list, or one that differs by one exchange; for an unknown probability of each position.

    Parameters
    ----------
    period : float, default 10.0
        gamma: the best known list is itself shown in one of `period` lists for which it leads.
    steps : float or "theory", default "theory"
        Number of lists n; "theory" is that of the simulation, and where it is unknown the number of the next list.

    Notes
    -----
    The leader is the list with the largest sum of click rates, one per item and position, found as an assignment. Its
    positions are ordered by the click rates of their items. Neighbours exchange the items of two positions that follow
    each other in this order, or the item of the last one for an item not shown. Of the leader and its neighbours, the
    list with the largest sum of KL-UCB indices with budget `log n` is shown; an item never shown at a position has the
    index 1 there. Gauthier, Gaudel, Fromont and Lompo, Parametric Graph for Unimodal Ranking Bandit, ICML 2021;
    constants as in the authors' code.
    """
    return GRAB(period, steps)


@helper
def count_shown(belief: Exchanges, item: int, place: int, weight: float, value: float) -> None:
    """Count displays of an item at a position."""
    belief.clicked[item, place] += weight * value
    belief.shown[item, place] += weight


@helper
def click_rate(belief: Exchanges, item: int, place: int) -> float:
    """Clicks per display of an item at a position; 0 if it was never shown there."""
    shown = belief.shown[item, place]
    return belief.clicked[item, place] / shown if shown > 0.0 else 0.0


@helper
def upper_rate(belief: Exchanges, cache: ExchangeScratch, item: int, place: int, budget: float) -> float:
    """The KL-UCB index of an item at a position; 1 if it was never shown there."""
    shown = belief.shown[item, place]
    if shown <= 0.0:
        return 1.0
    if shown != cache.displays[item, place] or budget != cache.budget[item, place]:
        cache.upper[item, place] = kl_upper(shown, belief.clicked[item, place], budget)
        cache.displays[item, place], cache.budget[item, place] = shown, budget
    return float(cache.upper[item, place])


@routine
def find_leader(belief: Exchanges, cache: ExchangeScratch, request: Request) -> tuple[int, int]:
    """Fill the leader, and its positions by descending click rate; the numbers of free positions and items."""
    size, free = min(request.positions, len(request.candidates)), 0
    for place in range(size):
        if len(request.pins) == 0 or request.pins[place] < 0:
            cache.places[free] = place
            free += 1
    count = order_items(cache, request, size)
    assign(belief, cache, free, count)
    for i in range(free):
        at, rate = i, click_rate(belief, cache.leader[i], cache.places[i])
        while at > 0:
            above = cache.ranked[at - 1]
            if click_rate(belief, cache.leader[above], cache.places[above]) >= rate:
                break
            cache.ranked[at] = above
            at -= 1
        cache.ranked[at] = i
    return free, count


@routine
def order_items(cache: ExchangeScratch, request: Request, size: int) -> int:
    """Fill the candidates that are not pinned, in their order, unless they are those of the last list; their number."""
    count, same = 0, True
    for item in request.candidates:
        pinned = False
        for place in range(min(size, len(request.pins))):
            pinned = pinned or request.pins[place] == item
        if not pinned:
            same = same and cache.among[count] == item and cache.labels[count] == request.labels[item]
            cache.among[count], cache.labels[count], cache.value[count] = item, request.labels[item], 0.0
            count += 1
    if not same or count != cache.ordered[0]:
        # Equal values: the items in the order of their hashes under one key.
        select(cache.value, cache.among, count, request.labels, ORDER, cache.items[:count], cache.slack[:count])
        cache.ordered[0] = count
    return count


@routine
def assign(belief: Exchanges, cache: ExchangeScratch, free: int, count: int) -> None:
    """Fill `leader` with the items of the free positions that have the largest sum of click rates.

    The Hungarian method: positions are added one by one along a cheapest path of exchanges; the prices keep
    all reduced costs at 0 or above. Rows, the positions, and columns, the items, are counted from 1.
    """
    row_price, price, row, way, slack, used = (
        cache.row_price, cache.price, cache.row, cache.way, cache.slack, cache.used
    )  # fmt: skip
    for j in range(count + 1):
        price[j], row[j] = 0.0, 0
    for i in range(free + 1):
        row_price[i] = 0.0
    for i in range(1, free + 1):
        row[0], column = i, 0
        for j in range(count + 1):
            slack[j], used[j] = np.inf, 0
        while True:
            used[column] = 1
            current, least, following = row[column], np.inf, 0
            for j in range(1, count + 1):
                if used[j] == 1:
                    continue
                cost = -click_rate(belief, cache.items[j - 1], cache.places[current - 1])
                reduced = cost - row_price[current] - price[j]
                if reduced < slack[j]:
                    slack[j], way[j] = reduced, column
                if slack[j] < least:
                    least, following = slack[j], j
            for j in range(count + 1):
                if used[j] == 1:
                    row_price[row[j]] += least
                    price[j] -= least
                else:
                    slack[j] -= least
            column = following
            if row[column] == 0:
                break
        while column != 0:
            row[column] = row[way[column]]
            column = way[column]
    for j in range(1, count + 1):
        if row[j] > 0:
            cache.leader[row[j] - 1] = cache.items[j - 1]


@helper
def name_of(cache: ExchangeScratch, labels: Ints, free: int) -> int:
    """The name of the leader."""
    hashed = ORDER
    for i in range(free):
        hashed = branch(branch(hashed, cache.places[i]), labels[cache.leader[i]])
    return leader_name(hashed)


@routine
def exchange_best(
    belief: Exchanges, cache: ExchangeScratch, request: Request, free: int, count: int, budget: float
) -> None:
    """Make the exchange that adds most to the sum of indices, if there is one; of equal items, one wins the tie."""
    leader, places, ranked = cache.leader, cache.places, cache.ranked
    most, pair, added = 0.0, -1, -1
    for i in range(free - 1):
        one, two = ranked[i], ranked[i + 1]
        gain = upper_rate(belief, cache, leader[two], places[one], budget) + upper_rate(
            belief, cache, leader[one], places[two], budget
        )
        gain -= upper_rate(belief, cache, leader[one], places[one], budget)
        gain -= upper_rate(belief, cache, leader[two], places[two], budget)
        if gain > most:
            most, pair = gain, i
    last = ranked[free - 1]
    now = upper_rate(belief, cache, leader[last], places[last], budget)
    for j in range(count):
        item = cache.items[j]
        if is_leading(cache, item, free):
            continue
        gain = upper_rate(belief, cache, item, places[last], budget) - now
        if gain > most or (gain == most and added >= 0 and wins_tie(item, added, request.labels, request.key)):
            most, added = gain, item
    if added >= 0:
        leader[last] = added
    elif pair >= 0:
        one, two = ranked[pair], ranked[pair + 1]
        leader[one], leader[two] = leader[two], leader[one]


@helper
def is_leading(cache: ExchangeScratch, item: int, free: int) -> bool:
    """Whether an item is in the leader."""
    for i in range(free):
        if cache.leader[i] == item:
            return True
    return False
