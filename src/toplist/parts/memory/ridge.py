"""Ridge regression on the features of examined items, with an inverse that is updated by rank-one terms."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import routine
from toplist.core.problem import InvalidInput, Problem, number, refuse
from toplist.core.slate import Floats, Ints, Request, Slate
from toplist.parts.memory.symmetric import ROWS, add_rows, add_square, dot, invert, multiply, shrink_inverse

REFRESH_EVERY = 256  # updates after which the inverse is recomputed, so that rounding errors cannot add up ...
IN_STEP = 16  # ... or after every 16th list, from 3/4 of that on: on a GPU, runs in step then recompute it together
CLICK_NOISE = 0.5  # the largest standard deviation of a click
FACTORED = -1  # in place of the number of recomputations: `inverse` has a factor instead


class Linear(NamedTuple):
    """The belief that an index over features reads: an estimate, and its uncertainty in every direction.

    Parameters
    ----------
    theta : ndarray of float
        Estimated weight per feature.
    inverse : ndarray of float, shape (d, d)
        Inverse of the Gram matrix; or, for an index that draws weights, the upper triangle U with U'U = M,
        with reciprocals on its diagonal.
    gram : ndarray of float, shape (d, d)
        M = prior I + sum of weight x x' / sigma^2; only the upper triangle, since M is symmetric.
    total : ndarray of float
        B, the sum of weight value x.
    sigma : ndarray of float, shape (1,)
        Noise of an observation.
    examined : ndarray of float
        How much each item was examined; for display.
    clock : ndarray of float, shape (1,)
        Number of lists learned.
    base : ndarray of float, shape (d, d)
        The inverse when it was last recomputed; it is now base - sum of shrink[u] direction[u] direction[u]' over the
        updates u since then.
    direction : ndarray of float, shape (updates, d)
        See `base`. Rows beyond the updates are scratch space.
    shrink : ndarray of float
        See `base`.
    updates : ndarray of int, shape (2,)
        Number of updates since the inverse was recomputed, and number of recomputations; FACTORED if there is a factor.
    """

    theta: Floats
    inverse: Floats
    gram: Floats
    total: Floats
    sigma: Floats
    examined: Floats
    clock: Floats
    base: Floats
    direction: Floats
    shrink: Floats
    updates: Ints


class Ridge(NamedTuple):
    """Ridge regression of the observed values on the features.

    Parameters
    ----------
    sigma : float, default 0.1
        Noise of an observation.
    prior : float, default 1.0
        Precision of the prior on each weight.

    Notes
    -----
    M = prior I + sum of x x' / sigma^2, B = sum of x times value, theta = M^-1 B / sigma^2, where x is the feature row
    with which an item was scored. hiranandani2019, algorithm 1, with sigma 0.1 and prior 1.
    """

    sigma: float = 0.1
    prior: float = 1.0

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters, and that there are features."""
        require_features("Ridge", problem)
        sigma = number("Ridge's sigma", self.sigma, 0.0, 1e9, "the papers' is 0.1")
        prior = number("Ridge's prior", self.prior, 0.0, 1e9, "the papers' is 1")
        if sigma == 0.0 or prior == 0.0:
            raise refuse("Ridge's sigma or prior", 0.0, "above 0", "the papers' are 0.1 and 1")
        return self._replace(sigma=sigma, prior=prior)

    def begin(self, problem: Problem) -> Linear:
        """The prior."""
        return begin_linear(problem, self.prior, self.sigma)

    def begin_from(self, problem: Problem, mean: Floats, precision: Floats) -> Linear:
        """A prior of the weights in place of `prior`: M = precision, and theta = mean."""
        belief = begin_linear(problem, self.prior, self.sigma)
        covariance = symmetric_inverse(precision)
        belief.theta[:], belief.inverse[:], belief.base[:] = mean, covariance, covariance
        belief.gram[:], belief.total[:] = np.triu(precision), self.sigma**2 * (precision @ mean)
        return belief

    def add_sums(self, belief: Linear, gram: Floats, total: Floats) -> None:
        """Count observations by their sums of x x' and of value x, before any other."""
        add_to_sums(belief, gram, total)
        covariance = symmetric_inverse(belief.gram + np.triu(belief.gram, 1).T)
        belief.inverse[:], belief.base[:] = covariance, covariance
        belief.theta[:] = covariance @ belief.total / self.sigma**2

    def keeps(self) -> str:
        """A linear belief."""
        return "linear"

    def tally(self, belief: Linear, request: Request) -> tuple[Floats, Floats]:
        """How often each candidate was examined, and its expected value."""
        return tally_linear(belief, request)

    def deviation(self, belief: Linear, request: Request) -> Floats:
        """sqrt(x' M^-1 x), times the noise of a click, at most 0.5, over the sigma of M."""
        return linear_deviation(belief, request)

    def doubt(self, belief: Linear) -> Floats:
        """Per feature, the standard deviation of its weight."""
        return linear_doubt(belief)

    def tick(self, belief: Linear) -> None:
        """One more list."""
        belief.clock[0] += 1.0

    def add(self, belief: Linear, item: int, weight: float, value: float, slate: Slate, place: int) -> None:
        """Add one observation."""
        belief.examined[item] += weight
        note_observation(belief, slate.rows[place], weight, value)

    def conclude(self, belief: Linear) -> None:
        """Add the noted observations all at once, and update the estimate."""
        add_noted(belief)
        if belief.clock[0] % IN_STEP == 0.0 and 4 * belief.updates[0] > 3 * len(belief.shrink):
            recompute_inverse(belief)
        update_estimate(belief)


