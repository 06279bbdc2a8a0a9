"""Small synthetic data in every supported layout, for tests and examples without the real data.

All names say that the data are generated, and so does a note in the folder. Nothing comes from a real data set.
"""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toplist.core.problem import checked_seed, nearest, refuse
from toplist.datasets import movielens
from toplist.datasets.click_models import PARAMETERS
from toplist.datasets.lastfm import ARTISTS_HEADER, PLAYS_HEADER, TAGGED_HEADER, TAGS_HEADER
from toplist.datasets.ratings import Ratings, Values, synthetic_ratings
from toplist.logs.generated import write_yandex_personalized
from toplist.support.files import AnyPath, write_text

NOTE = "GENERATED.txt"
LOG_HEADER = "query\tregion\tdocs\tclicked_positions"
RESULTS = 10  # on a page of the log, and documents of a click model
Rows = list[tuple[int, int, float]]


class GeneratedData(NamedTuple):
    """The data to write, in the form that the layouts need."""

    rows: Rows  # user, item, stars
    plays: Rows  # the same with plays
    topics: dict[int, tuple[str, ...]]
    names: list[str]  # of all topics
    rng: np.random.Generator


def write(layout: str, folder: AnyPath, ratings: Ratings | None = None, seed: int = 0) -> Path:
    """Write data in a layout to a folder.

    Parameters
    ----------
    layout : str
        One of `LAYOUTS`.
    folder : str or path-like
        An existing folder.
    ratings : Ratings, optional
        The ratings to write; synthetic ones by default. The number of plays is that of stars, and more for five stars.
        Click models and the search log have no ratings and depend on the seed only.
    seed : int, default 0
        Seed of everything generated.

    Returns
    -------
    Path
        The folder, which the loader of the layout reads.

    Raises
    ------
    InvalidInput
        If the layout is unknown, or the folder does not exist.

    Examples
    --------
    >>> import tempfile
    >>> from toplist.datasets import generated, yelp
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(yelp.read(generated.write("yelp", folder, seed=0)))
    968 ratings of 60 items by 80 people; 60 items in 12 topics; 568 with 4 stars or more
    """
    if layout not in LAYOUTS:
        advice = nearest(layout, LAYOUTS, "choose one of them")
        raise refuse("The layout", layout, f"one of {', '.join(LAYOUTS)}", advice)
    if not isinstance(folder, str | os.PathLike) or not os.path.isdir(folder):
        raise refuse("The folder", str(folder), "a folder that exists", "create it first")
    seed, home = checked_seed(seed), Path(folder)
    given = synthetic_ratings(people=80, items=60, topics=12, seed=seed) if ratings is None else ratings
    rng = np.random.default_rng(seed)
    plays = _plays(given.value, rng)
    names = sorted({topic for several in given.topics.values() for topic in several})
    made = GeneratedData(_rows(given, given.value), _rows(given, plays), dict(given.topics), names, rng)
    LAYOUTS[layout](home, made)
    note = f"Made up by toplist.datasets.generated: {layout}, seed {seed}. No real data.\n"
    write_text(home / NOTE, "The note", note)
    return home


def _plays(stars: Values, rng: np.random.Generator) -> Values:
    """As many plays as stars, but five or more for five stars."""
    more = np.floor(rng.lognormal(mean=3.0, sigma=1.5, size=len(stars)))
    return np.asarray(stars + np.where(stars >= 5, more, 0.0), dtype=np.float32)


def _rows(ratings: Ratings, values: Values) -> Rows:
    return list(zip(ratings.person.tolist(), ratings.item.tolist(), values.tolist(), strict=True))


def _movies_dat(home: Path, made: GeneratedData) -> None:
    """The files that the layouts of 1M share."""
    lines = [f"{item}::{_title(item)}::{'|'.join(topics)}" for item, topics in made.topics.items()]
    _lines(home / "movies.dat", lines)
    _lines(home / "users.dat", [f"{person}::F::25::0::00000" for person in sorted({row[0] for row in made.rows})])


def _ml_1m(home: Path, made: GeneratedData) -> None:
    _movies_dat(home, made)
    _lines(home / "ratings.dat", [f"{person}::{item}::{stars:g}::978300760" for person, item, stars in made.rows])


def _ml_1m_csv(home: Path, made: GeneratedData) -> None:
    _movies_dat(home, made)
    lines = [f"{person},{item},{stars:g}" for person, item, stars in made.rows]
    _lines(home / "ratings.csv.gz", ["user_id,movie_id,rating", *lines])


def _ml_100k(home: Path, made: GeneratedData) -> None:
    """Its genres have fixed names, so topics are renamed, in their order."""
    known = dict(zip(made.names, movielens.GENRES[1:], strict=False))
    items = []
    for item, topics in made.topics.items():
        has = {known[topic] for topic in topics}
        flags = "|".join(str(int(genre in has)) for genre in movielens.GENRES)
        items.append(f"{item}|{_title(item)}|01-Jan-2000||about:blank|{flags}")
    _lines(home / "u.item", items)
    _lines(home / "u.data", [f"{person}\t{item}\t{stars:g}\t881250949" for person, item, stars in made.rows])
    people = len({row[0] for row in made.rows})
    _lines(home / "u.info", [f"{people} users", f"{len(items)} items", f"{len(made.rows)} ratings"])


def _ml_latest(home: Path, made: GeneratedData) -> None:
    movies = [f'{item},"{_title(item)}",{"|".join(topics)}' for item, topics in made.topics.items()]
    _lines(home / "movies.csv", [movielens.MOVIES_HEADER, *movies], end="\r\n")
    lines = [f"{person},{item},{stars:.1f},964982703" for person, item, stars in made.rows]
    _lines(home / "ratings.csv", [movielens.HEADERS[0], *lines], end="\r\n")


