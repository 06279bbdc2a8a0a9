"""The Million Song taste profile: how often users played songs, with the genres of the tagtraum annotations.

A folder has three files, each plain, compressed by gzip, or in the zip file in which it was published:

- train_triplets.txt, `user song plays` with tabs, or kaggle_visible_evaluation_triplets.txt, of the same form;
- one of the tagtraum files, such as msd_tagtraum_cd2.cls, `track genre` and an optional second genre, with tabs, below
  comment lines that begin with #;
- a file that links songs, which have plays, with tracks, which have genres: taste_profile_song_to_tracks.txt, `song
  track track ...` with tabs, or unique_tracks.txt, `track<SEP>song<SEP>artist<SEP>title`, which also has the names.

A song has the genres of all its tracks. Five plays or more count as attracted, as in hiranandani2019, section 8.6. That
paper has up to 40 genres, the annotations 13 or 15.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import islice

import numpy as np

from toplist.core.problem import InvalidInput, refuse
from toplist.datasets.ratings import Ratings
from toplist.datasets.sources import AGAIN, BLOCK, DataFile, DataFiles
from toplist.support.files import AnyPath

TRIPLETS = ("train_triplets.txt", "kaggle_visible_evaluation_triplets.txt")
SONG_TO_TRACKS, UNIQUE_TRACKS = "taste_profile_song_to_tracks.txt", "unique_tracks.txt"
ANNOTATIONS = ".cls"
LEAST = 5.0  # plays that count as attracted
MOST = 2**24  # plays; more are not exact in float32


def read(path: AnyPath, annotations: str | None = None) -> Ratings:
    """Read the plays in a folder.

    Parameters
    ----------
    path : str or path-like
        The folder.
    annotations : str, optional
        Name of the file of genres, if there are several.

    Returns
    -------
    Ratings
        Plays of songs, with genres as topics.

    Raises
    ------
    InvalidInput
        If a file is missing, damaged or does not fit the others.
    """
    files = DataFiles(path, "the Million Song taste profile")
    plays = files.require(*TRIPLETS)
    link = files.require(SONG_TO_TRACKS, UNIQUE_TRACKS)
    genres = _genres(_annotations(files, annotations))
    songs: dict[str, int] = {}
    person, song, value = _triplets(plays, songs)
    unique = UNIQUE_TRACKS in (link.member or link.path.name)
    topics, names = _unique_tracks(link, songs, genres) if unique else (_song_to_tracks(link, songs, genres), {})
    if not topics:
        raise InvalidInput(f"No song of {plays} has a track in {link}; {AGAIN}.")
    return Ratings(
        np.frombuffer(person, dtype=np.int32),
        np.frombuffer(song, dtype=np.int32),
        np.frombuffer(value, dtype=np.float32),
        topics,
        names,
        LEAST,
        "plays",
    )


def _annotations(files: DataFiles, name: str | None) -> DataFile:
    """The file of genres."""
    if name is not None:
        return files.require(name.removesuffix(".zip").removesuffix(".gz"))
    found = files.find_all(ANNOTATIONS)
    if len(found) == 1:
        return found[0]
    if not found:
        raise refuse(files.what, str(files.path), "one with a file of genres, such as msd_tagtraum_cd2.cls", AGAIN)
    several = ", ".join(file.path.name for file in found)
    raise refuse(files.what, str(files.path), "one with one file of genres", f"choose one by annotations, of {several}")


def _triplets(file: DataFile, songs: dict[str, int]) -> tuple[array[int], array[int], array[float]]:
    """User, song and plays of each line; songs are numbered in order of appearance."""
    people: dict[str, int] = {}
    person, song, value = array("i"), array("i"), array("f")
    lines, first = file.lines(), 1
    while block := list(islice(lines, BLOCK)):
        rows = list(filter(None, block))
        if not all(map(_is_triplet, rows)):
            number, line = next((n, line) for n, line in enumerate(block, first) if line and not _is_triplet(line))
            raise file.line_error(number, line, "user\\tsong\\tplays, where plays are whole numbers from 1")
        fields = "\t".join(rows).split("\t") if rows else []
        # Column by column, for speed: there are 48 million lines.
        for names, known, found in ((fields[::3], people, person), (fields[1::3], songs, song)):
            for name in dict.fromkeys(names):
                known.setdefault(name, len(known) + 1)
            found.extend(map(known.__getitem__, names))
        value.extend(map(int, fields[2::3]))
        first += len(block)
    if not value:
        raise InvalidInput(f"{file} is empty, but must have lines user\\tsong\\tplays; {AGAIN}.")
    return person, song, value


def _is_triplet(line: str) -> bool:
    plays = line.rpartition("\t")[2]
    return line.count("\t") == 2 and plays.isdecimal() and 1 <= int(plays) <= MOST


def _genres(file: DataFile) -> dict[str, tuple[str, ...]]:
    """The genres of each track, that of the majority first."""
    found = {}
    for number, line in enumerate(file.lines(ended=False), start=1):
        if not line or line.startswith("#"):
            continue
        track, *genres = (field.strip() for field in line.split("\t"))
        if not track.startswith("TR") or not 1 <= len(genres) <= 2 or not all(genres):
            raise file.line_error(number, line, "track\\tgenre or track\\tgenre\\tgenre, where tracks begin with TR")
        found[track] = tuple(dict.fromkeys(genres))
    if not found:
        raise InvalidInput(f"{file} is empty, but must have lines track\\tgenre; {AGAIN}.")
    return found


def _song_to_tracks(
    file: DataFile, songs: dict[str, int], genres: dict[str, tuple[str, ...]]
) -> dict[int, tuple[str, ...]]:
    """The genres of each song that has plays and a track."""
    topics: dict[int, tuple[str, ...]] = {}
    for number, line in enumerate(file.lines(ended=False), start=1):
        song, *tracks = line.split("\t")
        if not line:
            continue
        if not song.startswith("SO") or not all(track.startswith("TR") for track in tracks if track):
            raise file.line_error(
                number, line, "song\\ttrack\\ttrack ..., where songs begin with SO and tracks with TR"
            )
        if song in songs and any(tracks):
            topics[songs[song]] = _union(genres.get(track, ()) for track in tracks)
    return topics


def _unique_tracks(
    file: DataFile, songs: dict[str, int], genres: dict[str, tuple[str, ...]]
) -> tuple[dict[int, tuple[str, ...]], dict[int, str]]:
    """The same from unique_tracks.txt, with names."""
    topics: dict[int, tuple[str, ...]] = {}
    names: dict[int, str] = {}
    for number, line in enumerate(file.lines(ended=False), start=1):
        fields = line.split("<SEP>")
        if not line:
            continue
        if len(fields) != 4 or not fields[0].startswith("TR") or not fields[1].startswith("SO"):
            raise file.line_error(number, line, "track<SEP>song<SEP>artist<SEP>title")
        song = songs.get(fields[1])
        if song is not None:
            topics[song] = _union([topics.get(song, ()), genres.get(fields[0], ())])
            names[song] = f"{fields[2]}: {fields[3]}"
    return topics, names


def _union(several: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Each genre once, in order of appearance."""
    return tuple(dict.fromkeys(genre for genres in several for genre in genres))
