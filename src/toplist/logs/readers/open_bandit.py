"""Layout "open-bandit": the CSV files of the Open Bandit Dataset, one row per item shown at a position.

The files do not say which rows were one list, and have the probability of an item at its position only. So each row is
a list of one item, its position is the query, and its probability is a marginal one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from toplist.logs.arrow import arrow
from toplist.logs.assemble import BAD_CLICK, BAD_MARGINAL, ListBatch
from toplist.logs.columns import ReadOptions
from toplist.logs.convert import numbers
from toplist.logs.formats.pieces import LogSource, sliced
from toplist.logs.readers.lists import add_per_list, flagged

NAME = "open-bandit"
COLUMNS = {"item": "item_id", "query": "position", "click": "click", "marginal": "propensity_score"}
TIME = "timestamp"


def recognizes(source: LogSource, _: ReadOptions) -> bool:
    """Whether there are the columns of the data set."""
    return set(source.columns()) >= set(COLUMNS.values())


def read(sources: Sequence[LogSource], options: ReadOptions) -> Iterator[ListBatch]:
    """The rows of all sources, each a list of one item."""
    for source in sources:
        roles = COLUMNS | ({"time": TIME} if TIME in source.columns() and options.wants("time") else {})
        for piece in sliced(source.pieces(roles, options.part), options.part):
            columns = {role: piece.table.column(name) for role, name in roles.items()}
            lists = len(piece.numbers)
            start, reason = np.arange(lists + 1), np.zeros(lists, dtype=np.uint8)
            flags, wrong = numbers(columns["click"], "click")
            reason[wrong] = BAD_CLICK
            clicked_start, clicked = flagged(flags, start, reason)
            position, _ = numbers(columns["query"], "position")
            known = np.isfinite(position)
            query = arrow.lib.array(np.where(known, position, 0.0).astype(np.int64), mask=~known)
            batch = ListBatch(
                source.name, source.unit, piece.numbers, query, start, columns["item"], clicked_start, clicked,
                reason=reason, rejected=piece.rejected, has_marks=piece.has_marks,
            )  # fmt: skip
            add_per_list(batch, {"time": columns["time"]} if "time" in columns else {}, options.first_position, reason)
            if options.wants("marginal"):
                batch.marginal, wrong = numbers(columns["marginal"], "marginal")
                reason[wrong & (reason == 0)] = BAD_MARGINAL
            yield batch
