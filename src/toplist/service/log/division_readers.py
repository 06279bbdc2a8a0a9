"""All partitions of a divided ranking, read together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from typing import NamedTuple

import msgspec

from toplist.service.log.events import decode_ranking
from toplist.service.log.replay import UNREADABLE
from toplist.service.log.settings import LearnerSettings
from toplist.service.store.divisions import division_parts
from toplist.service.store.protocol import LogReader
from toplist.service.store.row_kinds import RANKING, EventRow


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


def differing_divisions(reader: LogReader, part: int, parts: int) -> Iterator[str]:
    """A sentence for every divided ranking of this partition whose divisions have other items or settings.

    All of them must have the same changes in the same order, under their own numbers.
    """
    for row in reader.rankings():
        try:
            event = decode_ranking(row.settings)
        except UNREADABLE:  # told with its learners
            continue
        if not event.scope or event.division:
            continue
        divisions = event.spec.divisions or 1
        with reader.snapshot_reads():  # servers may be changing it
            found = list(division_readers(reader, DivisionPlaces(row.name, divisions, part, parts)))
            changes = [list(_changes(one)) for one in found]
        missing = divisions - len(found)
        differing = sum(one != changes[0] for one in changes)
        if missing or differing:
            yield (
                f"The ranking {row.name!r} has {divisions} divisions, of which {missing} are missing, and {differing} "
                f"have other items or settings in their logs than the first one."
            )


def _changes(division: DivisionReader) -> Iterator[bytes]:
    """The events that all divisions have, without numbers."""
    events = chain(
        division.reader.settings_events(division.ranking), division.reader.item_events(division.ranking, 0)
    )  # fmt: skip
    return map(_without_numbers, events)


def _without_numbers(event: EventRow) -> bytes:
    if event.kind == RANKING:
        with suppress(*UNREADABLE):
            return msgspec.json.encode(decode_ranking(event.body).spec)
    return event.body
