"""The Million Song taste profile: songs get the genres of their tracks, and errors of damaged files."""

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest
from damage import Damage, cut, end, put, without

from toplist.core.problem import InvalidInput
from toplist.datasets import generated, million_song
from toplist.datasets.ratings import synthetic_ratings

SYNTHETIC = synthetic_ratings(people=30, items=25, topics=6, seed=3)
PLAYS, TRACKS, GENRES = "train_triplets.txt", "taste_profile_song_to_tracks.txt", "msd_tagtraum_generated.cls"


def written(folder: Path) -> Path:
    """Generated data, with the plays outside their zip file."""
    generated.write("million-song", folder, SYNTHETIC)
    with zipfile.ZipFile(folder / f"{PLAYS}.zip") as archive:
        archive.extract(PLAYS, folder)
    (folder / f"{PLAYS}.zip").unlink()
    return folder


def test_written_data_are_read_in_every_compression(tmp_path: Path) -> None:
    """Songs are numbered in order of appearance, and have the genres of all their tracks."""
    generated.write("million-song", tmp_path, SYNTHETIC)
    found = million_song.read(tmp_path)
    first = list(dict.fromkeys(SYNTHETIC.item.tolist()))
    assert [first[number - 1] for number in found.item.tolist()] == SYNTHETIC.item.tolist()
    assert np.array_equal(found.person, SYNTHETIC.person)
    assert np.array_equal(found.value >= 5, SYNTHETIC.value >= 5)
    assert {first[number - 1]: set(topics) for number, topics in found.topics.items()} == {
        number: set(SYNTHETIC.topics[number]) for number in first
    }
    assert (found.least, found.unit) == (5.0, "plays")
    with zipfile.ZipFile(tmp_path / f"{PLAYS}.zip") as archive:
        data = archive.read(PLAYS)
    (tmp_path / f"{PLAYS}.zip").unlink()
    (tmp_path / f"{PLAYS}.gz").write_bytes(gzip.compress(data))
    with zipfile.ZipFile(tmp_path / f"{GENRES}.zip", "w") as archive:
        archive.write(tmp_path / GENRES, GENRES)
    (tmp_path / GENRES).unlink()
    assert str(million_song.read(tmp_path)) == str(found)


def test_lines_as_distributed(tmp_path: Path) -> None:
    """Genres with spaces in their names, songs without a track or a genre, and both files of links."""
    plays = ["b80344d0\tSOAKIMP12A8C130995\t1", "b80344d0\tSOBBMDR12A8C13253B\t7", "85c1f87f\tSOBXHDL12A81C204C0\t5"]
    (tmp_path / PLAYS).write_text("\n".join(plays) + "\n")
    genres = ["# License: none", "#", "TRAAAAV128F421A322\tNew Age", "TRAAABD128F429CF47\tRock\tPop_Rock"]
    (tmp_path / "msd_tagtraum_cd2.cls").write_text("\n".join(genres))  # without the end of the last line
    links = [
        "SOAKIMP12A8C130995\tTRAAAAV128F421A322\tTRAAABD128F429CF47",
        "SOBBMDR12A8C13253B\tTRAAADZ128F9348C2E",
        "SOBXHDL12A81C204C0",
        "SOZZZZZ12A8C130995\tTRAAABD128F429CF47",
    ]
    (tmp_path / TRACKS).write_text("\n".join(links) + "\n")
    found = million_song.read(tmp_path)
    assert found.topics == {1: ("New Age", "Rock", "Pop_Rock"), 2: ()}
    assert str(found) == "3 ratings of 3 items by 2 people; 1 item in 3 topics; 2 with 5 plays or more"
    (tmp_path / TRACKS).unlink()
    tracks = [
        "TRAAAAV128F421A322<SEP>SOAKIMP12A8C130995<SEP>Beyonc\u00e9<SEP>A song",
        "TRAAABD128F429CF47<SEP>SOAKIMP12A8C130995<SEP>Beyonc\u00e9<SEP>A song",
        "TRAAADZ128F9348C2E<SEP>SOBBMDR12A8C13253B<SEP>Another<SEP>",
        "TRAAAAA128F9348C2E<SEP>SOZZZZZ12A8C130995<SEP>Never<SEP>Played",
    ]
    (tmp_path / "unique_tracks.txt").write_text("\n".join(tracks) + "\n", encoding="utf-8")
    again = million_song.read(tmp_path)
    assert again.topics == found.topics
    assert again.names == {1: "Beyonc\u00e9: A song", 2: "Another: "}


