"""Logistic regression: the most likely weights of features, fitted with every list or followed by gradient steps."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.compiled import helper, routine
from toplist.memory.ridge import CLICK_NOISE, REFRESHED, cholesky, need_features, observe, widths
from toplist.problem import Problem, number, refuse, whole
from toplist.slate import Floats, Ints, Request, Slate

CLOSE = 1e-5  # a Newton step so small is the last: the error goes with its square
MOST_STEPS = 50


class Logit(NamedTuple):
    """What an index over logistic features reads: like a linear belief; and the history that theta is fitted to."""

    theta: Floats
    inverse: Floats  # of V = lambda I + sum of weight x x'
    gram: Floats  # V
    total: Floats  # of the list being learned: the gradient so far
    examined: Floats  # per item, how much; for people to read
    clock: Floats  # one element: lists learned
    ridge: Floats  # one element: lambda
    base: Floats  # as in Linear, these four
    direction: Floats
    shrink: Floats
    updates: Ints
    newest: Ints  # per item: where in the history its latest row stands, or -1
    row: Floats  # (capacity, d): the history
    tries: Floats  # per row, how much it was examined ...
    clicked: Floats  # ... and how much of that was clicked
    owner: Ints  # per row, the item
    used: Ints  # three elements: rows in use, the next to be written, and whether something came since the last fit
    precision: Floats  # (d, d): what older rows say, as a Gaussian: their gradient is pull - precision theta
    pull: Floats
    hessian: Floats  # room to work in
    factor: Floats
    step: Floats


def begin_logit(problem: Problem, ridge: float, capacity: int) -> Logit:
    """Before anything is known."""
    d = problem.features
    return Logit(
        theta=np.zeros(d),
        inverse=np.eye(d) / ridge,
        gram=np.eye(d) * ridge,
        total=np.zeros(d),
        examined=np.zeros(problem.items),
        clock=np.zeros(1),
        ridge=np.full(1, ridge),
        base=np.eye(d) / ridge,
        direction=np.zeros((REFRESHED, d)),
        shrink=np.zeros(REFRESHED),
        updates=np.zeros(2, dtype=np.int64),
        newest=np.full(problem.items, -1),
        row=np.zeros((capacity, d)),
        tries=np.zeros(capacity),
        clicked=np.zeros(capacity),
        owner=np.full(capacity, -1),
        used=np.zeros(3, dtype=np.int64),
        precision=np.zeros((d, d)),
        pull=np.zeros(d),
        hessian=np.zeros((d, d)),
        factor=np.zeros((d, d)),
        step=np.zeros(d),
    )


def checked_ridge(part: str, ridge: Any, problem: Problem) -> float:
    """lambda, which must be at least K for the paper's bound; K where it is left out."""
    need_features(part, problem)
    if ridge is None:
        return float(problem.positions)
    checked = number(f"{part}'s ridge", ridge, 0.0, 1e9, "or leave it out for K, the papers' least")
    if checked == 0.0:
        raise refuse(f"{part}'s ridge", ridge, "above 0", "or leave it out for K, the papers' least")
    return checked


def tally_logit(belief: Logit, request: Request) -> tuple[Floats, Floats]:
    """How often each was examined, and what its features lead to expect."""
    expected = 1.0 / (1.0 + np.exp(-(request.features[request.candidates] @ belief.theta)))
    return belief.examined[request.candidates], expected


def logit_deviation(belief: Logit, request: Request) -> Floats:
    """sqrt(p (1 - p) x' V^-1 x), since each observation tells p (1 - p) times as much of theta'x as of a sum."""
    mean = tally_logit(belief, request)[1]
    return np.asarray(np.sqrt(mean * (1.0 - mean)) * widths(belief, request), dtype=np.float64)


def logit_doubt(belief: Logit) -> Floats:
    """Per feature, the standard deviation of its weight where clicks are as likely as not; elsewhere it is more."""
    return np.asarray(np.sqrt(np.diag(belief.inverse)) / CLICK_NOISE, dtype=np.float64)


