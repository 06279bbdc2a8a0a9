"""PMED: as many displays of each item at each position as rule out every world in which another list is the best."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.elementary import logarithm
from toplist.core.problem import Problem, number
from toplist.core.protocols import Assessment, Capabilities
from toplist.core.protocols.kinds import expect_kind
from toplist.core.randomness import branch, uniform
from toplist.core.slate import Floats, Ints, Page, Request, Slate, empty_slate
from toplist.parts.feedback import EveryPlace
from toplist.parts.index.select import select
from toplist.policies.by_name import entry
from toplist.policies.dual_simplex import Tableau
from toplist.policies.pmed_plan import (
    FIRST_SWEEPS,
    SWEEPS,
    Plan,
    empty_plan,
    fit_factors,
    make_plan,
    sort_by_attraction,
)

ENOUGH = 0.5  # displays that may be missing from a plan
ORDER = -2  # the key of the order of the items, the same for all lists
PLANNING = ("order", "rate", "level", "leading", "cost", "weight", "asked", *Tableau._fields)
GROWTH = 0.1  # share by which the number of lists grows between two plans, at least


class Displays(NamedTuple):
    """Clicks per item and position, the last fit and the last plan, and the lists to be shown next.

    Items are counted in the order of their hashes, in which the first lists show them.
    """

    clicked: Floats  # (items, positions)
    shown: Floats
    theta: Floats  # per item its attraction, as fitted
    kappa: Floats  # per position its examination probability; that of the first is 1
    need: Floats  # (items, positions): displays that the plan asks for, per log t
    queue: Ints  # (lists, positions): the lists to be shown next
    waiting: Ints  # one element: how many of them there are
    clock: Floats  # lists learned, and how many they were at the last fit and at the last plan
    left: Floats  # (items, positions): working arrays
    seen: Floats
    most: Floats  # (items,): the largest element of each row of `left`
    leader: Ints  # (positions,): the best list
    made: Ints  # (positions,): another list
    place: Ints  # (items,): the position in the best list, or -1
    mark: Ints  # (positions,)
    path: Ints  # (positions + 1, 2)
    order: Ints  # from here on, the arrays of a plan ...
    rate: Floats
    level: Floats
    leading: Floats
    cost: Floats
    weight: Floats
    asked: Floats
    row: Floats  # ... and of its program
    value: Floats
    price: Floats
    basic: Ints
    free: Ints
    used: Ints


class Turns(NamedTuple):
    """The order of the items by their hashes."""

    items: Ints
    labels: Ints  # for which it was found
    score: Floats  # scratch
    drawn: Floats


class PMED(NamedTuple):
    """Shows the best list of a fit, and lists that are missing from what rules out all other worlds.

    Parameters
    ----------
    alpha : float, default 1.0
        Every item is shown at every position at least `alpha sqrt(log t)` times.
    fit_gap, plan_gap : float, default 20.0 and 1000.0
        Numbers of lists between two fits and between two plans.
    reading : part of `toplist.parts.feedback`, default EveryPlace()
        Which positions count as shown.
    """

    alpha: float = 1.0
    fit_gap: float = 20.0
    plan_gap: float = 1000.0
    reading: Any = EveryPlace()

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        expect_kind("The reading", self.reading, "reading")
        return self._replace(
            alpha=number("PMED's alpha", self.alpha, 0.0, 1e6, "give a factor, as 1"),
            fit_gap=number("PMED's fit_gap", self.fit_gap, 1.0, 1e15, "give a number of lists, as 20"),
            plan_gap=number("PMED's plan_gap", self.plan_gap, 1.0, 1e15, "give a number of lists, as 1000"),
            reading=self.reading.prepare(problem),
        )

    def begin(self, problem: Problem) -> Displays:
        """Nothing was shown; first, each item is to be shown at each position."""
        items, places = problem.items, problem.positions
        queue = np.zeros((1 + items + items * places, places), dtype=np.int64)
        for first in range(items):
            queue[first] = (first + np.arange(places)) % items
        clicked, shown, need, left, seen = np.zeros((5, items, places))
        leader, made, mark = np.zeros((3, places), dtype=np.int64)
        *arrays, table = empty_plan(items, places)
        planned: dict[str, Any] = dict(zip(PLANNING, [*arrays, *table], strict=True))
        return Displays(
            clicked=clicked, shown=shown, theta=np.full(items, 0.5), kappa=1.0 / np.arange(1.0, places + 1.0),
            need=need, queue=queue, waiting=np.full(1, items), clock=np.zeros(3), left=left, seen=seen,
            most=np.zeros(items), leader=leader, made=made, place=np.zeros(items, dtype=np.int64), mark=mark,
            path=np.zeros((places + 1, 2), dtype=np.int64), **planned,
        )  # fmt: skip

    def scratch(self, problem: Problem) -> Turns:
        """The order of the items is not known yet."""
        items, labels = np.zeros((2, problem.items), dtype=np.int64)
        score, drawn = np.zeros((2, problem.items))
        return Turns(items, labels, score, drawn)

    def slate(self, problem: Problem) -> Slate:
        """The memo holds the turn of each item, counted from 1."""
        return empty_slate(problem.positions, problem.features, memo=1)

    def capabilities(self) -> Capabilities:
        """Lists are planned ahead for all items, so all must be eligible, and none can be added."""
        return Capabilities(
            adds_items=False, takes_subsets=False, takes_pins=False, learns_from_any_list=False, samples="nothing"
        )

    def rank(self, belief: Displays, cache: Turns, request: Request, slate: Slate) -> None:
        """Show one of the waiting lists, drawn at random."""
        find_turns(cache, request)
        size = min(request.positions, len(request.candidates))
        slate.size[0] = size
        drawn = int(uniform(branch(request.key, -1), 0) * belief.waiting[0])
        for place in range(size):
            slate.items[place] = cache.items[belief.queue[drawn, place]]
            slate.memo[place, 0] = float(belief.queue[drawn, place] + 1)

    def learn(self, belief: Displays, slate: Slate, page: Page) -> None:
        """Count what was shown; after the last waiting list, find the next ones."""
        size = slate.size[0]
        self.reading.read(page, size)
        belief.clock[0] += 1.0
        for place in range(size):
            item = int(slate.memo[place, 0]) - 1
            belief.made[place] = item
            belief.clicked[item, place] += page.weight[place] * page.value[place]
            belief.shown[item, place] += page.weight[place]
        strike_off(belief, belief.made, size)
        if belief.waiting[0] == 0:
            next_lists(belief, self.alpha, self.fit_gap, self.plan_gap)

    def sample(self, belief: Displays, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Ignored: the first lists show every item at every position."""

    def assess(self, belief: Displays, request: Request, place: int | None) -> Assessment:
        """Displays, clicks per display, and no index."""
        turns = self.scratch(Problem(*belief.shown.shape))
        find_turns(turns, request)
        turn = np.argsort(turns.items)[request.candidates]
        clicked, shown = belief.clicked.sum(axis=1)[turn], belief.shown.sum(axis=1)[turn]
        mean = np.full(len(shown), np.nan)
        np.divide(clicked, shown, out=mean, where=shown > 0.0)
        return Assessment(shown, mean, np.full(len(shown), np.nan), why="in the best known list, or to rule out others")


