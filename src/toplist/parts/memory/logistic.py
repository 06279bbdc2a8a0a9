"""Logistic regression: maximum likelihood weights of features, fitted with every list or by gradient steps."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, NoReturn, Self

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.problem import InvalidInput, Problem, number, refuse, whole
from toplist.core.slate import Floats, Ints, Request, Slate
from toplist.parts.memory.ridge import (
    CLICK_NOISE,
    REFRESH_EVERY,
    add_to_gram,
    require_features,
    symmetric_inverse,
    widths,
)
from toplist.parts.memory.symmetric import add_rows, add_square, dot, invert, mirror, multiply, shrink_inverse

STALE = 0.01  # share by which the curvature of a row may differ from that in the stored inverse
CLOSE = 1e-8  # error of the weights at which a fit ends; a step leaves at most about STALE of it
MOST_STEPS = 100


class Logit(NamedTuple):
    """The belief that an index over logistic features reads: a linear belief, and the history that theta is fitted to.

    Parameters
    ----------
    theta : ndarray of float
        Estimated weight per feature.
    inverse : ndarray of float, shape (d, d)
        Inverse of V = lambda I + sum of weight x x'.
    gram : ndarray of float, shape (d, d)
        V, its upper triangle.
    total : ndarray of float
        Gradient; while a list is learned, what it has added so far.
    examined : ndarray of float
        How much each item was examined; for display.
    clock : ndarray of float, shape (1,)
        Number of lists learned.
    ridge : ndarray of float, shape (1,)
        lambda.
    base, direction, shrink, updates : ndarray
        As in `Linear`.
    newest : ndarray of int
        Per item the index of its latest row in the history, or -1.
    row : ndarray of float, shape (capacity, d)
        History of feature rows.
    tries, clicked : ndarray of float
        Per row how much it was examined, and how much of that was clicked.
    owner : ndarray of int
        Per row its item.
    used : ndarray of int, shape (3,)
        Number of rows in use, the next row to be written, and whether there are observations since the last fit.
    precision : ndarray of float, shape (d, d)
        Older rows as a Gaussian: their gradient is pull - precision theta.
    pull : ndarray of float
        See `precision`.
    bent : ndarray of float
        Per row its curvature in `bend`.
    bend : ndarray of float, shape (d, d)
        Inverse of penalty I + precision + sum of bent x x'.
    curvature : ndarray of float
        Per row its curvature at theta.
    surprise, step, ahead, hessian, factor : ndarray of float
        Working arrays.
    """

    theta: Floats
    inverse: Floats
    gram: Floats
    total: Floats
    examined: Floats
    clock: Floats
    ridge: Floats
    base: Floats
    direction: Floats
    shrink: Floats
    updates: Ints
    newest: Ints
    row: Floats
    tries: Floats
    clicked: Floats
    owner: Ints
    used: Ints
    precision: Floats
    pull: Floats
    bent: Floats
    bend: Floats
    curvature: Floats
    surprise: Floats
    step: Floats
    ahead: Floats
    hessian: Floats
    factor: Floats


def begin_logit(problem: Problem, ridge: float, capacity: int, penalty: float = 1.0) -> Logit:
    """The initial logistic belief; without a capacity there is no history."""
    d = problem.features
    fitted = d if capacity > 0 else 0
    return Logit(
        theta=np.zeros(d),
        inverse=np.eye(d) / ridge,
        gram=np.eye(d) * ridge,
        total=np.zeros(d),
        examined=np.zeros(problem.items),
        clock=np.zeros(1),
        ridge=np.full(1, ridge),
        base=np.eye(d) / ridge,
        direction=np.zeros((REFRESH_EVERY, d)),
        shrink=np.zeros(REFRESH_EVERY),
        updates=np.zeros(2, dtype=np.int64),
        newest=np.full(problem.items, -1),
        row=np.zeros((capacity, d)),
        tries=np.zeros(capacity),
        clicked=np.zeros(capacity),
        owner=np.full(capacity, -1),
        used=np.zeros(3, dtype=np.int64),
        precision=np.zeros((fitted, fitted)),
        pull=np.zeros(fitted),
        bent=np.zeros(capacity),
        bend=np.eye(fitted) / penalty,
        curvature=np.zeros(capacity),
        surprise=np.zeros(capacity),
        step=np.zeros(fitted),
        ahead=np.zeros(fitted),
        hessian=np.zeros((fitted, fitted)),
        factor=np.zeros((fitted, fitted)),
    )


def checked_ridge(part: str, ridge: Any, problem: Problem) -> float:
    """lambda, at least K for the paper's bound; K by default."""
    require_features(part, problem)
    if ridge is None:
        return float(problem.positions)
    checked = number(f"{part}'s ridge", ridge, 0.0, 1e9, "or leave it out for K, the papers' minimum")
    if checked == 0.0:
        raise refuse(f"{part}'s ridge", ridge, "above 0", "or leave it out for K, the papers' minimum")
    return checked


