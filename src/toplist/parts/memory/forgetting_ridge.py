"""Ridge regression that forgets: discounted, or over the latest lists."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from toplist.core.compiling import routine
from toplist.core.problem import InvalidInput, Problem
from toplist.core.slate import Floats, Ints, Request, Slate
from toplist.parts.memory.discounted import LARGEST_UNIT, rescale_counts, resolve_discount, update_discount
from toplist.parts.memory.horizon import expected_changes
from toplist.parts.memory.ridge import (
    Ridge,
    add_observation,
    begin_linear,
    linear_deviation,
    linear_doubt,
    recompute_inverse,
    tally_linear,
    update_estimate,
)
from toplist.parts.memory.symmetric import add_rows, add_square, mirror
from toplist.parts.memory.window import (
    LISTS,
    OLDEST,
    OLDEST_SLOT,
    Window,
    begin_slot,
    open_list,
    recompute_sums,
    remove_oldest_list,
    store_observation,
)


class DiscountedLinear(NamedTuple):
    """A linear belief with discounted observations; the fields of `Linear`, and those for discounting."""

    theta: Floats
    inverse: Floats  # V^-1 V2 V^-1, which gives the widths
    gram: Floats  # V: prior I + sum of gamma^age x x' / sigma^2, its upper triangle
    total: Floats  # sum of gamma^age value x
    sigma: Floats
    examined: Floats  # per item, in a growing unit
    clock: Floats
    base: Floats
    direction: Floats
    shrink: Floats
    updates: Ints
    unit: Floats  # one element: the weight of a new observation in `examined`
    squared: Floats  # V2: prior I + sum of gamma^(2 age) x x' / sigma^2
    room: Floats  # (d, d)
    gamma: Floats  # one element
    lists: Ints  # two elements: lists learned, and the number at which gamma is updated next


class DiscountedRidge(NamedTuple):
    """Ridge regression that discounts old lists by gamma; the prior is not discounted.

    Parameters
    ----------
    gamma : float or {"theory", "doubling"}, default "theory"
        Discount, as in `Discounted`.
    changes : float, default 1.0
        Expected number of changes of the users.
    sigma : float, default 0.1
        Noise of an observation.
    prior : float, default 1.0
        Precision of the prior on each weight.

    Notes
    -----
    V has weights gamma^age and V2 has their squares; the covariance of the estimate is V^-1 V2 V^-1, from which an
    index computes the widths. Russac, Vernade and Cappe, Weighted Linear Bandits for Non-Stationary Environments,
    NeurIPS 2019.
    """

    gamma: Any = "theory"
    changes: float = 1.0
    sigma: float = 0.1
    prior: float = 1.0

    def prepare(self, problem: Problem) -> Self:
        """Resolve gamma, and check the rest."""
        ridge = Ridge(self.sigma, self.prior).prepare(problem)
        changes = expected_changes("DiscountedRidge", self.changes, problem)
        gamma = resolve_discount("DiscountedRidge's gamma", self.gamma, changes, problem)
        return self._replace(gamma=gamma, changes=changes, sigma=ridge.sigma, prior=ridge.prior)

    def begin(self, problem: Problem) -> DiscountedLinear:
        """The prior."""
        ridge = begin_linear(problem, self.prior, self.sigma, updates=1)
        return DiscountedLinear(
            *ridge,
            unit=np.ones(1),
            squared=ridge.gram.copy(),
            room=np.zeros_like(ridge.gram),
            gamma=np.full(1, max(self.gamma, 0.0)),  # with doubling, the first list sets it
            lists=np.array([0, 1]),
        )

    def begin_from(self, problem: Problem, mean: Floats, precision: Floats) -> NoReturn:
        """Refused."""
        raise InvalidInput(
            "DiscountedRidge takes no prior of its weights: it renews the one of its parameter `prior` as it forgets; "
            "use Ridge()."
        )

    def keeps(self) -> str:
        """A linear belief."""
        return "linear"

    def forgetful(self) -> bool:
        """Old observations count less."""
        return True

    def tally(self, belief: DiscountedLinear, request: Request) -> tuple[Floats, Floats]:
        """Discounted number of examinations of each candidate, and its expected value."""
        examined, expected = tally_linear(belief, request)
        return examined / belief.unit[0], expected

    def deviation(self, belief: DiscountedLinear, request: Request) -> Floats:
        """As in Ridge."""
        return linear_deviation(belief, request)

    def doubt(self, belief: DiscountedLinear) -> Floats:
        """Per feature, the standard deviation of its weight."""
        return linear_doubt(belief)

    def tick(self, belief: DiscountedLinear) -> None:
        """One more list: discount all earlier ones, but not the prior."""
        update_discount(belief, self.gamma, self.changes)
        discount_sums(belief, self.prior)
        belief.unit[0] /= belief.gamma[0]
        if belief.unit[0] > LARGEST_UNIT:
            belief.unit[0] /= LARGEST_UNIT
            rescale_counts(belief.examined)
        belief.clock[0] += 1.0

    def add(self, belief: DiscountedLinear, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Add one observation."""
        row, precision = slate.rows[place], weight / (belief.sigma[0] * belief.sigma[0])
        belief.examined[item] += weight * belief.unit[0]
        add_square(belief.gram, row, precision)
        add_square(belief.squared, row, precision)
        for i in range(len(row)):
            belief.total[i] += weight * value * row[i]

    def conclude(self, belief: DiscountedLinear) -> None:
        """Update estimate and widths; the prior is renewed at every list, so rank-one updates do not apply."""
        recompute_inverse(belief)
        update_estimate(belief)
        fill_sandwich(belief)