@entry("PMED")
def pmed(alpha: float = 1.0, fit_gap: float = 20.0, plan_gap: float = 1000.0) -> PMED:
    """Shows every item at every position as often as tells the best list apart; for unknown, descending examination.

    Parameters
    ----------
    alpha : float, default 1.0
        Every item is shown at every position at least `alpha sqrt(log t)` times.
    fit_gap : float, default 20.0
        Number of lists between two fits of attractions and examination probabilities.
    plan_gap : float, default 1000.0
        Number of lists between two plans of displays, at least.

    Notes
    -----
    Attractions theta and examination probabilities kappa, which descend from 1, are those of the largest likelihood.
    The plan, displays of item i at position l per log t, has the least regret among those with which the divergence
    from every world with another best list, and with the same clicks on this one, is at least 1: a linear program whose
    constraints are found one by one. It is made of lists. A loop shows, in random order, the best list, lists of the
    plan that were shown too rarely, and lists with an item that was shown at its position less than
    `alpha sqrt(log t)` times. Komiyama, Honda and Takeda, Position-based Multiple-play Bandit Problem with Unknown
    Position Bias, NIPS 2017; constants as in a public implementation by others.
    """
    return PMED(alpha, fit_gap, plan_gap)


@routine
def find_turns(cache: Turns, request: Request) -> None:
    """Fill the order of the items, unless it is that of the last list."""
    same = cache.items[0] != cache.items[len(cache.items) - 1] or len(cache.items) == 1
    for item in range(len(cache.items)):
        same = same and cache.labels[item] == request.labels[item]
        cache.labels[item] = request.labels[item]
    if not same:
        for item in range(len(cache.items)):
            cache.score[item] = 0.0  # equal values: in the order of the hashes
        select(cache.score, request.candidates, len(cache.items), request.labels, ORDER, cache.items, cache.drawn)


