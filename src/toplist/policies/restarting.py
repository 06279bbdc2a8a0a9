"""GLRT-CascadeUCB and GLRT-CascadeKL-UCB: forced exploration, and a restart when an item has changed."""

from __future__ import annotations

from toplist.parts.arrange import TopK
from toplist.parts.detectors import GLR
from toplist.parts.feedback import ThroughFirstClick
from toplist.parts.forced_turns import ForcedTurns
from toplist.parts.index import KLUCB, UCB1
from toplist.parts.memory import Resetting
from toplist.policies.bandits import Order
from toplist.policies.by_name import entry
from toplist.policies.composed import Policy


@entry("GLRT-CascadeUCB")
def glrt_cascade_ucb(
    scale: float = 1.5,
    share: float | str = "theory",
    changes: float = 1.0,
    level: float | str = "theory",
    order: Order = "first",
) -> Policy:
    """CascadeUCB1 that lets the items take turns now and then, and starts over when a change is detected.

    Parameters
    ----------
    scale : float, default 1.5
        Factor of log t in the confidence radius; a larger one explores more.
    share : float or "theory", default "theory"
        p, the share of forced lists; "theory" is `sqrt(N L log(n) / n)`, where N is one more than `changes`.
    changes : float, default 1.0
        Expected number of changes of the users' preferences over all steps, for the share of forced lists.
    level : float or "theory", default "theory"
        delta, a bound on the probability of ever raising a false alarm for an item; "theory" is 1 / n, and 0.001 where
        the number of steps is unknown.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    List t since the last restart is forced if `a = 1 + (t - 1) mod floor(L / p)` is at most L: item a stands first, and
    the others are drawn. All other lists are those of CascadeUCB1 since the restart,
    `U(e) = mean + sqrt(scale log t / T)`. A likelihood-ratio test per item starts everything over. Wang, Zhou, Li,
    Varshney and Zhao, Nearly Optimal Algorithms for Piecewise-Stationary Cascading Bandits, ICASSP 2021.
    """
    return Policy(ThroughFirstClick(), Resetting(GLR(level)), UCB1(scale), ForcedTurns(share, changes, TopK(order)))


@entry("GLRT-CascadeKL-UCB")
def glrt_cascade_kl_ucb(
    loglog: float = 3.0,
    share: float | str = "theory",
    changes: float = 1.0,
    level: float | str = "theory",
    order: Order = "first",
) -> Policy:
    """CascadeKL-UCB that lets the items take turns now and then, and starts over when a change is detected.

    Parameters
    ----------
    loglog : float, default 3.0
        Factor of log log t in the exploration budget; 0 explores less.
    share : float or "theory", default "theory"
        p, the share of forced lists; "theory" is `sqrt(N L log(n) / n)`, where N is one more than `changes`.
    changes : float, default 1.0
        Expected number of changes of the users' preferences over all steps, for the share of forced lists.
    level : float or "theory", default "theory"
        delta, a bound on the probability of ever raising a false alarm for an item; "theory" is 1 / n, and 0.001 where
        the number of steps is unknown.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    As GLRT-CascadeUCB, with the index of CascadeKL-UCB. Wang, Zhou, Li, Varshney and Zhao, Nearly Optimal Algorithms
    for Piecewise-Stationary Cascading Bandits, ICASSP 2021.
    """
    return Policy(ThroughFirstClick(), Resetting(GLR(level)), KLUCB(loglog), ForcedTurns(share, changes, TopK(order)))
