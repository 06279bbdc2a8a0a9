"""Layout "rows": one row per item shown, with the id of its list, its position and a click flag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.core.slate import Bools, Ints
from toplist.logs.arrow import arrow
from toplist.logs.assemble import BAD_CLICK, BAD_PLACES, ENDED, PROBABILITY_CHECKS, TWO_QUERIES, ListBatch
from toplist.logs.columns import OPTIONAL, ReadOptions, ScatteredList
from toplist.logs.convert import numbers, offsets
from toplist.logs.formats.pieces import LogSource, Piece
from toplist.logs.readers.lists import add_per_list, flagged
from toplist.logs.report import Rejected

NAME = "rows"
ROWS_PER_LIST = 8  # guess, for the size of a piece of some number of lists
NO_LIST = "the id of the list is missing"
PER_LIST = ("query", "visitor", "time", "left", "weight")


def recognizes(source: LogSource, options: ReadOptions) -> bool:
    """Whether there are columns of lists, items and clicks."""
    return set(find_roles(source, options)) >= {"list", "item", "click"}


def find_roles(source: LogSource, options: ReadOptions) -> dict[str, str]:
    """The columns by role; the click flag may be called as clicked positions are."""
    roles = options.find(source.columns(), ("list", "item", "click", "clicked", "position", "query", *OPTIONAL))
    clicked = roles.pop("clicked", None)
    return roles if clicked is None or "click" in roles else roles | {"click": clicked}


def read(sources: Sequence[LogSource], options: ReadOptions) -> Iterator[ListBatch]:
    """The lists of all sources; a list may not continue in another source."""
    for source in sources:
        roles = find_roles(source, options)
        pieces, ended = rows_of_lists(source.pieces(roles, options.part * ROWS_PER_LIST), roles["list"]), EndedLists()
        for piece in all_rows(pieces) if options.scattered == "gather" else whole_lists(pieces, roles["list"]):
            if len(piece.numbers) or piece.rejected:
                yield batch_of(piece, roles, source, options, ended)


def rows_of_lists(pieces: Iterator[Piece], column: str) -> Iterator[Piece]:
    """The rows that have the id of a list; the others are rejected."""
    for piece in pieces:
        lists = piece.table.column(column)
        if lists.null_count:
            known = lists.is_valid()
            has = known.to_numpy(zero_copy_only=False)
            rejected = [*piece.rejected, Rejected(piece.numbers[~has], NO_LIST)]
            yield Piece(piece.table.filter(known), piece.numbers[has], rejected, piece.has_marks)
        else:
            yield piece


def all_rows(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """One piece of all rows."""
    several = list(pieces)
    if several:
        yield _joined(several)


def whole_lists(pieces: Iterator[Piece], column: str) -> Iterator[Piece]:
    """Pieces that end with the end of a list: the rows of the last one wait for the next piece."""
    waiting: list[Piece] = []
    for piece in pieces:
        lists = piece.table.column(column)
        if not len(lists):
            waiting.append(piece)
            continue
        different = np.flatnonzero(arrow.compute.not_equal(lists, lists[len(lists) - 1]).to_numpy(zero_copy_only=False))
        cut = int(different[-1]) + 1 if len(different) else 0
        if cut == 0:
            waiting.append(piece)
            continue
        yield _joined([*waiting, Piece(piece.table.slice(0, cut), piece.numbers[:cut], piece.rejected)])
        waiting = [Piece(piece.table.slice(cut), piece.numbers[cut:])]
    if waiting:
        yield _joined(waiting)


def _joined(pieces: Sequence[Piece]) -> Piece:
    """One piece of several."""
    if len(pieces) == 1:
        return pieces[0]
    table = arrow.lib.Table.from_batches([piece.table for piece in pieces]).combine_chunks()
    batches = table.to_batches()
    rejected = [each for piece in pieces for each in piece.rejected]
    return Piece(batches[0] if batches else pieces[0].table, np.concatenate([p.numbers for p in pieces]), rejected)


def batch_of(
    piece: Piece, roles: Mapping[str, str], source: LogSource, options: ReadOptions, ended: EndedLists
) -> ListBatch:
    """The lists of one piece."""
    table, rows = piece.table, piece.numbers
    place = None
    if "position" in roles:
        given, _ = numbers(table.column(roles["position"]), "position")
        place = given - options.first_position
    codes = table.column(roles["list"]).dictionary_encode()
    order, start = grouped(codes.indices.to_numpy(zero_copy_only=False), place)
    if order is not None:
        table, rows = table.take(arrow.lib.array(order)), rows[order]
        place = None if place is None else place[order]
    columns = {role: table.column(name) for role, name in roles.items()}
    first = arrow.lib.array(start[:-1])
    lengths = np.diff(start)
    reason = np.zeros(len(lengths), dtype=np.uint8)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    if place is not None:
        expected = np.arange(len(rows)) - np.repeat(start[:-1], lengths)
        reason[owner[place != expected]] = BAD_PLACES
    if "query" in columns:
        query = columns["query"].dictionary_encode().indices.fill_null(-1).to_numpy(zero_copy_only=False)
        reason[owner[query != np.repeat(query[start[:-1]], lengths)]] = TWO_QUERIES
    flags, wrong = numbers(columns["click"], "click")
    reason[owner[wrong]] = BAD_CLICK
    clicked_start, clicked = flagged(flags, start, reason)
    again = ended.reappear(columns["list"].take(first))
    if options.scattered == "raise" and again.any():
        raise ScatteredList
    reason[again] = ENDED
    per_list = {role: column.take(first) for role, column in columns.items() if role in PER_LIST}
    batch = ListBatch(
        source.name, source.unit, np.minimum.reduceat(rows, start[:-1]) if len(rows) else rows, per_list.get("query"),
        start, columns["item"], clicked_start, clicked, visitor=per_list.get("visitor"), reason=reason,
        rejected=piece.rejected, has_marks=piece.has_marks,
    )  # fmt: skip
    add_per_list(batch, per_list, options.first_position, reason)
    for role, (code, _) in PROBABILITY_CHECKS.items():
        if role in columns:
            values, wrong = numbers(columns[role], role)
            reason[owner[wrong]] = code
            setattr(batch, role, values)
    return batch


def grouped(lists: NDArray[Any], place: NDArray[Any] | None) -> tuple[Ints | None, Ints]:
    """The order that puts the rows of each list together, by position, or None; and where each list begins in it."""
    changes = np.flatnonzero(lists[1:] != lists[:-1]) + 1
    distinct = int((np.bincount(lists) > 0).sum()) if len(lists) else 0
    is_ordered = len(changes) + 1 == distinct or not len(lists)
    if is_ordered and place is not None:
        falls = place[1:] < place[:-1]
        falls[changes - 1] = False
        is_ordered = not falls.any()
    order: Ints | None = None
    if not is_ordered:
        keys = (lists,) if place is None else (place, lists)
        order = np.lexsort(keys)
        arranged = lists[order]
        changes = np.flatnonzero(arranged[1:] != arranged[:-1]) + 1
    ends = np.append(changes, len(lists)) if len(lists) else changes
    return order, offsets(np.diff(ends, prepend=0))


class EndedLists:
    """The lists of earlier pieces, as sorted runs of 8 bytes each, to notice one that appears again."""

    def __init__(self) -> None:
        self._runs: list[Ints] = []

    def reappear(self, ids: Any) -> Bools:
        """Which of some distinct ids were here before; the others are added."""
        if arrow.lib.types.is_integer(ids.type) and not ids.null_count:
            keys = ids.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        else:
            keys = np.fromiter(map(hash, ids.to_pylist()), dtype=np.int64, count=len(ids))
        found = np.zeros(len(keys), dtype=np.bool_)
        for run in self._runs:
            at = np.minimum(np.searchsorted(run, keys), len(run) - 1)
            found |= run[at] == keys
        new = np.sort(keys[~found])
        while self._runs and len(self._runs[-1]) <= len(new):
            new = np.sort(np.concatenate([self._runs.pop(), new]), kind="stable")
        if len(new):
            self._runs.append(new)
        return found
