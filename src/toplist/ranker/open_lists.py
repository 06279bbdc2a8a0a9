"""The book of lists made: which are still open, and why another cannot be learned any more."""

from __future__ import annotations

import os
import secrets
import threading
from bisect import bisect_right
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from toplist.core.problem import InvalidInput


class Process:
    """Which of the processes that came out of each other by forking this is; to ask the system takes longer."""

    number = 0

    @classmethod
    def fork(cls) -> None:
        """One more."""
        cls.number += 1


os.register_at_fork(after_in_child=Process.fork)


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
    lives: tuple[tuple[int, str], ...]


class Book:
    """Numbers the lists, and holds the numbers of those that wait for their clicks: at most `limit` of them.

    One more gives the oldest up. So numbers are given up in ascending order, and what is not open above the last of
    them was learned.

    Copies of a ranker, loaded from one file or forked, go on from the same number. So that none takes the list of
    another for its own, each has a life of its own, and remembers whose lists it inherited.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.made = 0
        self._open: dict[int, None] = {}  # ascending
        self._given_up: dict[int, None] = {}  # ascending; the last `limit` of them
        self._lives: list[tuple[int, str]] = []  # the first number of each life, ascending
        self._process = -1
        self._lock = threading.Lock()

    def state(self) -> BookState:
        """What must be kept."""
        with self._lock:
            return BookState(self.made, tuple(self._open), tuple(self._given_up), tuple(self._lives))

    @classmethod
    def of(cls, limit: int, state: BookState) -> Book:
        """The book that was kept."""
        book = cls(limit)
        book.made = state.made
        book._open, book._given_up = dict.fromkeys(state.opened), dict.fromkeys(state.given_up)
        book._lives = [(int(first), str(life)) for first, life in state.lives]
        return book

    def enter(self) -> tuple[int, str]:
        """The number of a new list, which is now open, and the life it belongs to."""
        with self._lock:
            self._begin_life()
            number = self.made
            self.made += 1
            self._open[number] = None
            if len(self._open) > self.limit:
                oldest = next(iter(self._open))
                del self._open[oldest]
                self._given_up[oldest] = None
                if len(self._given_up) > self.limit:
                    del self._given_up[next(iter(self._given_up))]
            return number, self._lives[-1][1]

    def _begin_life(self) -> None:
        if self._process != Process.number:  # new, loaded, or forked
            self._process = Process.number
            self._lives.append((self.made, secrets.token_hex(6)))

    def enter_again(self, number: int) -> str:
        """The life of a list that somebody's log has; it is open now if this book did not know it yet."""
        with self._lock:
            self._begin_life()
            if number >= self.made:
                self.made = number + 1
                self._open[number] = None
            return self._lives[max(0, bisect_right(self._lives, number, key=itemgetter(0)) - 1)][1]

    def check_own(self, number: int, life: str) -> None:
        """Refuse a list that another copy has made."""
        with self._lock:
            began = bisect_right(self._lives, number, key=itemgetter(0)) - 1
            if not 0 <= number < self.made or self._lives[began][1] != life:
                raise ForeignSlate(
                    f"List {number} was made by a copy of this ranker that went on elsewhere; save the ranker after "
                    f"its lists are made, and hand each list to the copy that made it."
                )

    def close_open(self, number: int) -> None:
        """The list is learned now; refuse one that is not open any more."""
        with self._lock:
            if number in self._open:
                del self._open[number]
                return
            if len(self._given_up) == self.limit and number < next(iter(self._given_up)):
                raise SlateRefused(f"List {number} was learned or given up long ago; learn lists soon, and once.")
            if number not in self._given_up:
                raise AlreadyLearned(f"List {number} was learned already; learn each list once, with all its clicks.")
            raise TooManyOpen(
                f"List {number} was given up, because more than {self.limit} lists were open after it; learn lists "
                f"without clicks too, as clicks=(), or make open_slates larger."
            )

    def close(self, number: int) -> None:
        """The list was never shown, if it is open."""
        with self._lock:
            self._open.pop(number, None)

    def all_open_are_later_than(self, made: int) -> bool:
        """Whether every open list was made when there were at least so many already."""
        with self._lock:
            return all(number >= made for number in islice(self._open, 1))