@helper
def planning(belief: Displays) -> Plan:
    """The arrays of the belief that plans are made with."""
    table = Tableau(belief.row, belief.value, belief.price, belief.basic, belief.free, belief.used)
    return Plan(
        belief.order, belief.rate, belief.level, belief.leading, belief.cost, belief.weight, belief.asked, table
    )


@helper
def strike_off(belief: Displays, items: Ints, size: int) -> None:
    """Take a list that was shown off the waiting ones."""
    queue, waiting = belief.queue, belief.waiting[0]
    for at in range(waiting):
        same = True
        for place in range(size):
            same = same and queue[at, place] == items[place]
        if same:
            for place in range(queue.shape[1]):
                queue[at, place] = queue[waiting - 1, place]
            belief.waiting[0] = waiting - 1
            return


@routine
def next_lists(belief: Displays, alpha: float, fit_gap: float, plan_gap: float) -> None:
    """Fill the waiting lists."""
    lists = belief.clock[0]
    if belief.clock[1] == 0.0 or lists >= belief.clock[1] + fit_gap:
        sweeps = FIRST_SWEEPS if belief.clock[1] == 0.0 else SWEEPS
        fit_factors(belief.clicked, belief.shown, belief.theta, belief.kappa, sweeps)
        find_best_list(belief)
        belief.clock[1] = lists
    if belief.clock[2] == 0.0 or lists >= belief.clock[2] + max(plan_gap, GROWTH * belief.clock[2]):
        make_plan(planning(belief), belief.theta, belief.kappa, belief.need)
        belief.clock[2] = lists
    belief.waiting[0] = 0
    wait_for(belief, belief.leader)
    add_rare(belief, alpha * math.sqrt(logarithm(lists)) if lists > 1.0 else 0.0)
    add_planned(belief, logarithm(lists))


@helper
def find_best_list(belief: Displays) -> None:
    """Fill the best list of the fit, and the position of each item in it."""
    order, leader = belief.order, belief.leader
    sort_by_attraction(belief.theta, order)
    for item in range(len(order)):
        belief.place[item] = -1
    for place in range(len(leader)):
        leader[place] = order[place]
        belief.place[order[place]] = place


@helper
def add_rare(belief: Displays, enough: float) -> None:
    """Add lists with an item that was shown too rarely at its position."""
    items, places = belief.shown.shape
    rare = 0
    for item in range(items):
        for place in range(places):
            rare += 1 if belief.shown[item, place] < enough else 0
    if rare == 0:  # almost always
        return
    for first in range(items):
        is_rare = False
        for place in range(places):
            item = first + place if first + place < items else first + place - items
            belief.made[place] = item
            is_rare = is_rare or belief.shown[item, place] < enough
        if is_rare:
            wait_for(belief, belief.made)


