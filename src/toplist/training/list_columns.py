"""The lists of a log as columns, in memory or, if there are many, in files that are mapped into it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

import numpy as np

from toplist.logs import ClickLog
from toplist.logs.list_hashes import ListHasher, LogDigest
from toplist.logs.read import LogScan
from toplist.logs.report import no_lists

IN_MEMORY = 20_000_000  # positions of lists that are kept in memory
# The columns that learning reads: their types, and what stands for unknown values.
PER_LIST: dict[str, tuple[Any, Any]] = {
    "query": (np.int32, None),
    "time": (np.float64, np.nan),
    "left": (np.int32, 0),
    "weight": (np.float64, 1.0),
}
PER_POSITION: dict[str, tuple[Any, Any]] = {
    "item": (np.int32, None),
    "click": (np.uint8, None),
    "seen": (np.float64, np.nan),
}
NEEDLESS = ("visitor", "propensity", "marginal", "target_propensity", "target_marginal")


class ListColumns:
    """Takes the parts of a scan, and gives them back as one log; a context that deletes its files at the end.

    Parameters
    ----------
    parts : iterable of ClickLog
        The parts, which share their id tables; one log is a part, too.
    query : str or int, optional
        The only query whose lists are taken; by default all.
    folder : str or path-like, optional
        Where the files are made; by default where the system has temporary files.
    """

    def __init__(
        self, parts: Iterable[ClickLog], query: str | int | None = None, folder: str | os.PathLike[str] | None = None
    ) -> None:
        self._files: TemporaryDirectory[str] | None = None
        self._place, self._sizes = folder, [np.zeros(0, dtype=np.int64)]
        self.digest, hasher = LogDigest(), ListHasher()
        kept: list[ClickLog] = []
        last: ClickLog | None = None
        positions = 0
        self._found: set[str] = set()  # columns that some part has
        try:
            for part in parts:
                chosen = _of_query(part, query)
                last = chosen
                self.digest = self.digest.plus(hasher.digest(chosen))
                self._found |= {name for name in (*PER_LIST, *PER_POSITION) if getattr(chosen, name) is not None}
                kept.append(_bare(chosen))
                positions += len(chosen.item)
                if positions > IN_MEMORY:
                    self._write(kept)
                    kept = []
            if last is None or not self.digest.lists:
                whose = "lists" if query is None else f"lists of the query {query!r}"
                report = parts.report if isinstance(parts, LogScan) else None if last is None else last.report
                raise no_lists("a policy learns from some", report, whose)
            self.log = _joined(kept) if self._files is None else self._mapped(kept, last)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Delete the files."""
        if self._files is not None:
            self._files.cleanup()
            self._files = None

    def _write(self, parts: list[ClickLog]) -> None:
        """Append parts to the files."""
        if self._files is None:
            self._files = TemporaryDirectory(prefix="toplist-train-", dir=self._place)
        for part in parts:
            self._sizes.append(part.lengths)
            for columns, count in ((PER_LIST, len(part)), (PER_POSITION, len(part.item))):
                for name, (kind, unknown) in columns.items():
                    column = getattr(part, name)
                    with open(Path(self._files.name) / name, "ab") as file:
                        np.asarray(np.full(count, unknown) if column is None else column, dtype=kind).tofile(file)

    def _mapped(self, rest: list[ClickLog], last: ClickLog) -> ClickLog:
        """The log whose columns are the files."""
        self._write(rest)
        assert self._files is not None
        sizes = np.concatenate(self._sizes)
        columns = {
            name: np.memmap(Path(self._files.name) / name, dtype=kind, mode="r")
            for name, (kind, _) in (PER_LIST | PER_POSITION).items()
            if name in self._found
        }
        start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes)])
        return ClickLog(queries=last.queries, items=last.items, start=start, **columns)  # type: ignore[arg-type]


def _of_query(part: ClickLog, query: str | int | None) -> ClickLog:
    """The lists of a query; a text may also name a whole number."""
    if query is None:
        return part
    if query not in part.queries and isinstance(query, str) and query.lstrip("-").isdigit():
        query = int(query)
    if query not in part.queries:
        return part.take(np.zeros(0, dtype=np.int64))
    return part.take(part.query == part.queries.code(query))


def _bare(part: ClickLog) -> ClickLog:
    """A part without the columns that nothing is learned from."""
    return replace(part, visitors=None, report=None, **dict.fromkeys(NEEDLESS))  # type: ignore[arg-type]


def _joined(parts: list[ClickLog]) -> ClickLog:
    """One log of parts; a column that some of them lack is filled with unknown values."""
    if len(parts) == 1:
        return parts[0]
    filled = []
    for part in parts:
        missing: dict[str, Any] = {}
        for columns, count in ((PER_LIST, len(part)), (PER_POSITION, len(part.item))):
            for name, (kind, unknown) in columns.items():
                if getattr(part, name) is None and any(getattr(other, name) is not None for other in parts):
                    missing[name] = np.full(count, unknown, dtype=kind)
        filled.append(replace(part, **missing) if missing else part)
    return ClickLog.concatenate(filled)
