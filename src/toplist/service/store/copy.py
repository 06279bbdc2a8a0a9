"""Copies a whole store into an empty one, of the same kind or another, divided as the other one is or not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from time import monotonic
from typing import Any, NamedTuple

from toplist.core.problem import InvalidInput
from toplist.service.store.digests import TABLES, row_digest
from toplist.service.store.protocol import Store
from toplist.service.store.queries import PAGE_ROWS, PAGE_SNAPSHOTS, TableReader
from toplist.service.store.row_kinds import ClaimedRequest, SnapshotRow
from toplist.support.progress import Progress

Report = Callable[[Progress], None]
Divide = Callable[[int, Any], Iterable[tuple[int, Any]]]


class Target(NamedTuple):
    """A part of the store that is written."""

    store: Store
    reader: TableReader


def copy_store(
    sources: Sequence[TableReader], targets: Sequence[Target], progress: Report, divided: Divide | None = None
) -> int:
    """Copy all rows, and compare what was written; returns the number of rows that were copied.

    Parameters
    ----------
    sources : sequence of TableReader
        All parts of the store to copy, each within a snapshot; a service may be using it.
    targets : sequence of Target
        All parts of an empty store.
    progress : callable
        Called with the progress after each page of rows.
    divided : callable or None, default None
        The parts that a row of a part goes to, with the row as it is there; None: the same part, and the same row.
    """
    if any(target.reader.last_seq() or target.reader.rankings() for target in targets):
        raise InvalidInput("The copy needs an empty store, but the target has rows; name another one.")
    copied, begun = 0, monotonic()
    total_rows = sum(source.row_count() for source in sources)
    for kind in TABLES:
        sums = [(0, 0)] * len(targets)
        for number, source in enumerate(sources):
            for page in _pages(source, kind):
                by_target: dict[int, list[Any]] = {}
                for row in page:
                    for target, written in ((number, row),) if divided is None else divided(number, row):
                        by_target.setdefault(target, []).append(written)
                for target, rows in by_target.items():
                    targets[target].store.write(rows)
                    targets[target].store.commit()
                    count, total = sums[target]
                    sums[target] = count + len(rows), total + sum(map(_digest, rows))
                copied += len(page)
                progress(Progress(copied, total_rows, monotonic() - begun))
        for written_to, expected in zip(targets, sums, strict=True):
            digests = [digest for _, digest, _ in written_to.reader.all_rows(kind)]
            if (len(digests), sum(digests)) != expected:
                raise InvalidInput(
                    f"The copy differs from the store in its {TABLES[kind].name}; remove it, and copy again."
                )
    return copied


def _digest(row: Any) -> int:
    """The digest of a row, without what is derived from other rows."""
    return row_digest(*(row.row if type(row) is ClaimedRequest else row))


def _pages(source: TableReader, kind: type) -> Iterator[list[Any]]:
    """All rows of a kind; a damaged one would become part of a copy in which nothing seems to be wrong."""
    rows, table = source.all_rows(kind), TABLES[kind]
    while page := list(islice(rows, PAGE_SNAPSHOTS if kind is SnapshotRow else PAGE_ROWS)):
        for _, digest, row in page:
            if row_digest(*row) != digest:
                raise InvalidInput(
                    f"The store is damaged in its {table.name}; toplist store check says where. Restore a backup of it."
                )
        yield [row for _, _, row in page]