def require_features(part: str, problem: Problem) -> None:
    """Refuse a problem whose items have no features."""
    if problem.features < 1:
        raise InvalidInput(f"{part} learns from features, but these items have none; give every item some numbers.")


def tally_linear(belief: Any, request: Request) -> tuple[Floats, Floats]:
    """How often each candidate was examined, and its expected value."""
    return belief.examined[request.candidates], request.features[request.candidates] @ belief.theta


def linear_deviation(belief: Any, request: Request) -> Floats:
    """Standard deviation of the expected value of each candidate."""
    return np.asarray(CLICK_NOISE / belief.sigma[0] * widths(belief, request), dtype=np.float64)


def linear_doubt(belief: Any) -> Floats:
    """Per feature, the standard deviation of its weight."""
    return np.asarray(CLICK_NOISE / belief.sigma[0] * np.sqrt(np.diag(covariance(belief))), dtype=np.float64)


def covariance(belief: Any) -> Floats:
    """M^-1, for display."""
    if belief.updates[1] != FACTORED:
        return np.asarray(belief.inverse, dtype=np.float64)
    root = np.linalg.inv(np.triu(belief.inverse, 1) + np.diag(1.0 / np.diag(belief.inverse)))
    return np.asarray(root @ root.T, dtype=np.float64)


def widths(belief: Any, request: Request) -> Floats:
    """sqrt(x' M^-1 x) for each candidate, for display."""
    rows = request.features[request.candidates]
    squares = np.einsum("ij,jk,ik->i", rows, covariance(belief), rows)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0)), dtype=np.float64)


def begin_linear(problem: Problem, prior: float, sigma: float, updates: int = REFRESH_EVERY) -> Linear:
    """The initial linear belief; its inverse is recomputed after this number of updates."""
    d = problem.features
    return Linear(
        theta=np.zeros(d),
        inverse=diagonal_matrix(d, 1.0 / prior),
        gram=diagonal_matrix(d, prior),
        total=np.zeros(d),
        sigma=np.full(1, sigma),
        examined=np.zeros(problem.items),
        clock=np.zeros(1),
        base=diagonal_matrix(d, 1.0 / prior),
        direction=np.zeros((updates, d)),
        shrink=np.zeros(updates),
        updates=np.zeros(2, dtype=np.int64),
    )


def diagonal_matrix(d: int, value: float) -> Floats:
    """A matrix with one value on its diagonal; the system gives memory for the zeros only when they are changed."""
    matrix = np.zeros((d, d))
    np.fill_diagonal(matrix, value)
    return matrix


def add_to_sums(belief: Any, gram: Floats, total: Floats) -> None:
    """Add sums of observations to M and B."""
    belief.gram[:] += np.triu(gram) / belief.sigma[0] ** 2
    belief.total[:] += total


