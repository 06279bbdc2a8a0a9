"""Copies a whole store into an empty one, of the same kind or another."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from time import monotonic

from toplist.core.problem import InvalidInput
from toplist.service.store.digests import TABLES
from toplist.service.store.protocol import Row, SnapshotRow, Store
from toplist.service.store.queries import PAGE_ROWS, PAGE_SNAPSHOTS, TableReader
from toplist.support.progress import Progress

Report = Callable[[Progress], None]


def copy_store(source: TableReader, target: Store, target_reader: TableReader, progress: Report) -> int:
    """Copy all rows as of one moment, and compare what was written; returns their number.

    Parameters
    ----------
    source : TableReader
        The store to copy; a service may be using it.
    target : Store
        An empty store.
    target_reader : TableReader
        Reads the target.
    progress : callable
        Called with the progress after each page of rows.
    """
    if target_reader.last_seq() or target_reader.rankings():
        raise InvalidInput("The copy needs an empty store, but the target has rows; name another one.")
    copied, begun = 0, monotonic()
    sums: dict[type, tuple[int, int]] = {}
    with source.snapshot_reads():
        total_rows = source.row_count()
        for kind in TABLES:
            rows = source.all_rows(kind)
            count = total = 0
            while page := list(islice(rows, PAGE_SNAPSHOTS if kind is SnapshotRow else PAGE_ROWS)):
                written: list[Row] = [row for _, _, row in page]
                target.write(written)
                target.commit()
                count += len(page)
                total += sum(digest for _, digest, _ in page)
                copied += len(page)
                progress(Progress(copied, total_rows, monotonic() - begun))
            sums[kind] = count, total
    for kind, expected in sums.items():
        digests = [digest for _, digest, _ in target_reader.all_rows(kind)]
        if (len(digests), sum(digests)) != expected:
            raise InvalidInput(
                f"The copy differs from the store in its {TABLES[kind].name}; remove it, and copy again."
            )
    return copied
