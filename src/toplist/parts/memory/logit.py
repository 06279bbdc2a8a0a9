"""The belief of logistic regression: weights of features, the history that they are fitted to, and what both say."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem
from toplist.core.slate import Floats, Ints, Request
from toplist.parts.memory.ridge import CLICK_NOISE, REFRESH_EVERY, add_to_gram, widths
from toplist.parts.memory.symmetric import dot


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
    history : ndarray of float, shape (d, capacity)
        Feature vectors, called rows, each a column here: loops over all of them are vectorised.
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
    history: Floats
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
        history=np.zeros((d, capacity)),
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
