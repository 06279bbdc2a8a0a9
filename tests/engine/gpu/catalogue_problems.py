"""Problems for GPUs: a small one for every policy of the catalogue, and every class of worlds, users and starts."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist import make
from toplist.clicks import CCM, DBN, DCM, PBM, UBM, Cascade, ChangingDCM, Mixture
from toplist.engine.starts import Forced, NeverSeenFirst, OneSample
from toplist.support.catalogue import POLICIES
from toplist.worlds import Contextual, Fixed, TopicCoverage, coming_and_going, drifting, jumping, piecewise

USERS = DCM(0.5)
ATTRACTION = [0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
POLICY = "cascade-ucb1"  # of the other problems


def policies() -> list[str]:
    """All names of the catalogue."""
    return sorted(POLICIES.entries())


def world_for(policy: str, items: int = 16, positions: int = 4, topics: int = 6) -> Any:
    """A world on which the policy can be played."""
    random = np.random.default_rng(1)
    if not make(policy).capabilities().needs_features:
        return Fixed(random.uniform(0.05, 0.4, items), positions)
    degrees = random.uniform(0.1, 0.9, (items, topics)) * (random.random((items, topics)) < 0.4)
    return TopicCoverage(degrees, np.full(topics, 0.9 / topics), positions)


class Problem(NamedTuple):
    """A policy with world, users and start."""

    policy: str
    world: Any
    users: Any = USERS
    start: Any = OneSample()
    beside: tuple[Any, ...] = ()  # users of other classes, with which these share a type


PLAIN_USERS = (Cascade(), DBN(0.5, 0.9), PBM([0.9, 0.5, 0.2]), UBM(), CCM(), Mixture(Cascade(), DBN(0.5, 0.9)))
OTHERS = {  # together with the policies' own problems: every class of worlds, users and starts
    "drifting": Problem(POLICY, drifting(ATTRACTION, 3), CCM(), NeverSeenFirst()),
    "piecewise": Problem(POLICY, piecewise([ATTRACTION, ATTRACTION[::-1]], 3, [500]), UBM()),
    "contextual": Problem(POLICY, Contextual(8, 3, 4), ChangingDCM()),
    "coming and going": Problem(POLICY, coming_and_going(ATTRACTION, 3), PBM([0.9, 0.5, 0.2])),
    "users of a shared type": Problem(POLICY, Fixed(ATTRACTION, 3), beside=PLAIN_USERS),
    "jumping": Problem(POLICY, jumping(ATTRACTION, 3), Mixture(Cascade(), DBN(0.5, 0.9)), Forced()),
}


MANY_ITEMS = (  # policies whose code is another one with many items, or makes other use of memory
    "cascade-ucb1", "cascade-kl-ucb", "cascade-kl-ucb-windowed", "cascade-ucb-v", "dcm-kl-ucb", "cascade-ts", "pbm-ucb",
    "ranked-ucb1", "ranked-kl-ucb", "top-rank", "bubble-rank", "recur-rank", "cascade-lsb", "cascade-lin-ucb",
)  # fmt: skip
CONTEXTUAL = ("c3-ucb", "cascade-lin-ucb", "cascade-lin-ts", "dcm-lin-ucb", "gl-cdcm", "gl-cdcm-sgd", "lr")
STARTED = ("cascade-kl-ucb", "cascade-ts", "ranked-ucb1")
FURTHER = {  # what is compared on a device beside these
    **{f"{name}, 100 items": Problem(name, world_for(name, 100, 8)) for name in MANY_ITEMS},
    **{
        f"dcm-kl-ucb, {type(users).__name__}": Problem("dcm-kl-ucb", Fixed(ATTRACTION, 3), users)
        for users in PLAIN_USERS
    },
    **{f"{name}, contextual": Problem(name, Contextual(20, 4, 5), Cascade()) for name in CONTEXTUAL},
    **{
        f"{name}, kept contexts": Problem(name, Contextual(20, 4, 5, fresh=False), ChangingDCM()) for name in CONTEXTUAL
    },
    **{
        f"{name}, {type(start).__name__}": Problem(name, Fixed(ATTRACTION, 3), USERS, start)
        for name in STARTED
        for start in (Forced(), NeverSeenFirst())
    },
}


def problem_of(name: str) -> Problem:
    """The problem of a policy, or another."""
    known = OTHERS | FURTHER
    return known[name] if name in known else Problem(name, world_for(name))
