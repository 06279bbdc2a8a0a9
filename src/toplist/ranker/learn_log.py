"""Learning many lists at once that another system made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from toplist.core.coverage import AS_IS
from toplist.core.item_id import ItemId
from toplist.core.problem import InvalidInput, refuse
from toplist.core.repeats import mark_repeats
from toplist.core.slate import Ints
from toplist.ranker.learner import PageColumns
from toplist.ranker.make_lists import ListingRanker

WATCHED = 256  # observations between two looks at the changes that a policy has detected; it stores as many


class LogLearningRanker(ListingRanker):
    """A ranker that learns from the lists of a log."""

    def learn_log(
        self, names: Sequence[ItemId], start: Any, item: Any, click: Any, left: Any = None, seen: Any = None
    ) -> None:
        """Learn many lists that the ranker did not make, in their order, as `adopt` and `learn` would one by one.

        Parameters
        ----------
        names : sequence of str or int
            The items behind the numbers of `item`.
        start : array_like of int, one more than lists
            Where the positions of each list begin; the last is the number of positions.
        item : array_like of int, per position
            The item shown, as a number of `names`.
        click : array_like of int, per position
            1 if it was clicked, else 0.
        left : array_like of int, per list, optional
            The last position examined, from 1; 0 if unknown.
        seen : array_like of float, per position, optional
            Probability that the position was in view; a list with a NaN is one of which nothing is known.

        Raises
        ------
        InvalidInput
            If an item is unknown, a list is too long or has an item twice, the policy learns only from its own lists,
            or it needs the features of visitors; nothing is learned.

        Examples
        --------
        >>> from toplist import Ranker
        >>> ranker = Ranker(["tea", "milk", "wine"], positions=2, policy="cascade-ucb1", compiled=False)
        >>> ranker.learn_log(["milk", "tea"], start=[0, 2, 4], item=[0, 1, 1, 0], click=[0, 1, 0, 0])
        >>> ranker.learned, ranker.estimates()["tea"]["mean"]
        (2, 0.5)
        """
        if not self._capabilities.learns_from_any_list:
            self._refuse("learns from its own lists only", "show a list of rank()")
        call = self._features.checked_call(None, None)
        with self._lock.writing, self._learner.mode():
            slots = np.array(self._items.slots(names, "names"), dtype=np.int64)
            pages = self._checked_pages(slots, start, item, click, left, seen)
            rows, _ = self._features.rows_for_call(call, self._items.slot)
            coverage = self._learner.policy.arrangement.coverage if self._capabilities.covers_topics else AS_IS
            watches = self._capabilities.detects
            for part in _parts(pages, max(1, WATCHED // self.positions) if watches else len(pages.left)):
                self._learner.learn_pages(part, self._items.examined, rows, coverage)
                if watches:
                    self._change_log.update(self._learner.policy, self._learner.belief, self._items.names)
            self._open_lists.pass_over(len(pages.left))
            self._learned += len(pages.left)

    def _checked_pages(self, slots: Ints, start: Any, item: Any, click: Any, left: Any, seen: Any) -> PageColumns:
        """The lists as arrays; compiled code checks nothing."""
        begins, numbers = np.array(start, dtype=np.int64), np.array(item, dtype=np.int64)
        clicks, sizes = np.array(click, dtype=np.int64), np.diff(begins)
        if len(begins) == 0 or begins[0] != 0 or begins[-1] != len(numbers) or (sizes < 0).any():
            raise refuse("start", start, f"numbers from 0 up to {len(numbers)}, the number of positions", "correct it")
        if len(clicks) != len(numbers) or not np.isin(clicks, (0, 1)).all():
            raise refuse("click", click, f"0 or 1 for each of {len(numbers)} positions", "correct it")
        if sizes.max(initial=0) > self.positions:
            accepted = f"at most {self.positions} items, one per position"
            raise refuse("A list of the log", f"{sizes.max()} items", accepted, "cut it there")
        if not ((numbers >= 0) & (numbers < len(slots))).all():
            raise refuse("item", item, f"numbers from 0 to {len(slots) - 1}, one per name", "correct it")
        repeats = np.zeros(len(sizes), dtype=bool)
        mark_repeats(begins, numbers, np.full(len(slots), -1), repeats)
        if repeats.any():
            raise InvalidInput("A list of the log has an item twice; leave such lists out.")
        ends = np.zeros(len(sizes), dtype=np.int64) if left is None else np.array(left, dtype=np.int64)
        if len(ends) != len(sizes) or not ((ends >= 0) & (ends <= sizes)).all():
            raise refuse("left", left, "a position of each list, or 0", "correct it")
        views = np.zeros(0)
        if seen is not None:
            views = np.array(seen, dtype=np.float64)
            if len(views) != len(numbers) or not ((views >= 0.0) & (views <= 1.0) | np.isnan(views)).all():
                raise refuse("seen", seen, f"between 0 and 1 for each of {len(numbers)} positions", "correct it")
            unknown = np.bincount(np.repeat(np.arange(len(sizes)), sizes), np.isnan(views), minlength=len(sizes)) > 0
            views[np.repeat(unknown, sizes)] = -1.0
        return PageColumns(begins, slots[numbers], clicks, ends, views)


def _parts(pages: PageColumns, lists: int) -> list[PageColumns]:
    """Parts of so many lists each."""
    if lists >= len(pages.left):
        return [pages] if len(pages.left) else []
    found = []
    for begin in range(0, len(pages.left), lists):
        start = pages.start[begin : begin + lists + 1]
        here = slice(start[0], start[-1])
        found.append(
            PageColumns(
                start - start[0],
                pages.slot[here],
                pages.clicks[here],
                pages.left[begin : begin + lists],
                pages.seen[here] if len(pages.seen) else pages.seen,
            )
        )
    return found
