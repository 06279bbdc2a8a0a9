"""A frozen ranker as a target policy: exact where its lists are certain up to ties, by repeated ranking else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from toplist.core.problem import InvalidInput, refuse, whole
from toplist.core.slate import Floats, Ints
from toplist.evaluation.logged_lists import LoggedLists
from toplist.evaluation.targets import (
    BATCHES,
    ListMixture,
    PerQuery,
    RankedGroups,
    ShownLists,
    TargetPolicy,
    codes_of,
    target_of_columns,
    target_of_function,
)
from toplist.logs import ClickLog
from toplist.parts.arrange import TopK
from toplist.parts.index import Chance
from toplist.policies.composed import Policy
from toplist.policies.fixed_list import ShowList
from toplist.ranker import Ranker
from toplist.support.files import AnyPath

DRAWS = 2000  # lists that are made of a ranker whose probabilities have no closed form


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


def make_target(policy: Any, log: ClickLog, draws: int = DRAWS) -> TargetPolicy:
    """The target policy of whatever names one.

    Parameters
    ----------
    policy : Ranker, path, mapping, callable, TargetPolicy or "log"
        A ranker, frozen as it is; the file of a saved one; rankers by query; a function of the log that gives
        probabilities; an object with the methods of `TargetPolicy`; or "log", for the log's own columns
        `target_propensity` and `target_marginal`.
    log : ClickLog
        The log.
    draws : int, default 2000
        Lists to make of a ranker whose probabilities have no closed form.

    Returns
    -------
    TargetPolicy
        The target.

    Raises
    ------
    InvalidInput
        If it is none of these.
    """
    if isinstance(policy, str) and policy == "log":
        return target_of_columns(log)
    if isinstance(policy, str | bytes) or hasattr(policy, "__fspath__"):
        return ranker_target(load(policy), log, draws)
    if isinstance(policy, Ranker):
        return ranker_target(policy, log, draws)
    if isinstance(policy, Mapping):
        known = {query: each for query, each in policy.items() if query in log.queries}
        for query, each in known.items():
            if callable(each) and not isinstance(each, Ranker | TargetPolicy):
                raise refuse(f"The policy of {query!r}", each, "a ranker", "give one function for the whole log")
        return PerQuery({log.queries.code(query): make_target(each, log, draws) for query, each in known.items()})
    if isinstance(policy, TargetPolicy):
        return policy
    if callable(policy):
        return target_of_function(policy, log)
    accepted = "a Ranker, a saved one's file, rankers by query, a function of the log, or 'log'"
    raise refuse("The policy", policy, accepted, "see toplist.evaluation.targets for targets of your own")


def load(path: AnyPath) -> Ranker:
    """The ranker of a file; plain Python, since few lists are made."""
    return Ranker.load(path, compiled=False)


def ranker_target(ranker: Ranker, log: ClickLog, draws: int = DRAWS) -> TargetPolicy:
    """A ranker as a target.

    Parameters
    ----------
    ranker : Ranker
        The ranker; it is copied, and neither learns nor counts lists.
    log : ClickLog
        The log.
    draws : int, default 2000
        Lists to make if its probabilities have no closed form.

    Returns
    -------
    TargetPolicy
        Groups of tied items where an index ranks them, the given list, or frequencies of drawn lists.

    Raises
    ------
    InvalidInput
        If the ranker needs the visitor's features, which a log has not.
    """
    if ranker.options.new_per_list is None:
        groups = tied_groups(ranker)
        if groups is not None:
            names = [name for group in groups for name in group]
            codes = iter(codes_of(names, log))
            coded = [[next(codes) for _ in group] for group in groups]
            return RankedGroups(coded, len(log.items), ranker.positions)
    return sample_ranker(ranker, log, whole("The number of draws", draws, 2 * BATCHES, "give more"))


def tied_groups(ranker: Ranker) -> list[list[Any]] | None:
    """The items of a ranker that ranks by a certain index, equal ones together; None for other rankers.

    One list that it makes must agree.
    """
    policy = ranker.policy
    if isinstance(policy, ShowList) and len(policy.items):
        return [[name] for name in _copy(ranker).rank().items]
    if not isinstance(policy, Policy) or not isinstance(policy.arrangement, TopK):
        return None
    if not (isinstance(policy.arrangement.order, str) and policy.arrangement.order == "first"):
        return None
    hidden = set(ranker.hidden)
    if isinstance(policy.scoring, Chance):
        return [[name for name in ranker.items if name not in hidden]]
    is_drawn = hasattr(policy.scoring, "draws_each") and policy.scoring.draws_each()
    if is_drawn or ranker.capabilities.needs_features:
        return None
    index = {row["item"]: row["index"] for row in ranker.estimates() if row["item"] not in hidden}
    if any(value is None for value in index.values()):
        return None
    groups: dict[float, list[Any]] = {}
    for name, value in index.items():
        groups.setdefault(float(value), []).append(name)
    found = [groups[value] for value in sorted(groups, reverse=True)]
    return found if _agrees(found, _copy(ranker).rank().items) else None


def _agrees(groups: Sequence[Sequence[Any]], shown: Sequence[Any]) -> bool:
    """Whether a list goes through the groups from the top."""
    place = 0
    for group in groups:
        part = set(shown[place : place + len(group)])
        if not part <= set(group):
            return False
        place += len(group)
    return True


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
    working, by_length = _copy(ranker), {}
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


def _copy(ranker: Ranker) -> Ranker:
    """A copy whose lists do not open in the ranker itself."""
    return copy(ranker)
