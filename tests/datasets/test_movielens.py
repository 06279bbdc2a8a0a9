"""MovieLens in all layouts: written data are read again, and errors of wrong or missing files."""

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pytest
from damage import Damage, cut, end, half, put, without

from toplist.core.problem import InvalidInput
from toplist.datasets import generated, movielens
from toplist.datasets.ratings import Ratings, synthetic_ratings

SYNTHETIC = synthetic_ratings(people=30, items=25, topics=6, seed=3)
LAYOUTS = ("ml-1m", "ml-1m-csv", "ml-100k", "ml-latest")


def same(a: Ratings, b: Ratings) -> bool:
    return all(map(np.array_equal, a[:3], b[:3]))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_written_data_are_read(layout: str, tmp_path: Path) -> None:
    generated.write(layout, tmp_path, SYNTHETIC)
    for given in (tmp_path, str(tmp_path)):
        found = movielens.read(given)
        assert same(found, SYNTHETIC)
        assert found.names[7] == "Generated movie, number 7 (2000)"
        assert (found.least, found.unit) == (5.0, "stars")
        renamed = dict(
            zip(sorted({t for ts in SYNTHETIC.topics.values() for t in ts}), movielens.GENRES[1:], strict=False)
        )
        for number, topics in SYNTHETIC.topics.items():
            expected = {renamed[topic] for topic in topics} if layout == "ml-100k" else set(topics)
            assert set(found.topics[number]) == expected


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_zip_file_is_read_as_downloaded(layout: str, tmp_path: Path) -> None:
    """All files are in a folder of the archive, as in those of GroupLens."""
    folder = tmp_path / "unpacked"
    folder.mkdir()
    generated.write(layout, folder, SYNTHETIC)
    with zipfile.ZipFile(tmp_path / "ml.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("ml")
        for file in folder.iterdir():
            archive.write(file, f"ml/{file.name}")
    assert same(movielens.read(tmp_path / "ml.zip"), SYNTHETIC)
    data = (tmp_path / "ml.zip").read_bytes()
    (tmp_path / "ml.zip").write_bytes(data[: len(data) // 2])
    with pytest.raises(InvalidInput, match=r"ml.zip is truncated or not a zip file \(.*\); download or copy it again"):
        movielens.read(tmp_path / "ml.zip")


def test_lines_of_1m_as_distributed(tmp_path: Path) -> None:
    """Titles in Latin-1, with a character that looks like a line end, and no list of users."""
    movies = "1::Toy Story (1995)::Animation|Children's|Comedy\n7::Mis\xe9rables, Les\x85 (1995)::Drama\n"
    (tmp_path / "movies.dat").write_bytes(movies.encode("latin-1"))
    (tmp_path / "ratings.dat").write_bytes(b"1::7::5::978300760\r\n2::1::3::978302109\r\n")
    found = movielens.read(tmp_path)
    assert found.topics == {1: ("Animation", "Children's", "Comedy"), 7: ("Drama",)}
    assert found.names[7] == "Mis\xe9rables, Les\x85 (1995)"
    assert [each.tolist() for each in found[:3]] == [[1, 2], [7, 1], [5.0, 3.0]]
    assert str(found) == "2 ratings of 2 items by 2 people; 2 items in 4 topics; 1 with 5 stars or more"


def test_lines_of_100k_as_distributed(tmp_path: Path) -> None:
    flags = ["0"] * 19
    comedy, unknown = [*flags], [*flags]
    comedy[5] = comedy[14] = unknown[0] = "1"
    items = [
        f"1|Toy Story (1995)|01-Jan-1995||http://example.org|{'|'.join(comedy)}",
        f"267|unknown||||{'|'.join(unknown)}",
        "",
    ]
    (tmp_path / "u.item").write_text("\n".join(items) + "\n", encoding="latin-1")
    (tmp_path / "u.data").write_text("196\t1\t3\t881250949\n186\t267\t5\t891717742\n")
    found = movielens.read(tmp_path)
    assert found.topics == {1: ("Comedy", "Romance"), 267: ()}
    assert str(found) == "2 ratings of 2 items by 2 people; 1 item in 2 topics; 1 with 5 stars or more"


def test_lines_of_latest_as_distributed(tmp_path: Path) -> None:
    """Titles in UTF-8, in quotes if they have a comma; half stars; a movie of 2018 without genres."""
    movies = [
        "movieId,title,genres",
        '11,"American President, The (1995)",Comedy|Drama',
        '58,"""Ünique"" (2018)",(no genres listed)',
    ]
    (tmp_path / "movies.csv").write_bytes("".join(f"{line}\r\n" for line in movies).encode())
    (tmp_path / "ratings.csv").write_text("userId,movieId,rating,timestamp\n1,11,4.5,964982703\n2,58,0.5,964982703\n")
    found = movielens.read(tmp_path)
    assert found.topics == {11: ("Comedy", "Drama"), 58: ()}
    assert found.names == {11: "American President, The (1995)", 58: '"Ünique" (2018)'}
    assert found.value.tolist() == [4.5, 0.5]


RATINGS_1M = "must be user::movie::stars::time, where users and movies are whole numbers from 1, and stars are 0.5 to 5"


@pytest.mark.parametrize(
    ("layout", "damage", "message"),
    [
        ("ml-1m", without("movies.dat"), "must be one with movies.dat or movies.csv or u.item"),
        ("ml-1m", without("ratings.dat"), "must be one with ratings.dat or ratings.csv"),
        ("ml-1m", cut("ratings.dat", 4), "ratings.dat is truncated in the middle of a line"),
        ("ml-1m", cut("movies.dat", 3), "movies.dat is truncated in the middle of a line"),
        ("ml-1m", put("ratings.dat", ""), "ratings.dat is empty"),
        ("ml-1m", half("ratings.dat"), r"ratings by 1\d users, but .*users.dat lists 30"),
        ("ml-1m", end("ratings.dat", "1::2::3\n"), rf"Line \d+ of .*ratings.dat is '1::2::3', but {RATINGS_1M}"),
        ("ml-1m", end("ratings.dat", "1::2::five::9\n"), rf"ratings.dat is '1::2::five::9', but {RATINGS_1M}"),
        ("ml-1m", end("ratings.dat", "1::2::6::9\n"), rf"ratings.dat is '1::2::6::9', but {RATINGS_1M}"),
        ("ml-1m", end("ratings.dat", "1.5::2::5::9\n"), "is '1.5::2::5::9', but must be"),
        ("ml-1m", end("ratings.dat", "1::2::nan::9\n"), "is '1::2::nan::9', but must be"),
        ("ml-1m", end("ratings.dat", f"1::{2**31}::5::9\n"), "::5::9', but must be"),
        ("ml-1m", end("ratings.dat", "1::99::5::9\n"), "rates movie 99, but .*movies.dat has no such movie"),
        ("ml-1m", end("movies.dat", "99::A title\n"), "Line 26 of .*movies.dat is '99::A title', but must be movie::"),
        ("ml-1m", put("ratings.dat", "1,2,5\n"), "Line 1 of .*ratings.dat is '1,2,5', but must be user::movie"),
        ("ml-1m-csv", cut("ratings.csv.gz", 4), "ratings.csv.gz is truncated or damaged"),
        ("ml-1m-csv", cut("ratings.csv.gz", 400), "ratings.csv.gz is truncated or damaged"),
        ("ml-1m-csv", put("ratings.csv.gz", "user,item,play\n1,2,3\n"), "begins with 'user,item,play', but must begin"),
        ("ml-1m-csv", end("ratings.csv.gz", "1,2\n"), "ratings.csv.gz is '1,2', but must be user_id,movie_id,rating"),
        ("ml-100k", without("u.data"), "must be one with u.data"),
        ("ml-100k", cut("u.data", 3), "u.data is truncated in the middle of a line"),
        ("ml-100k", half("u.data"), r"u.data has \d+ ratings, but .*u.info counts \d+"),
        ("ml-100k", end("u.data", "1\t2\tx\t9\n"), r"u.data is '1\\t2\\tx\\t9', but must be"),
        ("ml-100k", end("u.item", "26|A title|1|0\n"), r"Line 26 of .*u.item is .* and 19 times \|0 or \|1"),
        ("ml-latest", without("ratings.csv"), "must be one with ratings.dat or ratings.csv"),
        ("ml-latest", put("movies.csv", "id,name\n"), "movies.csv begins with 'id,name', but must begin with 'movieId"),
        ("ml-latest", end("movies.csv", "26,A title\r\n"), "Line 27 of .*movies.csv is '26,A title', but must be"),
        ("ml-latest", cut("ratings.csv", 5), "ratings.csv is truncated in the middle of a line"),
        ("ml-latest", end("ratings.csv", "1,2,5.5,9\n"), "ratings.csv is '1,2,5.5,9', but must be userId,movieId,rat"),
    ],
)
def test_damage_gives_a_clear_error(layout: str, damage: Damage, message: str, tmp_path: Path) -> None:
    generated.write(layout, tmp_path, SYNTHETIC)
    damage(tmp_path)
    with pytest.raises(InvalidInput, match=message) as caught:
        movielens.read(tmp_path)
    assert str(caught.value).endswith("unpack or copy the data again.")
    assert "\n" not in str(caught.value)


def test_the_line_number_is_right_in_later_blocks_and_after_empty_lines(tmp_path: Path) -> None:
    generated.write("ml-1m", tmp_path, SYNTHETIC)
    lines = ["", *["1::2::3::9"] * 140_000, "", "", "1::2::3:9"] + ["1::2::3::9"] * 5
    (tmp_path / "ratings.dat").write_text("\n".join(lines) + "\n")
    with pytest.raises(InvalidInput, match=r"Line 140,004 of .*ratings.dat is '1::2::3:9'"):
        movielens.read(tmp_path)


def test_an_uncompressed_file_named_gz(tmp_path: Path) -> None:
    generated.write("ml-1m-csv", tmp_path, SYNTHETIC)
    (tmp_path / "ratings.csv.gz").write_bytes(b"user_id,movie_id,rating\n1,2,3\n")
    with pytest.raises(InvalidInput, match=r"ratings.csv.gz is truncated or damaged \(Not a gzipped file"):
        movielens.read(tmp_path)


@pytest.mark.parametrize("given", ["/nowhere/at/all", 7, None, __file__])
def test_wrong_folders_are_refused(given: object) -> None:
    with pytest.raises(InvalidInput, match="must be a folder that holds MovieLens, or its zip file"):
        movielens.read(given)  # type: ignore[arg-type]


def test_synthetic_ratings_are_seeded_and_realistic() -> None:
    assert same(synthetic_ratings(30, 25, 6, seed=3), SYNTHETIC)
    assert synthetic_ratings(30, 25, 6, seed=3).topics == SYNTHETIC.topics
    assert not same(synthetic_ratings(30, 25, 6, seed=4), SYNTHETIC)
    many = synthetic_ratings(people=400, items=300, seed=0)
    times = np.sort(np.bincount(many.item))[::-1]
    assert times[:30].sum() > 3 * times[150:180].sum()  # few are rated by many
    assert set(np.unique(many.value)) == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert len(np.unique(many.person)) == 400
    assert 1.5 < np.mean([len(topics) for topics in many.topics.values()]) < 2.2
    with pytest.raises(InvalidInput, match="The number of people is 0"):
        synthetic_ratings(people=0)


def test_compression_makes_no_difference(tmp_path: Path) -> None:
    generated.write("ml-latest", tmp_path, SYNTHETIC)
    for name in ("movies.csv", "ratings.csv"):
        data = (tmp_path / name).read_bytes()
        (tmp_path / name).unlink()
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(data))
    assert same(movielens.read(tmp_path), SYNTHETIC)
