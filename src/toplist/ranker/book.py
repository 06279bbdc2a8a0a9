"""The book of lists made: which are still open, and why another cannot be learned any more."""

from __future__ import annotations

import threading
from itertools import islice
from typing import NamedTuple

from toplist.problem import InvalidInput


class SlateRefused(InvalidInput):
    """A list cannot be learned from; the subclass says why."""


class AlreadyLearned(SlateRefused):
    """The list was learned before."""


class ForeignSlate(SlateRefused):
    """The list was not made by this ranker."""


class TooManyOpen(SlateRefused):
    """So many lists were made after it and left open that this one was given up."""


class BookState(NamedTuple):
    """A book as it is kept."""

    made: int
    opened: tuple[int, ...]
    given_up: tuple[int, ...]


class Book:
    """Numbers the lists, and holds the numbers of those that wait for their clicks: at most `limit` of them.

    One more gives the oldest up. So numbers are given up in ascending order, and what is not open above the last of
    them was learned.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.made = 0
        self._open: dict[int, None] = {}  # ascending
        self._given_up: dict[int, None] = {}  # ascending; the last `limit` of them
        self._lock = threading.Lock()

    def state(self) -> BookState:
        """What must be kept."""
        with self._lock:
            return BookState(self.made, tuple(self._open), tuple(self._given_up))

    @classmethod
    def of(cls, limit: int, state: BookState) -> Book:
        """The book that was kept."""
        book = cls(limit)
        book.made = state.made
        book._open, book._given_up = dict.fromkeys(state.opened), dict.fromkeys(state.given_up)
        return book

    def enter(self) -> int:
        """The number of a new list, which is now open."""
        with self._lock:
            number = self.made
            self.made += 1
            self._open[number] = None
            if len(self._open) > self.limit:
                oldest = next(iter(self._open))
                del self._open[oldest]
                self._given_up[oldest] = None
                if len(self._given_up) > self.limit:
                    del self._given_up[next(iter(self._given_up))]
            return number

    def check(self, number: int) -> None:
        """Refuse a list that is not open."""
        with self._lock:
            if number in self._open:
                return
            if not 0 <= number < self.made:
                raise ForeignSlate(
                    f"List {number} is not known to this ranker, which has made {self.made}: it was made by a copy "
                    f"that was saved or went on elsewhere; load the ranker that was saved after the list was made."
                )
            forgotten = len(self._given_up) == self.limit and number < next(iter(self._given_up))
            if number not in self._given_up and not forgotten:
                raise AlreadyLearned(f"List {number} was learned already; learn each list once, with all its clicks.")
            raise TooManyOpen(
                f"List {number} was given up, because more than {self.limit} lists were open after it; learn lists "
                f"without clicks too, as clicks=(), or make open_slates larger."
            )

    def close(self, number: int) -> None:
        """The list is learned, or was never shown."""
        with self._lock:
            self._open.pop(number, None)

    def all_open_are_later_than(self, made: int) -> bool:
        """Whether every open list was made when there were at least so many already."""
        with self._lock:
            return all(number >= made for number in islice(self._open, 1))
