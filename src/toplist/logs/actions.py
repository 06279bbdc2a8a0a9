"""Logs of actions, a line each, as Yandex published them: fields of lines, whole sessions, clicks and their items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.core.slate import Bools, Ints
from toplist.logs.arrow import arrow
from toplist.logs.convert import offsets
from toplist.logs.formats.delimited import DelimitedSource
from toplist.logs.formats.pieces import LogSource, Piece
from toplist.logs.readers.rows import whole_lists

WHOLE = r"^[0-9]{1,18}$"
SESSION, LINE = "session", "line"
NOT_SHOWN = "the click is on an item that was not shown"


class ActionFields(NamedTuple):
    """The fields of lines, separated by tabs: where those of each line begin, and all of them."""

    start: Ints
    values: Any

    @property
    def counts(self) -> Ints:
        """Number of fields of each line."""
        return np.diff(self.start)

    def text(self, lines: Ints, field: int) -> Any:
        """One field of some lines."""
        return self.values.take(arrow.lib.array(self.start[lines] + field))

    def equal(self, field: int, text: str) -> Bools:
        """Which lines have a field with this text."""
        has = np.flatnonzero(self.counts > field)
        found = np.zeros(len(self.counts), dtype=np.bool_)
        found[has] = arrow.compute.equal(self.text(has, field), text).to_numpy(zero_copy_only=False)
        return found

    def rest(self, lines: Ints, field: int) -> tuple[Ints, Any]:
        """The fields of some lines from a field on: where those of each line begin, and all of them."""
        sizes = self.counts[lines] - field
        start = offsets(sizes)
        at = np.arange(int(start[-1])) + np.repeat(self.start[lines] + field - start[:-1], sizes)
        return start, self.values.take(arrow.lib.array(at))


def sessions(source: LogSource) -> Iterator[Piece]:
    """Pieces of whole sessions, whose lines are together: columns with the session and the line."""
    if not isinstance(source, DelimitedSource):
        raise InvalidInput(f"{source.name} is no text with tabs, as logs of actions are; give another layout.")
    return whole_lists(_lines(source), SESSION)


def _lines(source: DelimitedSource) -> Iterator[Piece]:
    lib, module, compute = arrow.lib, arrow.csv, arrow.compute
    for block in source.text.blocks():
        table = module.read_csv(
            lib.BufferReader(block.text.replace(b"\x01", b"?")),  # nothing may separate columns: there is one
            module.ReadOptions(use_threads=False, column_names=[LINE], block_size=len(block.text) + 1),
            module.ParseOptions(delimiter="\x01", quote_char=False, ignore_empty_lines=False),
            module.ConvertOptions(column_types={LINE: lib.string()}),
        )  # fmt: skip
        text = table.column(LINE).combine_chunks()
        first = compute.list_element(compute.split_pattern(text, "\t", max_splits=1), 0)
        yield Piece(lib.record_batch({SESSION: first, LINE: text}), block.numbers(np.arange(len(text))), block.rejected)


def fields_of(piece: Piece) -> ActionFields:
    """The fields of the lines of a piece."""
    split = arrow.compute.split_pattern(piece.table.column(LINE), "\t")
    return ActionFields(split.offsets.to_numpy().astype(np.int64), split.values)


def whole_numbers(texts: Any) -> tuple[Ints, Bools]:
    """Texts as whole numbers, 0 where one is none; and which are none."""
    lib, compute = arrow.lib, arrow.compute
    try:
        return texts.cast(lib.int64()).to_numpy(zero_copy_only=False), np.zeros(len(texts), dtype=np.bool_)
    except lib.ArrowInvalid:
        fits = compute.match_substring_regex(texts, WHOLE)
        found = compute.if_else(fits, texts, "0").cast(lib.int64())
        return found.to_numpy(zero_copy_only=False), ~fits.to_numpy(zero_copy_only=False)


def session_codes(piece: Piece) -> Ints:
    """The sessions of the lines as numbers from 0."""
    codes: Ints = piece.table.column(SESSION).dictionary_encode().indices.to_numpy().astype(np.int64)
    return codes


def latest(known: tuple[Ints, Ints], known_at: Ints, asked: tuple[Ints, Ints], asked_at: Ints) -> Ints:
    """Per asked pair the last equal known pair before it, by the line of each; -1 if there is none."""
    keys = pair_keys(known, asked)
    wanted = keys[len(known_at) :]
    is_wanted = np.zeros(int(keys.max(initial=-1)) + 1, dtype=np.bool_)
    is_wanted[wanted] = True
    among = np.flatnonzero(is_wanted[keys[: len(known_at)]])  # few of those shown are clicked, and only they are sorted
    lines = int(max(known_at.max(initial=0), asked_at.max(initial=0))) + 1
    moment = keys[among] * lines + known_at[among]
    order = np.argsort(moment, kind="stable")
    place = np.searchsorted(moment[order], wanted * lines + asked_at) - 1
    found: Ints = np.full(len(wanted), -1, dtype=np.int64)
    has = np.flatnonzero(place >= 0)
    last = among[order[place[has]]]
    found[has] = np.where(keys[last] == wanted[has], last, -1)
    return found


def pair_keys(known: tuple[Ints, Ints], asked: tuple[Ints, Ints]) -> Ints:
    """Numbers from 0 for pairs: equal pairs have equal numbers."""
    first, second = (np.concatenate([one, other]) for one, other in zip(known, asked, strict=True))
    return _codes(first * (len(second) + 1) + _codes(second))


def _codes(values: Ints) -> Ints:
    """Numbers from 0 for values, by a hash table, which is quicker than sorting."""
    found: Ints = arrow.lib.array(values).dictionary_encode().indices.to_numpy().astype(np.int64)
    return found


def clicks_of_lists(lists: int, owner: Ints, position: Ints) -> tuple[Ints, Ints]:
    """Where the clicked positions of each list begin, and all of them, from the list and position of each click."""
    order = np.argsort(owner, kind="stable")
    return offsets(np.bincount(owner, minlength=lists)), position[order]
