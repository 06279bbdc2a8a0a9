"""What an event of the log says, by its kind: the bodies of events, which are JSON."""

from __future__ import annotations

import zlib

import msgspec
from msgspec import Struct

from toplist.ranker import Record
from toplist.service.live.impression import Outcome, decode_outcome
from toplist.service.wire import ListRequest, RankingSpec

LARGE = 256  # bytes above which a memo is compressed: flags that are mostly zero

encode = msgspec.json.Encoder().encode


class RankingBody(Struct, frozen=True, omit_defaults=True):
    """A ranking was created, changed or deleted."""

    spec: RankingSpec
    trained: bool = True  # whether learners of this policy know what happened before it
    policy: int = 0  # the event since which it has its policy; 0 for this one
    deleted: bool = False
    places: int = 0  # that a learner has for items; 0: as many as the positions
    longest: int = 0  # no list that its learners were trained by has more items; 0: as many as the positions
    first: int = 0  # the number of a learner's first list
    floor: int = 0  # the last event that let learners start anew; 0: that of its policy if not trained, else none


class PutItem(Struct, frozen=True, omit_defaults=True):
    """An item as it is from now on."""

    id: str
    features: list[float] | None = None  # None: as they were
    hidden: bool = False


class ItemsBody(Struct, frozen=True, omit_defaults=True):
    """Items were put, or removed."""

    put: list[PutItem] = []
    removed: list[str] = []


class LearnerBody(Struct, frozen=True):
    """A learner began, with the items of that moment."""

    key: str | None


class ListBody(Struct, frozen=True, omit_defaults=True):
    """A list was made: what is needed to learn from it, and to learn from it by another policy."""

    items: list[str]
    number: int
    slots: tuple[int, ...]
    after: int = 0  # how many lists were learned before
    rows: bytes = b""
    memo: bytes = b""
    packed: bool = False  # the memo is compressed
    pinned: tuple[int, ...] = ()
    person: list[float] | None = None
    features: dict[str, list[float]] | None = None
    request_id: str | None = None
    deferred: bool = False

    @classmethod
    def of(cls, items: list[str], record: Record, request: ListRequest) -> ListBody:
        """What a list's event says."""
        number, slots, rows, memo, after, pinned = record
        packed = len(memo) > LARGE
        if packed:
            memo = zlib.compress(memo, 1)
        return cls(
            items, number, slots, after, rows, memo, packed, pinned, request.person, request.features,
            request.request_id, request.deferred,
        )  # fmt: skip

    def record(self) -> Record:
        """What the ranker wants to have back."""
        memo = zlib.decompress(self.memo) if self.packed else self.memo
        return Record(self.number, self.slots, self.rows, memo, self.after, self.pinned)


class Forgotten(Struct, frozen=True):
    """What was closed by an event or before is not in the log any more."""

    until: int
    impressions: int


decode_ranking = msgspec.json.Decoder(RankingBody).decode
decode_items = msgspec.json.Decoder(ItemsBody).decode
decode_list = msgspec.json.Decoder(ListBody).decode
decode_learner = msgspec.json.Decoder(LearnerBody).decode

__all__ = [
    "Forgotten", "ItemsBody", "LearnerBody", "ListBody", "Outcome", "PutItem", "RankingBody", "decode_items",
    "decode_learner", "decode_list", "decode_outcome", "decode_ranking", "encode",
]  # fmt: skip
