"""Ridge regression that forgets: discounted, or over the last lists."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import routine
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints, Request, Slate
from toplist.parts.memory.discounted import LARGEST, fade, resolved_discount, shrink
from toplist.parts.memory.horizon import expected_changes
from toplist.parts.memory.ridge import (
    Ridge,
    begin_linear,
    deviation_linear,
    doubt_linear,
    estimate,
    refresh,
    regress,
    tally_linear,
)
from toplist.parts.memory.symmetric import add_rows, add_square, mirror
from toplist.parts.memory.window import (
    LISTS,
    OLDEST,
    OLDEST_TURN,
    Window,
    add_up,
    make_room,
    open_list,
    store,
    take_back,
)


class FadingLinear(NamedTuple):
    """A linear belief whose past counts less and less; the fields of `Linear`, and what fading needs."""

    theta: Floats
    inverse: Floats  # V^-1 V2 V^-1, which is what widths are made of
    gram: Floats  # V: prior I + sum of gamma^age x x' / sigma^2, its upper triangle
    total: Floats  # sum of gamma^age value x
    sigma: Floats
    examined: Floats  # per item, in a growing unit
    clock: Floats
    base: Floats
    direction: Floats
    shrink: Floats
    updates: Ints
    unit: Floats  # one element: what an observation adds to `examined` by now
    squared: Floats  # V2: prior I + sum of gamma^(2 age) x x' / sigma^2
    room: Floats  # (d, d)
    gamma: Floats  # one element
    lists: Ints  # two elements: lists learned, and at which number gamma is set anew


class DiscountedRidge(NamedTuple):
    """Ridge, where every list makes all before it count gamma times as much (Russac, Vernade and Cappe, NeurIPS 2019).

    The prior does not fade. V has weights gamma^age and V2 has their squares; an estimate varies by V^-1 V2 V^-1,
    which is what an index takes for the widths. `gamma` and `changes` as in Discounted.
    """

    gamma: Any = "theory"
    changes: float = 1.0
    sigma: float = 0.1
    prior: float = 1.0

    def prepare(self, problem: Problem) -> Self:
        """Resolve gamma, and check the rest."""
        still = Ridge(self.sigma, self.prior).prepare(problem)
        changes = expected_changes("DiscountedRidge", self.changes, problem)
        gamma = resolved_discount("DiscountedRidge's gamma", self.gamma, changes, problem)
        return self._replace(gamma=gamma, changes=changes, sigma=still.sigma, prior=still.prior)

    def begin(self, problem: Problem) -> FadingLinear:
        """Nothing but the prior."""
        still = begin_linear(problem, self.prior, self.sigma, updates=1)
        return FadingLinear(
            *still,
            unit=np.ones(1),
            squared=still.gram.copy(),
            room=np.zeros_like(still.gram),
            gamma=np.full(1, max(self.gamma, 0.0)),  # where it doubles, the first list sets it
            lists=np.array([0, 1]),
        )

    def keeps(self) -> str:
        """A linear belief."""
        return "linear"

    def forgetful(self) -> bool:
        """What is old counts less."""
        return True

    def tally(self, belief: FadingLinear, request: Request) -> tuple[Floats, Floats]:
        """How often each was examined, as far as it counts, and what its features lead to expect."""
        examined, expected = tally_linear(belief, request)
        return examined / belief.unit[0], expected

    def deviation(self, belief: FadingLinear, request: Request) -> Floats:
        """As Ridge's."""
        return deviation_linear(belief, request)

    def doubt(self, belief: FadingLinear) -> Floats:
        """Per feature, the standard deviation of its weight."""
        return doubt_linear(belief)

    def tick(self, belief: FadingLinear) -> None:
        """One more list: all before it counts less, but the prior."""
        fade(belief, self.gamma, self.changes)
        discount(belief, self.prior)
        belief.unit[0] /= belief.gamma[0]
        if belief.unit[0] > LARGEST:
            belief.unit[0] /= LARGEST
            shrink(belief.examined)
        belief.clock[0] += 1.0

    def add(self, belief: FadingLinear, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """One observation."""
        row, precision = slate.rows[place], weight / (belief.sigma[0] * belief.sigma[0])
        belief.examined[item] += weight * belief.unit[0]
        add_square(belief.gram, row, precision)
        add_square(belief.squared, row, precision)
        for i in range(len(row)):
            belief.total[i] += weight * value * row[i]

    def conclude(self, belief: FadingLinear) -> None:
        """The estimate and its widths; the prior is renewed at every list, so no rank-one term leads to them."""
        refresh(belief)
        estimate(belief)
        sandwich(belief)


@routine
def discount(belief: Any, prior: float) -> None:
    """Let the matrices and the sums fade, but not the prior."""
    gamma, d = belief.gamma[0], len(belief.theta)
    for i in range(d):
        belief.total[i] *= gamma
        for j in range(d):
            belief.gram[i, j] *= gamma
            belief.squared[i, j] *= gamma * gamma
        belief.gram[i, i] += (1.0 - gamma) * prior
        belief.squared[i, i] += (1.0 - gamma * gamma) * prior


@routine
def sandwich(belief: Any) -> None:
    """Turn V^-1 into V^-1 V2 V^-1."""
    d, room = len(belief.theta), belief.room
    mirror(belief.squared)
    multiply(belief.squared, belief.inverse, room)
    multiply(belief.inverse, room, belief.base)
    for i in range(d):
        for j in range(d):  # symmetric to the last bit
            belief.inverse[i, j] = 0.5 * (belief.base[i, j] + belief.base[j, i])
    for i in range(d):
        for j in range(d):
            belief.base[i, j] = belief.inverse[i, j]


@routine
def multiply(left: Floats, right: Floats, product: Floats) -> None:
    """The product of two square matrices, by rows."""
    d = len(product)
    for i in range(d):
        row = product[i]
        for j in range(d):
            row[j] = 0.0
        add_rows(left[i], right, 0, d, 0, row)


class WindowedLinear(NamedTuple):
    """A linear belief of the last lists: the fields of `Linear`, those of `WindowedCounts`, and the stored rows."""

    theta: Floats
    inverse: Floats
    gram: Floats
    total: Floats
    sigma: Floats
    base: Floats
    direction: Floats
    shrink: Floats
    updates: Ints
    row: Floats  # (room, positions, d): the features of each observation in the ring
    examined: Floats
    clicked: Floats
    unit: Floats
    clock: Floats
    touched: Ints
    tau: Floats
    at: Ints
    held: Ints
    since: Ints
    sampled: Floats
    sampled_clicked: Floats
    sampled_at: Ints
    item: Ints
    weight: Floats
    value: Floats
    filled: Ints


class WindowedRidge(NamedTuple):
    """Ridge over the last tau lists; `tau`, `changes` and `longest` as in Window."""

    tau: Any = "theory"
    changes: float = 1.0
    longest: int = 10_000
    sigma: float = 0.1
    prior: float = 1.0

    def prepare(self, problem: Problem) -> Self:
        """Resolve tau, and check the rest."""
        still = Ridge(self.sigma, self.prior).prepare(problem)
        window = Window(self.tau, self.changes, self.longest).prepare(problem)
        return self._replace(**window._asdict(), **still._asdict())

    def begin(self, problem: Problem) -> WindowedLinear:
        """Nothing but the prior."""
        still = begin_linear(problem, self.prior, self.sigma)._asdict()
        window = Window(self.tau, self.changes, self.longest).begin(problem)._asdict()
        row = np.zeros((self.longest, problem.positions, problem.features))
        return WindowedLinear(**(still | window), row=row)

    def keeps(self) -> str:
        """A linear belief."""
        return "linear"

    def forgetful(self) -> bool:
        """What is older than the window is gone."""
        return True

    def tally(self, belief: WindowedLinear, request: Request) -> tuple[Floats, Floats]:
        """How often each was examined within the window, and what its features lead to expect."""
        return tally_linear(belief, request)

    def deviation(self, belief: WindowedLinear, request: Request) -> Floats:
        """As Ridge's."""
        return deviation_linear(belief, request)

    def doubt(self, belief: WindowedLinear) -> Floats:
        """Per feature, the standard deviation of its weight."""
        return doubt_linear(belief)

    def tick(self, belief: WindowedLinear) -> None:
        """One more list: the oldest may leave."""
        gone = open_list(belief, self.tau, self.changes)
        while belief.at[OLDEST] <= gone:
            take_back_rows(belief)
            take_back(belief)
        if make_room(belief):
            add_up(belief)
            add_up_rows(belief, self.prior)

    def add(self, belief: WindowedLinear, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """One observation, which is stored; there are no free samples, for an item says nothing without its row."""
        turn, last = store(belief, item, weight, value)
        row = belief.row[turn, last]
        for i in range(len(row)):
            row[i] = slate.rows[place, i]
        regress(belief, row, weight, value)

    def conclude(self, belief: WindowedLinear) -> None:
        """The estimate of everything in the window."""
        estimate(belief)


@routine
def take_back_rows(belief: Any) -> None:
    """Take back what the oldest list taught."""
    turn = belief.at[OLDEST_TURN]
    for i in range(belief.filled[turn]):
        regress(belief, belief.row[turn, i], -belief.weight[turn, i], belief.value[turn, i])


@routine
def add_up_rows(belief: Any, prior: float) -> None:
    """Compute the matrix and the sums anew, so that rounding cannot add up."""
    d = len(belief.theta)
    for i in range(d):
        belief.total[i] = 0.0
        for j in range(d):
            belief.gram[i, j] = prior if i == j else 0.0
    precision = 1.0 / (belief.sigma[0] * belief.sigma[0])
    for each in range(belief.at[OLDEST], belief.at[LISTS]):
        turn = each % len(belief.filled)
        for place in range(belief.filled[turn]):
            row, weight = belief.row[turn, place], belief.weight[turn, place]
            add_square(belief.gram, row, weight * precision)
            for i in range(d):
                belief.total[i] += weight * belief.value[turn, place] * row[i]
    refresh(belief)
