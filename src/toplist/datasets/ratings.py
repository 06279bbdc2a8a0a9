"""Ratings, or plays: who gave which item how many, what the items are about, and how many show a liking."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core.problem import whole
from toplist.support.tables import count_text

Numbers = NDArray[np.int32]  # half as large as usual, since there may be 48 million of them
Values = NDArray[np.float32]


class Ratings(NamedTuple):
    """What every data set of ratings is read into.

    People and items keep the numbers that they have in the data. Where they have names instead, they are counted from 1
    in the order in which they come.
    """

    person: Numbers  # per rating
    item: Numbers  # per rating
    value: Values  # per rating: stars, or plays
    topics: Mapping[int, tuple[str, ...]]  # per item, rated or not; an item that is missing has none
    names: Mapping[int, str] = MappingProxyType({})  # per item, where they are known
    least: float = 5.0  # the value from which on an item is taken to have attracted the person
    unit: str = "stars"  # what values count

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


def made_up(people: int = 200, items: int = 150, topics: int = 18, seed: int = 0) -> Ratings:
    """Ratings that look like those of a film site: few are rated by many, and people rate higher what they like.

    An item has one to three topics, of which some are far more common than others. Everybody has rated something.

    >>> print(made_up(people=50, items=40, topics=6, seed=0))
    372 ratings of 40 items by 50 people; 40 items in 6 topics; 102 with 5 stars or more
    """
    people = whole("The number of people", people, 1, "give how many there are")
    items = whole("The number of items", items, 1, "give how many there are")
    topics = whole("The number of topics", topics, 1, "give how many there are")
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
