"""Copies a store into one that is divided in another way, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from toplist.service.log.impression_id import id_time, partition_of_id
from toplist.service.log.renumber import Division
from toplist.service.store.copy import Report, Target, copy_store
from toplist.service.store.queries import TableReader
from toplist.service.store.row_kinds import ImpressionRow


class Copied(NamedTuple):
    """A copy."""

    rows: int
    until: int  # impressions made up to this moment have ids that tell another part; 0: all tell theirs


def copy_parts(
    sources: Sequence[TableReader], targets: Sequence[Target], part_of: Callable[[str], int], progress: Report
) -> Copied:
    """Copy all rows as of one moment of each part, and compare what was written.

    Parameters
    ----------
    sources : sequence of TableReader
        All parts of the store to copy; a service may be using it.
    targets : sequence of Target
        All parts of an empty store.
    part_of : callable
        The part of a ranking in that store, by its name.
    progress : callable
        Called with the progress after each page of rows.
    """
    until = 0
    with ExitStack() as snapshots:
        for source in sources:
            snapshots.enter_context(source.snapshot_reads())
        division = None if len(sources) == len(targets) else Division(sources, len(targets), part_of)

        def divided(source: int, row: Any) -> Iterator[tuple[int, Any]]:
            nonlocal until
            for target, written in ((source, row),) if division is None else division.divided(source, row):
                if type(row) is ImpressionRow and len(targets) > 1 and partition_of_id(row.id) != target:
                    until = max(until, id_time(row.id))
                yield target, written

        rows = copy_store(sources, targets, progress, divided)
    return Copied(rows, until)
