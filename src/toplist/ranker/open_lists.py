"""Numbers the lists that a ranker makes, and keeps track of the open ones: those whose clicks are not learned yet."""

from __future__ import annotations

import os
import secrets
import threading
from bisect import bisect_right
from operator import itemgetter
from typing import NamedTuple

from toplist.core.problem import InvalidInput


class ForkCounter:
    """Counts the forks that led to this process; quicker to read than the process id."""

    number = 0

    @classmethod
    def increment(cls) -> None:
        """This process was forked."""
        cls.number += 1


if hasattr(os, "register_at_fork"):  # Windows has no forks
    os.register_at_fork(after_in_child=ForkCounter.increment)


class SlateRefused(InvalidInput):
    """A list cannot be learned from; the subclass says why.

    See Also
    --------
    AlreadyLearned, ForeignSlate, TooManyOpen
    """


class AlreadyLearned(SlateRefused):
    """The list was learned before.

    Examples
    --------
    >>> from toplist import Ranker
    >>> ranker = Ranker(["tea", "milk"], positions=1, policy="cascade-ucb1", compiled=False)
    >>> shown = ranker.rank()
    >>> ranker.learn(shown, clicks=[1])
    >>> ranker.learn(shown, clicks=[1])
    Traceback (most recent call last):
    ...
    toplist.ranker.open_lists.AlreadyLearned: List 0 was learned already; learn each list once, with all its clicks.
    """


class ForeignSlate(SlateRefused):
    """The list was made by another ranker, or by another copy of this one, or was changed since."""


class TooManyOpen(SlateRefused):
    """The list was given up: more than `open_slates` lists were open after it.

    Learn lists without clicks too, as `clicks=()`, or give the ranker a larger `open_slates`.
    """


class OpenListsState(NamedTuple):
    """What is saved of the lists."""

    made: int
    opened: tuple[int, ...]
    given_up: tuple[int, ...]
    lives: tuple[tuple[int, str], ...]


class OpenLists:
    """Numbers the lists, and holds the numbers of at most `limit` open ones.

    One more gives up the oldest. So numbers are given up in ascending order, and a number above the last of them that
    is not open was learned.

    Copies of a ranker, loaded from one file or forked, continue from the same number. So that none mistakes a list of
    another copy for its own, each copy has a random id, its life, and keeps the ids of the copies before it.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.made = 0
        self._open: dict[int, None] = {}  # ascending
        self._given_up: dict[int, None] = {}  # ascending; the last `limit` of them
        self._lives: list[tuple[int, str]] = []  # the first number of each life, ascending
        self._forks = -1
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._open)

    def state(self) -> OpenListsState:
        """What must be saved."""
        with self._lock:
            return OpenListsState(self.made, tuple(self._open), tuple(self._given_up), tuple(self._lives))

    @classmethod
    def from_state(cls, limit: int, state: OpenListsState) -> OpenLists:
        """The lists that were saved."""
        lists = cls(limit)
        lists.made = state.made
        lists._open, lists._given_up = dict.fromkeys(state.opened), dict.fromkeys(state.given_up)
        lists._lives = [(int(first), str(life)) for first, life in state.lives]
        return lists

    def open_new(self) -> tuple[int, str]:
        """Open a new list: its number and its life."""
        with self._lock:
            self._ensure_life()
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

    def _ensure_life(self) -> None:
        """Begin a new life if this copy is new, loaded or forked."""
        if self._forks != ForkCounter.number:
            self._forks = ForkCounter.number
            self._lives.append((self.made, secrets.token_hex(6)))

    def open_logged(self, number: int) -> str:
        """The life of a list that a log holds; opens it unless it was made or opened here before."""
        with self._lock:
            self._ensure_life()
            if number >= self.made:
                self.made = number + 1
                self._open[number] = None
            return self._lives[max(0, bisect_right(self._lives, number, key=itemgetter(0)) - 1)][1]

    def pass_over(self, count: int) -> None:
        """Give numbers to lists that are learned at once, without ever being open."""
        with self._lock:
            self._ensure_life()
            self.made += count

    def check_own(self, number: int, life: str) -> None:
        """Refuse a list that another copy has made."""
        with self._lock:
            began = bisect_right(self._lives, number, key=itemgetter(0)) - 1
            if not 0 <= number < self.made or self._lives[began][1] != life:
                raise ForeignSlate(
                    f"List {number} was made by another copy of this ranker; save the ranker after its lists are made, "
                    f"and learn each list with the copy that made it."
                )

    def close_learned(self, number: int) -> None:
        """Close a list to learn it; refuse one that is not open."""
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

    def discard(self, number: int) -> None:
        """Close a list that was never shown; no error if it is closed already."""
        with self._lock:
            self._open.pop(number, None)

    def all_made_after(self, made: int) -> bool:
        """Whether every open list was made after the first `made` lists."""
        with self._lock:
            return next(iter(self._open), made) >= made
