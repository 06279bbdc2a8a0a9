"""Generated data: seeded, named as generated, small; wrong folders are refused."""

import gzip
import zipfile
from pathlib import Path

import pytest

from toplist.core.problem import InvalidInput
from toplist.datasets import click_models, generated


def content(folder: Path) -> dict[str, bytes]:
    """All files of a folder, decompressed, since archives hold a time stamp."""
    found = {}
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                data = b"".join(archive.read(name) for name in archive.namelist())
        found[path.name] = data
    return found


@pytest.mark.parametrize("layout", generated.LAYOUTS)
def test_every_layout_is_seeded_and_named_as_generated(layout: str, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "again", "other")]
    for folder, seed in zip(folders, (1, 1, 2), strict=True):
        folder.mkdir()
        assert generated.write(layout, folder, seed=seed) == folder
    first, again, other = map(content, folders)
    assert first == again
    assert first.keys() == other.keys()
    assert first != other
    assert (
        first["GENERATED.txt"].decode() == f"Made up by toplist.datasets.generated: {layout}, seed 1. No real data.\n"
    )
    assert sum(map(len, first.values())) < 200_000


def test_generated_click_models_are_read(tmp_path: Path) -> None:
    found = click_models.read(generated.write("click-models", tmp_path))
    assert found.documents == 10
    assert found.models == tuple(click_models.PARAMETERS)
    assert next(iter(found.queries)) == "generated 1"


def test_wrong_layouts_and_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InvalidInput, match=r"The layout is 'ml-2m', but must be one of ml-1m, .*; perhaps you mean 'ml"
    ):
        generated.write("ml-2m", tmp_path)
    with pytest.raises(InvalidInput, match="must be a folder that exists; create it first"):
        generated.write("ml-1m", tmp_path / "nowhere")
    with pytest.raises(InvalidInput, match="The seed is -1"):
        generated.write("ml-1m", tmp_path, seed=-1)
