"""Generated logs for trials and benchmarks: Parquet parts of any size, and small files in Yandex's layouts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toplist.core.problem import checked_seed, whole
from toplist.core.slate import Bools, Floats, Ints
from toplist.logs.arrow import arrow
from toplist.logs.convert import offsets
from toplist.support.files import AnyPath

BLOCK = 50_000  # lists that are made at once
SHOWN = 10  # results of a page in Yandex's logs


class GeneratedLog(NamedTuple):
    """The size of a generated log, whose visitors behave as in a position-based model.

    A query has its own items, ordered by attraction and then perturbed for every list.

    Parameters
    ----------
    lists : int, default 1_000_000
        Number of lists.
    queries : int, default 1_000
        Number of queries; a few have most lists.
    items : int, default 30
        Number of items of a query.
    positions : int, default 10
        Length of the lists.
    text_ids : bool, default False
        Whether ids are texts instead of whole numbers.
    seed : int, default 0
        Seed of the generator.
    disorder : float, default 8.0
        Standard deviation of an item's place in the order of a list; most lists are distinct at the default.
    """

    lists: int = 1_000_000
    queries: int = 1_000
    items: int = 30
    positions: int = 10
    text_ids: bool = False
    seed: int = 0
    disorder: float = 8.0

    def truth(self) -> tuple[Floats, Floats]:
        """Attraction by query and item, and examination by position."""
        rng = np.random.default_rng([checked_seed(self.seed), 0])
        attraction = -np.sort(-rng.beta(1.0, 9.0, size=(self.queries, self.items)), axis=1)
        return attraction, np.arange(1, self.positions + 1, dtype=np.float64) ** -0.7

    def blocks(self) -> Iterator[tuple[Ints, Ints, Bools]]:
        """Query, items and click flags of the lists, some thousand at a time; items count from 0 within their query."""
        attraction, examination = self.truth()
        rng = np.random.default_rng([checked_seed(self.seed), 1])
        common = 1.0 / (np.arange(self.queries) + 10.0)
        reached = np.cumsum(common / common.sum())
        for begin in range(0, self.lists, BLOCK):
            size = min(BLOCK, self.lists - begin)
            query = np.minimum(np.searchsorted(reached, rng.random(size)), self.queries - 1)
            place = np.arange(self.items, dtype=np.float32) + np.float32(self.disorder) * rng.standard_normal(
                (size, self.items), dtype=np.float32
            )
            shown = np.argsort(place, axis=1)[:, : self.positions]
            chance = np.take_along_axis(attraction[query], shown, axis=1) * examination
            yield query, shown, rng.random(chance.shape) < chance

    def write_parts(self, folder: AnyPath, parts: int = 4) -> Path:
        """Write the log as Parquet parts with the columns query, items, clicked, visitor and time.

        Parameters
        ----------
        folder : str or path-like
            A new or empty folder.
        parts : int, default 4
            Number of files.

        Returns
        -------
        Path
            The folder.
        """
        home, count = Path(folder), whole("The number of parts", parts, 1, "give at least one")
        home.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng([checked_seed(self.seed), 2])
        size, written, part, writer = -(-self.lists // count), 0, 0, None
        try:
            for query, shown, click in self.blocks():
                visitor = rng.integers(max(self.lists // 5, 1), size=len(query))
                time = np.arange(written, written + len(query), dtype=np.float64) * (7 * 86_400.0 / self.lists)
                table = self._table(query, shown, click, visitor, time)
                begin = 0
                while begin < len(table):
                    if writer is None:
                        writer = arrow.parquet.ParquetWriter(home / f"part-{part:04d}.parquet", table.schema)
                    room = min(size - written % size, len(table) - begin)
                    writer.write_table(table.slice(begin, room))
                    written, begin = written + room, begin + room
                    if written % size == 0:
                        writer.close()
                        writer, part = None, part + 1
        finally:
            if writer is not None:
                writer.close()
        return home

    def _table(self, query: Ints, shown: Ints, click: Bools, visitor: Ints, time: Floats) -> Any:
        lib = arrow.lib
        item = (query[:, None] * self.items + shown).ravel()
        clicked = np.nonzero(click)[1] + 1
        ids: dict[str, NDArray[Any]] = {"query": query, "item": item, "visitor": visitor}
        columns = {name: self._ids(name, codes) for name, codes in ids.items()}
        start = lib.array(np.arange(len(query) + 1, dtype=np.int32) * self.positions)
        clicked_start = lib.array(offsets(click.sum(axis=1)).astype(np.int32))
        return lib.table({
            "query": columns["query"], "items": lib.ListArray.from_arrays(start, columns["item"]),
            "clicked": lib.ListArray.from_arrays(clicked_start, lib.array(clicked)), "visitor": columns["visitor"],
            "time": time,
        })  # fmt: skip

    def _ids(self, name: str, codes: NDArray[Any]) -> Any:
        lib = arrow.lib
        if not self.text_ids:
            return lib.array(codes)
        used, places = np.unique(codes, return_inverse=True)
        texts = lib.array([f"{name}-{code}" for code in used.tolist()])
        return lib.DictionaryArray.from_arrays(lib.array(places.astype(np.int32)), texts).cast(lib.string())


def write_yandex_relevance(path: AnyPath, sessions: int = 200, queries: int = 5, seed: int = 0) -> Path:
    """Write a log in the layout of the relevance prediction challenge.

    Parameters
    ----------
    path : str or path-like
        The file.
    sessions : int, default 200
        Number of sessions, of one to three lists.
    queries : int, default 5
        Number of queries.
    seed : int, default 0
        Seed of the generator.

    Returns
    -------
    Path
        The file.
    """
    lines = []
    for number, several in enumerate(_sessions(sessions, queries, seed)):
        time = 0
        for query, urls, clicked in several:
            lines.append("\t".join(map(str, [number, time, "Q", query, query % 3, *urls])))
            for place in clicked:
                time += 7
                lines.append(f"{number}\t{time}\tC\t{urls[place]}")
            time += 20
    return _written(path, lines)


def write_yandex_personalized(path: AnyPath, sessions: int = 200, queries: int = 5, seed: int = 0) -> Path:
    """Write a log in the layout of the personalized web search challenge; every tenth session ends with a test list.

    Parameters
    ----------
    path : str or path-like
        The file.
    sessions : int, default 200
        Number of sessions, of one to three lists.
    queries : int, default 5
        Number of queries.
    seed : int, default 0
        Seed of the generator.

    Returns
    -------
    Path
        The file.
    """
    lines = []
    for number, several in enumerate(_sessions(sessions, queries, seed)):
        lines.append(f"{number}\tM\t{1 + number % 27}\t{number // 3}")
        time = 0
        for serp, (query, urls, clicked) in enumerate(several):
            is_test = number % 10 == 9 and serp == len(several) - 1
            shown = [f"{url},{url // 10}" for url in urls]
            kind, terms = "T" if is_test else "Q", f"{query},{query + 1}"
            lines.append("\t".join(map(str, [number, time, kind, serp, query, terms, *shown])))
            for place in () if is_test else clicked:
                time += 7
                lines.append(f"{number}\t{time}\tC\t{serp}\t{urls[place]}")
            time += 20
    return _written(path, lines)


def _sessions(sessions: int, queries: int, seed: int) -> Iterator[list[tuple[int, list[int], list[int]]]]:
    """Per session its lists: query, URLs and clicked places in the order of the clicks."""
    count = whole("The number of sessions", sessions, 1, "give at least one")
    rng = np.random.default_rng([checked_seed(seed), 3])
    sizes = rng.integers(1, 4, size=count).tolist()
    log = GeneratedLog(lists=sum(sizes), queries=queries, items=2 * SHOWN, positions=SHOWN, seed=seed)
    rows = (
        (int(query), (1000 * (1 + query) + items).tolist(), rng.permutation(np.flatnonzero(click)).tolist())
        for some in log.blocks()
        for query, items, click in zip(*some, strict=True)
    )
    for size in sizes:
        yield [next(rows) for _ in range(size)]


def _written(path: AnyPath, lines: list[str]) -> Path:
    Path(path).write_text("".join(f"{line}\n" for line in lines))
    return Path(path)
