"""The data sets that experiments need: found in a folder, or a sentence on how to get them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from toplist.core.problem import refuse
from toplist.datasets import click_models, lastfm, million_song, movielens, yelp
from toplist.experiments.experiment import DataSet
from toplist.experiments.logged_queries import LoggedQueries
from toplist.logs import ClickLog, read_log
from toplist.support.files import AnyPath


class DataSource(NamedTuple):
    """One form of a data set in a folder."""

    files: tuple[str, ...]  # patterns; a file must match one of them
    read: Callable[[Path], Any]
    substitute: str = ""  # what it replaces, if it is not the data of the paper


class DataKind(NamedTuple):
    """A data set that an experiment may need."""

    sources: tuple[DataSource, ...]  # that of the paper first
    how: str  # how to get it


LOG_FILES = (
    "train.tsv",
    "train.tsv.gz",
    "train.txt",
    "train.txt.gz",
    "train",
    "train.gz",
    "YandexRelPredChallenge.txt*",
)
SAMPLE = "a sample of the Yandex log for all of it"


def read_search_log(place: Path) -> ClickLog:
    """The search log of a folder, whatever its layout."""
    return read_log(next(file for pattern in LOG_FILES for file in sorted(place.glob(pattern))))


KINDS: dict[str, DataKind] = {
    "movielens": DataKind(
        (DataSource(("ratings.dat", "ratings.csv", "ratings.csv.gz", "u.data"), movielens.read),),
        "MovieLens 1M; `python -m toplist.datasets.download ml-1m FOLDER` gets it",
    ),
    "songs": DataKind(
        (
            DataSource(("train_triplets*",), million_song.read),
            DataSource(("user_artists.dat*",), lastfm.read, "Last.fm (HetRec 2011) for the Million Song taste profile"),
        ),
        "the Million Song taste profile with the genres of tagtraum, or Last.fm of HetRec 2011 in its place; "
        "docs/data.md says where to get both",
    ),
    "yelp": DataKind(
        (
            DataSource(("*review*.json", "*review*.json.gz"), yelp.read),
            DataSource(("business_category*",), yelp.read, "a graph release of Yelp for the Yelp challenge"),
        ),
        "the academic data set of Yelp, which requires accepting its terms; docs/data.md says where",
    ),
    "click models": DataKind(
        (
            DataSource(LOG_FILES[2:], lambda place: LoggedQueries(read_search_log(place))),
            DataSource(LOG_FILES[:2], lambda place: LoggedQueries(read_search_log(place)), SAMPLE),
            DataSource(
                ("*.json",), click_models.read, "click models of other queries of the Yandex log for the paper's"
            ),
        ),
        "a search log, or a JSON file of click models learned from one; docs/data.md describes both",
    ),
    "search log": DataKind(
        (
            DataSource(LOG_FILES[2:], read_search_log),
            DataSource(LOG_FILES[:2], read_search_log, SAMPLE),
        ),
        "a search log; docs/data.md says where to get it",
    ),
    "full search log": DataKind(
        (DataSource(LOG_FILES[2:], read_search_log),),
        "the log of Yandex's personalised web search challenge, as train or train.gz; docs/data.md says where",
    ),
}


def check_data_folder(folder: AnyPath | None, what: str = "The folder of data") -> Path | None:
    """The folder as a path; `what` names it in the error if it does not exist."""
    if folder is None:
        return None
    if not Path(folder).is_dir():
        raise refuse(what, os.fspath(folder), "a folder that exists", "name the one that holds the data sets")
    return Path(folder)


class DataLocation(NamedTuple):
    """The folder of a data set, and its form."""

    source: DataSource
    place: Path


def locate(kind: str, folder: Path | None) -> DataLocation | None:
    """Find a data set in a folder or one of its direct subfolders; None if it is missing."""
    if folder is None:
        return None
    places = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]
    for source in KINDS[kind].sources:
        for place in places:
            if not has_any_file(place, source.files):
                continue
            if kind == "click models" and has_any_file(place, KINDS["yelp"].sources[0].files):
                continue  # JSON, but not of click models
            return DataLocation(source, place)
    return None


def read_data(kind: str, folder: Path | None) -> DataSet | None:
    """Read a data set from a folder or one of its direct subfolders; None if it is missing."""
    found = locate(kind, folder)
    if found is None:
        return None
    content = found.source.read(found.place)
    # The path of the folder is private, and would make equal results look different.
    name = str(content).replace(f"{folder}{os.sep}", "")
    return DataSet(kind, name, content, found.source.substitute)


class DataFolder:
    """A folder of data sets, each read once."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._read: dict[str, DataSet | None] = {}

    def read(self, kind: str) -> DataSet | None:
        """A data set; None if it is missing."""
        if kind not in self._read:
            self._read[kind] = read_data(kind, self._folder)
        return self._read[kind]


def has_any_file(place: Path, patterns: tuple[str, ...]) -> bool:
    """Whether a folder has a file that matches one of the patterns."""
    return any(next(place.glob(pattern), None) is not None for pattern in patterns)
