"""NumPy loops over contexts as a user would write them: matrix products over items and history."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from benchmarks.numpy_loops import best
from toplist.core.slate import Floats, Ints
from toplist.worlds import Contextual

Loop = Callable[[Contextual, int, np.random.Generator], float]
RATE, PENALTY = 0.05, 1e-2
CLOSE = 1e-5  # size of the last Newton step: the error is of the order of its square


class Follower:
    """Updates the estimate by one gradient step per list: GL-CDCM (SGD)."""

    def __init__(self, world: Contextual, steps: int) -> None:
        self.theta = np.zeros(world.dimension)

    def learn(self, items: Ints, rows: Floats, clicks: Floats) -> None:
        """Take one step."""
        self.theta += RATE * (clicks - mu(rows @ self.theta)) @ rows


class Fitter:
    """Fits the estimate to the whole history by Newton's method, from the last estimate on: GL-CDCM."""

    def __init__(self, world: Contextual, steps: int) -> None:
        self.fresh, self.used = world.fresh, 0
        rows = steps * world.positions if world.fresh else world.items
        self.theta, self.penalty = np.zeros(world.dimension), PENALTY * np.eye(world.dimension)
        self.rows = np.zeros((rows, world.dimension))
        self.tries, self.clicks = np.zeros(rows), np.zeros(rows)

    def learn(self, items: Ints, rows: Floats, clicks: Floats) -> None:
        """Add the list to the history, one row per position or, with fixed features, per item; and fit."""
        at = slice(self.used, self.used + len(rows)) if self.fresh else items
        self.used = self.used + len(rows) if self.fresh else len(self.rows)
        self.rows[at] = rows
        self.tries[at] += 1.0
        self.clicks[at] += clicks
        rows, tries, clicks = self.rows[: self.used], self.tries[: self.used], self.clicks[: self.used]
        gradient = self.gradient(rows, tries, clicks)
        while True:
            hessian = (rows.T * (tries * self.mean * (1.0 - self.mean))) @ rows + self.penalty
            step = np.linalg.solve(hessian, gradient)
            self.theta += step
            if np.abs(step).max() < CLOSE:
                return
            before = gradient @ gradient
            gradient = self.gradient(rows, tries, clicks)
            while gradient @ gradient > before and np.abs(step).max() > CLOSE:
                step *= 0.5
                self.theta -= step
                gradient = self.gradient(rows, tries, clicks)

    def gradient(self, rows: Floats, tries: Floats, clicks: Floats) -> Floats:
        """Gradient of the penalised likelihood at the estimate."""
        self.mean = mu(rows @ self.theta)
        gradient: Floats = (clicks - tries * self.mean) @ rows - PENALTY * self.theta
        return gradient


def gl_cdcm_sgd(world: Contextual, steps: int, generator: np.random.Generator) -> float:
    """Regret of GL-CDCM (SGD)."""
    return play(world, steps, generator, Follower(world, steps))


def gl_cdcm(world: Contextual, steps: int, generator: np.random.Generator) -> float:
    """Regret of GL-CDCM with its whole history."""
    return play(world, steps, generator, Fitter(world, steps))


def play(world: Contextual, steps: int, generator: np.random.Generator, learner: Follower | Fitter) -> float:
    """The loop of both: world, lists, clicks and widths."""
    d, positions = world.dimension, world.positions
    weights = on_sphere(generator.standard_normal((1, d)))[0] * world.length
    features = on_sphere(generator.standard_normal((world.items, d)))
    attraction = mu(features @ weights)
    inverse, products, regret = np.eye(d) / positions, np.empty_like(features), 0.0
    for step in range(steps):
        if world.fresh and step > 0:
            features = on_sphere(generator.standard_normal(features.shape))
            attraction = mu(features @ weights)
        termination = generator.random(positions)
        order = np.argsort(-termination)
        rho = 1.25 * math.sqrt(0.5 * d * math.log1p(step / (positions * d)) + 0.5 * math.log(steps)) if step else 1.0
        np.matmul(features, inverse, out=products)
        widths = np.sqrt(np.maximum(np.einsum("ij,ij->i", products, features), 0.0))
        shown = np.empty(positions, dtype=np.int64)
        shown[order] = best(mu(features @ learner.theta) + rho * widths, positions)
        ideal = attraction[best(attraction, positions)]
        worth = termination * attraction[shown]
        regret += float(np.prod(1.0 - worth) - np.prod(1.0 - termination[order] * ideal))
        coins = generator.random((2, positions))
        clicks = coins[0] < attraction[shown]
        leaves = np.flatnonzero(clicks & (coins[1] < termination))
        if len(leaves) > 0:
            clicks[leaves[0] + 1 :] = False
        clicked = np.flatnonzero(clicks)
        if len(clicked) == 0:
            continue
        examined = clicked[-1] + 1
        items = shown[:examined]
        rows = features[items]
        across = products[items]
        within = across @ rows.T  # Sherman-Morrison-Woodbury formula for all rows at once
        within.flat[:: examined + 1] += 1.0
        inverse -= across.T @ np.linalg.solve(within, across)
        learner.learn(items, rows, clicks[:examined].astype(float))
    return regret


def mu(total: Floats) -> Floats:
    """The logistic function."""
    curve: Floats = 1.0 / (1.0 + np.exp(-total))
    return curve


def on_sphere(points: Floats) -> Floats:
    """Points of length 1 in the same directions."""
    scaled: Floats = points / np.sqrt(np.einsum("ij,ij->i", points, points))[:, None]
    return scaled
