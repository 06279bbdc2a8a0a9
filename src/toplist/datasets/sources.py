"""The files of a data set: in a folder or a zip archive, compressed or not, read line by line.

No file is held in memory as a whole. The error for a damaged, truncated or malformed file names the line.
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
BLOCK = 1 << 17  # lines that are parsed at once


class DataFile(NamedTuple):
    """One file of a data set: plain, compressed by gzip, or inside a zip archive.

    Parameters
    ----------
    path : Path
        The file, or the archive that holds it.
    member : str, default ""
        Its name in the archive.
    """

    path: Path
    member: str = ""

    def __str__(self) -> str:
        return f"{self.member} in {self.path}" if self.member else str(self.path)

    def lines(self, ended: bool = True) -> Iterator[str]:
        """Read the lines, without line ends; Latin-1 where a line is not UTF-8.

        Parameters
        ----------
        ended : bool, default True
            Whether to require a line end after the last line of an uncompressed file, which has no checksum. False for
            formats in which half a line is noticed anyway.

        Yields
        ------
        str
            One line.

        Raises
        ------
        InvalidInput
            If the file cannot be read, is damaged or is truncated.
        """
        packed = bool(self.member) or self.path.suffix == ".gz"
        raw = "\n"
        try:
            with ExitStack() as stack:
                stream = self._open(stack)
                # Not splitlines, which also splits at characters that occur in titles.
                text = io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", newline="\n")
                for raw in text:
                    line = raw.rstrip("\r\n")
                    yield line if line.isascii() else _decode(line)
        except (EOFError, zlib.error, gzip.BadGzipFile, zipfile.BadZipFile) as problem:
            raise InvalidInput(f"{self} is truncated or damaged ({str(problem).rstrip('.')}); {AGAIN}.") from None
        except (OSError, NotImplementedError, RuntimeError) as problem:  # the latter two: unsupported kinds of zip
            raise refuse("A file of the data", str(self), "one that can be read", f"see why not ({problem})") from None
        if ended and not packed and not raw.endswith("\n"):
            raise InvalidInput(f"{self} is truncated in the middle of a line; {AGAIN}.")

    def line_error(self, number: int, line: str, form: str) -> InvalidInput:
        """The error for a malformed line; lines are counted from 1."""
        shown = repr(line if len(line) <= 80 else line[:77] + "...")
        return InvalidInput(f"Line {number:,} of {self} is {shown}, but must be {form}; {AGAIN}.")

    def _open(self, stack: ExitStack) -> IO[bytes]:
        name = self.member or self.path.name
        if self.member:
            stream = stack.enter_context(stack.enter_context(zipfile.ZipFile(self.path)).open(self.member))
        else:
            stream = stack.enter_context(self.path.open("rb"))
        return cast(IO[bytes], stack.enter_context(gzip.GzipFile(fileobj=stream))) if name.endswith(".gz") else stream


class DataFiles:
    """The files of a data set, in its folder or in its zip archive as it was downloaded.

    Parameters
    ----------
    path : str or path-like
        The folder or the archive.
    what : str
        Name of the data set, for messages.

    Raises
    ------
    InvalidInput
        If there is neither a folder nor a zip archive at `path`.
    """

    def __init__(self, path: AnyPath, what: str) -> None:
        self.what = f"The {what} folder"
        accepted = f"a folder that holds {what}, or its zip file"
        if not isinstance(path, str | os.PathLike) or not os.path.exists(path):
            given = os.fspath(path) if isinstance(path, os.PathLike) else path
            raise refuse(self.what, given, accepted, "get the data and give their folder")
        self.path = Path(path)
        if self.path.is_dir():
            self._files = {each.name: DataFile(each) for each in sorted(self.path.iterdir()) if each.is_file()}
        elif self.path.suffix == ".zip":
            self._files = _members(self.path)
        else:
            raise refuse(self.what, str(self.path), accepted, "give the folder of this file")

    def find(self, *names: str) -> DataFile | None:
        """The first of these files that exists, compressed or not; None if none does."""
        for name in names:
            for stored in (name, f"{name}.gz"):
                if stored in self._files:
                    return self._files[stored]
            if f"{name}.zip" in self._files:
                return _single_member(self._files[f"{name}.zip"], name)
        return None

    def require(self, *names: str) -> DataFile:
        """The first of these files that exists, compressed or not; an error if none does."""
        found = self.find(*names)
        if found is None:
            raise refuse(self.what, str(self.path), f"one with {' or '.join(names)}", AGAIN)
        return found

    def find_all(self, suffix: str) -> list[DataFile]:
        """All files whose names end in `suffix`, compressed or not."""
        names = {name.removesuffix(".gz").removesuffix(".zip") for name in self._files}
        return [self.require(name) for name in sorted(names) if name.endswith(suffix)]


def read_columns(
    file: DataFile,
    form: str,
    separator: str,
    are_valid: Callable[[Floats], Bools],
    rule: str,
    header: Sequence[str] = (),
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    """Read the first three columns of a file of numbers: user, item and value.

    Parameters
    ----------
    file : DataFile
        The file.
    form : str
        Names of all columns, with the separator between them; ignored if there is a header.
    separator : str
        What separates the columns.
    are_valid : callable
        Gets rows of numbers, and says of each whether it is valid.
    rule : str
        What `are_valid` checks, in words.
    header : sequence of str, default ()
        The accepted header lines; none by default.

    Returns
    -------
    tuple of ndarray
        Users and items as int32, values as float32.

    Raises
    ------
    InvalidInput
        If the file is empty, or a line has the wrong number of columns or breaks the rule.
    """
    lines = file.lines()
    first = 1  # number of the first line of a block
    if header:
        form = _header(file, next(lines, ""), header)
        first = 2
    width = form.count(separator) + 1
    found = []
    while block := list(islice(lines, BLOCK)):
        rows = [line for line in block if line] if "" in block else block
        if rows:
            part = _numbers(rows, separator, width)
            if part is None or not are_valid(part).all():
                for number, line in enumerate(block, start=first):
                    one = _numbers([line], separator, width) if line else None
                    if line and (one is None or not are_valid(one).all()):
                        raise file.line_error(number, line, f"{form}, where {rule}")
            assert part is not None
            found.append((part[:, 0].astype(np.int32), part[:, 1].astype(np.int32), part[:, 2].astype(np.float32)))
        first += len(block)
    if not found:
        raise InvalidInput(f"{file} is empty, but must have lines {form}; {AGAIN}.")
    users, items, values = zip(*found, strict=True)
    return np.concatenate(users), np.concatenate(items), np.concatenate(values)


def have_valid_ids(table: Floats) -> Bools:
    """Which rows begin with two whole numbers from 1 on, as users and items are numbered in all data sets here."""
    return np.asarray(((table[:, :2] >= 1) & (table[:, :2] < 2**31) & (table[:, :2] % 1 == 0)).all(axis=1))


def _header(file: DataFile, given: str, accepted: Sequence[str]) -> str:
    """The first line of a file, if it is an accepted one."""
    line = given.removeprefix("\ufeff")
    if line not in accepted:
        expected = " or ".join(map(repr, accepted))
        raise InvalidInput(f"{file} begins with {line[:80]!r}, but must begin with {expected}; {AGAIN}.")
    return line


def _numbers(lines: list[str], separator: str, width: int) -> Floats | None:
    """Lines as rows of numbers; None if one of them is not."""
    delimiter = separator
    if len(separator) > 1:
        delimiter = ","
        lines = [line.replace(separator, delimiter) for line in lines]
    try:
        table = np.loadtxt(lines, delimiter=delimiter, comments=None, ndmin=2)
    except ValueError:
        return None
    return np.asarray(table, dtype=np.float64) if table.shape[1] == width else None


def _members(path: Path) -> dict[str, DataFile]:
    """The files of an archive by name, without their folders."""
    try:
        with zipfile.ZipFile(path) as archive:
            return {
                PurePosixPath(each.filename).name: DataFile(path, each.filename)
                for each in archive.infolist()
                if not each.is_dir()
            }
    except (zipfile.BadZipFile, OSError) as problem:
        raise InvalidInput(f"{path} is truncated or not a zip file ({problem}); download or copy it again.") from None


def _single_member(archive: DataFile, name: str) -> DataFile:
    """The file of this name in the archive `name`.zip."""
    members = _members(archive.path)
    if name not in members:
        raise InvalidInput(f"{archive} holds {', '.join(members) or 'nothing'}, but must hold {name}; {AGAIN}.")
    return members[name]


def _decode(line: str) -> str:
    """The line, decoded as Latin-1 if it was not UTF-8."""
    try:
        line.encode("utf-8")
    except UnicodeEncodeError:  # some bytes were escaped
        return line.encode("utf-8", "surrogateescape").decode("latin-1")
    return line
