"""Refuses logs made in Python whose lists have an item twice; readers skip such lists."""

from __future__ import annotations

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.core.repeats import mark_repeats
from toplist.logs.click_log import ClickLog
from toplist.support.tables import count_text


def check_items_once(log: ClickLog) -> None:
    """Refuse a log with lists that have an item twice.

    Parameters
    ----------
    log : ClickLog
        The log.

    Raises
    ------
    InvalidInput
        If there is such a list; the message names the first.
    """
    repeats = np.zeros(len(log), dtype=np.bool_)
    mark_repeats(log.start.astype(np.int64), log.item.astype(np.int64), np.full(len(log.items), -1), repeats)
    if repeats.any():
        how_many, first = count_text(int(repeats.sum()), "list"), int(np.argmax(repeats)) + 1
        raise InvalidInput(
            f"The log has {how_many} with an item twice, list {first} for one, but a list has an item once; leave such "
            f"lists out."
        )
