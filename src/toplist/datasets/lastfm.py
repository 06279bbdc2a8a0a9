"""Last.fm of HetRec 2011: how often users played artists, and the tags that users gave to artists.

A folder has user_artists.dat, user_taggedartists.dat and tags.dat, each with a header and tabs; artists.dat, with the
names, is optional, and any file may be compressed by gzip. An artist has a tag if at least two users gave it: four of
five pairs of artist and tag come from a single user, and say more about that user. Five plays or more count as
attracted, as for the Million Song data in hiranandani2019, section 8.6, for which this data set is a substitute.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from toplist.core.problem import InvalidInput, whole
from toplist.core.slate import Bools, Floats
from toplist.datasets.ratings import Numbers, Ratings
from toplist.datasets.sources import AGAIN, DataFile, DataFiles, have_valid_ids, read_columns
from toplist.support.files import AnyPath

PLAYS_HEADER = "userID\tartistID\tweight"
TAGGED_HEADER = "userID\tartistID\ttagID\tday\tmonth\tyear"
TAGS_HEADER = "tagID\ttagValue"
ARTISTS_HEADER = "id\tname\turl\tpictureURL"
LEAST = 5.0  # plays that count as attracted
AGREEING = 2  # users who must have given a tag to an artist


def read(path: AnyPath, agreeing: int = AGREEING) -> Ratings:
    """Read the plays in a folder or a zip file.

    Parameters
    ----------
    path : str or path-like
        The folder, or the zip file as it was downloaded.
    agreeing : int, default 2
        Number of users who must have given a tag to an artist.

    Returns
    -------
    Ratings
        Plays of artists, with tags as topics.

    Raises
    ------
    InvalidInput
        If a file is missing, damaged or does not fit the others.
    """
    agreeing = whole("The number of users who agree on a tag", agreeing, 1, "1 takes every tag")
    files = DataFiles(path, "Last.fm of HetRec 2011")
    file = files.require("user_artists.dat")
    rule = "users, artists and plays are whole numbers from 1"
    person, artist, plays = read_columns(file, "", "\t", _are_counts, rule, [PLAYS_HEADER])
    tagging = files.require("user_taggedartists.dat")
    rule = "users, artists and tags are whole numbers from 1"
    tagger, tagged, tag = read_columns(tagging, "", "\t", _are_counts, rule, [TAGGED_HEADER])
    silent = np.setdiff1d(tagger, person)
    if len(silent):
        raise InvalidInput(f"User {silent[0]} is in {tagging}, but played nothing in {file}; {AGAIN}.")
    named = files.require("tags.dat")
    words = _names(named, TAGS_HEADER)
    unknown = np.setdiff1d(tag, list(words))
    if len(unknown):
        raise InvalidInput(f"Tag {unknown[0]:.0f} is in {tagging}, but not in {named}; {AGAIN}.")
    artists = files.find("artists.dat")
    names = _names(artists, ARTISTS_HEADER) if artists is not None else {}
    return Ratings(person, artist, plays, _topics(tagged, tag.astype(np.int32), agreeing, words), names, LEAST, "plays")


def _are_counts(table: Floats) -> Bools:
    """Which rows have three whole numbers from 1 on."""
    return np.asarray(have_valid_ids(table) & (table[:, 2] >= 1) & (table[:, 2] % 1 == 0))


def _topics(artist: Numbers, tag: Numbers, agreeing: int, words: dict[int, str]) -> dict[int, tuple[str, ...]]:
    """The tags of each artist that enough users gave, which may be none."""
    pairs, times = np.unique(np.column_stack([artist, tag]), axis=0, return_counts=True)
    found: dict[int, list[str]] = defaultdict(list)
    for (each, number), count in zip(pairs.tolist(), times.tolist(), strict=True):
        found[each].extend([words[number]] if count >= agreeing else [])
    return {each: tuple(several) for each, several in found.items()}


def _names(file: DataFile, header: str) -> dict[int, str]:
    """The names of numbers."""
    found = {}
    for number, line in enumerate(file.lines(), start=1):
        if number == 1 and line != header:
            raise InvalidInput(f"{file} begins with {line[:80]!r}, but must begin with {header!r}; {AGAIN}.")
        if number > 1 and line:
            fields = line.split("\t")
            if not fields[0].isdecimal() or len(fields) < 2:
                raise file.line_error(number, line, f"{header}, where the first is a number")
            found[int(fields[0])] = fields[1]
    if not found:
        raise InvalidInput(f"{file} is empty, but must have lines {header}; {AGAIN}.")
    return found
