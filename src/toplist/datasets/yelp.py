"""Yelp: the academic data set as JSON, or a release of it as a graph of numbers.

| layout | reviews | businesses |
|---|---|---|
| academic | review.json, a line `{"user_id": ..., "business_id": ..., "stars": ...}` each | business.json, a line \
`{"business_id": ..., "name": ..., "categories": ...}` each |
| graph | user_business.dat, `user business stars` between tabs | business_category.dat, `business category 1` |

The names of the academic files may begin with yelp_academic_dataset_, and its categories are a text with commas, as in
newer releases, or a list, as in older ones. Any file may be packed by gzip. Somebody who reviewed a business twice
counts twice, and was attracted by 4 stars or more in any of the reviews.
"""

from __future__ import annotations

import json
from array import array
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from toplist.core.problem import InvalidInput, nearest, refuse
from toplist.core.slate import Bools, Floats
from toplist.datasets.ratings import Ratings
from toplist.datasets.sources import AGAIN, File, Place, columns, identifiers
from toplist.support.files import AnyPath

PREFIX = "yelp_academic_dataset_"
LEAST = 4.0  # stars of a business that attracted a person, hiranandani2019, section 8.7


def read(path: AnyPath, within: str | None = None) -> Ratings:
    """The reviews in a folder or a zip file: all of them, or those of businesses `within` one category.

    The paper's problem is within "Restaurants", which then is no topic itself. Categories of the graph are numbers.
    """
    place = Place(path, "Yelp")
    reviews = place.find("review.json", f"{PREFIX}review.json")
    found = _graph(place) if reviews is None else _academic(place, reviews)
    return found if within is None else _only(found, within)


def _graph(place: Place) -> Ratings:
    """The release as a graph."""
    file = place.need("user_business.dat", "review.json", f"{PREFIX}review.json")
    rule = "users and businesses are counted from 1, and stars are 1 to 5"
    person, business, stars = columns(file, "user\tbusiness\tstars", "\t", _stars, rule)
    listed = place.need("business_category.dat")
    rule = "businesses and categories are counted from 1, and the last is 1"
    place_of, category, _ = columns(listed, "business\tcategory\t1", "\t", _ones, rule)
    topics: dict[int, list[str]] = defaultdict(list)
    for number, topic in zip(place_of.tolist(), category.tolist(), strict=True):
        topics[number].append(str(topic))
    return Ratings(person, business, stars, {number: tuple(each) for number, each in topics.items()}, least=LEAST)


def _academic(place: Place, reviews: File) -> Ratings:
    """The academic JSON."""
    file = place.need("business.json", f"{PREFIX}business.json")
    numbers: dict[str, int] = {}
    topics: dict[int, tuple[str, ...]] = {}
    names: dict[int, str] = {}
    form = '{"business_id": text, "categories": text, list or null}'
    for line, (identifier, categories, name) in _objects(file, ("business_id", "categories", "name"), form):
        given = categories.split(",") if isinstance(categories, str) else [] if categories is None else categories
        if not isinstance(identifier, str) or not isinstance(given, list):
            raise file.wrong(line, f"{identifier!r} with categories {categories!r}", form)
        number = numbers.setdefault(identifier, len(numbers) + 1)
        topics[number] = tuple(dict.fromkeys(word for word in (str(each).strip() for each in given) if word))
        names[number] = str(name)
    people: dict[str, int] = {}
    person, business, value = array("i"), array("i"), array("f")
    form = '{"user_id": text, "business_id": text, "stars": 1 to 5}'
    for line, (user, identifier, stars) in _objects(reviews, ("user_id", "business_id", "stars"), form):
        texts = isinstance(user, str) and isinstance(identifier, str)
        if not texts or not isinstance(stars, int | float) or not 1 <= stars <= 5:
            raise reviews.wrong(line, f"{stars!r} stars by {user!r} on {identifier!r}", form)
        if identifier not in numbers:
            raise InvalidInput(
                f"Line {line:,} of {reviews} is on business {identifier!r}, which is not in {file}; {AGAIN}."
            )
        person.append(people.setdefault(user, len(people) + 1))
        business.append(numbers[identifier])
        value.append(stars)
    if not value:
        raise InvalidInput(f"{reviews} is empty, but must have lines {form}; {AGAIN}.")
    found = [np.frombuffer(each, dtype=kind) for each, kind in ((person, np.int32), (business, np.int32))]
    return Ratings(found[0], found[1], np.frombuffer(value, dtype=np.float32), topics, names, LEAST)


def _objects(file: File, keys: tuple[str, ...], form: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """Per line of JSON its number, and what it has under some keys, None where it has not."""
    for number, line in enumerate(file.lines(ended=False), start=1):
        if line:
            try:
                found = json.loads(line)
            except ValueError:
                raise file.wrong(number, line, f"one line of JSON, {form}") from None
            if not isinstance(found, dict):
                raise file.wrong(number, line, form)
            yield number, tuple(found.get(key) for key in keys)


def _only(ratings: Ratings, within: str) -> Ratings:
    """The businesses of one category, and what was said of them."""
    inside = {number for number, topics in ratings.topics.items() if within in topics}
    if not inside:
        known = sorted({topic for topics in ratings.topics.values() for topic in topics})
        raise refuse("The category", within, "one that a business has", nearest(within, known, "see what there are"))
    kept = np.isin(ratings.item, list(inside))
    return ratings._replace(
        person=ratings.person[kept],
        item=ratings.item[kept],
        value=ratings.value[kept],
        topics={number: tuple(each for each in ratings.topics[number] if each != within) for number in inside},
        names={number: name for number, name in ratings.names.items() if number in inside},
    )


def _stars(table: Floats) -> Bools:
    return np.asarray(identifiers(table) & (table[:, 2] >= 1) & (table[:, 2] <= 5))


def _ones(table: Floats) -> Bools:
    return np.asarray(identifiers(table) & (table[:, 2] == 1))
