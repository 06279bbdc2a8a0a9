"""Generated click logs: 30 items a query, lists of 10 in perturbed orders, clicks of position-based visitors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.logs import ClickLog, IdTable
from toplist.support.files import import_optional

ITEMS, POSITIONS = 30, 10
PER_PART = 250_000  # lists


class Lists(NamedTuple):
    """Lists with their clicks, a row each."""

    query: NDArray[np.int32]
    item: NDArray[np.int32]  # (lists, positions)
    click: NDArray[np.uint8]  # (lists, positions)


def generate(lists: int, queries: int, seed: int = 0, spread: float = 0.5) -> Iterator[Lists]:
    """Lists in parts; most are distinct at the default spread of the noise on the order, equal ones at a small one."""
    attraction = np.random.default_rng(seed).beta(1.0, 4.0, queries * ITEMS)
    examination = 1.0 / np.sqrt(np.arange(1, POSITIONS + 1))
    for number, first in enumerate(range(0, lists, PER_PART)):
        rng = np.random.default_rng((seed, number))
        size = min(PER_PART, lists - first)
        query = rng.integers(0, queries, size, dtype=np.int32)
        order = rng.random((size, ITEMS), dtype=np.float32) * np.float32(spread)
        order += np.linspace(0.0, 1.0, ITEMS, dtype=np.float32)
        top = np.argpartition(order, POSITIONS, axis=1)[:, :POSITIONS]
        top = np.take_along_axis(top, np.take_along_axis(order, top, 1).argsort(axis=1), 1)
        item = (query[:, None] * ITEMS + top).astype(np.int32)
        click = rng.random((size, POSITIONS)) < examination * attraction[item]
        yield Lists(query, item, click.astype(np.uint8))


def in_memory(lists: int, queries: int, seed: int = 0, spread: float = 0.5) -> ClickLog:
    """A generated log as arrays."""
    parts = list(generate(lists, queries, seed, spread))
    item = np.concatenate([part.item for part in parts]).ravel()
    start = np.arange(lists + 1, dtype=np.int64) * POSITIONS
    return ClickLog(
        IdTable(range(queries)), IdTable(range(queries * ITEMS)), np.concatenate([part.query for part in parts]), start,
        item, np.concatenate([part.click for part in parts]).ravel(),
    )  # fmt: skip


def write_parquet(folder: Path, lists: int, queries: int, texts: bool = False, seed: int = 0) -> None:
    """A generated log as a folder of Parquet files with the columns query, items and clicks (positions from 1)."""
    pa, parquet = import_optional("pyarrow", "logs"), import_optional("pyarrow.parquet", "logs")
    folder.mkdir(parents=True, exist_ok=True)
    for number, part in enumerate(generate(lists, queries, seed)):
        size = len(part.query)
        offsets = np.arange(size + 1, dtype=np.int32) * POSITIONS
        clicked = np.concatenate([[0], np.cumsum(part.click.sum(axis=1))]).astype(np.int32)
        places = (np.nonzero(part.click)[1] + 1).astype(np.int32)
        query, item = pa.array(part.query), pa.array(part.item.ravel())
        if texts:
            query, item = (
                pa.array([f"{word} {n}" for n in range(most)]).take(codes)
                for word, most, codes in (("query", queries, query), ("item", queries * ITEMS, item))
            )
        table = pa.table(
            {
                "query": query,
                "items": pa.ListArray.from_arrays(pa.array(offsets), item),
                "clicks": pa.ListArray.from_arrays(pa.array(clicked), pa.array(places)),
            }
        )
        parquet.write_table(table, folder / f"part-{number:04d}.parquet")