class Logistic(NamedTuple):
    """The weights that make the clicks most likely, with the penalty penalty/2 |theta|^2, found by Newton's method.

    Without a penalty, clicks that a plane can tell apart have no most likely weights. A row of the history is a
    feature vector with its tries and clicks, so an item whose features stay the same has one row; where they change
    with every call, the latest `capacity` rows are kept, and older ones are folded into a Gaussian around the estimate
    of that moment. `ridge` is lambda in V = lambda I + sum of x x', K where it is left out. Liu, Li and Zhang,
    Contextual Dependent Click Bandit Algorithm, 2018, equation (4), which has no penalty and keeps everything.
    """

    penalty: float = 1e-2
    ridge: Any = None
    capacity: int = 4096

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        penalty = number("Logistic's penalty", self.penalty, 0.0, 1e9, "give a little more than 0")
        if penalty == 0.0:
            raise refuse("Logistic's penalty", self.penalty, "above 0", "0.01 is hardly felt")
        capacity = whole("Logistic's capacity", self.capacity, problem.positions, "give how many rows are kept")
        return self._replace(penalty=penalty, ridge=checked_ridge("Logistic", self.ridge, problem), capacity=capacity)

    def begin(self, problem: Problem) -> Logit:
        """Nothing is known."""
        return begin_logit(problem, self.ridge, self.capacity)

    def keeps(self) -> str:
        """A logistic belief."""
        return "logistic"

    def tally(self, belief: Logit, request: Request) -> tuple[Floats, Floats]:
        """How often each was examined, and what its features lead to expect."""
        return tally_logit(belief, request)

    def deviation(self, belief: Logit, request: Request) -> Floats:
        """Of what is expected."""
        return logit_deviation(belief, request)

    def doubt(self, belief: Logit) -> Floats:
        """Of each weight."""
        return logit_doubt(belief)

    def tick(self, belief: Logit) -> None:
        """One more list."""
        belief.clock[0] += 1.0

    def add(self, belief: Logit, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """One observation: to the row of the item, if that is still the same."""
        belief.examined[item] += weight
        features = slate.rows[place]
        observe(belief, features, weight)
        row = row_of(belief, item, features)
        belief.tries[row] += weight
        belief.clicked[row] += weight * value
        belief.used[2] = 1

    def conclude(self, belief: Logit) -> None:
        """Fit, if anything has come."""
        if belief.used[2] == 1:
            fit(belief, self.penalty)
            belief.used[2] = 0


class LogisticSGD(NamedTuple):
    """Follows the weights by one gradient step per list, so that its cost does not grow with the lists learned.

    theta += rate * sum of (value - mu(theta'x)) x over the list, at the theta from before it (Liu, Li and Zhang,
    Contextual Dependent Click Bandit Algorithm, 2018, equations (14) and (15)). The paper prints no rate.
    """

    rate: float = 0.05
    ridge: Any = None

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters."""
        rate = number("LogisticSGD's rate", self.rate, 0.0, 1e9, "give the size of a step, as 0.05")
        return self._replace(rate=rate, ridge=checked_ridge("LogisticSGD", self.ridge, problem))

    def begin(self, problem: Problem) -> Logit:
        """Nothing is known, and no history is kept."""
        return begin_logit(problem, self.ridge, 0)

    def keeps(self) -> str:
        """A logistic belief."""
        return "logistic"

    def tally(self, belief: Logit, request: Request) -> tuple[Floats, Floats]:
        """How often each was examined, and what its features lead to expect."""
        return tally_logit(belief, request)

    def deviation(self, belief: Logit, request: Request) -> Floats:
        """Of what is expected."""
        return logit_deviation(belief, request)

    def doubt(self, belief: Logit) -> Floats:
        """Of each weight."""
        return logit_doubt(belief)

    def tick(self, belief: Logit) -> None:
        """One more list."""
        belief.clock[0] += 1.0
        belief.total[:] = 0.0

    def add(self, belief: Logit, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """One observation's share of the gradient."""
        belief.examined[item] += weight
        features = slate.rows[place]
        observe(belief, features, weight)
        surprise = weight * (value - expected(belief.theta, features))
        for i in range(len(features)):
            belief.total[i] += surprise * features[i]

    def conclude(self, belief: Logit) -> None:
        """One step."""
        for i in range(len(belief.theta)):
            belief.theta[i] += self.rate * belief.total[i]


@helper
def expected(theta: Floats, features: Floats) -> float:
    """mu(theta'x) = 1 / (1 + exp(-theta'x))."""
    total = 0.0
    for i in range(len(theta)):
        total += theta[i] * features[i]
    return 1.0 / (1.0 + math.exp(-total))


@routine
def row_of(belief: Logit, item: int, features: Floats) -> int:
    """Where observations of these features are counted: in the item's latest row, or in a new one."""
    row = belief.newest[item]
    if row >= 0:
        same = True
        for i in range(len(features)):
            same = same and belief.row[row, i] == features[i]
        if same:
            return int(row)
    row = belief.used[1]
    if belief.used[0] == len(belief.tries):
        fold(belief, row)
    else:
        belief.used[0] += 1
    belief.used[1] = (row + 1) % len(belief.tries)
    for i in range(len(features)):
        belief.row[row, i] = features[i]
    belief.tries[row], belief.clicked[row] = 0.0, 0.0
    belief.owner[row], belief.newest[item] = item, row
    return int(row)


@routine
def fold(belief: Logit, row: int) -> None:
    """Replace a row by the parabola that its likelihood has at the present estimate."""
    if belief.newest[belief.owner[row]] == row:
        belief.newest[belief.owner[row]] = -1
    features = belief.row[row]
    mean = expected(belief.theta, features)
    curvature = belief.tries[row] * mean * (1.0 - mean)
    along = 0.0
    for i in range(len(features)):
        along += belief.theta[i] * features[i]
    pull = belief.clicked[row] - belief.tries[row] * mean + curvature * along
    for i in range(len(features)):
        belief.pull[i] += pull * features[i]
        for j in range(len(features)):
            belief.precision[i, j] += curvature * features[i] * features[j]


@routine
def fit(belief: Logit, penalty: float) -> None:
    """Newton's method from the last estimate; a step that does not bring the gradient down is halved."""
    d = len(belief.theta)
    slope = differentiate(belief, penalty)
    for _ in range(MOST_STEPS):
        cholesky(belief.hessian, belief.factor)
        largest = solve(belief.factor, belief.total, belief.step)
        for i in range(d):
            belief.theta[i] += belief.step[i]
        if largest < CLOSE:
            return
        following = differentiate(belief, penalty)
        share = 1.0
        while following > slope and share > 1e-6:
            share *= 0.5
            for i in range(d):
                belief.theta[i] -= share * belief.step[i]
            following = differentiate(belief, penalty)
        slope = following


@routine
def differentiate(belief: Logit, penalty: float) -> float:
    """Fill the gradient into `total` and its negative derivative into `hessian`; the gradient's square."""
    d = len(belief.theta)
    gradient, hessian = belief.total, belief.hessian
    for i in range(d):
        gradient[i] = belief.pull[i] - penalty * belief.theta[i]
        for j in range(i + 1):
            hessian[i, j] = belief.precision[i, j]
        for j in range(d):
            gradient[i] -= belief.precision[i, j] * belief.theta[j]
        hessian[i, i] += penalty
    for row in range(belief.used[0]):
        features = belief.row[row]
        mean = expected(belief.theta, features)
        surprise = belief.clicked[row] - belief.tries[row] * mean
        curvature = belief.tries[row] * mean * (1.0 - mean)
        for i in range(d):
            gradient[i] += surprise * features[i]
            bent = curvature * features[i]
            for j in range(i + 1):
                hessian[i, j] += bent * features[j]
    square = 0.0
    for i in range(d):
        square += gradient[i] * gradient[i]
    return square


@routine
def solve(factor: Floats, right: Floats, solution: Floats) -> float:
    """Solve L L' solution = right; the largest element of the solution."""
    d = len(right)
    for i in range(d):
        rest = right[i]
        for k in range(i):
            rest -= factor[i, k] * solution[k]
        solution[i] = rest / factor[i, i]
    largest = 0.0
    for i in range(d - 1, -1, -1):
        rest = solution[i]
        for k in range(i + 1, d):
            rest -= factor[k, i] * solution[k]
        solution[i] = rest / factor[i, i]
        largest = max(largest, abs(solution[i]))
    return largest
