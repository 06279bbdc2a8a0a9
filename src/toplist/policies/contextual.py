"""Cascading bandits over features: C3-UCB with discounts of positions, CascadeHybrid with relevance and topics."""

from __future__ import annotations

from collections.abc import Sequence

from toplist.parts.arrange import Diverse, TopK
from toplist.parts.feedback import ThroughFirstClick
from toplist.parts.index import DeterminantBound, Ellipsoid
from toplist.parts.memory import PositionRidge, Ridge
from toplist.policies.bandits import Order
from toplist.policies.by_name import entry
from toplist.policies.composed import Policy


@entry("C3-UCB")
def c3_ucb(
    discount: float | Sequence[float] = 1.0,
    prior: float | str = "theory",
    delta: float | str = "theory",
    noise: float = 1.0,
    order: Order = "first",
) -> Policy:
    """Linear UCB with a radius that follows the features seen so far; clicks further down may count less.

    Parameters
    ----------
    discount : float or sequence of float, default 1.0
        gamma_k, how much a click at position k is worth: `discount^(k - 1)`, or one number per position.
    prior : float or "theory", default "theory"
        lambda, the precision of the prior on each weight; "theory" is the sum of gamma_k^2.
    delta : float or "theory", default "theory"
        Probability that the bounds fail; "theory" is `1 / sqrt(n)`.
    noise : float, default 1.0
        Bound on the noise of an observation; a smaller one explores less.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    `min(x'theta + beta sqrt(x'M^-1 x), 1)` with `M = prior I + sum of gamma_k^2 x x'` and `beta = noise sqrt(log(det(M)
    / (prior^d delta^2))) + sqrt(prior)`. Learns from every item up to and including the first click. Li, Wang, Zhang
    and Chen, Contextual Combinatorial Cascading Bandits, ICML 2016, algorithm 1, for the disjunctive objective.
    """
    index = DeterminantBound(prior, discount, delta, noise)
    return Policy(ThroughFirstClick(), PositionRidge(discount, prior), index, TopK(order))


@entry("CascadeHybrid")
def cascade_hybrid(topics: int | str = "all", alpha: float | str = "theory", norm: float = 1.0) -> Policy:
    """Chooses each item for its own relevance and for what it adds to the topics above; learns up to the first click.

    Parameters
    ----------
    topics : int or "all", default "all"
        Number of leading features that are topics, covered to a degree in [0, 1]; the others tell the relevance of the
        item alone. With "all", the lists are those of CascadeLSB with sigma 1.
    alpha : float or {"figures", "theory"}, default "theory"
        gamma, the width of the confidence ellipsoid. "theory" is that of theorem 1; as sigma is 1, "figures" is the
        same.
    norm : float, default 1.0
        Bound on the length of the weights, used where `alpha` is computed.

    Notes
    -----
    Each position gets the item with the largest `x'eta + gamma sqrt(x'M^-1 x)`, where x has the gain in topic coverage
    over the items above, and the other features as they are. `M = I + sum of x x'` is one matrix for both; the blocks
    of the paper's algorithm are those of its inverse. Features of both kinds are in [0, 1]. Li, Feng and de Rijke,
    Cascading Hybrid Bandits: Online Learning to Rank for Relevance and Diversity, RecSys 2020.
    """
    return Policy(ThroughFirstClick(), Ridge(1.0), Ellipsoid(alpha, norm), Diverse(topics=topics))
