"""A search log: the pages shown for each query with their clicks, and DCM terminations estimated from them.

A file has tabs, the header `query region docs clicked_positions`, and a line per page: documents separated by commas,
best first, and the clicked positions, from 1, in the order of the clicks; empty without clicks. It may be compressed by
gzip.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput, refuse, whole
from toplist.core.slate import Floats
from toplist.datasets.sources import AGAIN, DataFile
from toplist.support.files import AnyPath
from toplist.support.tables import count_text

HEADER = "query\tregion\tdocs\tclicked_positions"
ENDINGS = (".tsv", ".tsv.gz")


class ResultPage(NamedTuple):
    """A page of results and its clicks.

    Parameters
    ----------
    documents : tuple of str
        The results, from the top.
    clicked : tuple of int
        Clicked positions, from 1, in the order of the clicks.
    region : str
        Region of the user.
    """

    documents: tuple[str, ...]
    clicked: tuple[int, ...]
    region: str


class SearchLog(NamedTuple):
    """The pages of a log; it prints as a line of counts.

    Parameters
    ----------
    path : Path
        The file.
    queries : dict of str to list of ResultPage
        Pages by query, in the order of the log.
    """

    path: Path
    queries: dict[str, list[ResultPage]]

    @property
    def positions(self) -> int:
        """The length of the longest page."""
        return max(len(page.documents) for pages in self.queries.values() for page in pages)

    def most_frequent(self, queries: int) -> list[str]:
        """The queries with the most pages.

        Parameters
        ----------
        queries : int
            Number of queries.

        Returns
        -------
        list of str
            The most frequent query first; among equals, the one that appeared first in the log.

        Raises
        ------
        InvalidInput
            If the log has fewer queries.
        """
        count = whole("The number of queries", queries, 1, "give at least one")
        if count > len(self.queries):
            accepted = f"at most {len(self.queries)}, the number in the log"
            raise refuse("The number of queries", count, accepted, "ask for fewer")
        return sorted(self.queries, key=lambda query: -len(self.queries[query]))[:count]

    def __str__(self) -> str:
        """A line of counts."""
        pages = [page for several in self.queries.values() for page in several]
        clicks, bare = sum(len(page.clicked) for page in pages), sum(not page.clicked for page in pages)
        return (
            f"{self.path}: {count_text(len(pages), 'page')} of up to {count_text(self.positions, 'result')} for "
            f"{len(self.queries):,} queries, {count_text(clicks, 'click')}, {bare:,} pages without any"
        )


def read(path: AnyPath) -> SearchLog:
    """Read the pages in a file.

    Parameters
    ----------
    path : str or path-like
        The file, or a folder with one file that ends in .tsv or .tsv.gz.

    Returns
    -------
    SearchLog
        All pages.

    Raises
    ------
    InvalidInput
        If the file is missing, damaged or malformed.
    """
    file = _find_file(path)
    queries: dict[str, list[ResultPage]] = {}
    shown: dict[str, tuple[str, ...]] = {}  # the same list is frequent, and stored once
    for number, line in enumerate(file.lines(), start=1):
        if number == 1:
            if line != HEADER:
                raise InvalidInput(f"{file} begins with {line[:80]!r}, but must begin with {HEADER!r}; {AGAIN}.")
            continue
        fields = line.split("\t")
        clicked = fields[3].split(",") if len(fields) == 4 and fields[3] else []
        if len(fields) != 4 or not fields[0] or not fields[2] or not all(place.isdecimal() for place in clicked):
            raise file.line_error(number, line, f"{HEADER}, where the last are numbers")
        documents = shown.setdefault(fields[2], tuple(fields[2].split(",")))
        places = tuple(map(int, clicked))
        if not all(1 <= place <= len(documents) for place in places):
            raise file.line_error(
                number, line, f"{HEADER}, where positions are 1 to {len(documents)}, the number of docs"
            )
        queries.setdefault(fields[0], []).append(ResultPage(documents, places, fields[1]))
    if not queries:
        raise InvalidInput(f"{file} has no pages, but must have a line for each; {AGAIN}.")
    return SearchLog(file.path, queries)


def terminations(log: SearchLog, queries: int = 5) -> dict[str, Floats]:
    """Estimate the termination probabilities of a DCM for the most frequent queries.

    Parameters
    ----------
    log : SearchLog
        The log.
    queries : int, default 5
        Number of queries.

    Returns
    -------
    dict of str to ndarray
        By query and position: of the pages with a click there, the proportion without a click below; NaN without
        clicks.

    Raises
    ------
    InvalidInput
        If the log has fewer queries.

    Notes
    -----
    These are the counts of Guo et al. (Efficient multiple-click models in web search, WSDM 2009) for the termination of
    the DCM, whose last click is the lowest one, whenever it was made. They maximise a bound of the likelihood. They are
    too high, more so at lower positions, and always 1 at the last.
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


def _find_file(path: AnyPath) -> DataFile:
    """The file itself, or the only one of a folder."""
    accepted = "a file of pages, or a folder that holds one that ends in .tsv or .tsv.gz"
    if not isinstance(path, str | os.PathLike) or not os.path.exists(path):
        given = os.fspath(path) if isinstance(path, os.PathLike) else path
        raise refuse("The search log", given, accepted, "give a file that exists")
    file = Path(path)
    if not file.is_dir():
        return DataFile(file)
    inside = [each for each in sorted(file.iterdir()) if each.name.endswith(ENDINGS)]
    if len(inside) != 1:
        raise refuse("The search log", str(file), accepted, f"this folder holds {len(inside)}; give the file itself")
    return DataFile(inside[0])
