"""Ways to damage a file of a data set, for the tests of all loaders."""

import gzip
from collections.abc import Callable
from pathlib import Path

Damage = Callable[[Path], object]


def content(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def put(name: str, data: str) -> Damage:
    """Replace the content of a file."""

    def damage(folder: Path) -> None:
        raw = data.encode("latin-1")
        (folder / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)

    return damage


def end(name: str, line: str) -> Damage:
    """Append a line to a file."""
    return lambda folder: put(name, content(folder / name).decode("latin-1") + line)(folder)


def cut(name: str, last: int) -> Damage:
    """Remove the last bytes of a file."""
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:-last])


def half(name: str) -> Damage:
    """Truncate a file between two lines."""

    def damage(folder: Path) -> None:
        lines = content(folder / name).decode("latin-1").splitlines(keepends=True)
        put(name, "".join(lines[: len(lines) // 2]))(folder)

    return damage


def without(name: str) -> Damage:
    return lambda folder: (folder / name).unlink()