@routine
def discount_sums(belief: Any, prior: float) -> None:
    """Discount the matrices and the sums, but not the prior."""
    gamma, d = belief.gamma[0], len(belief.theta)
    for i in range(d):
        belief.total[i] *= gamma
        for j in range(d):
            belief.gram[i, j] *= gamma
            belief.squared[i, j] *= gamma * gamma
        belief.gram[i, i] += (1.0 - gamma) * prior
        belief.squared[i, i] += (1.0 - gamma * gamma) * prior


@routine
def fill_sandwich(belief: Any) -> None:
    """Turn V^-1 into V^-1 V2 V^-1."""
    d, room = len(belief.theta), belief.room
    mirror(belief.squared)
    multiply_matrices(belief.squared, belief.inverse, room)
    multiply_matrices(belief.inverse, room, belief.base)
    for i in range(d):
        for j in range(d):  # exactly symmetric
            belief.inverse[i, j] = 0.5 * (belief.base[i, j] + belief.base[j, i])
    for i in range(d):
        for j in range(d):
            belief.base[i, j] = belief.inverse[i, j]


@routine
def multiply_matrices(left: Floats, right: Floats, product: Floats) -> None:
    """The product of two square matrices, by rows."""
    d = len(product)
    for i in range(d):
        row = product[i]
        for j in range(d):
            row[j] = 0.0
        add_rows(left[i], right, 0, d, 0, row)


class WindowedLinear(NamedTuple):
    """A linear belief of the latest lists: the fields of `Linear` and `WindowedCounts`, and the stored rows."""

    theta: Floats
    inverse: Floats
    gram: Floats
    total: Floats
    sigma: Floats
    base: Floats
    direction: Floats
    shrink: Floats
    updates: Ints
    row: Floats  # (longest, positions, d): the features of each observation in the ring
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
    """Ridge regression over the latest tau lists.

    Parameters
    ----------
    tau : int or {"theory", "doubling"}, default "theory"
        Number of lists, as in `Window`.
    changes : float, default 1.0
        Expected number of changes of the users.
    longest : int, default 10000
        Largest tau that doubling reaches.
    sigma : float, default 0.1
        Noise of an observation.
    prior : float, default 1.0
        Precision of the prior on each weight.
    """

    tau: Any = "theory"
    changes: float = 1.0
    longest: int = 10_000
    sigma: float = 0.1
    prior: float = 1.0

    def prepare(self, problem: Problem) -> Self:
        """Resolve tau, and check the rest."""
        ridge = Ridge(self.sigma, self.prior).prepare(problem)
        window = Window(self.tau, self.changes, self.longest).prepare(problem)
        return self._replace(**window._asdict(), **ridge._asdict())

    def begin(self, problem: Problem) -> WindowedLinear:
        """The prior."""
        ridge = begin_linear(problem, self.prior, self.sigma)._asdict()
        window = Window(self.tau, self.changes, self.longest).begin(problem)._asdict()
        row = np.zeros((self.longest, problem.positions, problem.features))
        return WindowedLinear(**(ridge | window), row=row)

    def begin_from(self, problem: Problem, mean: Floats, precision: Floats) -> NoReturn:
        """Refused."""
        raise InvalidInput(
            "WindowedRidge takes no prior of its weights: it renews the one of its parameter `prior` as it forgets; "
            "use Ridge()."
        )

    def keeps(self) -> str:
        """A linear belief."""
        return "linear"

    def forgetful(self) -> bool:
        """Observations older than the window are removed."""
        return True

    def tally(self, belief: WindowedLinear, request: Request) -> tuple[Floats, Floats]:
        """Number of examinations of each candidate within the window, and its expected value."""
        return tally_linear(belief, request)

    def deviation(self, belief: WindowedLinear, request: Request) -> Floats:
        """As in Ridge."""
        return linear_deviation(belief, request)

    def doubt(self, belief: WindowedLinear) -> Floats:
        """Per feature, the standard deviation of its weight."""
        return linear_doubt(belief)

    def tick(self, belief: WindowedLinear) -> None:
        """One more list: the oldest may leave the window."""
        gone = open_list(belief, self.tau, self.changes)
        while belief.at[OLDEST] <= gone:
            remove_oldest_rows(belief)
            remove_oldest_list(belief)
        if begin_slot(belief):
            recompute_sums(belief)
            recompute_row_sums(belief, self.prior)

    def add(self, belief: WindowedLinear, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Add and store one observation; there are no free samples, which would have no feature row."""
        slot, last = store_observation(belief, item, weight, value)
        row = belief.row[slot, last]
        for i in range(len(row)):
            row[i] = slate.rows[place, i]
        add_observation(belief, row, weight, value)

    def conclude(self, belief: WindowedLinear) -> None:
        """Update the estimate."""
        update_estimate(belief)


@routine
def remove_oldest_rows(belief: Any) -> None:
    """Remove the observations of the oldest list."""
    slot = belief.at[OLDEST_SLOT]
    for i in range(belief.filled[slot]):
        add_observation(belief, belief.row[slot, i], -belief.weight[slot, i], belief.value[slot, i])


@routine
def recompute_row_sums(belief: Any, prior: float) -> None:
    """Recompute the matrix and the sums, so that rounding errors cannot add up."""
    d = len(belief.theta)
    for i in range(d):
        belief.total[i] = 0.0
        for j in range(d):
            belief.gram[i, j] = prior if i == j else 0.0
    precision = 1.0 / (belief.sigma[0] * belief.sigma[0])
    for each in range(belief.at[OLDEST], belief.at[LISTS]):
        slot = each % len(belief.filled)
        for entry in range(belief.filled[slot]):
            row, weight = belief.row[slot, entry], belief.weight[slot, entry]
            add_square(belief.gram, row, weight * precision)
            for i in range(d):
                belief.total[i] += weight * belief.value[slot, entry] * row[i]
    recompute_inverse(belief)
