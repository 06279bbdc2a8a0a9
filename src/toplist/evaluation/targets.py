"""Target policies: with which probability would they have shown what the log shows?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from toplist.core.problem import InvalidInput, refuse
from toplist.core.slate import Floats, Ints
from toplist.evaluation.logged_lists import NO_ITEM, LoggedLists, as_matrix
from toplist.evaluation.refusals import CannotEstimate
from toplist.logs import ClickLog

NEVER_FIRST = 1 << 30  # where items begin that are in no group
MOST_LISTS = 5000  # different lists of ties that are written out
BATCHES = 10  # into which drawn lists are divided, for the error of their number


class ShownLists(NamedTuple):
    """Lists that a target shows, with their probabilities.

    Parameters
    ----------
    item : ndarray of int, shape (lists, positions)
        The lists, as codes of the log's items; -1 in cells after the end of a list, and below -1 for items that the log
        has not.
    probability : ndarray of float
        Their probabilities.
    """

    item: Ints
    probability: Floats


@runtime_checkable
class TargetPolicy(Protocol):
    """What an estimator asks of the policy that it judges; a policy may refuse with `CannotEstimate`.

    Other classes with these methods can be evaluated as well.
    """

    def given(self, lists: LoggedLists) -> Floats:
        """Probability of each logged item at its position, given those above it; 1 in empty cells.

        After an item that the policy would not show, the values do not matter.
        """
        ...

    def at_place(self, lists: LoggedLists) -> Floats:
        """Probability of each logged item at its position, whatever stands above; 1 in empty cells."""
        ...

    def included(self, lists: LoggedLists) -> Floats:
        """Probability of each logged item anywhere in a list of the same length; 1 in empty cells."""
        ...

    def shown(self, lists: LoggedLists) -> Sequence[tuple[Ints, ShownLists]]:
        """The lists that the policy shows instead: rows of the log, and what it shows for each of them."""
        ...


@runtime_checkable
class SampledTarget(TargetPolicy, Protocol):
    """A target whose probabilities are frequencies of drawn lists."""

    def batches(self) -> Sequence[TargetPolicy]:
        """The same policy from ten parts of the draws, whose differences show the error; none if it is exact."""
        ...


class RankedGroups:
    """A ranking with ties: groups of items, each in random order, one group below the other.

    Without ties it is one certain list; with all items in one group every list is equally likely.

    Parameters
    ----------
    groups : sequence of sequence of int
        The groups from the top, as codes of the log's items; below -1 for items that the log has not.
    items : int
        Number of items of the log.
    positions : int, optional
        Length of the longest list that the policy shows; by default any.
    """

    def __init__(self, groups: Sequence[Sequence[int]], items: int, positions: int | None = None) -> None:
        self._groups = [np.array(group, dtype=np.int64) for group in groups]
        total = sum(len(group) for group in self._groups)
        self._positions = total if positions is None else min(positions, total)
        self._first = np.full(items + 1, NEVER_FIRST, dtype=np.int32)  # the last is that of no item
        self._size = np.ones(items + 1, dtype=np.int32)
        begin = 0
        for group in self._groups:
            known = group[group >= 0]
            self._first[known], self._size[known] = begin, len(group)
            begin += len(group)

    def given(self, lists: LoggedLists) -> Floats:
        """1 over the number of items that are left in the group whose turn it is."""
        left, turn = self._turn(lists)
        found = np.where(lists.is_shown, 0.0, 1.0)
        np.divide(1.0, left, out=found, where=turn & lists.is_shown)
        return found

    def _turn(self, lists: LoggedLists) -> tuple[Any, Any]:
        """Per cell how many items of the item's group are left there, and whether it is the group's turn."""
        left = (self._first + self._size)[lists.item] - np.arange(lists.positions, dtype=np.int32)
        return left, (left > 0) & (left <= self._size[lists.item]) & self._reaches(lists)

    def at_place(self, lists: LoggedLists) -> Floats:
        """1 over the size of the group, at its positions."""
        _, turn = self._turn(lists)
        found = np.where(lists.is_shown, 0.0, 1.0)
        np.divide(1.0, self._size[lists.item], out=found, where=turn & lists.is_shown)
        return found

    def included(self, lists: LoggedLists) -> Floats:
        """The share of a group that is above the end of the list."""
        first, size = self._first[lists.item], self._size[lists.item]
        length = np.minimum(lists.length, self._positions)[:, None]
        return np.where(lists.is_shown, np.clip((length - first) / size, 0.0, 1.0), 1.0)

    def shown(self, lists: LoggedLists) -> Sequence[tuple[Ints, ShownLists]]:
        """The lists of all orders of ties, for each length."""
        return [
            (np.flatnonzero(lists.length == length), self._orders(int(length))) for length in np.unique(lists.length)
        ]

    def _reaches(self, lists: LoggedLists) -> Any:
        """Whether the policy shows lists as long as the logged one."""
        return (lists.length <= self._positions)[:, None]

    def _orders(self, length: int) -> ShownLists:
        """All lists of a length, each as likely as the others of its ties."""
        rows, chance = np.zeros((1, 0), dtype=np.int64), 1.0
        for group in self._groups:
            room = min(len(group), min(length, self._positions) - rows.shape[1])
            if room <= 0:
                break
            count = int(np.prod(np.arange(len(group), len(group) - room, -1, dtype=np.float64)))
            if count * len(rows) > MOST_LISTS:
                raise CannotEstimate(
                    f"the policy breaks a tie of {len(group)} items at random, which makes more than {MOST_LISTS:,} "
                    f"different lists; use an estimator by weights"
                )
            orders = _arrangements(group, room)
            rows = np.concatenate([np.repeat(rows, len(orders), axis=0), np.tile(orders, (len(rows), 1))], axis=1)
            chance /= count
        return ShownLists(rows, np.full(len(rows), chance))


def _arrangements(group: Ints, room: int) -> Ints:
    """All ordered choices of `room` items of a group."""
    rows = np.zeros((1, 0), dtype=np.int64)
    for _ in range(room):
        left = [[item for item in group if item not in row] for row in rows]
        rows = np.array([[*row, item] for row, rest in zip(rows, left, strict=True) for item in rest], dtype=np.int64)
    return rows


class ListMixture:
    """A policy that shows one of some lists, each with a probability, whatever the length of the logged one.

    Parameters
    ----------
    by_length : mapping of int to ShownLists
        Per length of a logged list, the lists that the policy would show, all of that length; other lengths are
        never shown.
    items : int
        Number of items of the log.
    """

    def __init__(self, by_length: Mapping[int, ShownLists], items: int) -> None:
        self.by_length, self._items = by_length, items

    def given(self, lists: LoggedLists) -> Floats:
        """The probability of each prefix over that of the one above."""
        found = np.where(lists.is_shown, 0.0, 1.0)
        for length, rows, shown in self._parts(lists):
            above = np.ones(len(rows))
            group, logged = np.zeros(len(shown.item), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
            for place in range(length):
                keys, group = np.unique(_extend(group, shown.item[:, place]), return_inverse=True)
                chance = np.bincount(group, weights=shown.probability, minlength=len(keys))
                wanted = _extend(logged, lists.item[rows, place])
                at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
                known = (keys[at] == wanted) & (logged >= 0)
                logged = np.where(known, at, -1)
                here = np.where(known, chance[at], 0.0)
                found[rows, place] = np.where(above > 0, here / np.where(above > 0, above, 1.0), 0.0)
                above = here
        return found

    def at_place(self, lists: LoggedLists) -> Floats:
        """The total probability of the lists with the item there."""
        found = np.where(lists.is_shown, 0.0, 1.0)
        for length, rows, shown in self._parts(lists):
            table = place_table(shown, self._items)
            found[rows, :length] = table[lists.item[rows, :length], np.arange(length)]
        return found

    def included(self, lists: LoggedLists) -> Floats:
        """The total probability of the lists with the item."""
        found = np.where(lists.is_shown, 0.0, 1.0)
        for length, rows, shown in self._parts(lists):
            table = place_table(shown, self._items).sum(axis=1)
            found[rows, :length] = table[lists.item[rows, :length]]
        return found

    def shown(self, lists: LoggedLists) -> Sequence[tuple[Ints, ShownLists]]:
        """The lists themselves."""
        return [(rows, shown) for _, rows, shown in self._parts(lists)]

    def _parts(self, lists: LoggedLists) -> Sequence[tuple[int, Ints, ShownLists]]:
        """The rows of each length with what the policy shows for it."""
        found = []
        for length in np.unique(lists.length).tolist():
            shown = self.by_length.get(length)
            if shown is not None and shown.item.shape[1] == length:
                found.append((length, np.flatnonzero(lists.length == length), shown))
        return found


def place_table(shown: ShownLists, items: int) -> Floats:
    """Probability of each item of a log at each position, shape (items, positions)."""
    places = shown.item.shape[1]
    table = np.zeros((items + 1, places))
    known = np.where(shown.item >= 0, shown.item, items)
    np.add.at(table, (known, np.arange(places)), shown.probability[:, None])
    found: Floats = table[:items]
    return found


def _extend(group: Ints, item: Ints) -> Ints:
    """A number for each pair of a prefix and the next item; items are at least -2^31."""
    found: Ints = group * (1 << 33) + item
    return found


class PerQuery:
    """A target of its own for each query.

    Parameters
    ----------
    targets : mapping of int to TargetPolicy
        By code of the query.
    """

    def __init__(self, targets: Mapping[int, TargetPolicy]) -> None:
        self._targets = dict(targets)

    def given(self, lists: LoggedLists) -> Floats:
        """Those of each query's target."""
        return self._filled(lists, "given")

    def at_place(self, lists: LoggedLists) -> Floats:
        """Those of each query's target."""
        return self._filled(lists, "at_place")

    def included(self, lists: LoggedLists) -> Floats:
        """Those of each query's target."""
        return self._filled(lists, "included")

    def shown(self, lists: LoggedLists) -> Sequence[tuple[Ints, ShownLists]]:
        """Those of each query's target."""
        return [
            (rows[inner], shown)
            for target, rows in self._parts(lists)
            for inner, shown in target.shown(lists.take(rows))
        ]

    def batches(self) -> Sequence[TargetPolicy]:
        """Targets by query from parts of the draws; none if all are exact."""
        sampled = {code: each.batches() for code, each in self._targets.items() if isinstance(each, SampledTarget)}
        sampled = {code: parts for code, parts in sampled.items() if parts}
        if not sampled:
            return []
        return [
            PerQuery(self._targets | {code: parts[part] for code, parts in sampled.items()}) for part in range(BATCHES)
        ]

    def _filled(self, lists: LoggedLists, method: str) -> Floats:
        found = np.ones(lists.item.shape)
        for target, rows in self._parts(lists):
            found[rows] = getattr(target, method)(lists.take(rows))
        return found

    def _parts(self, lists: LoggedLists) -> Sequence[tuple[TargetPolicy, Ints]]:
        """Each query's target with its rows."""
        order = np.argsort(lists.query, kind="stable")
        codes, first = np.unique(lists.query[order], return_index=True)
        found = []
        for code, rows in zip(codes.tolist(), np.split(order, first[1:]), strict=True):
            if code not in self._targets:
                name = lists.log.queries[code]
                raise InvalidInput(f"There is no policy for the query {name!r}; add one, or leave its lists out.")
            found.append((self._targets[code], rows))
        return found


