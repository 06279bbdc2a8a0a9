"""Where the divisions of a ranking are read, from its first partition."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from toplist.service.live.ranking import LiveRanking
from toplist.service.log.division_readers import DivisionPlaces, DivisionReader, division_readers
from toplist.service.store.protocol import LogReader, Store

Sources = Callable[[LogReader], Iterable[DivisionReader]]


def places_of(ranking: LiveRanking, store: Store) -> DivisionPlaces:
    """Where the divisions of a ranking lie, given the store of the first one."""
    return DivisionPlaces(ranking.name, ranking.settings.divisions, store.part, store.parts)


def sources_of(ranking: LiveRanking, store: Store) -> Sources:
    """What reads the divisions of a ranking as they are committed; one that is not divided is read as it is known."""
    if ranking.is_divided:
        places = places_of(ranking, store)
        return lambda reader: division_readers(reader, places)
    id, settings = ranking.id, ranking.settings
    return lambda reader: [DivisionReader(0, reader, id, settings)]
