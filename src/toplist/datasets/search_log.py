"""A search log as pages: per query what was shown and clicked, and how often a click was a page's last.

A file has tabs, the header `query region docs clicked_positions`, and a line per page: documents with commas between
them, best first, and the positions of the clicks, counted from 1, in the order in which they were made; none where
nothing was clicked. It may be packed by gzip.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput, refuse, whole
from toplist.core.slate import Floats
from toplist.datasets.sources import AGAIN, File
from toplist.support.files import AnyPath
from toplist.support.tables import count_text

HEADER = "query\tregion\tdocs\tclicked_positions"
ENDINGS = (".tsv", ".tsv.gz")


class Page(NamedTuple):
    """A page of results, and what was clicked on it."""

    documents: tuple[str, ...]  # from the top
    clicked: tuple[int, ...]  # positions, counted from 1, in the order of the clicks
    region: str


class SearchLog(NamedTuple):
    """What was found in a log: per query its pages, in the order of the log."""

    path: Path
    queries: dict[str, list[Page]]

    @property
    def positions(self) -> int:
        """The length of the longest page."""
        return max(len(page.documents) for pages in self.queries.values() for page in pages)

    def most_frequent(self, queries: int) -> list[str]:
        """So many queries with the most pages, the most frequent first; ties go to the one that came first."""
        count = whole("The number of queries", queries, 1, "give how many to take")
        if count > len(self.queries):
            accepted = f"at most {len(self.queries)}, as many as the log has"
            raise refuse("The number of queries", count, accepted, "ask for fewer")
        return sorted(self.queries, key=lambda query: -len(self.queries[query]))[:count]

    def __str__(self) -> str:
        """What it is, in a line."""
        pages = [page for several in self.queries.values() for page in several]
        clicks, bare = sum(len(page.clicked) for page in pages), sum(not page.clicked for page in pages)
        return (
            f"{self.path}: {count_text(len(pages), 'page')} of up to {count_text(self.positions, 'result')} for "
            f"{len(self.queries):,} queries, {count_text(clicks, 'click')}, {bare:,} pages without any"
        )


def read(path: AnyPath) -> SearchLog:
    """The pages in a file, or in the one such file of a folder."""
    file = _file(path)
    queries: dict[str, list[Page]] = {}
    shown: dict[str, tuple[str, ...]] = {}  # the same page comes often, and is kept once
    for number, line in enumerate(file.lines(), start=1):
        if number == 1:
            if line != HEADER:
                raise InvalidInput(f"{file} begins with {line[:80]!r}, but must begin with {HEADER!r}; {AGAIN}.")
            continue
        fields = line.split("\t")
        clicked = fields[3].split(",") if len(fields) == 4 and fields[3] else []
        if len(fields) != 4 or not fields[0] or not fields[2] or not all(place.isdecimal() for place in clicked):
            raise file.wrong(number, line, f"{HEADER}, where the last has numbers")
        documents = shown.setdefault(fields[2], tuple(fields[2].split(",")))
        places = tuple(map(int, clicked))
        if not all(1 <= place <= len(documents) for place in places):
            raise file.wrong(number, line, f"{HEADER}, where positions are 1 to {len(documents)}, as there are docs")
        queries.setdefault(fields[0], []).append(Page(documents, places, fields[1]))
    if not queries:
        raise InvalidInput(f"{file} has no pages, but must have a line for each; {AGAIN}.")
    return SearchLog(file.path, queries)


def terminations(log: SearchLog, queries: int = 5) -> dict[str, Floats]:
    """For the most frequent queries: per position, the share of pages clicked there on which nothing below was.

    These are the counts of Guo et al. (Efficient multiple-click models in web search, WSDM 2009) for the termination of
    the DCM, whose last click is the lowest one, whenever it was made. They maximise a bound of the likelihood, and are
    too high, the more so the lower the position; that of the last is always 1. Where nothing was clicked, there is NaN.
    """
    found = {}
    for query in log.most_frequent(queries):
        clicks, last = np.zeros(log.positions), np.zeros(log.positions)
        for page in log.queries[query]:
            places = np.unique(page.clicked).astype(np.int64) - 1  # a result clicked twice counts once
            clicks[places] += 1
            last[places[-1:]] += 1
        found[query] = np.divide(last, clicks, out=np.full(log.positions, np.nan), where=clicks > 0)
    return found


def _file(path: AnyPath) -> File:
    """The file itself, or the only one of a folder."""
    accepted = "a file of pages, or a folder that holds one that ends in .tsv or .tsv.gz"
    if not isinstance(path, str | os.PathLike) or not os.path.exists(path):
        given = os.fspath(path) if isinstance(path, os.PathLike) else path
        raise refuse("The search log", given, accepted, "name a file that exists")
    file = Path(path)
    if not file.is_dir():
        return File(file)
    inside = [each for each in sorted(file.iterdir()) if each.name.endswith(ENDINGS)]
    if len(inside) != 1:
        raise refuse("The search log", str(file), accepted, f"this folder holds {len(inside)}; name the file itself")
    return File(inside[0])
