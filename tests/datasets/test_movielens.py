"""MovieLens 1M: what is written is read again, in both forms, and what is wrong or missing is told in a sentence."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from toplist.datasets import movielens
from toplist.datasets.ratings import Ratings, made_up
from toplist.problem import InvalidInput

MADE_UP = made_up(people=30, items=25, topics=6, seed=3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    movielens.write(MADE_UP, tmp_path)
    return tmp_path


def same(a: Ratings, b: Ratings) -> bool:
    return a.topics == b.topics and all(map(np.array_equal, a[:3], b[:3]))


@pytest.mark.parametrize("packed", [False, True])
def test_what_is_written_is_read(packed: bool, tmp_path: Path) -> None:
    movielens.write(MADE_UP, tmp_path, packed)
    assert (tmp_path / movielens.CSV).exists() == packed
    assert same(movielens.read(tmp_path), MADE_UP)
    assert same(movielens.read(str(tmp_path)), MADE_UP)


def test_lines_as_they_are_distributed(tmp_path: Path) -> None:
    """Titles in Latin-1, of which a letter may look like the end of a line, and no list of people."""
    movies = "1::Toy Story (1995)::Animation|Children's|Comedy\n7::Mis\xe9rables, Les\x85 (1995)::Drama\n"
    (tmp_path / "movies.dat").write_bytes(movies.encode("latin-1"))
    (tmp_path / "ratings.dat").write_bytes(b"1::7::5::978300760\r\n2::1::3::978302109\r\n")
    found = movielens.read(tmp_path)
    assert found.topics == {1: ("Animation", "Children's", "Comedy"), 7: ("Drama",)}
    assert [each.tolist() for each in found[:3]] == [[1, 2], [7, 1], [5.0, 3.0]]
    assert str(found) == "2 ratings of 2 items by 2 people; 2 items in 4 topics"


def cut(name: str, last: int) -> Callable[[Path], object]:
    """Take away the end of a file."""
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-last])


def end(name: str, line: str) -> Callable[[Path], object]:
    """Write another line below a file."""
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes() + line.encode())


def without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def half(folder: Path) -> None:
    """Cut off between two lines."""
    lines = (folder / "ratings.dat").read_text().splitlines(keepends=True)
    (folder / "ratings.dat").write_text("".join(lines[: len(lines) // 2]))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (without("movies.dat"), "must be one with movies.dat"),
        (without("ratings.dat"), "must be one with ratings.dat or ratings.csv.gz"),
        (cut("ratings.dat", 4), "ratings.dat is cut off in the middle of a line"),
        (cut("movies.dat", 3), "movies.dat is cut off in the middle of a line"),
        (lambda folder: (folder / "ratings.dat").write_bytes(b""), "ratings.dat is empty"),
        (half, r"ratings by 1\d people, but .*users.dat lists 30"),
        (end("ratings.dat", "1::2::3\n"), r"a line that is not user::movie::stars::time \(.*columns changed"),
        (end("ratings.dat", "1::2::five::9\n"), r"a line that is not user::movie::stars::time \(could not convert"),
        (end("ratings.dat", "1::2::6::9\n"), "is user 1, movie 2, 6 stars, but .* stars are 1 to 5"),
        (end("ratings.dat", "1.5::2::5::9\n"), "is user 1.5, movie 2, 5 stars, but users and movies are counted"),
        (end("ratings.dat", "1::2::nan::9\n"), "nan stars"),
        (end("ratings.dat", "1::99::5::9\n"), "rates movie 99, but .*movies.dat has no such movie"),
        (end("movies.dat", "99::A title\n"), "Line 26 of .*movies.dat is '99::A title', but must be movie::title"),
        (lambda folder: (folder / "ratings.dat").write_text("1,2,5\n"), "have 3 fields, but must be user::movie"),
    ],
)  # fmt: skip
def test_damage_is_told_in_a_sentence(damage: Callable[[Path], object], message: str, folder: Path) -> None:
    damage(folder)
    with pytest.raises(InvalidInput, match=message) as caught:
        movielens.read(folder)
    assert str(caught.value).endswith("unpack or copy the data again.")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kept", [0.5, 0.99])
def test_a_packed_file_that_lost_its_end(kept: float, tmp_path: Path) -> None:
    movielens.write(MADE_UP, tmp_path, packed=True)
    path = tmp_path / movielens.CSV
    path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
    with pytest.raises(InvalidInput, match="is cut off or damaged"):
        movielens.read(tmp_path)


def test_packed_files_of_another_kind(tmp_path: Path) -> None:
    movielens.write(MADE_UP, tmp_path, packed=True)
    path = tmp_path / movielens.CSV
    path.write_bytes(b"user_id,movie_id,rating\n1,2,3\n")
    with pytest.raises(InvalidInput, match=r"ratings.csv.gz is cut off or damaged \(Not a gzipped file"):
        movielens.read(tmp_path)
    path.write_bytes(gzip.compress(b"user,item,play\n1,2,3\n"))
    with pytest.raises(InvalidInput, match="begins with 'user,item,play', but must begin with 'user_id,movie_id"):
        movielens.read(tmp_path)


@pytest.mark.parametrize("given", ["/nowhere/at/all", 7, None])
def test_a_folder_that_is_none(given: object) -> None:
    with pytest.raises(InvalidInput, match="must be a folder that holds MovieLens 1M"):
        movielens.read(given)  # type: ignore[arg-type]


def test_made_up_ratings_are_seeded_and_look_like_ratings() -> None:
    assert same(made_up(30, 25, 6, seed=3), MADE_UP)
    assert not same(made_up(30, 25, 6, seed=4), MADE_UP)
    many = made_up(people=400, items=300, seed=0)
    times = np.sort(np.bincount(many.item))[::-1]
    assert times[:30].sum() > 3 * times[150:180].sum()  # few are rated by many
    assert set(np.unique(many.stars)) == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert len(np.unique(many.person)) == 400
    assert 1.5 < np.mean([len(topics) for topics in many.topics.values()]) < 2.2
    with pytest.raises(InvalidInput, match="The number of people is 0"):
        made_up(people=0)