def _million_song(home: Path, made: GeneratedData) -> None:
    """Two tracks for every third song, and for songs with more than two genres, the maximum of a track."""
    lines = [f"{person:040x}\t{_song(item)}\t{plays:.0f}\n" for person, item, plays in made.plays]
    with zipfile.ZipFile(home / "train_triplets.txt.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("train_triplets.txt", "".join(lines))
    links, genres = [], []
    for item, topics in made.topics.items():
        tracks = [_track(item, 0), *([_track(item, 1)] if item % 3 == 0 or topics[2:] else [])]
        links.append("\t".join([_song(item), *tracks]))
        genres.append("\t".join([tracks[0], *topics[:2]]))
        genres.extend("\t".join([track, *topics[2:4]]) for track in tracks[1:] if topics[2:])
    _lines(home / "taste_profile_song_to_tracks.txt", links)
    _lines(home / "msd_tagtraum_generated.cls", ["# Generated, no real annotations", *genres])


def _lastfm(home: Path, made: GeneratedData) -> None:
    """Two users give each artist its tags; a third gives a tag of its own."""
    people = sorted({row[0] for row in made.rows})
    number = {name: place for place, name in enumerate([*made.names, "generated by one"], start=1)}
    _lines(home / "tags.dat", [TAGS_HEADER, *(f"{place}\t{name}" for name, place in number.items())])
    _lines(home / "user_artists.dat.gz", [PLAYS_HEADER, *(f"{a}\t{b}\t{plays:.0f}" for a, b, plays in made.plays)])
    tagged = [
        f"{person}\t{item}\t{number[topic]}\t1\t4\t2009"
        for item, topics in made.topics.items()
        for topic, givers in [*((topic, people[:2]) for topic in topics), ("generated by one", people[-1:])]
        for person in givers
    ]
    _lines(home / "user_taggedartists.dat.gz", [TAGGED_HEADER, *tagged])
    names = [f"{item}\tGenerated artist {item}\tabout:blank\tabout:blank" for item in made.topics]
    _lines(home / "artists.dat", [ARTISTS_HEADER, *names])


def _yelp(home: Path, made: GeneratedData) -> None:
    businesses = [
        {"business_id": f"b{item}", "name": f"Generated business {item}", "categories": ", ".join(topics) or None}
        for item, topics in made.topics.items()
    ]
    reviews = [
        {"user_id": f"u{person}", "business_id": f"b{item}", "stars": stars, "text": "Generated."}
        for person, item, stars in made.rows
    ]
    _lines(home / "yelp_academic_dataset_business.json", map(json.dumps, businesses))
    _lines(home / "yelp_academic_dataset_review.json", map(json.dumps, reviews))


def _yelp_graph(home: Path, made: GeneratedData) -> None:
    number = {name: place for place, name in enumerate(made.names, start=1)}
    _lines(home / "user_business.dat.gz", [f"{person}\t{item}\t{stars:.0f}" for person, item, stars in made.rows])
    links = [f"{item}\t{number[topic]}\t1" for item, topics in made.topics.items() for topic in topics]
    _lines(home / "business_category.dat.gz", links)


def _click_models(home: Path, made: GeneratedData) -> None:
    content = {
        f"generated {query}": {
            model: {name: made.rng.uniform(size=(RESULTS,) * size).round(4).tolist() for name, size in each.items()}
            for model, each in PARAMETERS.items()
        }
        for query in range(1, 6)
    }
    _lines(home / "click-models-generated.json", [json.dumps(content)])


def _search_log(home: Path, made: GeneratedData) -> None:
    """A few queries have most pages, higher results most clicks, and some clicks go up the page."""
    lines = []
    for _ in range(500):
        query = min(int(made.rng.geometric(0.4)), 8)
        documents = ",".join(str(1000 * query + place) for place in made.rng.permutation(12)[:RESULTS])
        clicked = np.flatnonzero(made.rng.uniform(size=RESULTS) < 0.35 / np.arange(1, RESULTS + 1) ** 0.7) + 1
        order = made.rng.permutation(clicked) if made.rng.uniform() < 0.2 else clicked
        lines.append(f"{query}\t{made.rng.integers(3)}\t{documents}\t{','.join(map(str, order))}")
    _lines(home / "train.tsv.gz", [LOG_HEADER, *lines])


def _full_search_log(home: Path, made: GeneratedData) -> None:
    """The layout of Yandex's personalised search challenge."""
    write_yandex_personalized(home / "train", sessions=120, queries=5, seed=int(made.rng.integers(1 << 30)))


LAYOUTS: dict[str, Callable[[Path, GeneratedData], None]] = {
    "ml-1m": _ml_1m,
    "ml-1m-csv": _ml_1m_csv,
    "ml-100k": _ml_100k,
    "ml-latest": _ml_latest,
    "million-song": _million_song,
    "lastfm": _lastfm,
    "yelp": _yelp,
    "yelp-graph": _yelp_graph,
    "click-models": _click_models,
    "search-log": _search_log,
    "full-search-log": _full_search_log,
}


def _title(item: int) -> str:
    return f"Generated movie, number {item} (2000)"


def _song(item: int) -> str:
    return f"SO{item:016d}"


def _track(item: int, which: int) -> str:
    return f"TR{2 * item + which:016d}"


def _lines(path: Path, lines: Iterable[str], end: str = "\n") -> None:
    """Write lines, compressed if the name ends in .gz."""
    data = "".join(f"{line}{end}" for line in lines).encode("latin-1")
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
