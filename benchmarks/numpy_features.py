"""NumPy loops over features as a user would write them: matrix products over items, Python over positions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from benchmarks.numpy_loops import best
from toplist.core.slate import Floats
from toplist.worlds import TopicCoverage

SIGMA = 0.1
HYBRID_TOPICS = 9  # the other features are relevance
Loop = Callable[[TopicCoverage, int, np.random.Generator, float, bool], float]
BLOCK = 256  # steps whose random numbers are drawn at once: a call costs more than its numbers


class Learner:
    """Ridge regression with a stored inverse, and the visitors, random numbers and regret of all loops here."""

    def __init__(
        self, world: TopicCoverage, steps: int, generator: np.random.Generator, ideal: float, sigma: float = SIGMA
    ) -> None:
        self.topics, self.preferences = np.asarray(world.topics), np.ravel(world.preferences)
        d = len(self.preferences)
        self.inverse, self.total, self.theta = np.eye(d), np.zeros(d), np.zeros(d)
        self.noise = sigma**2
        self.alpha = math.sqrt(d * math.log1p(steps * world.positions / (d * self.noise)) + 2 * math.log(steps)) + 1
        self.positions, self.generator, self.ideal, self.regret, self.step = world.positions, generator, ideal, 0.0, 0

    def serve(self, rows: Floats, attraction: Floats, every: bool) -> None:
        """Show a list, whose items were scored with these rows, to one visitor and learn from it."""
        if self.step % BLOCK == 0:
            self.coins = self.generator.random((BLOCK, self.positions))
        attracts = self.coins[self.step % BLOCK] < attraction
        self.step += 1
        self.regret += self.ideal - 1.0 + math.prod((1.0 - attraction).tolist())
        clicked = int(attracts.argmax()) if attracts.any() else -1
        if clicked >= 0:
            self.total += rows[clicked]
            if not every:
                rows = rows[: clicked + 1]
        if len(rows) <= 2:
            for row in rows:
                direction = self.inverse @ row
                self.inverse -= np.outer(direction, direction / (self.noise + row @ direction))
        else:  # all rows at once are faster than one by one: Sherman-Morrison-Woodbury formula
            across = rows @ self.inverse
            within = across @ rows.T
            within.flat[:: len(rows) + 1] += self.noise
            self.inverse -= across.T @ np.linalg.solve(within, across)
        self.theta = self.inverse @ self.total / self.noise


def lsb(world: TopicCoverage, steps: int, generator: np.random.Generator, ideal: float, every: bool) -> float:
    """Regret of CascadeLSB, or of LSBGreedy if `every` position counts as examined."""
    return diverse(Learner(world, steps, generator, ideal), steps, np.asarray(world.topics).shape[1], every)


def hybrid(world: TopicCoverage, steps: int, generator: np.random.Generator, ideal: float, every: bool) -> float:
    """Regret of CascadeHybrid whose last features are taken for no topics."""
    return diverse(Learner(world, steps, generator, ideal, sigma=1.0), steps, HYBRID_TOPICS, every)


def topics_alone(world: TopicCoverage, steps: int, generator: np.random.Generator, ideal: float, every: bool) -> float:
    """Regret of CascadeHybrid whose features are all topics."""
    d = np.asarray(world.topics).shape[1]
    return diverse(Learner(world, steps, generator, ideal, sigma=1.0), steps, d, every)


def diverse(learner: Learner, steps: int, covered: int, every: bool) -> float:
    """Regret of lists whose items are chosen for their gains in the first features, and for the others as they are."""
    topics, positions = learner.topics, learner.positions
    rows = np.empty((positions, topics.shape[1]))
    products = np.empty_like(topics)
    for _ in range(steps):
        uncovered = np.ones(topics.shape[1])
        chosen: list[int] = []
        for position in range(positions):
            # The coverage of the list is subtracted from the matrix instead of from every item.
            np.matmul(topics, learner.inverse * np.multiply.outer(uncovered, uncovered), out=products)
            squares = np.einsum("ij,ij->i", products, topics)
            scores = topics @ (learner.theta * uncovered) + learner.alpha * np.sqrt(np.maximum(squares, 0.0))
            scores[chosen] = -np.inf
            item = int(scores.argmax())
            chosen.append(item)
            rows[position] = topics[item] * uncovered
            if covered == len(uncovered):
                uncovered = uncovered - rows[position]
            else:
                uncovered[:covered] -= rows[position, :covered]
        learner.serve(rows, rows @ learner.preferences if covered == len(uncovered) else gained(learner, chosen), every)
    return learner.regret


def gained(learner: Learner, chosen: list[int]) -> Floats:
    """Attraction of each item of a list: its gain in all topics over those above."""
    rows = learner.topics[chosen]
    attraction: Floats = rows @ learner.preferences
    attraction[1:] = (rows[1:] * np.cumprod(1.0 - rows, axis=0)[:-1]) @ learner.preferences
    return attraction


def lin_ucb(world: TopicCoverage, steps: int, generator: np.random.Generator, ideal: float, every: bool) -> float:
    """Regret of CascadeLinUCB."""
    learner = Learner(world, steps, generator, ideal)
    topics = learner.topics
    products = np.empty_like(topics)
    for _ in range(steps):
        np.matmul(topics, learner.inverse, out=products)
        squares = np.einsum("ij,ij->i", products, topics)
        scores = topics @ learner.theta + learner.alpha * np.sqrt(np.maximum(squares, 0.0))
        chosen = best(scores, learner.positions)
        learner.serve(topics[chosen], gained(learner, chosen), every)
    return learner.regret
