"""The items of a ranker: who is in which slot, under which label, and who was ever examined."""

from __future__ import annotations

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput, nearest, refuse, several
from toplist.core.slate import Ints

SUGGESTED = 1000  # items among which the nearest to an unknown name is looked for


class RosterState(NamedTuple):
    """A roster as it is kept."""

    names: tuple[str | None, ...]
    left: tuple[tuple[int, int], ...]
    examined: Ints  # slots
    used: int
    hidden: tuple[int, ...] = ()  # slots, ascending


class Roster:
    """Items live in slots, which beliefs and slates refer to; there are `capacity` slots.

    A slot that was left is used again only once no open slate can name it.
    """

    def __init__(self, capacity: int) -> None:
        self.names: list[str | None] = [None] * capacity  # per slot; None for nobody
        self.labels: Ints = np.zeros(capacity, dtype=np.int64)
        self.examined = np.zeros(capacity, dtype=bool)  # whether anybody ever looked at the item
        self.left: deque[tuple[int, int]] = deque()  # slots left, with how many lists had been made by then
        self._used = 0  # slots ever taken
        self._slot_of: dict[str, int] = {}
        self._hidden: set[int] = set()  # slots of items that are there but never shown
        self._everybody: Ints | None = None
        self._visible: Ints | None = None

    def state(self) -> RosterState:
        """What must be kept."""
        left, hidden = tuple(self.left), tuple(sorted(self._hidden))
        return RosterState(tuple(self.names), left, np.flatnonzero(self.examined), self._used, hidden)

    @classmethod
    def of(cls, state: RosterState) -> Roster:
        """The roster that was kept."""
        roster = cls(len(state.names))
        roster.names = list(state.names)
        roster._slot_of = {name: slot for slot, name in enumerate(state.names) if name is not None}
        roster.labels[list(roster._slot_of.values())] = list(map(label, roster._slot_of))
        roster.left.extend(state.left)
        roster.examined[state.examined] = True
        roster._used = state.used
        roster._hidden = set(state.hidden)
        return roster

    @property
    def capacity(self) -> int:
        """How many slots there are."""
        return len(self.names)

    def __len__(self) -> int:
        return len(self._slot_of)

    def __contains__(self, name: object) -> bool:
        return name in self._slot_of

    def items(self) -> list[str]:
        """All names, by slot."""
        return [name for name in self.names if name is not None]

    def everybody(self) -> Ints:
        """All slots in use, ascending; the same array until somebody comes or goes."""
        if self._everybody is None:
            self._everybody = np.array(sorted(self._slot_of.values()), dtype=np.int64)
        return self._everybody

    def visible(self) -> Ints:
        """All slots whose items may be shown, ascending; the same array until that changes."""
        if not self._hidden:
            return self.everybody()
        if self._visible is None:
            self._visible = np.setdiff1d(self.everybody(), list(self._hidden), assume_unique=True)
        return self._visible

    def hide(self, name: str, hidden: bool) -> None:
        """Show an item no more, or again."""
        (self._hidden.add if hidden else self._hidden.discard)(self.slot(name))
        self._visible = None

    def is_hidden(self, slot: int) -> bool:
        """Whether the item in a slot is never shown."""
        return slot in self._hidden

    def hidden(self) -> list[str]:
        """The names of all that are hidden, by slot."""
        return [str(self.names[slot]) for slot in sorted(self._hidden)]

    def slot(self, name: Any, what: str = "The item") -> int:
        """The slot of an item."""
        try:
            return self._slot_of[name]
        except (KeyError, TypeError):
            advice = "it is not there: leave it out, or add it"
            if len(self) <= SUGGESTED:
                advice = nearest(name, self._slot_of, advice)
            raise refuse(what, name, "one of the ranker's items", advice) from None

    def slots(self, names: Any, what: str) -> list[int]:
        """The slots of several items, which must be different."""
        names = several(what, names, "items")
        try:
            slots = [self._slot_of[name] for name in names]
        except (KeyError, TypeError):
            slots = [self.slot(name, f"An item of {what}") for name in names]
        if len(set(slots)) < len(slots):
            twice = Counter(names).most_common(1)[0][0]
            raise refuse(what, list(names), "different items", f"name {twice!r} once")
        return slots

    def vacant(self, may_be_used_again: Callable[[int], bool]) -> int | None:
        """A slot for a newcomer, or None where there is none; `may_be_used_again` judges by the lists made by then."""
        if self.left and may_be_used_again(self.left[0][1]):
            return self.left[0][0]
        return self._used if self._used < self.capacity else None

    def settle(self, name: str, slot: int) -> None:
        """A newcomer takes a vacant slot."""
        if self.left and self.left[0][0] == slot:
            self.left.popleft()
        self._used = max(self._used, slot + 1)
        self.names[slot] = name
        self.labels[slot] = label(name)
        self.examined[slot] = False
        self._slot_of[name] = slot
        self._everybody = self._visible = None

    def fill(self, names: Sequence[str]) -> None:
        """Newcomers take the first slots of a roster where nobody ever was."""
        self.names[: len(names)] = names
        self.labels[: len(names)] = [label(name) for name in names]
        self._slot_of = dict(zip(names, range(len(names)), strict=True))
        self._used = len(names)
        self._everybody = self._visible = None

    def leave(self, name: str, lists_made: int) -> None:
        """An item goes."""
        slot = self.slot(name)
        del self._slot_of[name]
        self.names[slot] = None
        self._hidden.discard(slot)
        self.left.append((slot, lists_made))
        self._everybody = self._visible = None

    def enlarge(self, capacity: int) -> None:
        """More slots."""
        more = capacity - self.capacity
        self.names += [None] * more
        self.labels = np.concatenate([self.labels, np.zeros(more, dtype=np.int64)])
        self.examined = np.concatenate([self.examined, np.zeros(more, dtype=bool)])

    def check_new(self, names: Iterable[Any]) -> list[str]:
        """`names`, if each is text and none is there already."""
        checked: dict[str, None] = {}
        for name in names:
            if not isinstance(name, str):
                raise refuse("An item", name, "text", "give its name, as str(...)")
            if name in checked or name in self:
                raise InvalidInput(f"The item {name!r} is there already; each item needs a name of its own.")
            checked[name] = None
        return list(checked)


@lru_cache(maxsize=1 << 18)  # learners of many keys have the same items
def label(name: str) -> int:
    """The number that an item is known by to the random numbers: the same wherever and whenever it is added.

    >>> label("a") == label("a") != label("b")
    True
    """
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
