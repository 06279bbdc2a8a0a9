"""The Million Song taste profile: who played which song how often, with the genres of the tagtraum annotations.

A folder has three files, each as it is, packed by gzip, or in the zip file that it comes in:

- train_triplets.txt, `user song plays` between tabs, or kaggle_visible_evaluation_triplets.txt, which is like it;
- one of the tagtraum files, such as msd_tagtraum_cd2.cls, `track genre` and perhaps a second genre, between tabs, below
  lines that begin with #;
- what connects the two, since plays are of songs and genres of tracks: taste_profile_song_to_tracks.txt, `song track
  track ...` between tabs, or unique_tracks.txt, `track<SEP>song<SEP>artist<SEP>title`, which also has the names.

A song has the genres of all its tracks. Five plays or more count as attracted, as in hiranandani2019, section 8.6. That
paper has up to 40 genres, but the annotations 13 or 15.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from itertools import islice

import numpy as np

from toplist.core.problem import InvalidInput, refuse
from toplist.datasets.ratings import Ratings
from toplist.datasets.sources import AGAIN, BLOCK, File, Place
from toplist.support.files import AnyPath

TRIPLETS = ("train_triplets.txt", "kaggle_visible_evaluation_triplets.txt")
SONG_TO_TRACKS, UNIQUE_TRACKS = "taste_profile_song_to_tracks.txt", "unique_tracks.txt"
ANNOTATIONS = ".cls"
LEAST = 5.0  # plays of a song that attracted a person
MOST = 2**24  # plays, more than which are no longer exact


def read(path: AnyPath, annotations: str | None = None) -> Ratings:
    """The plays in a folder; `annotations` names the file of genres where there are several."""
    place = Place(path, "the Million Song taste profile")
    plays = place.need(*TRIPLETS)
    link = place.need(SONG_TO_TRACKS, UNIQUE_TRACKS)
    genres = _genres(_annotations(place, annotations))
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


def _annotations(place: Place, name: str | None) -> File:
    """The file of genres."""
    if name is not None:
        return place.need(name.removesuffix(".zip").removesuffix(".gz"))
    found = place.ending(ANNOTATIONS)
    if len(found) == 1:
        return found[0]
    if not found:
        raise refuse(place.what, str(place.path), "one with a file of genres, such as msd_tagtraum_cd2.cls", AGAIN)
    several = ", ".join(file.path.name for file in found)
    raise refuse(place.what, str(place.path), "one with one file of genres", f"say which annotations, of {several}")


def _triplets(file: File, songs: dict[str, int]) -> tuple[array[int], array[int], array[float]]:
    """Person, song and plays of each line; songs are numbered as they come."""
    people: dict[str, int] = {}
    person, song, value = array("i"), array("i"), array("f")
    lines, begun = file.lines(), 1
    while block := list(islice(lines, BLOCK)):
        rows = list(filter(None, block))
        if not all(map(_is_triplet, rows)):
            number, line = next((n, line) for n, line in enumerate(block, begun) if line and not _is_triplet(line))
            raise file.wrong(number, line, "user\\tsong\\tplays, where plays are counted from 1")
        fields = "\t".join(rows).split("\t") if rows else []
        # Whole columns at once, since there are 48 million lines.
        for names, known, found in ((fields[::3], people, person), (fields[1::3], songs, song)):
            for name in dict.fromkeys(names):
                known.setdefault(name, len(known) + 1)
            found.extend(map(known.__getitem__, names))
        value.extend(map(int, fields[2::3]))
        begun += len(block)
    if not value:
        raise InvalidInput(f"{file} is empty, but must have lines user\\tsong\\tplays; {AGAIN}.")
    return person, song, value


def _is_triplet(line: str) -> bool:
    plays = line.rpartition("\t")[2]
    return line.count("\t") == 2 and plays.isdecimal() and 1 <= int(plays) <= MOST


def _genres(file: File) -> dict[str, tuple[str, ...]]:
    """The genres of each track, the majority's first."""
    found = {}
    for number, line in enumerate(file.lines(ended=False), start=1):
        if not line or line.startswith("#"):
            continue
        track, *genres = (field.strip() for field in line.split("\t"))
        if not track.startswith("TR") or not 1 <= len(genres) <= 2 or not all(genres):
            raise file.wrong(number, line, "track\\tgenre or track\\tgenre\\tgenre, where tracks begin with TR")
        found[track] = tuple(dict.fromkeys(genres))
    if not found:
        raise InvalidInput(f"{file} is empty, but must have lines track\\tgenre; {AGAIN}.")
    return found


def _song_to_tracks(
    file: File, songs: dict[str, int], genres: dict[str, tuple[str, ...]]
) -> dict[int, tuple[str, ...]]:
    """The genres of each song that was played and has a track."""
    topics: dict[int, tuple[str, ...]] = {}
    for number, line in enumerate(file.lines(ended=False), start=1):
        song, *tracks = line.split("\t")
        if not line:
            continue
        if not song.startswith("SO") or not all(track.startswith("TR") for track in tracks if track):
            raise file.wrong(number, line, "song\\ttrack\\ttrack ..., where songs begin with SO and tracks with TR")
        if song in songs and any(tracks):
            topics[songs[song]] = _united(genres.get(track, ()) for track in tracks)
    return topics


def _unique_tracks(
    file: File, songs: dict[str, int], genres: dict[str, tuple[str, ...]]
) -> tuple[dict[int, tuple[str, ...]], dict[int, str]]:
    """The same from the list of all tracks, with names."""
    topics: dict[int, tuple[str, ...]] = {}
    names: dict[int, str] = {}
    for number, line in enumerate(file.lines(ended=False), start=1):
        fields = line.split("<SEP>")
        if not line:
            continue
        if len(fields) != 4 or not fields[0].startswith("TR") or not fields[1].startswith("SO"):
            raise file.wrong(number, line, "track<SEP>song<SEP>artist<SEP>title")
        song = songs.get(fields[1])
        if song is not None:
            topics[song] = _united([topics.get(song, ()), genres.get(fields[0], ())])
            names[song] = f"{fields[2]}: {fields[3]}"
    return topics, names


def _united(several: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Each genre once, in the order in which they come."""
    return tuple(dict.fromkeys(genre for genres in several for genre in genres))
