"""A ranker whose policy knows the probability of every list, as a target policy."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property

import numpy as np

from toplist.core.slate import Floats, Ints
from toplist.evaluation.logged_lists import LoggedLists
from toplist.evaluation.sampled_ranker import SampledRanker, sample_ranker
from toplist.evaluation.targets import MOST_LISTS, ListMixture, ShownLists, TargetPolicy, codes_of
from toplist.logs import ClickLog
from toplist.ranker import Ranker

MOST_WEIGHED = 50_000  # prefixes that are weighed to write out all lists
UNLIKELY = 1e-10  # total probability of the lists that are left out where all are written out, per position


class WeighedRanker:
    """A ranker with exact probabilities of lists; the lists themselves are drawn where there are too many.

    Parameters
    ----------
    ranker : Ranker
        The ranker, whose `weigh` has an answer; it is copied.
    log : ClickLog
        The log.
    draws : int
        Lists to make of each length, if there are too many to write out.
    """

    def __init__(self, ranker: Ranker, log: ClickLog, draws: int) -> None:
        self._ranker, self._log, self._draws = copy(ranker), log, draws
        hidden = set(ranker.hidden)
        self._own = [name for name in ranker.items if name not in hidden]
        self._code = np.array(codes_of(self._own, log), dtype=np.int64)
        self._by_code = np.argsort(self._code)
        self._given: tuple[LoggedLists, Floats] | None = None  # the last ones
        self._tables: dict[int, Floats | None] = {}  # by length
        self._written: dict[int, ShownLists | None] = {}
        self._part: TargetPolicy | None = None  # some of the draws, instead of all

    def given(self, lists: LoggedLists) -> Floats:
        """The policy's own probabilities of each item given those above."""
        if self._given is None or self._given[0] is not lists:
            found = np.where(lists.is_shown, 0.0, 1.0)
            for length, rows in self._by_length(lists):
                found[rows, :length] = self._weigh(self._numbers(lists.item[rows, :length]))
            self._given = lists, found
        return self._given[1]

    def at_place(self, lists: LoggedLists) -> Floats:
        """The policy's own marginal probabilities; those of the lists that it shows where it has none."""
        found = np.where(lists.is_shown, 0.0, 1.0)
        for length, rows in self._by_length(lists):
            table = self._table(length)
            if table is None:
                found[rows] = self._lists(length).at_place(lists.take(rows))
            else:
                found[rows, :length] = table[self._numbers(lists.item[rows, :length]), np.arange(length)]
        return found

    def included(self, lists: LoggedLists) -> Floats:
        """The sums of the marginal probabilities over all positions."""
        found = np.where(lists.is_shown, 0.0, 1.0)
        for length, rows in self._by_length(lists):
            table = self._table(length)
            if table is None:
                found[rows] = self._lists(length).included(lists.take(rows))
            else:
                found[rows, :length] = table.sum(axis=1)[self._numbers(lists.item[rows, :length])]
        return found

    def shown(self, lists: LoggedLists) -> Sequence[tuple[Ints, ShownLists]]:
        """All lists that it shows, or as many as were drawn."""
        return [
            (rows[inner], shown)
            for length, rows in self._by_length(lists)
            for inner, shown in self._lists(length).shown(lists.take(rows))
        ]

    def batches(self) -> Sequence[TargetPolicy]:
        """The same policy with parts of the draws; none if there are no draws."""
        if "_sampled" not in vars(self):
            return []
        return [self._with_part(part) for part in self._sampled.batches()]

    def _with_part(self, part: TargetPolicy) -> WeighedRanker:
        other = copy(self)
        other._part = part
        return other

    def _by_length(self, lists: LoggedLists) -> list[tuple[int, Ints]]:
        """The rows of each length that the ranker shows."""
        longest = min(self._ranker.positions, len(self._own))
        lengths = [length for length in np.unique(lists.length).tolist() if 0 < length <= longest]
        return [(length, np.flatnonzero(lists.length == length)) for length in lengths]

    def _numbers(self, codes: Ints) -> Ints:
        """Numbers of the ranker's items from codes of the log; -1 for others."""
        known = self._code[self._by_code]
        at = np.minimum(np.searchsorted(known, codes), len(known) - 1)
        return np.where(known[at] == codes, self._by_code[at], -1)

    def _weigh(self, lists: Ints) -> Floats:
        """Probabilities given the items above, of lists as numbers of the ranker's items."""
        found = self._ranker.weigh(lists, self._own)
        assert found is not None
        return found.conditional

    def _table(self, length: int) -> Floats | None:
        """Probability of each of the ranker's items at each position; None without a closed form.

        The last row is that of other items. A list of items in a circle says the probabilities of these, and lists that
        begin at each item those of all.
        """
        if length not in self._tables:
            count = len(self._own)
            circle = (np.arange(count)[:, None] + np.arange(length)) % count
            found = self._ranker.weigh(circle, self._own)
            assert found is not None
            table = np.zeros((count + 1, length))
            table[circle, np.arange(length)] = found.marginal
            self._tables[length] = None if np.isnan(table).any() else table
        return self._tables[length]

    def _lists(self, length: int) -> TargetPolicy:
        """The lists of a length, all of them or drawn ones."""
        if length not in self._written:
            self._written[length] = self._all_lists(length)
        written = self._written[length]
        if written is not None:
            return ListMixture({length: written}, len(self._log.items))
        return self._sampled if self._part is None else self._part

    @cached_property
    def _sampled(self) -> SampledRanker:
        """Lists that were drawn."""
        return sample_ranker(self._ranker, self._log, self._draws)

    def _all_lists(self, length: int) -> ShownLists | None:
        """All lists of a length with their probabilities, without the least likely ones; None if there are too many."""
        count = len(self._own)
        prefixes, chance = np.zeros((1, 0), dtype=np.int64), np.ones(1)
        for place in range(length):
            if len(prefixes) * count > MOST_WEIGHED:
                return None
            is_used = np.zeros((len(prefixes), count), dtype=bool)
            is_used[np.arange(len(prefixes))[:, None], prefixes] = True
            parent, item = np.nonzero(~is_used)
            is_used = is_used[parent]
            is_used[np.arange(len(item)), item] = True
            rest = np.argsort(is_used, axis=1, kind="stable")[:, : length - place - 1]  # any items below
            longer = np.concatenate([prefixes[parent], item[:, None]], axis=1)
            chance = chance[parent] * self._weigh(np.concatenate([longer, rest], axis=1))[:, place]
            order = np.argsort(chance)
            kept = np.sort(order[np.cumsum(chance[order]) > UNLIKELY])
            prefixes, chance = longer[kept], chance[kept]
            if len(prefixes) > MOST_LISTS:
                return None
        return ShownLists(self._code[prefixes], chance / chance.sum())
