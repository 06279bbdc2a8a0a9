"""A frozen ranker as a target policy: exact where its lists have a closed form, by repeated ranking else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from toplist.core.problem import refuse, whole
from toplist.evaluation.sampled_ranker import sample_ranker
from toplist.evaluation.targets import (
    BATCHES,
    PerQuery,
    RankedGroups,
    TargetPolicy,
    codes_of,
    target_of_columns,
    target_of_function,
)
from toplist.evaluation.weighed_ranker import WeighedRanker
from toplist.logs import ClickLog
from toplist.parts.arrange import TopK
from toplist.parts.index import Chance
from toplist.policies.composed import Policy
from toplist.policies.fixed_list import ShowList
from toplist.ranker import Ranker
from toplist.support.files import AnyPath

DRAWS = 2000  # lists that are made of a ranker whose probabilities have no closed form


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
        Groups of tied items where an index ranks them, the policy's own probabilities where it has them, or frequencies
        of drawn lists.

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
    count = whole("The number of draws", draws, 2 * BATCHES, "give more")
    return WeighedRanker(ranker, log, count) if has_exact_lists(ranker, log) else sample_ranker(ranker, log, count)


def has_exact_lists(ranker: Ranker, log: ClickLog) -> bool:
    """Whether a ranker's policy knows the probability of any list as long as those of a log."""
    if ranker.capabilities.needs_features:  # no closed form, and it may want those of a visitor
        return False
    hidden = set(ranker.hidden)
    visible = [name for name in ranker.items if name not in hidden]
    return all(
        ranker.weigh(np.arange(length)[None], visible) is not None
        for length in np.unique(log.lengths).tolist()
        if 0 < length <= min(ranker.positions, len(visible))
    )


def tied_groups(ranker: Ranker) -> list[list[Any]] | None:
    """The items of a ranker that ranks by a certain index, equal ones together; None for other rankers.

    One list that it makes must agree.
    """
    policy = ranker.policy
    if isinstance(policy, ShowList) and len(policy.items):
        return [[name] for name in copy(ranker).rank().items]
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
    return found if _agrees(found, copy(ranker).rank().items) else None


def _agrees(groups: Sequence[Sequence[Any]], shown: Sequence[Any]) -> bool:
    """Whether a list goes through the groups from the top."""
    place = 0
    for group in groups:
        part = set(shown[place : place + len(group)])
        if not part <= set(group):
            return False
        place += len(group)
    return True
