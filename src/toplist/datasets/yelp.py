"""Yelp: the academic data set as JSON, or its release as a graph of numbers.

- Academic: review.json, lines of `{"user_id": ..., "business_id": ..., "stars": ...}`, and business.json, lines of
  `{"business_id": ..., "name": ..., "categories": ...}`.
- Graph: user_business.dat, `user business stars` with tabs, and business_category.dat, `business category 1`.

The names of the academic files may begin with `yelp_academic_dataset_`, and their categories are a text with commas, as
in newer releases, or a list, as in older ones. Any file may be compressed by gzip. A user who reviewed a business twice
has two ratings, and 4 stars or more in any of them count as attracted.
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
from toplist.datasets.sources import AGAIN, DataFile, DataFiles, have_valid_ids, read_columns
from toplist.support.files import AnyPath

PREFIX = "yelp_academic_dataset_"
LEAST = 4.0  # stars that count as attracted: hiranandani2019, section 8.7


def read(path: AnyPath, within: str | None = None) -> Ratings:
    """Read the reviews in a folder or a zip file.

    Parameters
    ----------
    path : str or path-like
        The folder, or a zip file of it.
    within : str, optional
        Read only businesses of this category, which then is no topic itself; hiranandani2019 uses "Restaurants".
        Categories of the graph are numbers.

    Returns
    -------
    Ratings
        Stars of businesses, with categories as topics.

    Raises
    ------
    InvalidInput
        If a file is missing, damaged or does not fit the others, or no business has the category.
    """
    files = DataFiles(path, "Yelp")
    reviews = files.find("review.json", f"{PREFIX}review.json")
    found = _graph(files) if reviews is None else _academic(files, reviews)
    return found if within is None else _in_category(found, within)


def _graph(files: DataFiles) -> Ratings:
    """The release as a graph."""
    file = files.require("user_business.dat", "review.json", f"{PREFIX}review.json")
    rule = "users and businesses are whole numbers from 1, and stars are 1 to 5"
    person, business, stars = read_columns(file, "user\tbusiness\tstars", "\t", _are_reviews, rule)
    listed = files.require("business_category.dat")
    rule = "businesses and categories are whole numbers from 1, and the last is 1"
    member, category, _ = read_columns(listed, "business\tcategory\t1", "\t", _are_links, rule)
    topics: dict[int, list[str]] = defaultdict(list)
    for number, topic in zip(member.tolist(), category.tolist(), strict=True):
        topics[number].append(str(topic))
    return Ratings(person, business, stars, {number: tuple(each) for number, each in topics.items()}, least=LEAST)


def _academic(files: DataFiles, reviews: DataFile) -> Ratings:
    """The academic JSON."""
    file = files.require("business.json", f"{PREFIX}business.json")
    numbers: dict[str, int] = {}
    topics: dict[int, tuple[str, ...]] = {}
    names: dict[int, str] = {}
    form = '{"business_id": text, "categories": text, list or null}'
    for line, (identifier, categories, name) in _objects(file, ("business_id", "categories", "name"), form):
        given = categories.split(",") if isinstance(categories, str) else [] if categories is None else categories
        if not isinstance(identifier, str) or not isinstance(given, list):
            raise file.line_error(line, f"{identifier!r} with categories {categories!r}", form)
        number = numbers.setdefault(identifier, len(numbers) + 1)
        topics[number] = tuple(dict.fromkeys(word for word in (str(each).strip() for each in given) if word))
        names[number] = str(name)
    people: dict[str, int] = {}
    person, business, value = array("i"), array("i"), array("f")
    form = '{"user_id": text, "business_id": text, "stars": 1 to 5}'
    for line, (user, identifier, stars) in _objects(reviews, ("user_id", "business_id", "stars"), form):
        texts = isinstance(user, str) and isinstance(identifier, str)
        if not texts or not isinstance(stars, int | float) or not 1 <= stars <= 5:
            raise reviews.line_error(line, f"{stars!r} stars by {user!r} on {identifier!r}", form)
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


def _objects(file: DataFile, keys: tuple[str, ...], form: str) -> Iterator[tuple[int, tuple[Any, ...]]]:
    """The number of each line of JSON, and its values of some keys; None for missing ones."""
    for number, line in enumerate(file.lines(ended=False), start=1):
        if line:
            try:
                found = json.loads(line)
            except ValueError:
                raise file.line_error(number, line, f"one line of JSON, {form}") from None
            if not isinstance(found, dict):
                raise file.line_error(number, line, form)
            yield number, tuple(found.get(key) for key in keys)


def _in_category(ratings: Ratings, within: str) -> Ratings:
    """The ratings of businesses in one category."""
    inside = {number for number, topics in ratings.topics.items() if within in topics}
    if not inside:
        known = sorted({topic for topics in ratings.topics.values() for topic in topics})
        raise refuse("The category", within, "one that a business has", nearest(within, known, "choose another"))
    kept = np.isin(ratings.item, list(inside))
    return ratings._replace(
        person=ratings.person[kept],
        item=ratings.item[kept],
        value=ratings.value[kept],
        topics={number: tuple(each for each in ratings.topics[number] if each != within) for number in inside},
        names={number: name for number, name in ratings.names.items() if number in inside},
    )


def _are_reviews(table: Floats) -> Bools:
    return np.asarray(have_valid_ids(table) & (table[:, 2] >= 1) & (table[:, 2] <= 5))


def _are_links(table: Floats) -> Bools:
    return np.asarray(have_valid_ids(table) & (table[:, 2] == 1))
