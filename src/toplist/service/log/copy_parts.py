"""Copies a store into one that is divided in another way, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple

from toplist.core.problem import InvalidInput
from toplist.service.log.events import decode_ranking
from toplist.service.log.impression_id import id_time, partition_of_id
from toplist.service.log.renumber import Division
from toplist.service.log.replay import UNREADABLE
from toplist.service.store.copy import Report, Target, copy_store
from toplist.service.store.queries import TableReader
from toplist.service.store.row_kinds import RANKING, ClaimedRequest, ImpressionRow, RequestRow


class Copied(NamedTuple):
    """A copy."""

    rows: int
    until: int  # impressions made up to this moment have ids that tell another part; 0: all tell theirs
    has_divided: bool = False  # whether a ranking is divided


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
        scopes = [_scopes(source) for source in sources]
        if len(sources) != len(targets):
            _check_undivided(sources, scopes, len(targets))
        division = None if len(sources) == len(targets) else Division(sources, len(targets), part_of)

        def divided(source: int, row: Any) -> Iterator[tuple[int, Any]]:
            nonlocal until
            for target, written in ((source, row),) if division is None else division.divided(source, row):
                if type(row) is ImpressionRow and len(targets) > 1 and partition_of_id(row.id) != target:
                    until = max(until, id_time(row.id))
                if division is None and isinstance(row, RequestRow) and (scope := scopes[source].get(row.ranking)):
                    yield target, ClaimedRequest(*row, scope)
                else:
                    yield target, written

        rows = copy_store(sources, targets, progress, divided)
    return Copied(rows, until, division is None and any(scopes))


def _scopes(source: TableReader) -> dict[int, int]:
    """The numbers of a part's divided rankings in all parts, by their ids there; also of those that were deleted."""
    found: dict[int, int] = {}
    for event in source.events_of_kind(RANKING):
        with suppress(*UNREADABLE):  # copied as it is
            if scope := decode_ranking(event.body).scope:
                found[event.ranking] = scope
    return found


def _check_undivided(sources: Sequence[TableReader], scopes: Sequence[dict[int, int]], targets: int) -> None:
    """Refuse to merge the divisions of a ranking, or to divide them otherwise."""
    for source, divided in zip(sources, scopes, strict=True):
        for row in source.rankings():
            if row.id in divided:
                raise InvalidInput(
                    f"The ranking {row.name!r} is divided over partitions of this store, {len(sources)} of them, and "
                    f"the copy would have {targets}, but a ranking keeps its divisions; copy it to a database with "
                    f"{len(sources)} partitions (cluster.partitions), or delete the ranking first."
                )
