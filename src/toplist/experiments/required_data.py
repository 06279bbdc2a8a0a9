"""The data that experiments need: found in a folder, or the sentence that says how to get them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from toplist.core.problem import refuse
from toplist.datasets import click_models, lastfm, million_song, movielens, search_log, yelp
from toplist.experiments.experiment import Data


class Source(NamedTuple):
    """One form in which data of a kind may lie in a folder."""

    files: tuple[str, ...]  # patterns, one of which must be there
    read: Callable[[Path], Any]
    substitute: str = ""  # for what the paper used


class Kind(NamedTuple):
    """What an experiment can ask for."""

    sources: tuple[Source, ...]  # the paper's own first
    how: str  # how to get it


KINDS: dict[str, Kind] = {
    "movielens": Kind(
        (Source(("ratings.dat", "ratings.csv", "ratings.csv.gz", "u.data"), movielens.read),),
        "MovieLens 1M; `python -m toplist.datasets.download ml-1m FOLDER` gets it",
    ),
    "songs": Kind(
        (
            Source(("train_triplets*",), million_song.read),
            Source(("user_artists.dat*",), lastfm.read, "Last.fm (HetRec 2011) for the Million Song taste profile"),
        ),
        "the Million Song taste profile with the genres of tagtraum, or Last.fm of HetRec 2011 in its place; "
        "docs/data.md says where both are",
    ),
    "yelp": Kind(
        (
            Source(("*review*.json", "*review*.json.gz"), yelp.read),
            Source(("business_category*",), yelp.read, "a graph release of Yelp for the Yelp challenge"),
        ),
        "the academic data set of Yelp, which asks for an agreement; docs/data.md says where",
    ),
    "click models": Kind(
        (Source(("*.json",), click_models.read, "click models of other queries of the Yandex log for the paper's"),),
        "a JSON file of click models learned from a search log; docs/data.md has its form",
    ),
    "search log": Kind(
        (Source(("train.tsv", "train.tsv.gz"), search_log.read, "a sample of the Yandex log for all of it"),),
        "a search log as tsv; docs/data.md has its form",
    ),
    "full search log": Kind(
        (), "the whole Yandex log of the relevance prediction challenge, and a reader of logs, which is to come"
    ),
}


def check_folder(folder: str | None) -> Path | None:
    """The folder of `--data`, if there is one."""
    if folder is None:
        return None
    if not Path(folder).is_dir():
        raise refuse("--data", folder, "a folder that exists", "name the one that holds the data sets")
    return Path(folder)


class Located(NamedTuple):
    """Where data of a kind are, and in which form."""

    source: Source
    place: Path


def located(kind: str, folder: Path | None) -> Located | None:
    """Where in a folder or one of its subfolders data of a kind are; None where there are none."""
    if folder is None:
        return None
    places = [folder, *sorted(path for path in folder.iterdir() if path.is_dir())]
    for source in KINDS[kind].sources:
        for place in places:
            if not has_one_of(place, source.files):
                continue
            if kind == "click models" and has_one_of(place, KINDS["yelp"].sources[0].files):
                continue  # JSON of another kind
            return Located(source, place)
    return None


def find(kind: str, folder: Path | None) -> Data | None:
    """Data of a kind in a folder or one of its subfolders; None where there are none."""
    there = located(kind, folder)
    if there is None:
        return None
    content = there.source.read(there.place)
    # Where the folder lies is nobody's business who reads the report, and would make equal results look different.
    name = str(content).replace(f"{folder}{os.sep}", "")
    return Data(kind, name, content, there.source.substitute)


class Shelf:
    """The data sets of a folder, each read once."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._read: dict[str, Data | None] = {}

    def of(self, kind: str) -> Data | None:
        """Data of a kind; None where there are none."""
        if kind not in self._read:
            self._read[kind] = find(kind, self._folder)
        return self._read[kind]


def has_one_of(place: Path, patterns: tuple[str, ...]) -> bool:
    """Whether a folder has a file of one of these names."""
    return any(next(place.glob(pattern), None) is not None for pattern in patterns)