def tally_logit(belief: Logit, request: Request) -> tuple[Floats, Floats]:
    """How often each candidate was examined, and its expected value."""
    expected = 1.0 / (1.0 + np.exp(-(request.features[request.candidates] @ belief.theta)))
    return belief.examined[request.candidates], expected


def logit_deviation(belief: Logit, request: Request) -> Floats:
    """sqrt(p (1 - p) x' V^-1 x): an observation has p (1 - p) times the information on theta'x of a linear one."""
    mean = tally_logit(belief, request)[1]
    return np.asarray(np.sqrt(mean * (1.0 - mean)) * widths(belief, request), dtype=np.float64)


def logit_doubt(belief: Logit) -> Floats:
    """Per feature, the standard deviation of its weight at click probability 1/2; elsewhere it is larger."""
    return np.asarray(np.sqrt(np.diag(belief.inverse)) / CLICK_NOISE, dtype=np.float64)


class Logistic(NamedTuple):
    """Logistic regression: the maximum likelihood weights with penalty `penalty/2 |theta|^2`, by Newton's method.

    Without a penalty, linearly separable clicks have no maximum likelihood weights. A row of the history is a feature
    vector with its tries and clicks, so an item with constant features has one row. If features change with every call,
    the latest `capacity` rows are stored, and older ones are folded into a Gaussian around the estimate of that time.

    Parameters
    ----------
    penalty : float, default 0.01
        Factor of the penalty.
    ridge : float or None, default None
        lambda in V = lambda I + sum of x x'; None for K.
    capacity : int, default 4096
        Number of rows of the history.

    Notes
    -----
    liu2018, equation (4), which has no penalty and stores everything.
    """

    penalty: float = 1e-2
    ridge: Any = None
    capacity: int = 4096

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        penalty = number("Logistic's penalty", self.penalty, 0.0, 1e9, "give a small number above 0")
        if penalty == 0.0:
            raise refuse("Logistic's penalty", self.penalty, "above 0", "0.01 has hardly any effect")
        capacity = whole("Logistic's capacity", self.capacity, problem.positions, "give the number of rows to store")
        return self._replace(penalty=penalty, ridge=checked_ridge("Logistic", self.ridge, problem), capacity=capacity)

    def begin(self, problem: Problem) -> Logit:
        """An empty belief."""
        return begin_logit(problem, self.ridge, self.capacity, self.penalty)

    def begin_from(self, problem: Problem, mean: Floats, precision: Floats) -> Logit:
        """A prior of the weights in place of the penalty.

        V counts an observation as x x', of which the likelihood has the share p (1 - p), at most CLICK_NOISE squared.
        """
        belief = begin_logit(problem, self.ridge, self.capacity, self.penalty)
        belief.theta[:], belief.pull[:] = mean, precision @ mean
        belief.precision[:] = precision - self.penalty * np.eye(problem.features)
        belief.bend[:] = symmetric_inverse(precision)
        seen = self.ridge * np.eye(problem.features) + precision / CLICK_NOISE**2
        belief.gram[:], belief.inverse[:] = np.triu(seen), symmetric_inverse(seen)
        belief.base[:] = belief.inverse
        return belief

    def keeps(self) -> str:
        """A logistic belief."""
        return "logistic"

    def tally(self, belief: Logit, request: Request) -> tuple[Floats, Floats]:
        """How often each candidate was examined, and its expected value."""
        return tally_logit(belief, request)

    def deviation(self, belief: Logit, request: Request) -> Floats:
        """Standard deviation of the expected values."""
        return logit_deviation(belief, request)

    def doubt(self, belief: Logit) -> Floats:
        """Standard deviation of the weights."""
        return logit_doubt(belief)

    def tick(self, belief: Logit) -> None:
        """One more list."""
        belief.clock[0] += 1.0

    def add(self, belief: Logit, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Add one observation, to the latest row of the item if its features are the same."""
        features = slate.rows[place]
        mean = add_observation(belief, item, features, weight, value)
        row = history_row(belief, item, features)
        belief.tries[row] += weight
        belief.clicked[row] += weight * value
        set_curvature(belief, row, belief.tries[row] * mean * (1.0 - mean))
        belief.used[2] = 1

    def conclude(self, belief: Logit) -> None:
        """Fit, if there are new observations."""
        if belief.used[2] == 1:
            fit(belief, self.penalty)
            belief.total[:] = 0.0
            belief.used[2] = 0


class LogisticSGD(NamedTuple):
    """Logistic regression by one gradient step per list, at a cost that does not grow with the number of lists.

    Parameters
    ----------
    rate : float, default 0.05
        Size of a step; the paper prints none.
    ridge : float or None, default None
        lambda in V = lambda I + sum of x x'; None for K.

    Notes
    -----
    `theta += rate * sum of (value - mu(theta'x)) x` over the list, at the theta before it (liu2018, equations (14) and
    (15)).
    """

    rate: float = 0.05
    ridge: Any = None

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        rate = number("LogisticSGD's rate", self.rate, 0.0, 1e9, "give the size of a step, as 0.05")
        return self._replace(rate=rate, ridge=checked_ridge("LogisticSGD", self.ridge, problem))

    def begin(self, problem: Problem) -> Logit:
        """An empty belief, without a history."""
        return begin_logit(problem, self.ridge, 0)

    def begin_from(self, problem: Problem, mean: Floats, precision: Floats) -> NoReturn:
        """Refused."""
        raise InvalidInput(
            "LogisticSGD takes no prior of its weights: its steps have a fixed size, whatever the precision; use "
            "Logistic()."
        )

    def keeps(self) -> str:
        """A logistic belief."""
        return "logistic"

    def tally(self, belief: Logit, request: Request) -> tuple[Floats, Floats]:
        """How often each candidate was examined, and its expected value."""
        return tally_logit(belief, request)

    def deviation(self, belief: Logit, request: Request) -> Floats:
        """Standard deviation of the expected values."""
        return logit_deviation(belief, request)

    def doubt(self, belief: Logit) -> Floats:
        """Standard deviation of the weights."""
        return logit_doubt(belief)

    def tick(self, belief: Logit) -> None:
        """One more list."""
        belief.clock[0] += 1.0
        belief.total[:] = 0.0

    def add(self, belief: Logit, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Add the gradient of one observation."""
        add_observation(belief, item, slate.rows[place], weight, value)

    def conclude(self, belief: Logit) -> None:
        """Take one step."""
        for i in range(len(belief.theta)):
            belief.theta[i] += self.rate * belief.total[i]


@helper
def click_probability(theta: Floats, features: Floats) -> float:
    """mu(theta'x) = 1 / (1 + exp(-theta'x))."""
    return 1.0 / (1.0 + math.exp(-dot(theta, features)))


@helper
def add_observation(belief: Logit, item: int, features: Floats, weight: float, value: float) -> float:
    """Add one observation to V, and its gradient at the current estimate; returns the expected value."""
    belief.examined[item] += weight
    add_to_gram(belief, features, weight)
    mean = click_probability(belief.theta, features)
    surprise = weight * (value - mean)
    for i in range(len(features)):
        belief.total[i] += surprise * features[i]
    return float(mean)


@routine
def history_row(belief: Logit, item: int, features: Floats) -> int:
    """The row that counts observations of these features: the item's latest one, or a new one."""
    row = belief.newest[item]
    if row >= 0:
        same = True
        for i in range(len(features)):
            same = same and belief.row[row, i] == features[i]
        if same:
            return int(row)
    row = belief.used[1]
    if belief.used[0] == len(belief.tries):
        fold_row(belief, row)
    else:
        belief.used[0] += 1
    belief.used[1] = (row + 1) % len(belief.tries)
    for i in range(len(features)):
        belief.row[row, i] = features[i]
    belief.tries[row], belief.clicked[row], belief.bent[row] = 0.0, 0.0, 0.0
    belief.owner[row], belief.newest[item] = item, row
    return int(row)


@routine
def fold_row(belief: Logit, row: int) -> None:
    """Replace a row by the quadratic approximation of its log-likelihood at the current estimate."""
    if belief.newest[belief.owner[row]] == row:
        belief.newest[belief.owner[row]] = -1
    features = belief.row[row]
    mean = click_probability(belief.theta, features)
    curvature = belief.tries[row] * mean * (1.0 - mean)
    set_curvature(belief, row, curvature)
    pull = belief.clicked[row] - belief.tries[row] * mean + curvature * dot(belief.theta, features)
    for i in range(len(features)):
        belief.pull[i] += pull * features[i]
    add_square(belief.precision, features, curvature)
    mirror(belief.precision)


@routine
def set_curvature(belief: Logit, row: int, curvature: float) -> None:
    """Set the curvature of a row in the stored inverse."""
    shrink_inverse(belief.bend, belief.row[row], curvature - belief.bent[row], belief.ahead)
    belief.bent[row] = curvature


@routine
def fit(belief: Logit, penalty: float) -> None:
    """Newton's method with an inverse that is kept from list to list; a step that leads uphill is halved.

    The inverse is that of H, which differs from the true Hessian only in the curvatures of the rows. While each is
    within a share STALE of its value in H, the true Hessian lies between (1 - STALE) H and (1 + STALE) H, so close to
    the solution every step leaves at most a share STALE of the error, in the norm of H. At the last estimate the
    gradient was almost 0, so the gradient of the list is the one that the first step needs.
    """
    slope = fill_step(belief)
    error = take_step(belief)  # what steps leave is known only where the gradient of all rows was computed
    for _ in range(MOST_STEPS):
        if error < CLOSE:
            return
        fill_gradient(belief, penalty)
        following = fill_step(belief)
        share = 1.0
        while following > slope and share > 1e-6:
            share *= 0.5
            for i in range(len(belief.theta)):
                belief.theta[i] -= share * belief.step[i]
            fill_gradient(belief, penalty)
            following = fill_step(belief)
        if refresh_inverse(belief, penalty, following > 0.25 * slope):
            following = fill_step(belief)
        slope = following
        error = STALE * take_step(belief)


@helper
def fill_step(belief: Logit) -> float:
    """Fill the next step from the gradient; returns the squared norm of the gradient, which steps reduce."""
    multiply(belief.bend, belief.total, belief.ahead)
    return dot(belief.total, belief.ahead)


@helper
def take_step(belief: Logit) -> float:
    """Take the step; returns its largest element."""
    largest = 0.0
    for i in range(len(belief.theta)):
        belief.step[i] = belief.ahead[i]
        belief.theta[i] += belief.step[i]
        largest = max(largest, abs(belief.step[i]))
    return largest


@routine
def fill_gradient(belief: Logit, penalty: float) -> None:
    """Fill the gradient, and the surprise and the curvature of each row."""
    rows, surprise = belief.used[0], belief.surprise
    for row in range(rows):  # separate loops: sums are faster without exponentials between them
        surprise[row] = dot(belief.theta, belief.row[row])
    for row in range(rows):
        surprise[row] = 1.0 / (1.0 + math.exp(-surprise[row]))
    for row in range(rows):
        belief.curvature[row] = belief.tries[row] * surprise[row] * (1.0 - surprise[row])
        surprise[row] = belief.clicked[row] - belief.tries[row] * surprise[row]
    multiply(belief.precision, belief.theta, belief.total)
    for i in range(len(belief.theta)):
        belief.total[i] = belief.pull[i] - penalty * belief.theta[i] - belief.total[i]
    add_rows(surprise, belief.row, 0, rows, 0, belief.total)


@routine
def refresh_inverse(belief: Logit, penalty: float, slow: bool) -> bool:
    """Update stale rows in the stored inverse; whether anything has changed.

    A row costs 2 d^2 products, and recomputing the inverse d^2 / 2 for each row and as many for each feature. If no row
    is stale but steps are slow, rounding errors have added up.
    """
    rows, d = belief.used[0], len(belief.theta)
    stale = 0
    for row in range(rows):
        stale += 1 if abs(belief.curvature[row] - belief.bent[row]) > STALE * belief.bent[row] else 0
    if 4 * stale > rows + d or (stale == 0 and slow):
        for i in range(d):
            for j in range(i, d):
                belief.hessian[i, j] = belief.precision[i, j]
            belief.hessian[i, i] += penalty
        for row in range(rows):
            belief.bent[row] = belief.curvature[row]
            add_square(belief.hessian, belief.row[row], belief.bent[row])
        invert(belief.hessian, belief.factor, belief.bend)
        return True
    if stale > 0:
        for row in range(rows):
            if abs(belief.curvature[row] - belief.bent[row]) > STALE * belief.bent[row]:
                set_curvature(belief, row, belief.curvature[row])
    return stale > 0
