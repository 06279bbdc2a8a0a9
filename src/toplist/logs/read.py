"""Reads a log from files or a frame, as a whole or part by part."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from toplist.core.problem import refuse, whole
from toplist.logs.assemble import Assembler
from toplist.logs.click_log import ClickLog
from toplist.logs.columns import PART, ReadOptions, ScatteredList
from toplist.logs.formats.delimited import DelimitedSource
from toplist.logs.formats.frame import FrameSource
from toplist.logs.formats.json_lines import JsonLinesSource
from toplist.logs.formats.lines import TextFile
from toplist.logs.formats.parquet import MAGIC, ParquetSource
from toplist.logs.formats.pieces import LogSource
from toplist.logs.id_table import IdTable
from toplist.logs.readers import find_reader
from toplist.logs.report import ReadReport
from toplist.support.interrupts import delayed_interrupt
from toplist.support.progress import Progress

EMPTY_COLUMNS: Mapping[str, str | None] = {}

OnProgress = Callable[[Progress], None]


class LogScan:
    """The parts of a log, which share their id tables; every iteration reads the log again.

    Made by `scan_log`.

    Parameters
    ----------
    sources : sequence of LogSource
        Files or a frame.
    layout : str or None
        Name of the layout; None to recognise it.
    options : ReadOptions
        How to read.
    strict : bool
        Whether to stop at the first wrong line.
    progress : callable or None
        Called after each part.
    """

    def __init__(
        self, sources: Sequence[LogSource], layout: str | None, options: ReadOptions, strict: bool,
        progress: OnProgress | None,
    ) -> None:  # fmt: skip
        self._sources, self._options, self._strict, self._progress = sources, options, strict, progress
        self._reader = find_reader(sources[0], layout, options)
        self._assembler = Assembler(self._new_report(), options)

    @property
    def report(self) -> ReadReport:
        """What the last iteration read and skipped so far."""
        return self._assembler.report

    @property
    def queries(self) -> IdTable:
        """The queries of the parts read so far."""
        return self._assembler.queries

    @property
    def items(self) -> IdTable:
        """The items of the parts read so far."""
        return self._assembler.items

    def __iter__(self) -> Iterator[ClickLog]:
        """Read the parts."""
        self._assembler.report = self._new_report()
        started = time.monotonic()
        batches = self._reader.read(self._sources, self._options)
        while True:
            with delayed_interrupt():  # Arrow would turn Ctrl-C into other errors
                batch = next(batches, None)
            if batch is None:
                return
            part = self._assembler.part(batch)
            if self._progress is not None:
                self._progress(self._share(batch.file, time.monotonic() - started))
            size = self._options.part
            for begin in range(0, len(part), size):
                yield part if len(part) <= size else part.take(np.arange(begin, min(begin + size, len(part))))

    def _new_report(self) -> ReadReport:
        return ReadReport(self._reader.NAME, len(self._sources), strict=self._strict)

    def _share(self, file: str, seconds: float) -> Progress:
        """How much of the sources is read, in thousandths of a source."""
        place = next(place for place, source in enumerate(self._sources) if source.name == file)
        done, total = self._sources[place].done()
        return Progress(1000 * place + (1000 * done // total if total else 0), 1000 * len(self._sources), seconds)


def read_log(
    source: Any,
    *,
    layout: str | None = None,
    columns: Mapping[str, str | None] = EMPTY_COLUMNS,
    only: Sequence[str] | None = None,
    strict: bool = False,
    first_position: int = 1,
    separator: str = ",",
    ranking: str | None = None,
    progress: OnProgress | None = None,
) -> ClickLog:
    """Read a whole log into memory (needs the extra `logs`).

    Parameters
    ----------
    source : str, path-like or table
        A file or a folder of files: Parquet, CSV, TSV or JSON lines, also compressed by gzip, zstd or bzip2. Or an
        Arrow table, a Polars or a pandas frame.
    layout : str, optional
        "lists" (a row per list), "rows" (a row per item shown), "yandex-relevance", "yandex-personalized",
        "open-bandit", "open-bandit-slate" or "service" (exported event log); by default it is recognised by the
        content.
    columns : mapping of str to str, optional
        Names of columns by role: query, items, clicked, list, position, item, click, time, visitor, propensity,
        marginal, target_propensity, target_marginal, seen, left, weight. None leaves a column out. Usual names need not
        be given.
    only : sequence of str, optional
        The optional columns to read, () for none: time, visitor, propensity, marginal, target_propensity,
        target_marginal, seen, left, weight. By default all that the source has.
    strict : bool, default False
        Whether to stop at the first line that cannot be used, instead of skipping it.
    first_position : int, default 1
        Number of the top position in the source, 0 or 1.
    separator : str, default ","
        What separates items, and clicked positions, where a text stands for a list.
    ranking : str, optional
        The ranking to read, for the event log of several.
    progress : callable, optional
        Called with a `Progress` after each part.

    Returns
    -------
    ClickLog
        The log; its `report` says what was read and skipped.

    Raises
    ------
    InvalidInput
        If the source is missing, damaged or of an unknown layout, or `strict` found a wrong line.

    Examples
    --------
    >>> import pyarrow
    >>> table = pyarrow.table({"query": ["q", "q"], "items": [["a", "b"], ["b", "a"]], "clicked": [[1], [3]]})
    >>> log = read_log(table)
    >>> print(log)
    1 list of up to 2 positions, 1 query, 2 items, 1 click, 0 lists without clicks
    >>> print(log.report)
    1 list read
    1 skipped: a clicked position is not on the list (row 2 of Table)
    """
    options = ReadOptions.of(columns, only, first_position, separator, ranking, PART)
    sources = find_sources(source)
    try:
        scan = LogScan(sources, layout, options._replace(scattered="raise"), strict, progress)
        parts = list(scan)
    except ScatteredList:
        scan = LogScan(sources, layout, options._replace(scattered="gather"), strict, progress)
        parts = list(scan)
    if not parts:
        none, start = np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64)
        parts = [ClickLog(scan.queries, scan.items, none, start, none, np.zeros(0, dtype=np.uint8))]
    return replace(parts[0] if len(parts) == 1 else ClickLog.concatenate(parts), report=scan.report)


def scan_log(
    source: Any,
    *,
    layout: str | None = None,
    columns: Mapping[str, str | None] = EMPTY_COLUMNS,
    only: Sequence[str] | None = None,
    strict: bool = False,
    first_position: int = 1,
    separator: str = ",",
    ranking: str | None = None,
    part: int = PART,
    progress: OnProgress | None = None,
) -> LogScan:
    """Read a log part by part, for logs that do not fit into memory (needs the extra `logs`).

    Parameters
    ----------
    source, layout, columns, only, strict, first_position, separator, ranking, progress
        As for `read_log`.
    part : int, default 65536
        Most lists of a part.

    Returns
    -------
    LogScan
        An iterable of ClickLog, whose `report` says what was read and skipped so far.

    Raises
    ------
    InvalidInput
        As `read_log`; for wrong lines during the iteration.

    Examples
    --------
    >>> import pyarrow
    >>> table = pyarrow.table({"query": ["q"] * 5, "items": [["a", "b"]] * 5, "clicked": [[1]] * 5})
    >>> scan = scan_log(table, part=2)
    >>> [len(part) for part in scan], scan.report.lists, len(scan.items)
    ([2, 2, 1], 5, 2)
    """
    size = whole("The lists of a part", part, 1, "give at least one")
    options = ReadOptions.of(columns, only, first_position, separator, ranking, size)
    return LogScan(find_sources(source), layout, options, strict, progress)


def find_sources(source: Any) -> list[LogSource]:
    """The files of a path, or the frame itself."""
    if not isinstance(source, str | os.PathLike):
        return [FrameSource(source)]
    path = Path(source)
    if not path.exists():
        raise refuse("The log", str(path), "a file or a folder that exists", "see that the path is right")
    if not path.is_dir():
        return [open_file(path)]
    hidden = (".", "_")  # as Spark and others mark what is no data
    found = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and not any(step.startswith(hidden) for step in file.relative_to(path).parts)
    ]
    if not found:
        raise refuse("The log", str(path), "a folder with files", "it has none; give another one")
    return [open_file(file) for file in found]


def open_file(path: Path) -> LogSource:
    """The source of a file, by its first bytes."""
    with path.open("rb") as file:
        begin = file.read(len(MAGIC))
    if begin == MAGIC:
        return ParquetSource(path)
    if TextFile(path).first_line().lstrip().startswith("{") or path.suffix in (".jsonl", ".ndjson"):
        return JsonLinesSource(path)
    return DelimitedSource(path)
