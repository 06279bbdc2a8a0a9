"""Blocks of whole lines of a text file, compressed or not, with their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput, refuse
from toplist.core.slate import Ints
from toplist.logs.arrow import arrow
from toplist.logs.report import CUT_OFF, Rejected

BLOCK = 1 << 24  # bytes of text that are parsed at once
READ = 1 << 16  # bytes of a read: what a file that is cut off loses at most
LONGEST_LINE = 4 * BLOCK  # bytes
COMPRESSIONS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
NOT_UTF8 = "the text is not UTF-8"


class Lines(NamedTuple):
    """Whole lines, each with its line end; the first has number `first`."""

    text: bytes
    first: int
    rejected: list[Rejected]

    def split(self) -> list[bytes]:
        """The lines without their line ends."""
        lines = self.text.split(b"\n")
        return lines[:-1] if not lines[-1] else lines

    def numbers(self, places: Any) -> Ints:
        """Line numbers of places among the lines, counted from 0."""
        return np.asarray(places, dtype=np.int64) + self.first


class TextFile:
    """A text file, read in blocks of lines.

    Parameters
    ----------
    path : Path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with path.open("rb") as file:
            begin = file.read(4)
        self._compression = next((name for mark, name in COMPRESSIONS.items() if begin.startswith(mark)), None)
        self._size = path.stat().st_size
        self._raw: Any = None

    def first_line(self) -> str:
        """The first line that is not blank, without a byte order mark; empty for an empty file."""
        begin = bytearray()
        for some in self._reads():
            if isinstance(some, OSError):
                break
            begin += some
            lines = begin.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").split(b"\n", 1)
            if len(lines) > 1 or len(begin) > BLOCK:
                break
        text = begin.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n").split(b"\n", 1)[0]
        return text.decode("utf-8", "replace").rstrip("\r")

    def blocks(self, quote: bytes = b"", size: int | None = None) -> Iterator[Lines]:
        """Blocks of whole lines; a line end between two quotes does not end a line.

        Lines that are not UTF-8 are blanked and rejected; so is the rest of a compressed file that is cut off.
        """
        rest, first, is_open, problem = b"", 1, True, None
        reads = self._reads()
        while is_open:
            parts, length = [rest], len(rest)
            while length < (size or BLOCK) + len(rest):
                some = next(reads, b"")
                if isinstance(some, OSError):
                    problem = some
                elif some:
                    parts.append(some)
                    length += len(some)
                    continue
                is_open = False
                break
            text = b"".join(parts)
            cut = len(text) if not is_open and problem is None else _last_line_end(text, quote)
            if cut == 0 and len(text) > LONGEST_LINE:  # a quote that is never closed
                cut = _last_line_end(text, b"") or len(text)
            text, rest = text[:cut], text[cut:]
            if first == 1:
                text = text.removeprefix(b"\xef\xbb\xbf")
            lines = text.count(b"\n")
            text, bad = _readable(text)
            rejected = [Rejected(bad + first, NOT_UTF8)] if len(bad) else []
            if problem is not None:
                rejected.append(Rejected(np.array([first + lines]), CUT_OFF))
            if text or rejected:
                yield Lines(text, first, rejected)
            first += lines

    def empty_error(self) -> InvalidInput:
        """The error of a file without a line."""
        accepted = "a file with a header or with lines of JSON"
        advice = "it is empty, or cut off at its beginning; give another one"
        return refuse("The log", str(self.path), accepted, advice)

    def done(self) -> tuple[int, int]:
        """Bytes read, and bytes."""
        return (0 if self._raw is None or self._raw.closed else self._raw.tell()), self._size

    def _reads(self) -> Iterator[bytes | OSError]:
        """What the file holds, uncompressed; at the end an error if it is cut off or damaged."""
        lib = arrow.lib
        with lib.OSFile(str(self.path)) as self._raw:
            stream = lib.CompressedInputStream(self._raw, self._compression) if self._compression else self._raw
            size = READ if self._compression else BLOCK
            while True:
                try:
                    some = stream.read(size)
                except OSError as problem:
                    yield problem
                    return
                if not some:
                    return
                yield some


def _last_line_end(text: bytes, quote: bytes) -> int:
    """Where the last whole line ends."""
    cut = text.rfind(b"\n") + 1
    if not quote:
        return cut
    quotes = text.count(quote, 0, cut)
    while quotes % 2 and cut > 0:
        before = text.rfind(b"\n", 0, cut - 1) + 1
        quotes -= text.count(quote, before, cut)
        cut = before
    return cut


def _readable(text: bytes) -> tuple[bytes, Ints]:
    """The text with lines that are not UTF-8 blanked, and the places of these lines."""
    if text.isascii():
        return text, np.zeros(0, dtype=np.int64)
    try:
        text.decode()
    except UnicodeDecodeError:
        lines = text.split(b"\n")
        bad = [place for place, line in enumerate(lines) if not _is_utf8(line)]
        for place in bad:
            lines[place] = b""
        return b"\n".join(lines), np.array(bad, dtype=np.int64)
    return text, np.zeros(0, dtype=np.int64)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
