"""MovieLens in all its layouts: 1M and 10M, 100k, and the csv files of latest-small and everything newer.

- 1M, 10M: ratings.dat, `user::movie::stars::time`, and movies.dat, `movie::title::genre|genre`.
- 100k: u.data, `user movie stars time` with tabs, and u.item, with bars, and a 0 or 1 for each of 19 genres.
- Newer: ratings.csv with the header `userId,movieId,rating,timestamp`, and movies.csv, `movieId,title,genres`.

A ratings.csv with the header `user_id,movie_id,rating` is accepted too, with either list of movies, and any file may be
compressed by gzip. If users.dat lists the users, or u.info counts the ratings, a truncated file is noticed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.core.slate import Bools, Floats
from toplist.datasets.ratings import Numbers, Ratings
from toplist.datasets.sources import AGAIN, DataFile, DataFiles, have_valid_ids, read_columns
from toplist.support.files import AnyPath

__all__ = ["read"]

HEADERS = ("userId,movieId,rating,timestamp", "user_id,movie_id,rating")
MOVIES_HEADER = "movieId,title,genres"
NO_GENRES = "(no genres listed)"
# Of 100k, in the order of their columns, as in u.genre.
GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime", "Documentary", "Drama"),
    *("Fantasy", "Film-Noir", "Horror", "Musical", "Mystery", "Romance", "Sci-Fi", "Thriller", "War", "Western"),
)
LEAST = 5.0  # stars that count as attracted: hiranandani2019, section 8.5
RULE = "users and movies are whole numbers from 1, and stars are 0.5 to 5"


class Movie(NamedTuple):
    """One movie."""

    number: int
    title: str
    genres: tuple[str, ...]


def read(path: AnyPath) -> Ratings:
    """Read the ratings in a folder or a zip file, and check that they are complete as far as possible.

    Parameters
    ----------
    path : str or path-like
        The folder, or the zip file as it was downloaded.

    Returns
    -------
    Ratings
        Stars of movies, with genres as topics.

    Raises
    ------
    InvalidInput
        If a file is missing, damaged, incomplete or does not fit the others.
    """
    files = DataFiles(path, "MovieLens")
    listed = files.require("movies.dat", "movies.csv", "u.item")
    kind = next(kind for kind in ("u.item", "movies.csv", "movies.dat") if kind in (listed.member or listed.path.name))
    movies = list({"movies.dat": _movies_dat, "movies.csv": _movies_csv, "u.item": _movies_item}[kind](listed))
    if kind == "u.item":
        file = files.require("u.data")
        found = read_columns(file, "user\tmovie\tstars\ttime", "\t", _are_ratings, RULE)
    else:
        file = files.require("ratings.dat", "ratings.csv")
        if ".csv" in (file.member or file.path.name):
            found = read_columns(file, "", ",", _are_ratings, RULE, HEADERS)
        else:
            found = read_columns(file, "user::movie::stars::time", "::", _are_ratings, RULE)
    person, item, stars = found
    topics = {movie.number: movie.genres for movie in movies}
    unknown = np.setdiff1d(item, np.array(list(topics), dtype=np.int32))
    if len(unknown):
        raise InvalidInput(f"{file} rates movie {unknown[0]}, but {listed} has no such movie; {AGAIN}.")
    _check_complete(files, file, person)
    return Ratings(person, item, stars, topics, {movie.number: movie.title for movie in movies}, LEAST)


def _are_ratings(table: Floats) -> Bools:
    """Which rows are ratings."""
    return np.asarray(have_valid_ids(table) & (table[:, 2] >= 0.5) & (table[:, 2] <= 5))


def _movies_dat(file: DataFile) -> Iterator[Movie]:
    """The movies of 1M and 10M."""
    for number, line in enumerate(file.lines(), start=1):
        fields = line.split("::")
        if len(fields) != 3 or not fields[0].isdecimal() or not fields[2]:
            raise file.line_error(number, line, "movie::title::genre|genre")
        yield Movie(int(fields[0]), fields[1], _genres(fields[2]))


def _movies_csv(file: DataFile) -> Iterator[Movie]:
    """The movies of latest-small and newer; a title with a comma is in quotes."""
    rows = csv.reader(file.lines())
    header = ",".join(next(rows, [])).removeprefix("\ufeff")
    if header != MOVIES_HEADER:
        raise InvalidInput(f"{file} begins with {header[:80]!r}, but must begin with {MOVIES_HEADER!r}; {AGAIN}.")
    for row in rows:
        if len(row) != 3 or not row[0].isdecimal() or not row[2]:
            raise file.line_error(rows.line_num, ",".join(row), "movie,title,genre|genre")
        yield Movie(int(row[0]), row[1], _genres(row[2]))


def _movies_item(file: DataFile) -> Iterator[Movie]:
    """The movies of 100k."""
    for number, line in enumerate(file.lines(), start=1):
        fields = line.split("|")
        flags = fields[5:]
        if line and (len(fields) != 5 + len(GENRES) or not fields[0].isdecimal() or not set(flags) <= {"0", "1"}):
            raise file.line_error(number, line, f"movie|title|date|date|address and {len(GENRES)} times |0 or |1")
        if line:
            has = [genre for genre, flag in zip(GENRES, flags, strict=True) if flag == "1" and genre != "unknown"]
            yield Movie(int(fields[0]), fields[1], tuple(has))


def _genres(given: str) -> tuple[str, ...]:
    return () if given == NO_GENRES else tuple(given.split("|"))


def _check_complete(files: DataFiles, file: DataFile, person: Numbers) -> None:
    """Check that the users in users.dat are those with ratings, and the number of ratings is that in u.info."""
    users, info = files.find("users.dat"), files.find("u.info")
    if users is not None:
        listed = {int(number) for number in (line.partition("::")[0] for line in users.lines()) if number.isdecimal()}
        rated = np.unique(person).tolist()
        if listed != set(rated):
            raise InvalidInput(
                f"{file} has ratings by {len(rated):,} users, but {users} lists {len(listed):,}, and these must be the "
                f"same; {AGAIN}."
            )
    if info is not None:
        counts = {word: count for count, _, word in (line.partition(" ") for line in info.lines(ended=False))}
        if counts.get("ratings") != str(len(person)):
            raise InvalidInput(
                f"{file} has {len(person):,} ratings, but {info} counts {counts.get('ratings', 'none')}; {AGAIN}."
            )
