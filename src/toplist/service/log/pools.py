"""Pools in the log: what a ranking's learners knew together, from which later ones began."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np
from msgspec import Struct

from toplist.core.item_id import ItemId
from toplist.core.slate import Floats
from toplist.ranker.pool import COLUMNS, Pool
from toplist.ranker.weights_pool import AnyPool, WeightsPool
from toplist.service.store.row_kinds import EventRow


class PoolEvent(Struct, frozen=True, omit_defaults=True):
    """What all learners of a ranking knew together, of its items or of features; new segments begin with it."""

    pooled: list[ItemId]
    sums: list[tuple[float, ...]]  # per item, the columns of `toplist.ranker.pool`
    strength: float  # looks that an item's mean over segments is worth in a new one, stated or learned
    gram: list[float] = []  # of features: the sum of x x', row by row, only its upper triangle
    total: list[float] = []  # the sum of value x
    looks: tuple[float, float] = (0.0, 0.0)  # number of observations, and the sum of its squares over segments


class KnownPool(NamedTuple):
    """A pool of the log."""

    seq: int
    strength: float
    pool: AnyPool


_decode = msgspec.json.Decoder(PoolEvent).decode


def pool_event(pool: AnyPool, strength: float) -> PoolEvent:
    """The event that records a pool."""
    if isinstance(pool, Pool):
        return PoolEvent(pool.items, [tuple(row) for row in pool.sums.tolist()], strength)
    if pool.gram is None or pool.total is None:
        return PoolEvent([], [], strength)
    upper = pool.gram[np.triu_indices(len(pool.total))].tolist()
    return PoolEvent([], [], strength, upper, pool.total.tolist(), (pool.looks, pool.squared_looks))


def decode_pool(row: EventRow) -> KnownPool:
    """The pool of an event."""
    event = _decode(row.body)
    size = len(event.total)
    if (
        len(event.sums) != len(event.pooled)
        or any(len(sums) != COLUMNS for sums in event.sums)
        or len(event.gram) != size * (size + 1) // 2
    ):
        raise ValueError(f"Event {row.seq} is no pool.")
    if size:
        return KnownPool(row.seq, event.strength, WeightsPool(_symmetric(event.gram, size), event.total, event.looks))
    sums = event.sums if event.sums else None
    return KnownPool(row.seq, event.strength, Pool(event.pooled, sums))


def _symmetric(upper: list[float], size: int) -> Floats:
    """A symmetric matrix from its upper triangle."""
    matrix: Floats = np.zeros((size, size))
    matrix[np.triu_indices(size)] = upper
    return matrix + np.triu(matrix, 1).T
