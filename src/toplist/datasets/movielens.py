"""MovieLens in all its layouts: 1M and 10M, 100k, and the csv files of latest-small and everything newer.

| layout | ratings | movies |
|---|---|---|
| 1M, 10M | ratings.dat, `user::movie::stars::time` | movies.dat, `movie::title::genre|genre` |
| 100k | u.data, `user movie stars time` between tabs | u.item, between bars, with a 0 or 1 for each of 19 genres |
| newer | ratings.csv with the header `userId,movieId,rating,timestamp` | movies.csv, `movieId,title,genres` |

A ratings.csv with the header `user_id,movie_id,rating` does as well, beside either list of movies, and any file may be
packed by gzip. Where users.dat lists the people, or u.info counts the ratings, a file is noticed that lost its end.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.core.slate import Bools, Floats
from toplist.datasets.ratings import Numbers, Ratings
from toplist.datasets.sources import AGAIN, File, Place, columns, identifiers
from toplist.support.files import AnyPath

HEADERS = ("userId,movieId,rating,timestamp", "user_id,movie_id,rating")
MOVIES_HEADER = "movieId,title,genres"
NO_GENRES = "(no genres listed)"
# Of 100k, in the order of their columns; u.genre has the same.
GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama"),
    *("Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
LEAST = 5.0  # stars of a movie that attracted a person, hiranandani2019, section 8.5
RULE = "users and movies are counted from 1, and stars are 0.5 to 5"


class Movie(NamedTuple):
    """A line of a list of movies."""

    number: int
    title: str
    genres: tuple[str, ...]


def read(path: AnyPath) -> Ratings:
    """The ratings in a folder or a zip file, checked for being complete as far as that can be seen."""
    place = Place(path, "MovieLens")
    listed = place.need("movies.dat", "movies.csv", "u.item")
    kind = next(kind for kind in ("u.item", "movies.csv", "movies.dat") if kind in (listed.member or listed.path.name))
    movies = list({"movies.dat": _movies_dat, "movies.csv": _movies_csv, "u.item": _movies_item}[kind](listed))
    if kind == "u.item":
        file = place.need("u.data")
        found = columns(file, "user\tmovie\tstars\ttime", "\t", _right, RULE)
    else:
        file = place.need("ratings.dat", "ratings.csv")
        if ".csv" in (file.member or file.path.name):
            found = columns(file, "", ",", _right, RULE, HEADERS)
        else:
            found = columns(file, "user::movie::stars::time", "::", _right, RULE)
    person, item, stars = found
    topics = {movie.number: movie.genres for movie in movies}
    strange = np.setdiff1d(item, np.array(list(topics), dtype=np.int32))
    if len(strange):
        raise InvalidInput(f"{file} rates movie {strange[0]}, but {listed} has no such movie; {AGAIN}.")
    _check_complete(place, file, person)
    return Ratings(person, item, stars, topics, {movie.number: movie.title for movie in movies}, LEAST)


def _right(table: Floats) -> Bools:
    """Which rows are ratings."""
    return np.asarray(identifiers(table) & (table[:, 2] >= 0.5) & (table[:, 2] <= 5))


def _movies_dat(file: File) -> Iterator[Movie]:
    """The movies of 1M and 10M."""
    for number, line in enumerate(file.lines(), start=1):
        fields = line.split("::")
        if len(fields) != 3 or not fields[0].isdecimal() or not fields[2]:
            raise file.wrong(number, line, "movie::title::genre|genre")
        yield Movie(int(fields[0]), fields[1], _genres(fields[2]))


def _movies_csv(file: File) -> Iterator[Movie]:
    """The movies of latest-small and newer; a title with a comma is in quotes."""
    rows = csv.reader(file.lines())
    header = ",".join(next(rows, [])).removeprefix("\ufeff")
    if header != MOVIES_HEADER:
        raise InvalidInput(f"{file} begins with {header[:80]!r}, but must begin with {MOVIES_HEADER!r}; {AGAIN}.")
    for row in rows:
        if len(row) != 3 or not row[0].isdecimal() or not row[2]:
            raise file.wrong(rows.line_num, ",".join(row), "movie,title,genre|genre")
        yield Movie(int(row[0]), row[1], _genres(row[2]))


def _movies_item(file: File) -> Iterator[Movie]:
    """The movies of 100k."""
    for number, line in enumerate(file.lines(), start=1):
        fields = line.split("|")
        flags = fields[5:]
        if line and (len(fields) != 5 + len(GENRES) or not fields[0].isdecimal() or not set(flags) <= {"0", "1"}):
            raise file.wrong(number, line, f"movie|title|date|date|address and {len(GENRES)} times |0 or |1")
        if line:
            has = [genre for genre, flag in zip(GENRES, flags, strict=True) if flag == "1" and genre != "unknown"]
            yield Movie(int(fields[0]), fields[1], tuple(has))


def _genres(given: str) -> tuple[str, ...]:
    return () if given == NO_GENRES else tuple(given.split("|"))


def _check_complete(place: Place, file: File, person: Numbers) -> None:
    """Everybody in users.dat has rated, and nobody else; as many ratings as u.info says."""
    users, info = place.find("users.dat"), place.find("u.info")
    if users is not None:
        listed = {int(number) for number in (line.partition("::")[0] for line in users.lines()) if number.isdecimal()}
        rated = np.unique(person).tolist()
        if listed != set(rated):
            raise InvalidInput(
                f"{file} has ratings by {len(rated):,} people, but {users} lists {len(listed):,}, and these should be "
                f"the same; {AGAIN}."
            )
    if info is not None:
        counts = {word: count for count, _, word in (line.partition(" ") for line in info.lines(ended=False))}
        if counts.get("ratings") != str(len(person)):
            raise InvalidInput(
                f"{file} has {len(person):,} ratings, but {info} counts {counts.get('ratings', 'none')}; {AGAIN}."
            )
