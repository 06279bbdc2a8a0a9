"""One list that was shown: its number, what was reported of it, and what becomes of another report."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from functools import cached_property

import msgspec
from msgspec import Struct

from toplist.core.problem import refuse
from toplist.ranker import Record
from toplist.service.errors import Refused
from toplist.service.store.protocol import DROPPED, LEARNED, OPEN
from toplist.service.wire import IS_PLACE, Report

LATE, CONTRADICTS, GONE, UNKNOWN = "late", "contradicts", "dropped", "unknown"

DETAILS = {
    LATE: "The click window closed before this report came, and the list was learned without it.",
    CONTRADICTS: "A final report said something else, and the list was learned from that.",
    GONE: "The list was not shown in time, or its ranking was deleted, so nothing is learned from it.",
    UNKNOWN: "There is no such impression: it was never made, or is forgotten by now.",
}


class Numbers:
    """Impression ids: UUIDs of version 7, each larger than the one before, and not to be guessed."""

    def __init__(self) -> None:
        self._moment = 0
        self._count = 0
        self._chances: Iterator[int] = iter(())

    def next(self, now: int) -> bytes:
        """The id of an impression that is made now."""
        if now > self._moment:
            self._moment, self._count = now, 0
        elif self._count == 0xFFF:  # as many as there is room for in a millisecond: borrow from the next
            self._moment, self._count = self._moment + 1, 0
        else:
            self._count += 1
        chance = next(self._chances, None)
        if chance is None:
            self._chances = iter(struct.unpack("512Q", os.urandom(4096)))
            chance = next(self._chances)
        head = self._moment << 16 | 0x7000 | self._count
        return (head << 64 | 0x8 << 60 | chance >> 2).to_bytes(16, "big")


def as_text(id: bytes) -> str:
    """An id as people write it.

    >>> as_text(bytes(range(16)))
    '00010203-0405-0607-0809-0a0b0c0d0e0f'
    """
    h = id.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def as_id(text: str) -> bytes | None:
    """The id that somebody wrote, or None where it is none."""
    try:
        id = bytes.fromhex(text.replace("-", ""))
    except ValueError:
        return None
    # Of 36 characters, 32 are those of its sixteen bytes, so the others are these four and no more.
    return id if len(id) == 16 and len(text) == 36 and text[8:24:5] == "----" else None


class Merged(Struct, frozen=True, omit_defaults=True):
    """All that was reported so far: the least that contains every report, in whatever order they came, however often.

    Positions count from 1. `left` is the farthest anybody said, `seen` the largest chance of each position.
    """

    clicks: tuple[int, ...] = ()  # ascending
    left: int | None = None
    seen: dict[int, float] | None = None
    final: bool = False

    def with_(self, other: Merged) -> Merged:
        """Both together.

        >>> Merged((1, 3)).with_(Merged((2, 3), left=4))
        Merged(clicks=(1, 2, 3), left=4, seen=None, final=False)
        """
        if self == NOTHING:  # as mostly
            return other
        seen = self.seen
        if other.seen is not None:
            mine = seen or {}
            seen = {place: max(mine.get(place, 0.0), other.seen.get(place, 0.0)) for place in {*mine, *other.seen}}
            seen = dict(sorted(seen.items()))
        left = other.left if self.left is None else self.left if other.left is None else max(self.left, other.left)
        clicks = tuple(sorted({*self.clicks, *other.clicks}))
        return Merged(clicks, left, seen, self.final or other.final)

    def contains(self, other: Merged) -> bool:
        """Whether the other adds nothing; that it is final is nothing."""
        return self is other or (
            set(other.clicks) <= set(self.clicks)
            and (other.left is None or (self.left is not None and other.left <= self.left))
            and (
                other.seen is None
                or (self.seen is not None and all(self.seen.get(place, -1.0) >= p for place, p in other.seen.items()))
            )
        )

    def learnable(self) -> tuple[tuple[int, ...], int | None, dict[int, float] | None]:
        """Clicks, left and seen, as a ranker learns them: nobody leaves above what they click."""
        left = self.left
        if left is not None and self.clicks:
            left = max(left, self.clicks[-1])
        return self.clicks, left, self.seen


NOTHING = Merged()


class Outcome(Struct, frozen=True, omit_defaults=True):
    """An impression's report column, and the body of the event that closes it."""

    merged: Merged = NOTHING
    reason: str | None = None  # "final" or "window", once it is learned
    list: int = 0  # the event of its list


