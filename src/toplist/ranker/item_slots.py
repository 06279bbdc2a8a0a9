"""The items of a ranker: the slot and the label of each, which are hidden, and which were ever examined."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from operator import itemgetter
from typing import Any, NamedTuple, cast

import numpy as np

from toplist.core.item_id import LARGEST_INTEGER, ItemId, checked_id, plain_id, twin_id
from toplist.core.problem import InvalidInput, nearest, refuse, several
from toplist.core.slate import Bools, Ints
from toplist.ranker.candidates import Candidates
from toplist.ranker.labels import label, labels_of

PLAIN = frozenset((str, int))  # types of ids that need no conversion
MOST_NOTED = 64  # slots for every noted change
FEW_SLOTS = 1000  # are copied in no time
SUGGESTED = 200  # items at most among which the nearest to an unknown name is searched, in a millisecond or two


class ItemSlotsState(NamedTuple):
    """What is saved of the items."""

    names: Sequence[ItemId | None]  # per slot; None for a vacant one
    freed: tuple[tuple[int, int], ...]  # vacated slots, with the number of lists made before
    examined: Ints  # slots
    used: int  # slots ever occupied
    hidden: tuple[int, ...] = ()  # slots, ascending


class ItemSlots:
    """Assigns items to slots, by which beliefs and slates refer to them; there are `capacity` slots.

    A vacated slot is reused only once no open slate refers to it.
    """

    def __init__(self, capacity: int) -> None:
        self.names: list[ItemId | None] = [None] * capacity  # per slot; None for a vacant one
        self.labels: Ints = np.zeros(capacity, dtype=np.int64)
        self.examined = np.zeros(capacity, dtype=bool)  # whether the item was ever examined
        self._freed: deque[tuple[int, int]] = deque()  # vacated slots, with the number of lists made before
        self._used = 0  # slots ever occupied
        self._count = 0  # of items
        self._has_integers = False  # whether an id ever was an integer
        self._hidden: set[int] = set()  # slots of items that are never shown
        self.present: Bools = np.zeros(capacity, dtype=bool)  # whether a slot has an item that may be shown
        self.is_shared = False  # whether a list refers to it; then changes of it are noted, and it is replaced in time
        self._changes: list[tuple[int, bool]] = []  # slots, and whether they were present until then
        self._slots: Ints = np.zeros(0, dtype=np.int64)  # 0, 1, 2, ... up to the capacity, made when needed
        self._visible: Ints | None = None
        self.edition = 0  # increases with every change of which slots have items that may be shown

    def state(self) -> ItemSlotsState:
        """What must be saved."""
        freed, hidden = tuple(self._freed), tuple(sorted(self._hidden))
        return ItemSlotsState(tuple(self.names), freed, np.flatnonzero(self.examined), self._used, hidden)

    @classmethod
    def from_state(cls, state: ItemSlotsState) -> ItemSlots:
        """The items that were saved."""
        items = cls(len(state.names))
        items.names = list(state.names)
        kinds = set(map(type, items.names))
        items._count = len(state.names) - (items.names.count(None) if type(None) in kinds else 0)
        is_full = items._count == len(state.names)
        slots = np.arange(items._count) if is_full else np.flatnonzero([name is not None for name in state.names])
        names = cast(list[ItemId], items.names if is_full else [items.names[slot] for slot in slots])
        labels = labels_of(names, all_texts=kinds <= {str, type(None)})
        if not all_differ(labels) and len(items._slot_of) < items._count:
            raise ValueError("an item is there twice")
        items.labels[slots] = labels
        items._has_integers = int in kinds
        items._freed.extend(state.freed)
        items.examined[state.examined] = True
        items._used = state.used
        items._hidden = set(state.hidden)
        items.present[slots] = True
        items.present[list(state.hidden)] = False
        return items

    @cached_property
    def _slot_of(self) -> dict[ItemId, int]:
        """The slot of each item: made when it is first needed, since lists need it only where items are named."""
        names = self.names
        if self._count == len(names):
            return dict(zip(cast(list[ItemId], names), range(len(names)), strict=True))
        return {name: slot for slot, name in enumerate(names) if name is not None}

    @property
    def capacity(self) -> int:
        """The number of slots."""
        return len(self.names)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, name: object) -> bool:
        return plain_id(name) in self._slot_of  # True and 1.0 equal 1, but are no ids

    def all_names(self) -> list[ItemId]:
        """All names, by slot."""
        if self._count == len(self.names):
            return cast(list[ItemId], self.names.copy())
        return [name for name in self.names if name is not None]

    @property
    def used(self) -> int:
        """The number of slots ever occupied: all others are beyond these."""
        return self._used

    def used_slots(self) -> Ints:
        """All slots ever occupied, ascending."""
        slots = self._slots
        if len(slots) < self._used:
            slots = self._slots = np.arange(self.capacity)
        return slots[: self._used]

    def occupied_slots(self) -> Ints:
        """All slots in use, ascending."""
        if not self._hidden:
            return self.visible_slots()
        occupied = self.present.copy()
        occupied[list(self._hidden)] = True
        return np.flatnonzero(occupied)

    @property
    def visible_count(self) -> int:
        """The number of items that may be shown."""
        return self._count - len(self._hidden)

    def visible_slots(self) -> Ints:
        """All slots of items that may be shown, ascending; the same array until that changes."""
        visible = self._visible
        if visible is None:
            is_full = self.visible_count == self._used
            visible = self._visible = self.used_slots() if is_full else np.flatnonzero(self.present)
        return visible

    def _set_present(self, slot: int, present: bool) -> None:
        """Note whether a slot has an item that may be shown."""
        if self.is_shared:
            if len(self._changes) * MOST_NOTED > self.capacity + FEW_SLOTS:
                self._replace_present(self.present.copy())
            else:
                self._changes.append((slot, bool(self.present[slot])))
        self.present[slot] = present
        self._visible = None
        self.edition += 1

    def _replace_present(self, present: Bools) -> None:
        """Leave the array to the lists that refer to it, with the changes that they may have to undo."""
        self.present, self.is_shared, self._changes = present, False, []

    def candidates(self, slots: Ints, present: Bools, exceptions: Ints, total: int) -> Candidates:
        """Candidates among the present items; a caller that keeps them sets `is_shared`."""
        return Candidates(slots, present, exceptions, total, self._changes, len(self._changes))

    def set_hidden(self, name: ItemId, hidden: bool) -> int:
        """Hide an item from all lists, or show it again; returns its slot."""
        slot = self.slot(name)
        (self._hidden.add if hidden else self._hidden.discard)(slot)
        self._set_present(slot, not hidden)
        return slot

    @property
    def has_hidden(self) -> bool:
        """Whether any item is hidden."""
        return bool(self._hidden)

    def is_hidden(self, slot: int) -> bool:
        """Whether the item in a slot is hidden."""
        return slot in self._hidden

    def hidden_names(self) -> list[ItemId]:
        """The names of all hidden items, by slot."""
        return [name for slot in sorted(self._hidden) if (name := self.names[slot]) is not None]

    def slot(self, name: Any, what: str = "The item") -> int:
        """The slot of an item."""
        id = plain_id(name)
        slot = None if id is None else self._slot_of.get(id)
        if slot is None:
            raise refuse(what, name, "one of the ranker's items", self._nearest(name))
        return slot

    def _nearest(self, name: Any) -> str:
        """Advice for an unknown item."""
        advice = "leave it out, or add it first"
        if (twin := twin_id(name)) in self._slot_of:
            return f"perhaps you mean {twin!r}"
        if len(self) <= SUGGESTED:
            return nearest(name, (known for known in self._slot_of if isinstance(known, str)), advice)
        return advice

    def slots(self, names: Any, what: str) -> list[int]:
        """The slots of several items, which must be different."""
        names = several(what, names, "items")
        slots = list(self._slots_in_turn(names, what))
        if len(set(slots)) < len(slots):
            raise _named_twice(what, names)
        return slots

    def ascending_slots(self, names: Sequence[Any], what: str) -> Ints:
        """The same, ascending: several times quicker for many."""
        slots = np.fromiter(self._slots_in_turn(names, what), np.int64, len(names))
        slots.sort()
        if np.count_nonzero(slots[1:] == slots[:-1]):
            raise _named_twice(what, names)
        return slots

    def _slots_in_turn(self, names: Sequence[Any], what: str) -> Sequence[int]:
        """The slot of each name."""
        one = f"An item of {what}"
        try:
            # Nothing but text equals text, but 1.0 and True equal 1.
            if not self._has_integers or PLAIN.issuperset(map(type, names)):
                if len(names) < 2:
                    return [self._slot_of[name] for name in names]
                return cast("tuple[int, ...]", itemgetter(*names)(self._slot_of))
        except KeyError as unknown:
            self.slot(unknown.args[0], one)  # refused; to find it again by a look at each name takes ten times as long
        except TypeError:
            pass
        return [self.slot(name, one) for name in names]

    def vacant_slot(self, is_reusable: Callable[[int], bool]) -> int | None:
        """A slot for a new item, or None; `is_reusable` gets the number of lists made before a slot was vacated."""
        if self._freed and is_reusable(self._freed[0][1]):
            return self._freed[0][0]
        return self._used if self._used < self.capacity else None

    def occupy(self, name: ItemId, slot: int) -> None:
        """Put a new item into a vacant slot."""
        if self._freed and self._freed[0][0] == slot:
            self._freed.popleft()
        self._used = max(self._used, slot + 1)
        self.names[slot] = name
        self.labels[slot] = label(name)
        self.examined[slot] = False
        self._has_integers = self._has_integers or isinstance(name, int)
        self._slot_of[name] = slot
        self._count += 1
        self._set_present(slot, True)

    @classmethod
    def checked_first(cls, names: Sequence[Any]) -> tuple[list[ItemId], Ints]:
        """The first items and their labels; each must be an id, given once."""
        kinds = set(map(type, names))
        if kinds == {str} or (kinds == {int} and -LARGEST_INTEGER <= min(names) <= max(names) <= LARGEST_INTEGER):
            labels = labels_of(names)
            if all_differ(labels):
                return list(names), labels  # the usual case, and many times quicker than one by one
        checked = cls(0).checked_new(names)
        return checked, labels_of(checked)

    def fill(self, names: Sequence[ItemId], labels: Ints) -> None:
        """Put the first items into the first slots, as `checked_first` returns them."""
        self.names[: len(names)] = names
        self.labels[: len(names)] = labels
        self._has_integers = int in set(map(type, names))
        self._count = self._used = len(names)
        self.present[: len(names)] = True
        self._visible = None
        self.edition += 1

    def vacate(self, name: ItemId, lists_made: int) -> int:
        """Remove an item; returns its slot."""
        slot = self.slot(name)
        del self._slot_of[name]
        self._count -= 1
        self.names[slot] = None
        self._hidden.discard(slot)
        self._freed.append((slot, lists_made))
        self._set_present(slot, False)
        return slot

    def grow(self, capacity: int) -> None:
        """Make room for more items."""
        more = capacity - self.capacity
        self.names += [None] * more
        self.labels = np.concatenate([self.labels, np.zeros(more, dtype=np.int64)])
        self.examined = np.concatenate([self.examined, np.zeros(more, dtype=bool)])
        self._replace_present(np.concatenate([self.present, np.zeros(more, dtype=bool)]))
        self.edition += 1

    def checked_new(self, names: Iterable[Any]) -> list[ItemId]:
        """`names`, if each is an id, new and given once."""
        checked: dict[ItemId, None] = {}
        for given in names:
            name = checked_id("An item", given)
            if name in checked:
                raise InvalidInput(f"The item {name!r} is given twice; give each item once.")
            if name in self:
                raise InvalidInput(f"The ranker already has an item {name!r}; choose another name, or leave it out.")
            checked[name] = None
        return list(checked)


def _named_twice(what: str, names: Sequence[Any]) -> InvalidInput:
    """The error of an item that is named more than once."""
    twice = Counter(names).most_common(1)[0][0]
    return refuse(what, list(names), "different items", f"name {twice!r} once")


def refuse_unused_values(items: Any, features: Any) -> None:
    """Refuse a mapping of items without features: its keys would be the items, and its values silently dropped."""
    if isinstance(items, Mapping) and features is None:
        advice = "write list(items) for its keys, and features=items if its values are features"
        raise refuse("items", items, "a sequence of names", advice)


def all_differ(labels: Ints) -> bool:
    """Whether all labels differ, and therefore all names; names themselves are compared more slowly."""
    ordered = np.sort(labels)
    return not bool((ordered[1:] == ordered[:-1]).any())
