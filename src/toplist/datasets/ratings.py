"""Ratings, or plays, of items by users, with the topics of the items."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core.problem import whole
from toplist.support.tables import count_text

Numbers = NDArray[np.int32]  # half the usual size, since there may be 48 million of them
Values = NDArray[np.float32]


class Ratings(NamedTuple):
    """The ratings of a data set; it prints as a line of counts.

    Users and items keep the numbers that they have in the data. If they have names instead, they are numbered from 1 in
    order of appearance.

    Parameters
    ----------
    person : ndarray of int
        User of each rating.
    item : ndarray of int
        Item of each rating.
    value : ndarray of float
        Stars or plays of each rating.
    topics : mapping of int to tuple of str
        Topics of the items, rated or not; an item that is missing has none.
    names : mapping of int to str, optional
        Names of the items, if known.
    least : float, default 5.0
        Smallest value that counts as attracted.
    unit : str, default "stars"
        What the values count.
    """

    person: Numbers
    item: Numbers
    value: Values
    topics: Mapping[int, tuple[str, ...]]
    names: Mapping[int, str] = MappingProxyType({})
    least: float = 5.0
    unit: str = "stars"

    def __str__(self) -> str:
        rated, people = len(np.unique(self.item)), len(np.unique(self.person))
        topics = {topic for several in self.topics.values() for topic in several}
        about = sum(map(bool, self.topics.values()))
        attracted = int((self.value >= self.least).sum())
        return (
            f"{count_text(len(self.value), 'rating')} of {count_text(rated, 'item')} by {people:,} people; "
            f"{count_text(about, 'item')} in {count_text(len(topics), 'topic')}; "
            f"{attracted:,} with {self.least:g} {self.unit} or more"
        )


def synthetic_ratings(people: int = 200, items: int = 150, topics: int = 18, seed: int = 0) -> Ratings:
    """Generate ratings like those of a film site.

    A few items have most ratings, and users rate items with topics that they like higher. An item has one to three
    topics, some of which are far more common than others. Every user has rated something.

    Parameters
    ----------
    people : int, default 200
        Number of users.
    items : int, default 150
        Number of items.
    topics : int, default 18
        Number of topics.
    seed : int, default 0
        Seed of the generator.

    Returns
    -------
    Ratings
        Stars from 1 to 5.

    Raises
    ------
    InvalidInput
        If a number is below 1.

    Examples
    --------
    >>> print(synthetic_ratings(people=50, items=40, topics=6, seed=0))
    372 ratings of 40 items by 50 people; 40 items in 6 topics; 102 with 5 stars or more
    """
    people = whole("The number of people", people, 1, "give at least one")
    items = whole("The number of items", items, 1, "give at least one")
    topics = whole("The number of topics", topics, 1, "give at least one")
    rng = np.random.default_rng(seed)
    common = 1.0 / np.arange(1, topics + 1)
    common /= common.sum()
    belongs = np.zeros((items, topics), dtype=bool)
    for row in belongs:
        row[rng.choice(topics, size=min(topics, 1 + rng.binomial(2, 0.4)), replace=False, p=common)] = True
    tastes = rng.dirichlet(5.0 * common, size=people)
    liking = tastes @ belongs.T / belongs.sum(axis=1)
    popularity, activity = rng.lognormal(sigma=1.0, size=items), rng.lognormal(sigma=0.7, size=(people, 1))
    rated = rng.uniform(size=(people, items)) < 1.0 - np.exp(-0.2 * activity * popularity / popularity.mean())
    rated[np.arange(people), rng.integers(items, size=people)] = True
    quality = 0.3 * np.log(popularity) + rng.normal(scale=0.4, size=items)
    score = 3.2 + quality + 2.0 * liking + rng.normal(scale=0.9, size=(people, items))
    stars = np.clip(np.rint(score), 1.0, 5.0)
    person, item = np.nonzero(rated)
    names = [f"Topic {number}" for number in range(1, topics + 1)]
    about = {
        number: tuple(name for name, has in zip(names, row, strict=True) if has)
        for number, row in enumerate(belongs, start=1)
    }
    return Ratings((person + 1).astype(np.int32), (item + 1).astype(np.int32), stars[rated].astype(np.float32), about)
