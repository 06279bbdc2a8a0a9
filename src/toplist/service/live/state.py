"""Everything that the desk knows beside the store: derived from it, so it can be dropped and read again at any time."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

import numpy as np

from toplist.service.errors import NotFound
from toplist.service.live.impression import DETAILS, UNKNOWN, Impression
from toplist.service.live.learners import Learners
from toplist.service.live.ranking import ItemState, RankingState, Setting
from toplist.service.log.events import ListBody, decode_list, decode_outcome, decode_ranking
from toplist.service.store.group_commit import Writer
from toplist.service.store.protocol import EventRow, NewImpression, Store

REMEMBERED = 20_000  # impressions and requests in memory, beside those that are not committed yet
LET_GO = 100  # of either at once, since looking for what is committed takes as long for many as for one


class Asked(NamedTuple):
    """What was made for a request."""

    digest: bytes
    impression: bytes
    seq: int


class Memory:
    """Rankings, learners in use, and the latest impressions and requests."""

    def __init__(self, store: Store, writer: Writer, room: int) -> None:
        self.store, self.writer = store, writer
        self._seq = writer.handed = store.last_seq()
        last = store.event(self._seq)
        writer.latest = 0 if last is None else last.at
        self.learners = Learners(store, writer, room)
        self.rankings: dict[str, RankingState] = {}
        self.by_id: dict[int, RankingState] = {}
        self.impressions: OrderedDict[bytes, Impression] = OrderedDict()
        self.requests: OrderedDict[tuple[int, str], Asked] = OrderedDict()
        for row in store.rankings():
            body = decode_ranking(row.spec)
            ranking = RankingState(row.id, row.created, Setting.of(body, row.policy))
            ranking.served = bool(store.learners(row.id, 0, 1))
            for item in store.items(row.id):
                features = None if item.features is None else np.frombuffer(item.features)
                ranking.items[item.id] = ItemState(item.place, features, item.hidden)
            self.add(ranking)

    def add(self, ranking: RankingState) -> None:
        """A ranking that is there from now on."""
        self.rankings[ranking.name] = self.by_id[ranking.id] = ranking

    def next_seq(self) -> int:
        """The number of the next event."""
        self._seq += 1
        return self._seq

    def remember(self, one: Impression) -> None:
        """Keep an impression at hand; the oldest go, if all that happened to them is committed."""
        self.impressions[one.id] = one
        if len(self.impressions) >= REMEMBERED + LET_GO:
            first = self.writer.settled_before()
            while len(self.impressions) > REMEMBERED:
                oldest = next(iter(self.impressions.values()))
                if oldest.touched >= first:
                    break
                del self.impressions[oldest.id]

    def remember_request(self, ranking: int, request: str, asked: Asked) -> None:
        """Keep a request at hand, likewise."""
        self.requests[ranking, request] = asked
        if len(self.requests) >= REMEMBERED + LET_GO:
            first = self.writer.settled_before()
            while len(self.requests) > REMEMBERED and next(iter(self.requests.values())).seq < first:
                self.requests.popitem(last=False)

    def impression(self, id: bytes) -> Impression | None:
        """An impression, from memory or the store."""
        one = self.impressions.get(id)
        if one is None:
            row = self.store.impression(id)
            if row is None:
                return None
            one = self.taken_in(row)
        return one

    def taken_in(self, row: NewImpression) -> Impression:
        """An impression that the store has; memory goes first, for it knows what is not committed yet."""
        one = self.impressions.get(row.id)
        if one is None:
            outcome = decode_outcome(row.report)
            one = Impression(row.id, row.seq, row.ranking, row.learner, row.state, row.due, None, outcome, 0)
            self.remember(one)
        return one

    def items_of(self, one: Impression) -> list[str]:
        """The items of a list."""
        if one.items is None:
            one.items = self.list_of(one).items
        return one.items

    def list_of(self, one: Impression) -> ListBody:
        """What the log says of a list."""
        return decode_list(self.event_of(one).body)

    def event_of(self, one: Impression) -> EventRow:
        """The event of a list, which is gone where the list was forgotten after somebody had asked for it."""
        event = self.event(one.seq)
        if event is None:
            raise NotFound(DETAILS[UNKNOWN])
        return event

    def event(self, seq: int) -> EventRow | None:
        """An event, committed or not."""
        for event in self.writer.pending_events():
            if event.seq == seq:
                return event
        return self.store.event(seq)

    def asked(self, ranking: int, request: str) -> Asked | None:
        """What was made for a request, if it was made."""
        known = self.requests.get((ranking, request))
        if known is None:
            row = self.store.request(ranking, request)
            if row is not None:
                known = Asked(row.digest, row.impression, 0)
        return known

    def purge(self, ranking: int) -> None:
        """Impressions and requests of a ranking that is gone."""
        for one in [one for one in self.impressions.values() if one.ranking == ranking]:
            del self.impressions[one.id]
        for key in [key for key in self.requests if key[0] == ranking]:
            del self.requests[key]

    def forget(self, learner: int, seq: int) -> None:
        """Impressions that the store has forgotten."""
        for one in list(self.impressions.values()):
            if one.learner == learner and not one.is_open and one.touched <= seq:
                del self.impressions[one.id]
