"""What a policy assumes about users and items, and what of it does not hold on a problem."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from toplist.clicks import PBM, ChangingDCM
from toplist.core.problem import Problem
from toplist.leaderboard.suite import SuiteProblem
from toplist.parts.feedback import EveryPlace, OnlyLastClick, ThroughFirstClick, ThroughLastClick, UntilSatisfied
from toplist.policies import GRAB, PBMHB, PMED, BatchRank, BubbleRank, Policy, RecurRank, TopRank, UniRank
from toplist.worlds import Changing, Contextual, TopicCoverage

# Per reading, the click models that the papers of its policies assume.
FITTING: dict[type, frozenset[str]] = {
    ThroughFirstClick: frozenset({"cascade"}),
    ThroughLastClick: frozenset({"cascade", "dcm"}),
    UntilSatisfied: frozenset({"cascade", "dcm"}),
    OnlyLastClick: frozenset({"cascade", "dbn"}),
    EveryPlace: frozenset({"pbm"}),
}
ITEM, LINEAR, LOGISTIC, TOPICS = "item", "linear", "logistic", "topic"  # what an attraction is made of
FIRST, DESCENDING = "the first is the best", "in descending order"
EXACT = 1e-6  # a linear world is met up to this
TOLD = 1e-3  # examination probabilities in a suite are rounded
NUDGE = 1e-9  # between equal attractions, to see which position gets the best item
SEED = 0


class ProblemFacts(NamedTuple):
    """What is true on a problem, found from its world and its users.

    Parameters
    ----------
    attraction : str
        What the attraction of an item is made of: "linear" or "logistic" in its features, "topic" for what it adds to
        the items above it, or "item" where it is a number of its own.
    positions : tuple of str
        What holds for the positions in which the best list has its items, the best one first.
    distinct : bool
        Whether no two items attract alike, at the top of the first list.
    examination : tuple of float
        Examination probability of each position for position-based users; empty for others.
    drifts : bool
        Whether attraction changes little by little, instead of now and then.
    """

    attraction: str
    positions: tuple[str, ...]
    distinct: bool
    examination: tuple[float, ...]
    drifts: bool


class Assumptions(NamedTuple):
    """What a policy assumes, after its paper.

    Parameters
    ----------
    clicks : frozenset of str, optional
        Click models; without one, all.
    attraction : str, optional
        How features make the attraction of an item: "linear", "logistic" or "topic".
    positions : str, optional
        What holds for the positions.
    distinct : bool, default False
        Whether no two items attract alike.
    examination : tuple of float, optional
        Examination probabilities that it was told, or takes for granted.
    breaks : bool, default False
        Whether attraction stays the same between one break and the next.
    """

    clicks: frozenset[str] | None = None
    attraction: str | None = None
    positions: str | None = None
    distinct: bool = False
    examination: tuple[float, ...] | None = None
    breaks: bool = False


@cache
def facts_of(problem: SuiteProblem) -> ProblemFacts:
    """What is true on a problem, at its first list.

    Examples
    --------
    >>> world = "fixed(attraction=[0.3, 0.2, 0.2], positions=2)"
    >>> facts_of(SuiteProblem("mine", "pbm", world, "pbm(examination=[0.5, 1.0])"))
    ProblemFacts(attraction='item', positions=(), distinct=False, examination=(0.5, 1.0), drifts=False)
    """
    made = problem.made()
    world = made.world.checked()
    size = world.problem(None)
    users, moment = made.users.prepare(size), world.begin()
    world.advance(moment, 0, SEED)
    alone = attraction_alone(world, moment, size.items)
    return ProblemFacts(
        attraction=kind_of_attraction(world, moment, alone),
        positions=facts_of_positions(users, moment, alone, size.positions),
        distinct=len(np.unique(alone)) == size.items,
        examination=tuple(users.examination.tolist()) if isinstance(users, PBM) else (),
        drifts=isinstance(world, Changing) and not world.how.abrupt(),
    )


def attraction_alone(world: Any, moment: Any, items: int) -> Any:
    """The attraction of each item at the top of a list."""
    found, one = np.zeros(items), np.zeros(1)
    for item in range(items):
        world.attract(moment, np.array([item]), one)
        found[item] = one[0]
    return found


def kind_of_attraction(world: Any, moment: Any, alone: Any) -> str:
    """What the attraction is made of; where the world does not say, whether a line in the features meets it."""
    if isinstance(world, Contextual):
        return LOGISTIC
    if isinstance(world, TopicCoverage):
        return TOPICS
    features = world.features(moment)
    if features.shape[-1] > 0:
        weights = np.linalg.lstsq(features, alone, rcond=None)[0]
        if np.abs(features @ weights - alone).max() < EXACT:
            return LINEAR
    return ITEM


def facts_of_positions(users: Any, moment: Any, alone: Any, positions: int) -> tuple[str, ...]:
    """What holds for the positions: which one has the best item in the best list, and which the others."""
    if isinstance(users, ChangingDCM):  # policies are told the order of every list
        return FIRST, DESCENDING
    nudged = alone - NUDGE * np.arange(len(alone))
    items = np.zeros(positions, dtype=np.int64)
    users.best(moment, nudged, items)
    shown = nudged[items]
    found = {FIRST: shown[0] == shown.max(), DESCENDING: bool((np.diff(shown) < 0.0).all())}
    return tuple(name for name, holds in found.items() if holds)


def assumptions_of(policy: Any, positions: int) -> Assumptions:
    """What a policy assumes; one bandit per position assumes nothing about clicks.

    Parameters
    ----------
    policy : policy
        The policy.
    positions : int
        Number of positions, for which a policy may have been told examination probabilities.
    """
    if isinstance(policy, Policy):
        return assumptions_of_parts(policy, positions)
    position_based = FITTING[EveryPlace]
    if isinstance(policy, GRAB):
        return Assumptions(position_based)
    if isinstance(policy, PBMHB):
        return Assumptions(position_based, positions=FIRST)
    if isinstance(policy, PMED):
        return Assumptions(position_based, positions=DESCENDING)
    if isinstance(policy, UniRank):
        return Assumptions(positions=DESCENDING, distinct=True)
    if isinstance(policy, RecurRank):
        return Assumptions(positions=DESCENDING, attraction=LINEAR)
    if isinstance(policy, TopRank | BatchRank | BubbleRank):
        return Assumptions(positions=DESCENDING)
    return Assumptions()


def assumptions_of_parts(policy: Policy, positions: int) -> Assumptions:
    """What a policy composed of parts assumes: its reading about clicks, its memory about attraction and change.

    The papers of policies that forget clicks item by item have tastes that break; weights of features may drift.
    """
    memory, keeps = policy.memory, policy.memory.keeps()
    told: tuple[float, ...] | None = None
    if keeps in ("exposure", "positions"):
        told = tuple(memory.prepare(Problem(positions, positions)).examination.tolist())
    elif isinstance(policy.reading, EveryPlace):
        told = (1.0,) * positions
    attraction = {"linear": LINEAR, "logistic": LOGISTIC}.get(keeps)
    if policy.capabilities().covers_topics:
        attraction = TOPICS
    orders = getattr(policy.arrangement, "order", None) == "first"
    return Assumptions(
        clicks=FITTING.get(type(policy.reading)),
        attraction=attraction,
        positions=DESCENDING if orders and isinstance(policy.reading, ThroughLastClick | UntilSatisfied) else None,
        examination=told,
        breaks=keeps != "linear" and policy.capabilities().forgets,
    )


def violations(policy: Any, problem: SuiteProblem) -> tuple[str, ...]:
    """The assumptions of a policy that do not hold on a problem, each in a few words."""
    able = policy.capabilities()
    if not able.learns:
        return ()
    facts, found = facts_of(problem), []
    assumed = assumptions_of(policy, problem.positions)
    fits = assumed.clicks is None or problem.clicks in assumed.clicks
    if not fits:
        found.append(f"{problem.clicks} clicks")
    elif differ(assumed.examination or (), facts.examination):
        found.append("other examination probabilities")
    if assumed.positions is not None and assumed.positions not in facts.positions:
        found.append("positions out of order")
    if assumed.distinct and not facts.distinct:
        found.append("equal attractions")
    if problem.changes and not able.forgets:
        found.append("change")
    elif problem.changes and assumed.breaks and facts.drifts:
        found.append("drift")
    if problem.features and not able.needs_features:
        found.append("features")
    elif assumed.attraction is not None and assumed.attraction != facts.attraction:
        found.append(f"{facts.attraction} attraction")
    return tuple(found)


def differ(told: tuple[float, ...], true: tuple[float, ...]) -> bool:
    """Whether examination probabilities are others than those told; False where either is unknown."""
    return bool(told and true and np.abs(np.subtract(told, true)).max() > TOLD)
