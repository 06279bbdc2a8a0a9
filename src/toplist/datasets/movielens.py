"""MovieLens 1M: reads its ratings and genres, and writes other ratings in the same form.

A folder has movies.dat with lines `movie::title::genre|genre`, and the ratings either in ratings.dat, as distributed,
with lines `user::movie::stars::time`, or in ratings.csv.gz with the header `user_id,movie_id,rating`. Where there is a
users.dat, everybody in it must have rated something: so a file is noticed that lost its end.
"""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

import numpy as np

from toplist.datasets.ratings import Ratings
from toplist.files import AnyPath
from toplist.problem import InvalidInput, refuse
from toplist.slate import Floats

MOVIES, USERS, DAT, CSV = "movies.dat", "users.dat", "ratings.dat", "ratings.csv.gz"
HEADER = "user_id,movie_id,rating"
ENCODING = "latin-1"  # of the titles
AGAIN = "unpack or copy the data again"


def read(folder: AnyPath) -> Ratings:
    """The ratings in a folder, checked for being complete as far as that can be seen."""
    if not isinstance(folder, str | os.PathLike) or not os.path.isdir(folder):
        accepted = "a folder that holds MovieLens 1M"
        raise refuse("The MovieLens folder", _text(folder), accepted, "unpack the data and name their folder")
    home = Path(folder)
    topics = _movies(home / MOVIES)
    path = next((home / name for name in (DAT, CSV) if (home / name).exists()), None)
    if path is None:
        raise refuse("The MovieLens folder", str(home), f"one with {DAT} or {CSV}", AGAIN)
    table = _table(path)
    person, item = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    strange = sorted(set(item.tolist()) - topics.keys())
    if strange:
        raise InvalidInput(f"{path} rates movie {strange[0]}, but {home / MOVIES} has no such movie; {AGAIN}.")
    if (home / USERS).exists():
        _check_people(home / USERS, path, set(person.tolist()))
    return Ratings(person, item, np.ascontiguousarray(table[:, 2]), topics)


def write(ratings: Ratings, folder: AnyPath, packed: bool = False) -> None:
    """Write ratings to a folder in the form of MovieLens 1M: as distributed, or `packed` as csv.gz."""
    home = Path(folder)
    movies = [f"{item}::Movie {item} (2000)::{'|'.join(topics)}\n" for item, topics in ratings.topics.items()]
    (home / MOVIES).write_text("".join(movies), encoding=ENCODING)
    people = [f"{person}::F::25::0::00000\n" for person in np.unique(ratings.person).tolist()]
    (home / USERS).write_text("".join(people), encoding=ENCODING)
    rows = zip(ratings.person.tolist(), ratings.item.tolist(), ratings.stars.tolist(), strict=True)
    if packed:
        lines = "".join(f"{person},{item},{stars:g}\n" for person, item, stars in rows)
        (home / CSV).write_bytes(gzip.compress(f"{HEADER}\n{lines}".encode(), mtime=0))
    else:
        lines = "".join(f"{person}::{item}::{stars:g}::978300760\n" for person, item, stars in rows)
        (home / DAT).write_text(lines, encoding=ENCODING)


def _movies(path: Path) -> dict[int, tuple[str, ...]]:
    """The genres of each movie."""
    found = {}
    for number, line in enumerate(_lines(path), start=1):
        fields = line.split("::")
        if len(fields) != 3 or not fields[0].isdecimal() or not fields[2]:
            raise InvalidInput(f"Line {number} of {path} is {line!r}, but must be movie::title::genre|genre; {AGAIN}.")
        found[int(fields[0])] = tuple(fields[2].split("|"))
    return found


def _table(path: Path) -> Floats:
    """Person, movie and stars of every rating, one to five."""
    lines = _lines(path)
    if path.name == CSV:
        form, header, lines = HEADER, lines[0], lines[1:]
        if header != HEADER:
            raise InvalidInput(f"{path} begins with {header!r}, but must begin with {HEADER!r}; {AGAIN}.")
    else:
        form = "user::movie::stars::time"
        lines = [line.replace("::", ",") for line in lines]
    try:
        table = np.loadtxt(lines, delimiter=",", comments=None, ndmin=2) if lines else np.empty((0, 0))
    except ValueError as problem:
        reason = str(problem).partition(";")[0].rstrip(".")
        raise InvalidInput(f"{path} has a line that is not {form} ({reason}); {AGAIN}.") from None
    if table.shape[1] != 1 + form.count("," if path.name == CSV else "::"):
        raise InvalidInput(f"The lines of {path} have {table.shape[1]} fields, but must be {form}; {AGAIN}.")
    person, item, stars = table[:, 0], table[:, 1], table[:, 2]
    right = (person >= 1) & (item >= 1) & (table[:, :2] % 1 == 0).all(axis=1) & (stars >= 1) & (stars <= 5)
    if not right.all():
        first = int(np.argmin(right))
        given = f"user {person[first]:g}, movie {item[first]:g}, {stars[first]:g} stars"
        raise InvalidInput(
            f"Rating {first + 1:,} of {path} is {given}, but users and movies are counted from 1, and stars are 1 to "
            f"5; {AGAIN}."
        )
    return table


def _check_people(users: Path, path: Path, rated: set[int]) -> None:
    """Everybody in users.dat has rated, and nobody else."""
    listed = {int(number) for number in (line.partition("::")[0] for line in _lines(users)) if number.isdecimal()}
    if listed != rated:
        raise InvalidInput(
            f"{path} has ratings by {len(rated):,} people, but {users} lists {len(listed):,}, and these should be the "
            f"same; {AGAIN}."
        )


def _lines(path: Path) -> list[str]:
    """The lines of a text, packed or not, that is there and does not break off."""
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
    except FileNotFoundError:
        raise refuse("The MovieLens folder", str(path.parent), f"one with {path.name}", AGAIN) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise InvalidInput(f"{path} is cut off or damaged ({str(problem).rstrip('.')}); {AGAIN}.") from None
    except OSError as problem:
        raise refuse("A MovieLens file", str(path), "one that can be read", f"see why it cannot ({problem})") from None
    if not data.endswith(b"\n"):
        raise InvalidInput(f"{path} is {'cut off in the middle of a line' if data else 'empty'}; {AGAIN}.")
    # Not splitlines: some letters of a title would count as the end of a line.
    return data.decode(ENCODING).replace("\r\n", "\n").split("\n")[:-1]


def _text(given: object) -> object:
    return os.fspath(given) if isinstance(given, os.PathLike) else given
