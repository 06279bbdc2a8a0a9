"""Last.fm of HetRec 2011: who played which artist how often, and the tags that people gave to artists.

A folder has user_artists.dat, user_taggedartists.dat and tags.dat, each with a header and tabs; artists.dat, which has
the names, may be missing, and any may be packed by gzip. An artist has a tag if two people or more gave it: four of
five pairs of artist and tag come from a single person, and say more of that person. Five plays or more count as
attracted, as for the Million Song data in hiranandani2019, section 8.6, for which this set stands in.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from toplist.core.problem import InvalidInput, whole
from toplist.core.slate import Bools, Floats
from toplist.datasets.ratings import Numbers, Ratings
from toplist.datasets.sources import AGAIN, File, Place, columns, identifiers
from toplist.support.files import AnyPath

PLAYS_HEADER = "userID\tartistID\tweight"
TAGGED_HEADER = "userID\tartistID\ttagID\tday\tmonth\tyear"
TAGS_HEADER = "tagID\ttagValue"
ARTISTS_HEADER = "id\tname\turl\tpictureURL"
LEAST = 5.0  # plays of an artist who attracted a person
AGREEING = 2  # people who gave a tag to an artist who has it


def read(path: AnyPath, agreeing: int = AGREEING) -> Ratings:
    """The plays in a folder or a zip file; an artist has the tags that so many people agree on."""
    agreeing = whole("The number of people who agree on a tag", agreeing, 1, "1 takes every tag")
    place = Place(path, "Last.fm of HetRec 2011")
    file = place.need("user_artists.dat")
    rule = "users and artists are counted from 1, and so are plays"
    person, artist, plays = columns(file, "", "\t", _right, rule, [PLAYS_HEADER])
    tagging = place.need("user_taggedartists.dat")
    rule = "users, artists and tags are counted from 1"
    tagger, tagged, tag = columns(tagging, "", "\t", _right, rule, [TAGGED_HEADER])
    silent = np.setdiff1d(tagger, person)
    if len(silent):
        raise InvalidInput(f"User {silent[0]} is in {tagging}, but played nothing in {file}; {AGAIN}.")
    named = place.need("tags.dat")
    words = _names(named, TAGS_HEADER)
    unknown = np.setdiff1d(tag, list(words))
    if len(unknown):
        raise InvalidInput(f"Tag {unknown[0]:.0f} is in {tagging}, but not in {named}; {AGAIN}.")
    artists = place.find("artists.dat")
    names = _names(artists, ARTISTS_HEADER) if artists is not None else {}
    return Ratings(person, artist, plays, _topics(tagged, tag.astype(np.int32), agreeing, words), names, LEAST, "plays")


def _right(table: Floats) -> Bools:
    """Which rows have three numbers that count something."""
    return np.asarray(identifiers(table) & (table[:, 2] >= 1) & (table[:, 2] % 1 == 0))


def _topics(artist: Numbers, tag: Numbers, agreeing: int, words: dict[int, str]) -> dict[int, tuple[str, ...]]:
    """The tags of each artist that enough people gave; an artist whom somebody tagged may have none."""
    pairs, times = np.unique(np.column_stack([artist, tag]), axis=0, return_counts=True)
    found: dict[int, list[str]] = defaultdict(list)
    for (each, number), count in zip(pairs.tolist(), times.tolist(), strict=True):
        found[each].extend([words[number]] if count >= agreeing else [])
    return {each: tuple(several) for each, several in found.items()}


def _names(file: File, header: str) -> dict[int, str]:
    """What numbers stand for."""
    found = {}
    for number, line in enumerate(file.lines(), start=1):
        if number == 1 and line != header:
            raise InvalidInput(f"{file} begins with {line[:80]!r}, but must begin with {header!r}; {AGAIN}.")
        if number > 1 and line:
            fields = line.split("\t")
            if not fields[0].isdecimal() or len(fields) < 2:
                raise file.wrong(number, line, f"{header}, where the first is a number")
            found[int(fields[0])] = fields[1]
    if not found:
        raise InvalidInput(f"{file} is empty, but must have lines {header}; {AGAIN}.")
    return found
