"""Pools in the log: what a ranking's learners knew together, from which later ones began."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Struct

from toplist.core.item_id import ItemId
from toplist.ranker.pool import COLUMNS, Pool
from toplist.service.store.protocol import EventRow


class PoolEvent(Struct, frozen=True):
    """What all learners of a ranking knew of its items together; learners of new segments begin with it."""

    pooled: list[ItemId]
    sums: list[tuple[float, ...]]  # per item, the columns of `toplist.ranker.pool`
    strength: float  # looks that an item's mean over segments is worth in a new one, stated or learned


class KnownPool(NamedTuple):
    """A pool of the log."""

    seq: int
    strength: float
    pool: Pool


_decode = msgspec.json.Decoder(PoolEvent).decode


def pool_event(pool: Pool, strength: float) -> PoolEvent:
    """The event that records a pool."""
    return PoolEvent(pool.items, [tuple(row) for row in pool.sums.tolist()], strength)


def decode_pool(row: EventRow) -> KnownPool:
    """The pool of an event."""
    event = _decode(row.body)
    if len(event.sums) != len(event.pooled) or any(len(sums) != COLUMNS for sums in event.sums):
        raise ValueError(f"Event {row.seq} is no pool.")
    sums = event.sums if event.sums else None
    return KnownPool(row.seq, event.strength, Pool(event.pooled, sums))