class GivenProbabilities:
    """A target known by its probabilities of the logged items alone, in the order of the log's positions.

    Parameters
    ----------
    log : ClickLog
        The log.
    given : array_like of float, optional
        Per position the probability of its item given those above.
    at_place : array_like of float, optional
        Per position the probability of its item there.

    Raises
    ------
    InvalidInput
        If there is not one probability in [0, 1] per position of the log.
    """

    def __init__(self, log: ClickLog, given: Any = None, at_place: Any = None) -> None:
        self._given = None if given is None else self._checked(log, "The target's propensities", given)
        self._at_place = None if at_place is None else self._checked(log, "The target's marginals", at_place)

    @staticmethod
    def _checked(log: ClickLog, what: str, values: Any) -> Floats:
        found = np.asarray(values, dtype=np.float64).ravel()
        if len(found) != len(log.item):
            raise refuse(what, f"{len(found)} values", f"{len(log.item)}, one per position of the log", "give all")
        if len(found) and not (found.min() >= 0 and found.max() <= 1 + 1e-9):
            wrong = found[~((found >= 0) & (found <= 1 + 1e-9))]
            raise refuse(what, float(wrong[0]), "between 0 and 1", "give probabilities")
        return np.asarray(as_matrix(log, found, 1.0))

    def given(self, lists: LoggedLists) -> Floats:
        """As they were given."""
        if self._given is None:
            raise CannotEstimate("the policy's probabilities of items given those above are not known")
        return self._given

    def at_place(self, lists: LoggedLists) -> Floats:
        """As they were given."""
        if self._at_place is None:
            if self._given is not None and lists.positions == 1:
                return self._given
            raise CannotEstimate("the policy's marginal probabilities of items at their positions are not known")
        return self._at_place

    def included(self, lists: LoggedLists) -> Floats:
        """Not known."""
        raise CannotEstimate("the policy's probabilities of items anywhere in a list are not known")

    def shown(self, lists: LoggedLists) -> Sequence[tuple[Ints, ShownLists]]:
        """Not known."""
        raise CannotEstimate("the lists that the policy would show are not known, only their probabilities in the log")


