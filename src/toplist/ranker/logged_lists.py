"""Lists for callers that log them: their records, and rankers that make, reopen and learn them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from toplist.core.beliefs import copy_arrays
from toplist.core.item_id import ItemId
from toplist.core.problem import InvalidInput
from toplist.core.protocols.list_probabilities import ListProbabilities
from toplist.core.randomness import WEIGHED, branch
from toplist.core.slate import Floats, Slate, joint_page
from toplist.ranker.rank_request import Eligible, NewList
from toplist.ranker.ranker import Ranker
from toplist.ranker.read_write_lock import NoLock
from toplist.ranker.shown import Shown


class Record(NamedTuple):
    """What a log must hold of a list, besides its items, to learn it at any later time.

    Parameters
    ----------
    number : int
        Index of the list among those of its ranker, from 0.
    slots : tuple of int
        Slot of the item at each position.
    rows : bytes
        Feature rows that the items were scored with, float64, in order of positions.
    memo : bytes
        The policy's own notes.
    learned_before : int
        Number of lists that the ranker had learned when it made this one.
    pinned : tuple of int, default ()
        Pinned positions, from 1.
    """

    number: int
    slots: tuple[int, ...]
    rows: bytes
    memo: bytes
    learned_before: int
    pinned: tuple[int, ...] = ()


class WeighedList(NamedTuple):
    """A list with the probabilities of its items, made by a copy of a ranker.

    Parameters
    ----------
    items : list of str or int
        The items, best first.
    record : Record
        What the log must hold besides.
    probabilities : ListProbabilities or None
        How likely the policy showed it; None for an empty list.
    """

    items: list[ItemId]
    record: Record
    probabilities: ListProbabilities | None


class LoggedListRanker(Ranker):
    """A ranker whose caller logs its lists; one thread uses it, so that one slate and one page serve all lists."""

    _lock_class = NoLock
    _warns = False  # a warning would end up in the caller's log

    def _set_up(self, *given: Any) -> None:
        super()._set_up(*given)
        self._slate = self._learner.empty_slate()
        self._page, self._page_numbers = joint_page(self.positions)
        self._blank_page = self._page_numbers.copy()
        # What lists without wishes are made of, by their length, and since when: it changes with the items only.
        self._plain: dict[int | None, Eligible] = {}
        self._plain_since: tuple[object, int, int] | None = None
        # Most policies keep neither rows nor a memo, and copying empty arrays takes as long as copying full ones.
        self._has_rows_or_memo = self._slate.rows.size + self._slate.memo.size > 0

    def make(
        self,
        among: Iterable[ItemId] | None = None,
        positions: int | None = None,
        *,
        exclude: Iterable[ItemId] | None = None,
        pins: Mapping[int, ItemId] | None = None,
        person: Any = None,
        features: Mapping[ItemId, Any] | None = None,
    ) -> tuple[list[ItemId], Record]:
        """Make a list as `rank` does, for the log.

        Parameters
        ----------
        among, positions, exclude, pins, person, features
            As in `Ranker.rank`.

        Returns
        -------
        items : list of str or int
            The items, best first.
        record : Record
            What the log must hold besides.

        Raises
        ------
        InvalidInput
            As `Ranker.rank` does.
        """
        if among is None and exclude is None and pins is None and person is None and features is None:
            eligible = self._plain_eligible(positions)
        else:
            eligible = self._eligible(self._checked_request(among, positions, exclude, pins, person, features))
        return self._logged(self._fill(eligible))

    def _plain_eligible(self, positions: int | None) -> Eligible:
        """What a list is made of for which nothing but its length is asked."""
        items, features = self._items, self._features
        since = self._plain_since
        if since is None or since[0] is not items or since[1] != items.edition or since[2] != features.edition:
            self._plain.clear()
            self._plain_since = items, items.edition, features.edition
        eligible = self._plain.get(positions)
        if eligible is None:
            asked = self._checked_request(None, positions, None, None, None, None)
            eligible = self._plain[positions] = self._eligible(asked)
        return eligible

    def make_weighed(
        self,
        draw: int,
        among: Iterable[ItemId] | None = None,
        positions: int | None = None,
        *,
        exclude: Iterable[ItemId] | None = None,
        pins: Mapping[int, ItemId] | None = None,
        person: Any = None,
        features: Mapping[ItemId, Any] | None = None,
    ) -> WeighedList:
        """Make a list as `make` does, with its probabilities; the original of this copy takes it in by `accept`.

        Parameters
        ----------
        draw : int
            Number of the draw: lists with different numbers are drawn independently of each other, and of those of
            `make`.
        among, positions, exclude, pins, person, features
            As in `Ranker.rank`.

        Returns
        -------
        WeighedList
            The items, the record for `accept`, and the probabilities.

        Raises
        ------
        InvalidInput
            As `Ranker.rank` does.
        """
        eligible = self._eligible(self._checked_request(among, positions, exclude, pins, person, features))
        made = self._fill(eligible, branch(branch(self._key, WEIGHED), draw))
        items, record = self._logged(made)
        probabilities = None
        if items:  # a copy of the slate, in which lists are drawn again
            slate = copy_arrays(self._slate)
            probabilities = self._weigh(made, slate)
        return WeighedList(items, record, probabilities)

    def accept(self, record: Record) -> Record:
        """Open a list that a copy of this ranker made, under the next number.

        Parameters
        ----------
        record : Record
            The list, of `weigh`.

        Returns
        -------
        Record
            The list with its number here.
        """
        return record._replace(number=self._open_lists.open_new()[0])

    def _fill(self, eligible: Eligible, key: int | None = None) -> NewList:
        """Make a new list in the slate."""
        slate = self._slate
        slate.size[0] = 0
        if self._has_rows_or_memo:
            slate.rows.fill(0.0)
            slate.memo.fill(0.0)
        return self._make_eligible(eligible, slate, key)

    def _logged(self, made: NewList) -> tuple[list[ItemId], Record]:
        """The list in the slate, for the log."""
        slate, rows, memo = self._slate, b"", b""
        size = slate.size.item()
        slots = slate.items[:size].tolist()
        if self._has_rows_or_memo and size:  # a policy may use all of the memo, whatever the length of the list
            rows, memo = slate.rows[:size].tobytes(), slate.memo.tobytes()
        return self._names_of(slots), Record(made.number, tuple(slots), rows, memo, self._learned, made.pinned)

    def settle(
        self,
        record: Record,
        clicks: Iterable[int],
        left: int | None = None,
        seen: Mapping[int, float] | None = None,
    ) -> None:
        """Learn from the clicks on an open list of `make`.

        Parameters
        ----------
        record : Record
            The list.
        clicks : iterable of int
            Clicked positions, from 1.
        left : int, optional
            The last position examined, from 1.
        seen : mapping of int to float, optional
            Probability that a position was in view, by position from 1; 0 for those left out.

        Raises
        ------
        SlateRefused
            If the list is not open.
        InvalidInput
            If the record is not one of this ranker's.
        """
        page = self._page
        self._page_numbers[:] = self._blank_page
        for position in clicks:
            page.clicks[position - 1] = 1
        page.left[0] = left or 0
        if seen is not None:
            page.seen.fill(0.0)
            for position, chance in seen.items():
                page.seen[position - 1] = chance
        self._learn_page(record.number, self._fill_slate(self._slate, record), page)

    def recall(self, items: Sequence[ItemId], record: Record) -> Shown:
        """Restore a list from the log, made by this ranker or by one of which it is a copy.

        Parameters
        ----------
        items : sequence of str or int
            The items shown, from the top.
        record : Record
            What the log holds besides.

        Returns
        -------
        Shown
            The list; it is open, unless it was closed before.

        Raises
        ------
        InvalidInput
            If the record is not one of this ranker's.
        """
        slate = self._fill_slate(self._learner.empty_slate(), record)
        life = self._open_lists.open_logged(record.number)
        return Shown(
            self._identity, record.number, life, tuple(items), slate, record.learned_before, pinned=record.pinned
        )

    def _fill_slate(self, slate: Slate, record: Record) -> Slate:
        """The slate, filled as it was when the list was made."""
        slots, size = record.slots, len(record.slots)
        arrays: tuple[tuple[Floats, bytes], ...] = ()
        if self._has_rows_or_memo and size:
            arrays = (slate.rows[:size], record.rows), (slate.memo, record.memo)
            fits = all(array.nbytes == len(kept) for array, kept in arrays)
        else:
            fits = not record.rows and not record.memo
        # Compiled code does not check the bounds of slots before it writes to them.
        if not fits or size > self.positions or (size and not 0 <= min(slots) <= max(slots) < self._items.capacity):
            raise InvalidInput(f"List {record.number} of the log was not made by {self.name}; check the log.")
        slate.size[0] = size
        slate.items[:size] = slots
        for array, kept in arrays:
            if kept:
                array[...] = np.frombuffer(kept).reshape(array.shape)
        return slate

    def take_over(
        self, items: Sequence[ItemId], number: int, person: Any = None, features: Mapping[ItemId, Any] | None = None
    ) -> Shown:
        """Adopt a list from the log that another policy made, under its number.

        Parameters
        ----------
        items : sequence of str or int
            The items shown, from the top.
        number : int
            Number of the list in the log.
        person, features
            As in `Ranker.rank`.

        Returns
        -------
        Shown
            The list, to pass to `learn`.

        Raises
        ------
        InvalidInput
            As `Ranker.adopt` does.
        """
        return self._adopt(items, person, features, number)

    def reopen(self, number: int) -> None:
        """Open a list that the log holds; `settle` or `recall` it when its clicks are known.

        Parameters
        ----------
        number : int
            Number of the list; nothing happens if the ranker has that number already.
        """
        self._open_lists.open_logged(number)

    def drop(self, number: int) -> None:
        """Close a list without learning, as one that was never shown.

        Parameters
        ----------
        number : int
            Number of the list; no error if it is closed already.
        """
        self._open_lists.discard(number)