@helper
def wait_for(belief: Displays, items: Ints) -> None:
    """Add a list, unless all of its displays are part of waiting ones."""
    if has_new_display(belief, items):
        for place in range(len(items)):
            belief.queue[belief.waiting[0], place] = items[place]
        belief.waiting[0] += 1


@helper
def has_new_display(belief: Displays, items: Ints) -> bool:
    """Whether an item of a list stands at its position in no waiting list."""
    for place in range(len(items)):
        found = False
        for at in range(belief.waiting[0]):
            found = found or belief.queue[at, place] == items[place]
        if not found:
            return True
    return False


@routine
def add_planned(belief: Displays, scale: float) -> None:
    """Add the lists of the plan that were shown too rarely, those with many displays first.

    The plan is a flow: an item that is not in the best list comes in at a position, the item of that position moves to
    another, and so on, until one leaves, or the last takes the position of the first. Each such path is a list.
    """
    left, seen, leader = belief.left, belief.seen, belief.leader
    items, places = left.shape
    for item in range(items):
        for place in range(places):
            left[item, place] = belief.need[item, place] * scale if belief.place[item] != place else 0.0
            seen[item, place] = belief.shown[item, place]
        find_most(belief, item)
    for _ in range(items * places):
        count, size = follow_path(belief)
        if count == 0.0:
            return
        if size == 0:
            continue
        for place in range(places):
            belief.made[place] = leader[place]
        for step in range(size):
            belief.made[belief.path[step, 1]] = belief.path[step, 0]
            left[belief.path[step, 0], belief.path[step, 1]] -= count
            find_most(belief, belief.path[step, 0])
        least = np.inf
        for place in range(places):
            least = min(least, seen[belief.made[place], place])
        if least < count:
            wait_for(belief, belief.made)
        for place in range(places):
            seen[belief.made[place], place] -= min(least, count)


@helper
def find_most(belief: Displays, item: int) -> None:
    """Find the largest element of a row of `left`."""
    most = belief.left[item, 0]
    for place in range(1, belief.left.shape[1]):
        most = max(most, belief.left[item, place])
    belief.most[item] = most


@routine
def follow_path(belief: Displays) -> tuple[float, int]:
    """Fill the displays of one path of what is left of the plan; how often it is to be shown, and its length.

    0 times if nothing is left. The length is 0 if rounding breaks the path off; its first display is dropped then.
    """
    left, mark, path = belief.left, belief.mark, belief.path
    items, places = left.shape
    item, most = -1, ENOUGH
    for outside in range(2):  # first paths that come from outside; what remains then are cycles
        for i in range(items):
            if belief.most[i] > most and (belief.place[i] < 0) == (outside == 0):
                item, most = i, belief.most[i]
        if item >= 0:
            break
    if item < 0:
        return 0.0, 0
    at = 0
    while left[item, at] != most:
        at += 1
    for place in range(places):
        mark[place] = -1
    is_cycle = belief.place[item] >= 0
    if is_cycle:
        mark[belief.place[item]] = 0
    begin, size, closed = 0, 0, False
    while True:
        path[size, 0], path[size, 1] = item, at
        size += 1
        if closed:
            break
        mark[at] = size
        item, following, most = belief.leader[at], -1, ENOUGH
        for place in range(places):
            if left[item, place] > most:
                following, most = place, left[item, place]
        if following < 0:
            break
        at = following
        if mark[at] >= 0:  # what came before the cycle waits for another path
            begin, closed = mark[at], True
    if is_cycle and not closed:
        left[path[0, 0], path[0, 1]] = 0.0
        find_most(belief, path[0, 0])
        return 1.0, 0
    count = np.inf
    for step in range(begin, size):
        path[step - begin, 0], path[step - begin, 1] = path[step, 0], path[step, 1]
        count = min(count, left[path[step, 0], path[step, 1]])
    return count, size - begin
