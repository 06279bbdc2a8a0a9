"""The policy in which a single part is checked: the other parts are those of toplist that fit it."""

from __future__ import annotations

from typing import Any

from toplist.core.problem import InvalidInput
from toplist.core.protocols.kinds import kind_of
from toplist.parts import (
    UCB1,
    Ellipsoid,
    EveryPlace,
    Everything,
    ExploringDraw,
    ExponentialWeights,
    Exposure,
    ExposureBound,
    Logistic,
    LogisticBound,
    Parsimonious,
    PerPosition,
    Resetting,
    Ridge,
    ThroughLastClick,
)
from toplist.policies.composed import Policy, draws_one
from toplist.policies.ranked import Ranked

# Per kind of belief: a memory that keeps it, and an index that reads it.
BELIEFS: dict[str, tuple[Any, Any]] = {
    "counts": (Everything(), UCB1()),
    "linear": (Ridge(), Ellipsoid()),
    "logistic": (Logistic(), LogisticBound()),
    "exposure": (Exposure(), ExposureBound()),
    "positions": (PerPosition(), Parsimonious()),
    "weights": (ExponentialWeights(), ExploringDraw()),
}


def policy_around(part: Any) -> Any:
    """A policy with this part in it; None if it is no part of a policy.

    >>> [type(each).__name__ for each in policy_around(Ridge())]
    ['ThroughLastClick', 'Ridge', 'Ellipsoid', 'TopK']
    """
    kind = kind_of(part)
    if kind == "reading":
        return Policy(part, *BELIEFS["counts"])
    if kind == "arrangement":
        return Policy(ThroughLastClick(), *BELIEFS["linear" if part.asks() == "gauge" else "counts"], part)
    if kind == "detector":
        return Policy(ThroughLastClick(), Resetting(part), BELIEFS["counts"][1])
    if kind == "memory":
        return _composed(part, _fitting(part, "keeps", part.keeps())[1])
    if kind == "index":
        return _composed(_fitting(part, "reads", part.reads())[0], part)
    return None


def _composed(memory: Any, index: Any) -> Any:
    """A policy of a memory and an index; one bandit per position for an index that draws one item."""
    if draws_one(index):
        return Ranked(EveryPlace(), memory, index, collision="random")
    by_position = memory.keeps() in ("exposure", "positions")
    return Policy(EveryPlace() if by_position else ThroughLastClick(), memory, index)


def _fitting(part: Any, verb: str, belief: str) -> tuple[Any, Any]:
    """A memory and an index for a kind of belief."""
    if belief == "any":
        belief = "counts"
    if belief not in BELIEFS:
        raise InvalidInput(
            f"{type(part).__name__} {verb} {belief}, but the parts of toplist know only {', '.join(BELIEFS)}; check a "
            f"policy with it instead, as Policy(reading, memory, index)."
        )
    return BELIEFS[belief]