def test_one_of_several_annotations_is_chosen(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "other.cls").write_text("TR0000000000000002\tElse\n")
    with pytest.raises(InvalidInput, match=r"choose one by annotations, of msd_tagtraum_generated.cls, other.cls"):
        million_song.read(tmp_path)
    found = million_song.read(tmp_path, annotations="other.cls")
    assert {topic for topics in found.topics.values() for topic in topics} == {"Else"}
    with pytest.raises(InvalidInput, match=r"must be one with third.cls"):
        million_song.read(tmp_path, annotations="third.cls")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without(PLAYS), "must be one with train_triplets.txt or kaggle_visible_evaluation_triplets.txt"),
        (without(TRACKS), "must be one with taste_profile_song_to_tracks.txt or unique_tracks.txt"),
        (without(GENRES), "must be one with a file of genres, such as msd_tagtraum_cd2.cls"),
        (cut(PLAYS, 1), "train_triplets.txt is truncated in the middle of a line"),
        (put(PLAYS, ""), "train_triplets.txt is empty"),
        (end(PLAYS, "u\tSO1\tmany\n"), r"Line \d+ of .*train_triplets.txt is 'u\\tSO1\\tmany', but must be user"),
        (end(PLAYS, "u\tSO1\t0\n"), "where plays are whole numbers from 1"),
        (end(PLAYS, "u\tSO1\t99999999\n"), "where plays are whole numbers from 1"),
        (end(PLAYS, "u\tSO1\n"), r"train_triplets.txt is 'u\\tSO1', but must be"),
        (put(GENRES, "# nothing\n"), "msd_tagtraum_generated.cls is empty"),
        (end(GENRES, "TR1\n"), "generated.cls is 'TR1', but must be track"),
        (end(GENRES, "SO1\tRock\n"), "where tracks begin with TR"),
        (end(GENRES, "TR1\tRock\tPop\tJazz\n"), "but must be track"),
        (end(TRACKS, "TR1\tSO1\n"), r"tracks.txt is 'TR1\\tSO1', but must be song"),
        (put(TRACKS, "SOX\tTRX\n"), "No song of .*train_triplets.txt has a track in .*tracks.txt"),
    ],
)
def test_damage_gives_a_clear_error(damage: Damage, message: str, tmp_path: Path) -> None:
    damage(written(tmp_path))
    with pytest.raises(InvalidInput, match=message) as caught:
        million_song.read(tmp_path)
    assert str(caught.value).endswith("unpack or copy the data again.")
    assert "\n" not in str(caught.value)


def test_damaged_and_foreign_archives(tmp_path: Path) -> None:
    generated.write("million-song", tmp_path, SYNTHETIC)
    archive = tmp_path / f"{PLAYS}.zip"
    data = bytearray(archive.read_bytes())
    data[200] ^= 0xFF  # in the middle of what is packed: some line is wrong, and else the checksum
    archive.write_bytes(data)
    with pytest.raises(InvalidInput, match=r"train_triplets.txt in .*zip is .*; unpack or copy the data again"):
        million_song.read(tmp_path)
    archive.write_bytes(data[:300])
    with pytest.raises(InvalidInput, match=r"train_triplets.txt.zip is truncated or not a zip file"):
        million_song.read(tmp_path)
    with zipfile.ZipFile(archive, "w") as other:
        other.writestr("holiday.jpg", b"")
    with pytest.raises(InvalidInput, match=r"holds holiday.jpg, but must hold train_triplets.txt"):
        million_song.read(tmp_path)
    (tmp_path / TRACKS).rename(tmp_path / "unique_tracks.txt")
    archive.unlink()
    (tmp_path / PLAYS).write_text("u\tSO0000000000000001\t1\n")
    with pytest.raises(InvalidInput, match=r"Line 1 of .*unique_tracks.txt .* must be track<SEP>song<SEP>artist<SEP>"):
        million_song.read(tmp_path)