decode_outcome = msgspec.json.Decoder(Outcome).decode


def merged_of(report: Report, items: Sequence[str]) -> Merged:
    """A report in positions, if it fits the list."""
    places = _Places(items)
    clicks = tuple(places.of(given, "/clicks/", n) for n, given in enumerate(report.clicks))
    if len(clicks) > 1:
        clicks = tuple(sorted(set(clicks)))
    left = None if report.left is None else places.of(report.left, "/left")
    if left is not None and clicks and left < clicks[-1]:
        accepted = f"at least {clicks[-1]}, the last click"
        raise Refused(str(refuse("left", report.left, accepted, "nobody leaves above what they click")), "/left")
    seen: dict[int, float] | None = None
    if isinstance(report.seen, dict):
        seen = {}
        for given, chance in report.seen.items():
            pointer = f"/seen/{given.replace('~', '~0').replace('/', '~1')}"
            if given in places.named or not IS_PLACE(given):
                place = places.of(given, pointer)
                if IS_PLACE(given) and place != int(given) <= len(items):
                    accepted = f"a position or an item, but it is a position and the item at position {place}"
                    advice = "name them in a list, positions as numbers and items as text"
                    raise Refused(str(refuse("seen", given, accepted, advice)), pointer)
            else:
                place = places.of(int(given), pointer)
            if place in seen:
                raise Refused(str(refuse("seen", given, "each place once", "name it in one way")), pointer)
            seen[place] = chance
        seen = dict(sorted(seen.items()))
    elif report.seen is not None:
        seen = dict.fromkeys(sorted({places.of(given, "/seen/", n) for n, given in enumerate(report.seen)}), 1.0)
    return Merged(clicks, left, seen, report.final)


class _Places:
    """The positions of a list and of its items."""

    def __init__(self, items: Sequence[str]) -> None:
        self._items = items

    @cached_property
    def named(self) -> dict[str, int]:
        """Positions by items: to look through the list for each that is named would take too long."""
        return {item: n for n, item in enumerate(self._items, 1)}

    def of(self, given: int | str, pointer: str, n: int | str = "") -> int:
        """The position that somebody named in a field, which is the n-th where there are several."""
        if isinstance(given, str):
            if given in self.named:
                return self.named[given]
            accepted, advice = "an item of the list", f"the list holds {', '.join(map(repr, self._items[:10]))}"
        elif 1 <= given <= len(self._items):
            return given
        else:
            size = len(self._items)
            accepted = f"a position between 1 and {size}" if size else "left out, since the list is empty"
            advice = "positions are counted from 1, from the top"
        pointer = f"{pointer}{n}"
        raise Refused(str(refuse(pointer, given, accepted, advice)), pointer)


class Impression:
    """A list in memory."""

    __slots__ = ("due", "id", "items", "learner", "outcome", "ranking", "record", "seq", "state", "touched")

    def __init__(
        self, id: bytes, seq: int, ranking: int, learner: int, state: int, due: int, items: list[str] | None,
        outcome: Outcome, touched: int,
    ) -> None:  # fmt: skip
        self.id, self.seq, self.ranking, self.learner = id, seq, ranking, learner
        self.state, self.due = state, due
        self.items = items  # None: nobody has asked yet
        self.outcome = outcome
        self.touched = touched  # the latest event that changed it
        self.record: Record | None = None  # to learn from, where that is at hand

    def verdict(self, report: Merged) -> str | None:
        """Why a report does not count; None where it does. Equal for equal reports, whenever they come."""
        if self.state == DROPPED:
            return GONE
        if self.state == LEARNED and not self.outcome.merged.contains(report):
            return CONTRADICTS if self.outcome.reason == "final" else LATE
        return None

    @property
    def is_open(self) -> bool:
        """Whether it can still learn something."""
        return self.state <= OPEN
