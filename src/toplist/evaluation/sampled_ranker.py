"""A ranker whose lists have no exact probabilities, as a target policy: frequencies of lists that it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.core.slate import Floats, Ints
from toplist.evaluation.logged_lists import LoggedLists
from toplist.evaluation.targets import BATCHES, ListMixture, ShownLists, TargetPolicy, codes_of
from toplist.logs import ClickLog
from toplist.ranker import Ranker


class SampledRanker:
    """A ranker whose lists are drawn: probabilities are frequencies among lists that it makes.

    Parameters
    ----------
    by_length : mapping of int to ndarray of int, shape (draws, length)
        The lists that it made, by length.
    items : int
        Number of items of the log.
    """

    def __init__(self, by_length: Mapping[int, Ints], items: int) -> None:
        self._by_length, self._items = by_length, items
        self._all = mixture_of(by_length, items)

    def given(self, lists: LoggedLists) -> Floats:
        """Frequencies of prefixes."""
        return self._all.given(lists)

    def at_place(self, lists: LoggedLists) -> Floats:
        """Frequencies of items at positions."""
        return self._all.at_place(lists)

    def included(self, lists: LoggedLists) -> Floats:
        """Frequencies of items."""
        return self._all.included(lists)

    def shown(self, lists: LoggedLists) -> Sequence[tuple[Ints, ShownLists]]:
        """The lists that it made."""
        return self._all.shown(lists)

    @property
    def draws(self) -> int:
        """Number of lists that were made for each length."""
        return min((len(each) for each in self._by_length.values()), default=0)

    @property
    def is_certain(self) -> bool:
        """Whether all lists of a length were the same."""
        return all((lists == lists[0]).all() for lists in self._by_length.values())

    def batches(self) -> Sequence[TargetPolicy]:
        """The same policy from parts of the draws, whose differences show the error of sampling.

        Returns
        -------
        sequence of TargetPolicy
            Ten targets; none if all lists of a length were the same.
        """
        if self.is_certain:
            return []
        parts = [{length: lists[part::BATCHES] for length, lists in self._by_length.items()} for part in range(BATCHES)]
        return [mixture_of(part, self._items) for part in parts]


def mixture_of(by_length: Mapping[int, Ints], items: int) -> ListMixture:
    """Drawn lists with their frequencies."""
    found = {}
    for length, lists in by_length.items():
        different, counts = np.unique(lists, axis=0, return_counts=True)
        found[length] = ShownLists(different, counts / len(lists))
    return ListMixture(found, items)


def sample_ranker(ranker: Ranker, log: ClickLog, draws: int) -> SampledRanker:
    """Frequencies of lists that a copy of a ranker makes, one number after the other.

    Parameters
    ----------
    ranker : Ranker
        The ranker.
    log : ClickLog
        The log, whose lengths of lists are drawn.
    draws : int
        How many lists of each length.

    Returns
    -------
    SampledRanker
        The target.

    Raises
    ------
    InvalidInput
        If the ranker needs the visitor's features.
    """
    working, by_length = copy(ranker), {}  # its lists do not open in the ranker itself
    for length in np.unique(log.lengths).tolist():
        if length > ranker.positions:
            continue
        try:
            made = [working.rank(positions=length).items for _ in range(draws)]
        except InvalidInput as error:
            raise InvalidInput(f"{error} A log has no such columns: give a function of the log instead.") from error
        if len(made[0]) != length:
            continue
        names = sorted({name for each in made for name in each}, key=str)
        code = dict(zip(names, codes_of(names, log), strict=True))
        by_length[length] = np.array([[code[name] for name in each] for each in made], dtype=np.int64)
    return SampledRanker(by_length, len(log.items))
