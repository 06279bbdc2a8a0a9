"""Makes problems of ratings, as in hiranandani2019, section 8.4: attraction of items and preferences of people."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from toplist.core.problem import refuse, whole
from toplist.core.slate import Bools, Floats, Ints
from toplist.datasets.ratings import Numbers, Ratings
from toplist.worlds import TopicCoverage


class Feedback(NamedTuple):
    """Attraction of people to items, and topics of items."""

    attracted: Bools  # (people, items), F in the paper
    belongs: Bools  # (items, topics), G in the paper
    topics: tuple[str, ...]  # their names, the most common first


def feedback(
    ratings: Ratings, items: int = 1000, people: int = 1000, topics: int = 18, least: float | None = None
) -> Feedback:
    """The feedback of the people with the most ratings on the most rated items, with the most common topics.

    A person is attracted by a rating of `least` stars or plays or more; None takes the default of the data set.
    Ratings are counted over the whole data set, topics over the chosen items; ties go to the lower number or the
    earlier name.
    """
    chosen = _most_frequent("items", ratings.item, items)
    raters = _most_frequent("people", ratings.person, people)
    common = Counter(topic for item in chosen.tolist() for topic in ratings.topics.get(item, ()))
    names = sorted(common, key=lambda topic: (-common[topic], topic))
    count = whole("The number of topics", topics, 1, "give how many there are")
    if count > len(names):
        raise refuse("The number of topics", count, f"at most {len(names)}, as many as there are", "ask for fewer")
    names = names[:count]
    attracted = np.zeros((len(raters), len(chosen)), dtype=bool)
    enough = ratings.least if least is None else least
    counts = (ratings.value >= enough) & np.isin(ratings.person, raters) & np.isin(ratings.item, chosen)
    attracted[np.searchsorted(raters, ratings.person[counts]), np.searchsorted(chosen, ratings.item[counts])] = True
    belongs = np.array([[name in ratings.topics.get(item, ()) for name in names] for item in chosen.tolist()])
    return Feedback(attracted, belongs, tuple(names))


def attraction(attracted: Bools, belongs: Bools) -> Floats:
    """Per item and topic, equation (13): the people attracted to the item, over those attracted to any of the topic.

    >>> attracted = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    >>> attraction(attracted, np.array([[1, 0], [1, 1], [0, 1]], dtype=bool)).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 0.5]]
    """
    audience = (_counts(attracted, belongs) > 0).sum(axis=0)
    return np.asarray(attracted.sum(axis=0)[:, None] * belongs / np.maximum(audience, 1), dtype=np.float64)


def preferences(attracted: Bools, belongs: Bools) -> Floats:
    """Per person and topic, equation (14): the share of the topic in the items that attracted the person.

    People who were attracted to nothing have no row.

    >>> attracted = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]], dtype=bool)
    >>> preferences(attracted, np.array([[1, 0], [1, 1], [0, 1]], dtype=bool)).round(3).tolist()
    [[1.0, 0.0], [0.667, 0.333]]
    """
    counts = _counts(attracted, belongs)
    totals = counts.sum(axis=1, keepdims=True)
    attracted_people = totals[:, 0] > 0
    return np.asarray(counts[attracted_people] / totals[attracted_people], dtype=np.float64)


def split_people(people: int, seed: int) -> tuple[Ints, Ints]:
    """Split people at random into a training and a test half; the second has one more if their number is odd."""
    shuffled = np.random.default_rng(seed).permutation(people)
    return np.sort(shuffled[: people // 2]), np.sort(shuffled[people // 2 :])


def world(found: Feedback, positions: int, seed: int) -> TopicCoverage:
    """The world of the test half, where every run draws a person; policies see attractions of the training half."""
    train, test = split_people(len(found.attracted), seed)
    if not _counts(found.attracted[test], found.belongs).any():
        attracted = f"{int(found.attracted.sum()):,} pairs of person and item that attracted"
        advice = "ask for more people, items or topics, or a lower `least`"
        raise refuse("The feedback", attracted, "of some in the test half, in a topic", advice)
    return TopicCoverage(
        topics=attraction(found.attracted[test], found.belongs),
        preferences=preferences(found.attracted[test], found.belongs),
        positions=positions,
        known=attraction(found.attracted[train], found.belongs),
    )


def _counts(attracted: Bools, belongs: Bools) -> Floats:
    """Per person and topic, the number of items of the topic that attracted the person; floats multiply faster."""
    return attracted.astype(np.float64) @ belongs.astype(np.float64)


def _most_frequent(what: str, numbers: Numbers, count: int) -> Numbers:
    """The numbers that occur most often, ascending."""
    count = whole(f"The number of {what}", count, 1, "give how many to take")
    distinct, times = np.unique(numbers, return_counts=True)
    if count > len(distinct):
        advice = "ask for fewer"
        raise refuse(f"The number of {what}", count, f"at most {len(distinct)}, as many as there are", advice)
    return np.sort(distinct[np.argsort(-times, kind="stable")[:count]])