TargetFunction = Callable[[ClickLog], Any]


def target_of_function(function: TargetFunction, log: ClickLog) -> TargetPolicy:
    """The target of a function that gives propensities, or a pair of propensities and marginals, of a log's positions.

    Parameters
    ----------
    function : callable
        Takes the log; gives an array of probabilities given the items above, one per position of the log, or a pair of
        such an array (or None) and one of marginal probabilities.
    log : ClickLog
        The log.

    Returns
    -------
    TargetPolicy
        The target.
    """
    found = function(log)
    if isinstance(found, TargetPolicy):
        return found
    if isinstance(found, tuple):
        return GivenProbabilities(log, *found)
    return GivenProbabilities(log, found)


def target_of_columns(log: ClickLog) -> TargetPolicy:
    """The target whose probabilities a log has in its columns `target_propensity` and `target_marginal`.

    Parameters
    ----------
    log : ClickLog
        The log.

    Returns
    -------
    TargetPolicy
        The target.

    Raises
    ------
    InvalidInput
        If the log has no such column.
    """
    if log.target_propensity is None and log.target_marginal is None:
        raise InvalidInput(
            "The log has no column target_propensity or target_marginal; name a policy, or add these columns."
        )
    return GivenProbabilities(log, log.target_propensity, log.target_marginal)


def codes_of(names: Sequence[Any], log: ClickLog) -> list[int]:
    """Codes of items in a log; numbers below -1 for those that it has not."""
    return [log.items.code(name) if name in log.items else NO_ITEM - 1 - number for number, name in enumerate(names)]
