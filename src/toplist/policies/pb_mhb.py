"""PB-MHB: Thompson sampling in the position-based model with unknown examination, by a Metropolis-Hastings walk."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.problem import Problem, number, refuse, whole
from toplist.core.protocols import Assessment, Capabilities
from toplist.core.protocols.kinds import expect_kind
from toplist.core.randomness import branch, cosine, uniform
from toplist.core.slate import Floats, Ints, Page, Request, Slate, empty_slate
from toplist.parts.arrange import lay_out
from toplist.parts.feedback import EveryPlace
from toplist.parts.index.select import select
from toplist.policies.by_name import entry

PRIOR = 0.5  # clicks, and displays without a click, of every item at every position before anything is learned
WIDE = 0.4  # a walk with a larger deviation is proposed uniformly, and a narrower one by a Gaussian
START = -2  # the branch of the key for the first values; sweeps count from 0
ITEMS, POSITIONS = 0, 1  # branches of the key of a sweep
MOST_SWEEPS = 10_000  # for a list
TWO_PER_ROOT_PI = 2.0 / math.sqrt(math.pi)
NARROW = 0.25  # steps in units of this share of a deviation, where few terms of a series suffice
ROOT_2 = math.sqrt(2.0)
ROUNDING = 1e-9  # more than that of a gain or its bound, for each unit of their terms


class Particle(NamedTuple):
    """Clicks per item and position, and where the walk over attractions and examination probabilities is."""

    clicked: Floats  # (items times positions,)
    missed: Floats
    theta: Floats  # per item its attraction
    kappa: Floats  # per position its examination probability; that of the first is 1
    clock: Floats  # one element: lists learned


class ParticleScratch(NamedTuple):
    """Scratch arrays for one list."""

    theta: Floats
    kappa: Floats
    score: Floats  # per candidate
    chosen: Ints  # per position
    drawn: Floats  # per position
    order: Ints  # the positions from the most to the least examined


class PBMHB(NamedTuple):
    """Draws attractions and examination probabilities from their posterior, and shows the best list for them.

    Parameters
    ----------
    scale : float, default 1000.0
        c: a step of the walk has the standard deviation c / sqrt(t).
    sweeps : int, default 1
        m: how often each value is moved for a list.
    reading : part of `toplist.parts.feedback`, default EveryPlace()
        Which positions count as shown.
    """

    scale: float = 1000.0
    sweeps: int = 1
    reading: Any = EveryPlace()

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        expect_kind("The reading", self.reading, "reading")
        scale = number("PB-MHB's scale", self.scale, 0.0, 1e12, "the paper's is 1000")
        if scale == 0.0:
            raise refuse("PB-MHB's scale", self.scale, "above 0", "with steps of length 0 it would never move")
        sweeps = whole("PB-MHB's sweeps", self.sweeps, 1, "the paper's is 1")
        if sweeps > MOST_SWEEPS:
            raise refuse("PB-MHB's sweeps", sweeps, f"at most {MOST_SWEEPS}", "the paper's is 1")
        return self._replace(scale=scale, sweeps=sweeps, reading=self.reading.prepare(problem))

    def begin(self, problem: Problem) -> Particle:
        """Nothing was shown; the walk begins at the first list."""
        places = problem.items * problem.positions
        return Particle(
            clicked=np.zeros(places),
            missed=np.zeros(places),
            theta=np.full(problem.items, 0.5),
            kappa=np.ones(problem.positions),
            clock=np.zeros(1),
        )

    def scratch(self, problem: Problem) -> ParticleScratch:
        """Arrays for one list."""
        items, places = problem.items, problem.positions
        return ParticleScratch(
            theta=np.zeros(items),
            kappa=np.zeros(places),
            score=np.zeros(items),
            chosen=np.zeros(places, dtype=np.int64),
            drawn=np.zeros(places),
            order=np.zeros(places, dtype=np.int64),
        )

    def slate(self, problem: Problem) -> Slate:
        """The memo holds the values drawn for the list: from them the walk goes on once the list is learned."""
        return empty_slate(problem.positions, problem.features, memo=1 + -(-problem.items // problem.positions))

    def capabilities(self) -> Capabilities:
        """Items are learned about together with the positions, so none can be added."""
        return Capabilities(adds_items=False, samples="nothing")

    def rank(self, belief: Particle, cache: ParticleScratch, request: Request, slate: Slate) -> None:
        """Particle on, and show the best items for the values reached, the best at the most examined position."""
        walk_on(belief, cache, request, self.scale, self.sweeps)
        candidates = request.candidates
        size = min(request.positions, len(candidates))
        slate.size[0] = size
        for i in range(len(candidates)):
            cache.score[i] = cache.theta[candidates[i]]
        items, drawn = slate.items[:size], cache.drawn[:size]
        select(cache.score, candidates, len(candidates), request.labels, request.key, items, drawn)
        order = cache.order
        for place in range(len(order)):
            order[place] = request.order[place] if len(request.order) > 0 else place
        if len(request.order) == 0:
            sort_by_examination(cache.kappa, order)
        lay_out(cache.chosen, order, request.pins, slate)
        width = slate.memo.shape[1] - 1
        for place in range(len(cache.kappa)):
            slate.memo[place, 0] = cache.kappa[place]
        for item in range(len(cache.theta)):
            slate.memo[item // width, 1 + item % width] = cache.theta[item]

    def learn(self, belief: Particle, slate: Slate, page: Page) -> None:
        """Count what was shown, and go where the walk was when the list was made."""
        size, places, width = slate.size[0], len(belief.kappa), slate.memo.shape[1] - 1
        self.reading.read(page, size)
        belief.clock[0] += 1.0
        for place in range(size):
            count_display(belief, slate.items[place], place, page.weight[place], page.value[place])
        if slate.memo[0, 0] == 1.0:  # a list of its own; a short one that was stored has no more rows than positions
            for place in range(places):
                if slate.memo[place, 0] > 0.0:
                    belief.kappa[place] = slate.memo[place, 0]
            for item in range(len(belief.theta)):
                if slate.memo[item // width, 1 + item % width] > 0.0:
                    belief.theta[item] = slate.memo[item // width, 1 + item % width]

    def sample(self, belief: Particle, item: int, place: int, weight: float, value: float, slate: Slate) -> None:
        """Count displays of an item at a position."""
        count_display(belief, item, place, weight, value)

    def assess(self, belief: Particle, request: Request, place: int | None) -> Assessment:
        """Displays, clicks per display, and no index."""
        shape = (len(belief.theta), len(belief.kappa))
        clicked = belief.clicked.reshape(shape).sum(axis=1)[request.candidates]
        shown = clicked + belief.missed.reshape(shape).sum(axis=1)[request.candidates]
        mean = np.full(len(shown), np.nan)
        np.divide(clicked, shown, out=mean, where=shown > 0.0)
        return Assessment(shown, mean, np.full(len(shown), np.nan), why="best for attractions drawn from the posterior")


@entry("PB-MHB")
def pb_mhb(scale: float = 1000.0, sweeps: int = 1) -> PBMHB:
    """Thompson sampling for users who look at each position with an unknown probability, which it learns.

    Parameters
    ----------
    scale : float, default 1000.0
        c, the length of a step of the walk: its standard deviation is `c / sqrt(t)`.
    sweeps : int, default 1
        m, how often each value is moved for a list; more draw closer to the posterior, and take longer.

    Notes
    -----
    The posterior of attractions theta and examination probabilities kappa is proportional to the product of
    `(theta_i kappa_l)^S (1 - theta_i kappa_l)^F` over all items i and positions l, after S clicks and F impressions
    without one, each plus 1/2; the first position has kappa 1. Each value in turn is moved by a Gaussian step, kept
    between 0 and 1 and accepted by Metropolis and Hastings' rule; the walk goes on from list to list. The items with
    the largest theta go to the positions with the largest kappa. Gauthier, Gaudel and Fromont, Position-Based
    Multiple-Play Bandits with Thompson Sampling, IDA 2021; constants as in the authors' code.
    """
    return PBMHB(scale, sweeps)


@helper
def count_display(belief: Particle, item: int, place: int, weight: float, value: float) -> None:
    """Count displays of an item at a position."""
    at = item * len(belief.kappa) + place
    belief.clicked[at] += weight * value
    belief.missed[at] += weight * (1.0 - value)


@routine
def walk_on(belief: Particle, cache: ParticleScratch, request: Request, scale: float, sweeps: int) -> None:
    """Fill the values of the next list: those of the last one, each moved in turn."""
    items, places = len(belief.theta), len(belief.kappa)
    walk = branch(request.key, -1)  # apart from the key that breaks ties
    first, begins = branch(walk, START), belief.clock[0] == 0.0
    for item in range(items):
        cache.theta[item] = 1.0 - uniform(first, request.labels[item]) if begins else belief.theta[item]
    for place in range(places):
        cache.kappa[place] = 1.0 - uniform(branch(first, START), place) if begins else belief.kappa[place]
    cache.kappa[0] = 1.0
    deviation = scale / math.sqrt(belief.clock[0] + 1.0)
    for sweep in range(sweeps):
        key = branch(walk, sweep)
        by_item, by_place = branch(key, ITEMS), branch(key, POSITIONS)
        for item in range(items):
            here = slice(item * places, (item + 1) * places)
            clicked, missed, own = belief.clicked[here], belief.missed[here], branch(by_item, request.labels[item])
            cache.theta[item] = moved(clicked, missed, cache.kappa, cache.theta[item], deviation, own)
        for place in range(1, places):
            clicked, missed, own = belief.clicked[place::places], belief.missed[place::places], branch(by_place, place)
            cache.kappa[place] = moved(clicked, missed, cache.theta, cache.kappa[place], deviation, own)


@helper
def moved(clicked: Floats, missed: Floats, others: Floats, now: float, deviation: float, key: int) -> float:
    """The next value of a factor, one element for each of the others that it is multiplied with.

    Most steps are rejected, and a bound of the gain tells so without logarithms of all its terms: log r is at most
    2 (r - 1) / (r + 1) for r below 1, and (r - 1/r) / 2 above.
    """
    then, height = step_within(now, deviation, key), math.log(1.0 - uniform(key, 0))
    mass = mass_within(now, deviation) / mass_within(then, deviation)
    clicks, most, is_higher = 0.0, mass - 1.0, then > now
    for i in range(len(others)):
        clicks += clicked[i] + PRIOR
        after, before = 1.0 - then * others[i], 1.0 - now * others[i]
        both = after + before
        top, bottom = (2.0, both) if is_higher else (both, 2.0 * after * before)
        most += (missed[i] + PRIOR) * ((after - before) * top / bottom)
    from_clicks = clicks * math.log(then / now)
    most += from_clicks
    if height > most + ROUNDING * (1.0 + abs(most) + abs(from_clicks)):
        return now
    gain = math.log(mass)
    for i in range(len(others)):
        gain += (missed[i] + PRIOR) * math.log((1.0 - then * others[i]) / (1.0 - now * others[i]))
    return then if height < gain + from_clicks else now


@helper
def step_within(now: float, deviation: float, key: int) -> float:
    """A Gaussian step that ends strictly between 0 and 1: drawn until it does."""
    at = 1
    while True:
        first, second = uniform(key, at), uniform(key, at + 1)
        at += 2
        if deviation >= WIDE:  # almost flat: uniform, accepted by the height of the curve
            then = first
            apart = (then - now) / deviation
            inside = second < math.exp(-0.5 * apart * apart)
        else:
            then = now + deviation * math.sqrt(-2.0 * math.log(1.0 - first)) * cosine(second)
            inside = True
        if inside and 0.0 < then < 1.0:
            return then


@helper
def mass_within(centre: float, deviation: float) -> float:
    """Twice the probability that a Gaussian step from here ends between 0 and 1."""
    unit = 1.0 / (deviation * ROOT_2)
    high, low = (1.0 - centre) * unit, centre * unit
    if unit < NARROW:
        return TWO_PER_ROOT_PI * (high * erf_series(high * high) + low * erf_series(low * low))
    return math.erf(high) + math.erf(low)


@helper
def erf_series(square: float) -> float:
    """The error function of x over `2 x / sqrt(pi)`, by its power series in x^2 < 1/16, which is faster."""
    total = 1.0 / 17.0 / 40320.0
    total = -1.0 / 15.0 / 5040.0 + square * total
    total = 1.0 / 13.0 / 720.0 + square * total
    total = -1.0 / 11.0 / 120.0 + square * total
    total = 1.0 / 9.0 / 24.0 + square * total
    total = -1.0 / 7.0 / 6.0 + square * total
    total = 1.0 / 5.0 / 2.0 + square * total
    total = -1.0 / 3.0 + square * total
    return 1.0 + square * total


@helper
def sort_by_examination(kappa: Floats, order: Ints) -> None:
    """Sort positions by descending examination probability; equal ones stay as they are."""
    for i in range(1, len(order)):
        place, at = order[i], i
        while at > 0 and kappa[order[at - 1]] < kappa[place]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = place
