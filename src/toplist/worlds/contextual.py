"""Worlds whose items attract by their features, which may change with every visitor."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper, routine
from toplist.core.elementary import exponential
from toplist.core.problem import Problem, number, true_or_false, whole
from toplist.core.randomness import branch, normals, uniform
from toplist.core.slate import Floats, Ints
from toplist.support.catalogue import entry
from toplist.worlds.fixed import checked_positions

WEIGHTS, ITEMS, LEAVING = 0, 1, 2  # branches of the key of a run's changes


class Context(NamedTuple):
    """The state of a contextual world at one step."""

    weights: Floats  # theta*, drawn once
    features: Floats  # (items, features)
    directions: Floats  # of all items, one after another, before they have length 1
    attraction: Floats  # per item
    termination: Floats  # per position
    places: Ints  # positions, the most terminating first
    revisions: Ints  # one element: number of draws of the features


@entry("Contextual", "liu2018")
class Contextual(NamedTuple):
    """Items attract with probability `1 / (1 + exp(-<weights, features>))`, and the features are drawn at random.

    Parameters
    ----------
    items : int, default 20
        Number of items L.
    positions : int, default 4
        Number of positions K.
    dimension : int, default 10
        Number of features d of an item.
    length : float, default 1.0
        Length of the weight vector `theta*`; the paper's is at most 1.
    fresh : bool, default True
        Whether the features are drawn at every step instead of once per run.

    Notes
    -----
    Features lie on the unit sphere; the weights lie on a sphere of radius `length` and are drawn once per run. The
    probabilities of leaving after a click are drawn at every step, and policies receive their order. `ChangingDCM`
    users behave by them. liu2018, section 4.1.
    """

    items: int = 20
    positions: int = 4
    dimension: int = 10
    length: float = 1.0
    fresh: bool = True

    def checked(self) -> Self:
        """This world with its parameters validated and coerced."""
        items = whole("The number of items L", self.items, 1, "give the number of items")
        return self._replace(
            items=items,
            positions=checked_positions(items, self.positions),
            dimension=whole("The number of features d", self.dimension, 1, "give the length of a feature vector"),
            length=number("The length of theta*", self.length, 0.0, 1e6, "the paper's is at most 1"),
            fresh=true_or_false("Contextual's fresh", self.fresh, "False draws the features once per run"),
        )

    def problem(self, steps: int | None = None) -> Problem:
        """L items, K positions, d features."""
        return Problem(self.items, self.positions, self.dimension, steps)

    def begin(self) -> Context:
        """The state before the first step, with nothing drawn yet."""
        return Context(
            weights=np.zeros(self.dimension),
            features=np.zeros((self.items, self.dimension)),
            directions=np.zeros(self.items * self.dimension),
            attraction=np.zeros(self.items),
            termination=np.zeros(self.positions),
            places=np.arange(self.positions),
            revisions=np.zeros(1, dtype=np.int64),
        )

    def features(self, moment: Context) -> Floats:
        """The features of this step."""
        return moment.features

    def revision(self, moment: Context) -> int:
        """The number of draws of the features; -1 with `fresh`, where features belong to one list only."""
        return -1 if self.fresh else int(moment.revisions[0])

    def order(self, moment: Context) -> Ints:
        """The positions by termination, which policies receive."""
        return moment.places

    def eligible(self, moment: Context, candidates: Ints) -> int:
        """All items are always eligible."""
        return len(candidates)

    def advance(self, moment: Context, step: int, key: int) -> bool:
        """Draw the features and the termination of this step."""
        if step == 0:
            draw_on_sphere(branch(key, WEIGHTS), self.length, moment.weights)
        if step == 0 or self.fresh:
            draw_features(branch(branch(key, ITEMS), step), moment)
            moment.revisions[0] += 1
        leaving = branch(branch(key, LEAVING), step)
        for place in range(self.positions):
            moment.termination[place] = uniform(leaving, place)
            rank = place
            while rank > 0 and moment.termination[moment.places[rank - 1]] < moment.termination[place]:
                moment.places[rank] = moment.places[rank - 1]
                rank -= 1
            moment.places[rank] = place
        return True

    def attract(self, moment: Context, items: Ints, attraction: Floats) -> None:
        """Fill the attraction of each listed item."""
        for place in range(len(items)):
            attraction[place] = moment.attraction[items[place]]

    def best_list(self, moment: Context, users: Any, items: Ints) -> None:
        """The best list of the click model."""
        users.best(moment, moment.attraction, items)


@helper
def draw_on_sphere(key: int, radius: float, point: Floats) -> None:
    """Fill a point of a sphere, drawn uniformly."""
    normals(key, point)
    square = 0.0
    for i in range(len(point)):
        square += point[i] * point[i]
    scale = radius / math.sqrt(square)
    for i in range(len(point)):
        point[i] *= scale


@routine
def draw_features(key: int, moment: Context) -> None:
    """Draw the features of all items, points of the unit sphere, and find what they attract.

    As `draw_on_sphere` for each item, but all normal draws are made at once, which is three times as fast.
    """
    features = moment.features
    dimension = features.shape[1]
    normals(key, moment.directions)
    for item in range(len(features)):
        first = item * dimension
        square = 0.0
        for feature in range(dimension):
            square += moment.directions[first + feature] ** 2
        scale = 1.0 / math.sqrt(square)
        total = 0.0
        for feature in range(dimension):
            features[item, feature] = scale * moment.directions[first + feature]
            total += moment.weights[feature] * features[item, feature]
        moment.attraction[item] = 1.0 / (1.0 + exponential(-total))