def symmetric_inverse(matrix: Floats) -> Floats:
    """The inverse of a symmetric matrix, exactly symmetric."""
    inverse = np.linalg.inv(matrix)
    return np.asarray(0.5 * (inverse + inverse.T), dtype=np.float64)


@routine
def add_observation(belief: Any, row: Floats, weight: float, value: float) -> None:
    """Add an observation; a negative weight removes it."""
    add_to_gram(belief, row, weight / (belief.sigma[0] * belief.sigma[0]))
    for i in range(len(row)):
        belief.total[i] += weight * value * row[i]


@routine
def note_observation(belief: Linear, row: Floats, weight: float, value: float) -> None:
    """Note an observation, to be added with the others of its list: a large matrix is then read once for all of them.

    Its row takes the place of a direction, and minus its precision that of the shrink.
    """
    update = belief.updates[0]
    for i in range(len(row)):
        belief.direction[update, i] = row[i]
    if value != 0.0:
        for i in range(len(row)):
            belief.total[i] += weight * value * row[i]
    belief.shrink[update] = -weight / (belief.sigma[0] * belief.sigma[0])
    belief.updates[0] += 1
    if belief.updates[0] == len(belief.shrink):
        add_noted(belief)


@routine
def add_noted(belief: Linear) -> None:
    """Add the noted observations to the Gram matrix, and update its inverse.

    Update u subtracts direction[u] direction[u]' from the inverse: the Sherman-Morrison formula for one observation
    after the other, but the inverse itself is not touched until all directions are known.
    """
    end, gram, inverse, d = belief.updates[0], belief.gram, belief.inverse, len(belief.theta)
    first = end
    while first > 0 and belief.shrink[first - 1] <= 0.0:
        first -= 1
    count, most = end - first, len(belief.shrink)
    if count == 0:
        return
    rows, room = belief.direction[first:end], belief.direction[max(end, most - count) :]
    if len(room) < count:  # all but the last directions: time to recompute
        for u in range(count):
            add_square(gram, rows[u], -belief.shrink[first + u])
        recompute_inverse(belief)
        return
    for u in range(count):
        precision, scaled, row = -belief.shrink[first + u], room[u], rows[u]
        for i in range(d):
            scaled[i] = precision * row[i]
    for i in range(d):
        add_rows(room[:, i], rows, 0, count, i, gram[i, i:])
    for u in range(count):
        product = room[u]
        for i in range(d):
            product[i] = 0.0
    for begin in range(0, d, ROWS):  # these rows stay in a cache
        for u in range(count):
            add_rows(rows[u], inverse, begin, min(begin + ROWS, d), 0, room[u])
    for u in range(count):
        row, product, precision = rows[u], room[u], -belief.shrink[first + u]
        for v in range(u):
            along, other = dot(row, rows[v]), room[v]
            for i in range(d):
                product[i] += along * other[i]
        scale = math.sqrt(precision / (1.0 + precision * dot(row, product)))
        for i in range(d):
            row[i] = scale * product[i]
        for i in range(d):
            product[i] = -row[i]
        belief.shrink[first + u] = 1.0
    for i in range(d):
        add_rows(room[:, i], rows, 0, count, 0, inverse[i])


@routine
def update_estimate(belief: Any) -> None:
    """theta = M^-1 B / sigma^2."""
    scale = 1.0 / (belief.sigma[0] * belief.sigma[0])
    multiply(belief.inverse, belief.total, belief.theta)
    for i in range(len(belief.theta)):
        belief.theta[i] *= scale


@routine
def add_to_gram(belief: Any, row: Floats, precision: float) -> None:
    """Add precision x x' to the Gram matrix, and update its inverse."""
    update = belief.updates[0]
    belief.shrink[update] = shrink_inverse(belief.inverse, row, precision, belief.direction[update])
    add_square(belief.gram, row, precision)
    belief.updates[0] += 1
    if belief.updates[0] == len(belief.shrink):
        recompute_inverse(belief)


@routine
def recompute_inverse(belief: Any) -> None:
    """Recompute the inverse from the Gram matrix."""
    invert(belief.gram, belief.base, belief.inverse)
    for i in range(len(belief.base)):
        for j in range(len(belief.base)):
            belief.base[i, j] = belief.inverse[i, j]
    belief.updates[0] = 0
    belief.updates[1] += 1
