"""Problems made of ratings, as in hiranandani2019, section 8.4: what attracts people, and what each of them prefers."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from toplist.core.problem import refuse, whole
from toplist.core.slate import Bools, Floats, Ints
from toplist.datasets.ratings import Numbers, Ratings
from toplist.worlds import TopicCoverage


class Feedback(NamedTuple):
    """Who was attracted to what, and what has which topics."""

    attracted: Bools  # (people, items), F in the paper
    belongs: Bools  # (items, topics), G in the paper
    topics: tuple[str, ...]  # their names, the most common first


def feedback(
    ratings: Ratings, items: int = 1000, people: int = 1000, topics: int = 18, least: float | None = None
) -> Feedback:
    """The most rated items and the people who rate most, who was attracted to what, and the commonest topics.

    Attracted means `least` stars or plays or more, or as many as the data set says. Ratings are counted over the whole
    data set, topics over the items chosen; ties go to the lower number or the earlier name.
    """
    chosen = _most_frequent("items", ratings.item, items)
    those = _most_frequent("people", ratings.person, people)
    common = Counter(topic for item in chosen.tolist() for topic in ratings.topics.get(item, ()))
    names = sorted(common, key=lambda topic: (-common[topic], topic))
    count = whole("The number of topics", topics, 1, "give how many there are")
    if count > len(names):
        raise refuse("The number of topics", count, f"at most {len(names)}, as many as there are", "ask for fewer")
    names = names[:count]
    attracted = np.zeros((len(those), len(chosen)), dtype=bool)
    enough = ratings.least if least is None else least
    counts = (ratings.value >= enough) & np.isin(ratings.person, those) & np.isin(ratings.item, chosen)
    attracted[np.searchsorted(those, ratings.person[counts]), np.searchsorted(chosen, ratings.item[counts])] = True
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
    """Per person and topic, equation (14): how large a part of what attracted them the topic is.

    Whoever was attracted to nothing has no row.

    >>> attracted = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 0]], dtype=bool)
    >>> preferences(attracted, np.array([[1, 0], [1, 1], [0, 1]], dtype=bool)).round(3).tolist()
    [[1.0, 0.0], [0.667, 0.333]]
    """
    counts = _counts(attracted, belongs)
    totals = counts.sum(axis=1, keepdims=True)
    somebody = totals[:, 0] > 0
    return np.asarray(counts[somebody] / totals[somebody], dtype=np.float64)


def halves(people: int, seed: int) -> tuple[Ints, Ints]:
    """People at random in two halves, to train and to test; one more in the second where their number is odd."""
    shuffled = np.random.default_rng(seed).permutation(people)
    return np.sort(shuffled[: people // 2]), np.sort(shuffled[people // 2 :])


def world(found: Feedback, positions: int, seed: int) -> TopicCoverage:
    """What is true comes from the test half, what policies know from the other; every run draws one of the former."""
    train, test = halves(len(found.attracted), seed)
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
    """Per person and topic, the items of the topic that attracted the person; floats, whose product is fast."""
    return attracted.astype(np.float64) @ belongs.astype(np.float64)


def _most_frequent(what: str, numbers: Numbers, count: int) -> Numbers:
    """The numbers that occur most often, ascending."""
    count = whole(f"The number of {what}", count, 1, "give how many to take")
    distinct, times = np.unique(numbers, return_counts=True)
    if count > len(distinct):
        advice = "ask for fewer"
        raise refuse(f"The number of {what}", count, f"at most {len(distinct)}, as many as there are", advice)
    return np.sort(distinct[np.argsort(-times, kind="stable")[:count]])
