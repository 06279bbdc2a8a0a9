"""All partitions of a divided ranking, read together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from toplist.service.log.events import decode_ranking
from toplist.service.log.settings import LearnerSettings
from toplist.service.store.divisions import division_parts
from toplist.service.store.protocol import LogReader


class DivisionPlaces(NamedTuple):
    """Where the divisions of a ranking lie."""

    name: str
    divisions: int
    home: int  # partition of division 0
    parts: int  # number of all partitions


class DivisionReader(NamedTuple):
    """A division of a ranking, as its partition has it."""

    number: int
    reader: LogReader
    ranking: int  # its id there
    settings: LearnerSettings


def division_readers(reader: LogReader, places: DivisionPlaces) -> Iterator[DivisionReader]:
    """The divisions of a ranking in order, over one connection; those that do not have it, or no longer, are left out.

    A ranking that is not divided is one division.
    """
    parts = division_parts(places.home, places.divisions, places.parts)
    for number, part in enumerate(parts):
        its = reader.sibling(part) if number else reader
        row = its.ranking_named(places.name)
        if row is not None:
            yield DivisionReader(number, its, row.id, LearnerSettings.of(decode_ranking(row.settings), row.policy_seq))
