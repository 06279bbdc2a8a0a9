"""The files of a data set: found in a folder or an archive, packed or not, and read line by line.

No file is ever held whole, and one that is damaged, cut off or of another form ends in a sentence that names the line.
"""

from __future__ import annotations

import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from toplist.core.problem import InvalidInput, refuse
from toplist.core.slate import Bools, Floats
from toplist.support.files import AnyPath

AGAIN = "unpack or copy the data again"
BLOCK = 1 << 17  # lines that are turned into numbers at once


class File(NamedTuple):
    """One file of a data set, as it is, packed by gzip, or inside an archive."""

    path: Path
    member: str = ""  # of the archive at this path

    def __str__(self) -> str:
        return f"{self.member} in {self.path}" if self.member else str(self.path)

    def lines(self, ended: bool = True) -> Iterator[str]:
        """Its lines, without their ends; Latin-1 where a line is not UTF-8.

        A packed file has a checksum. Another one is complete only if its last line is ended, unless `ended` is false,
        for forms in which half a line is noticed anyway.
        """
        packed = bool(self.member) or self.path.suffix == ".gz"
        raw = "\n"
        try:
            with ExitStack() as stack:
                stream = self._opened(stack)
                # Not splitlines: some letters of a title would count as the end of a line.
                text = io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", newline="\n")
                for raw in text:
                    line = raw.rstrip("\r\n")
                    yield line if line.isascii() else _legible(line)
        except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as problem:
            raise InvalidInput(f"{self} is cut off or damaged ({str(problem).rstrip('.')}); {AGAIN}.") from None
        except (OSError, NotImplementedError, RuntimeError) as problem:  # the latter two: kinds of zip we cannot unpack
            raise refuse("A file of the data", str(self), "one that can be read", f"see why not ({problem})") from None
        if ended and not packed and not raw.endswith("\n"):
            raise InvalidInput(f"{self} is cut off in the middle of a line; {AGAIN}.")

    def wrong(self, number: int, line: str, form: str) -> InvalidInput:
        """The error for a line, counted from 1."""
        shown = repr(line if len(line) <= 80 else line[:77] + "...")
        return InvalidInput(f"Line {number:,} of {self} is {shown}, but must be {form}; {AGAIN}.")

    def _opened(self, stack: ExitStack) -> IO[bytes]:
        name = self.member or self.path.name
        if self.member:
            stream = stack.enter_context(stack.enter_context(zipfile.ZipFile(self.path)).open(self.member))
        else:
            stream = stack.enter_context(self.path.open("rb"))
        return cast(IO[bytes], stack.enter_context(gzip.GzipFile(fileobj=stream))) if name.endswith(".gz") else stream


class Place:
    """A folder of files, or the archive as it was downloaded."""

    def __init__(self, path: AnyPath, what: str) -> None:
        self.what = f"The {what} folder"
        accepted = f"a folder that holds {what}, or its zip file"
        if not isinstance(path, str | os.PathLike) or not os.path.exists(path):
            given = os.fspath(path) if isinstance(path, os.PathLike) else path
            raise refuse(self.what, given, accepted, "get the data and name their folder")
        self.path = Path(path)
        if self.path.is_dir():
            self._files = {each.name: File(each) for each in sorted(self.path.iterdir()) if each.is_file()}
        elif self.path.suffix == ".zip":
            self._files = _members(self.path)
        else:
            raise refuse(self.what, str(self.path), accepted, "name the folder of this file")

    def find(self, *names: str) -> File | None:
        """The first of these files that is there, packed or not."""
        for name in names:
            for there in (name, f"{name}.gz"):
                if there in self._files:
                    return self._files[there]
            if f"{name}.zip" in self._files:
                return _only(self._files[f"{name}.zip"], name)
        return None

    def need(self, *names: str) -> File:
        """The first of these files that is there, or the error that none is."""
        found = self.find(*names)
        if found is None:
            raise refuse(self.what, str(self.path), f"one with {' or '.join(names)}", AGAIN)
        return found

    def ending(self, suffix: str) -> list[File]:
        """All files whose names end so, packed or not."""
        names = {name.removesuffix(".gz").removesuffix(".zip") for name in self._files}
        return [self.need(name) for name in sorted(names) if name.endswith(suffix)]


def columns(
    file: File, form: str, between: str, right: Callable[[Floats], Bools], rule: str, header: Sequence[str] = ()
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    """The first three columns of a file of numbers: whose, of what, and the value.

    `form` names the columns, with what stands `between` them, and each line has all of them. Rows must also be `right`,
    which `rule` says in words. Where there is a `header`, it is one of those given, and names the columns instead.
    """
    lines = file.lines()
    begun = 1
    if header:
        form = _header(file, next(lines, ""), header)
        begun = 2
    width = form.count(between) + 1
    found = []
    while block := list(islice(lines, BLOCK)):
        rows = [line for line in block if line] if "" in block else block
        if rows:
            part = _numbers(rows, between, width)
            if part is None or not right(part).all():
                for number, line in enumerate(block, start=begun):
                    one = _numbers([line], between, width) if line else None
                    if line and (one is None or not right(one).all()):
                        raise file.wrong(number, line, f"{form}, where {rule}")
            assert part is not None
            found.append((part[:, 0].astype(np.int32), part[:, 1].astype(np.int32), part[:, 2].astype(np.float32)))
        begun += len(block)
    if not found:
        raise InvalidInput(f"{file} is empty, but must have lines {form}; {AGAIN}.")
    people, items, values = zip(*found, strict=True)
    return np.concatenate(people), np.concatenate(items), np.concatenate(values)


def identifiers(table: Floats) -> Bools:
    """Which rows begin with two whole numbers from 1 on, as all data sets here count people and things."""
    return np.asarray(((table[:, :2] >= 1) & (table[:, :2] < 2**31) & (table[:, :2] % 1 == 0)).all(axis=1))


def _header(file: File, given: str, accepted: Sequence[str]) -> str:
    """The first line of a file, if it is one of those accepted."""
    line = given.removeprefix("\ufeff")
    if line not in accepted:
        expected = " or ".join(map(repr, accepted))
        raise InvalidInput(f"{file} begins with {line[:80]!r}, but must begin with {expected}; {AGAIN}.")
    return line


def _numbers(lines: list[str], between: str, width: int) -> Floats | None:
    """Lines as rows of numbers; None where one of them is not."""
    separator = between
    if len(between) > 1:
        separator = ","
        lines = [line.replace(between, separator) for line in lines]
    try:
        table = np.loadtxt(lines, delimiter=separator, comments=None, ndmin=2)
    except ValueError:
        return None
    return np.asarray(table, dtype=np.float64) if table.shape[1] == width else None


def _members(path: Path) -> dict[str, File]:
    """The files of an archive by their names, whatever folder they are in."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {
                PurePosixPath(each.filename).name: File(path, each.filename)
                for each in archive.infolist()
                if not each.is_dir()
            }
    except (zipfile.BadZipFile, OSError) as problem:
        raise InvalidInput(f"{path} is cut off or no zip file ({problem}); download or copy it again.") from None


def _only(archive: File, name: str) -> File:
    """The file of this name in an archive that was made for it."""
    inside = _members(archive.path)
    if name not in inside:
        raise InvalidInput(f"{archive} holds {', '.join(inside) or 'nothing'}, but must hold {name}; {AGAIN}.")
    return inside[name]


def _legible(line: str) -> str:
    """A line in Latin-1, where it was not UTF-8."""
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:  # some byte had to be escaped
        return line.encode("utf-8", "surrogateescape").decode("latin-1")
    return line
