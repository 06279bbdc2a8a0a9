"""Algorithms for cascade users with a bound on regret that does not depend on the gaps; each is one line of parts."""

from __future__ import annotations

from toplist.parts.arrange import TopK
from toplist.parts.feedback import ThroughFirstClick
from toplist.parts.index import MOSS, KLUCBPlusPlus, SharedGaussian, VarianceBound
from toplist.parts.memory import Everything
from toplist.policies.bandits import Order
from toplist.policies.by_name import entry
from toplist.policies.composed import Policy

Steps = float | str


@entry("CascadeUCB-V")
def cascade_ucb_v(scale: float = 2.0, order: Order = "first") -> Policy:
    """CascadeUCB1 with a radius that follows the variance of an item's clicks; for users who rarely click.

    Parameters
    ----------
    scale : float, default 2.0
        Factor of log t in the confidence radius; a larger one explores more.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    `U(e) = mean + sqrt(2 v scale log t / T) + 3 scale log t / T` with the variance `v = mean (1 - mean)`; not capped
    at 1, so that items never tie there. Vial, Sanghavi, Shakkottai and Srikant, Minimax Regret for Cascading Bandits,
    NeurIPS 2022.
    """
    return Policy(ThroughFirstClick(), Everything(), VarianceBound(scale), TopK(order))


@entry("TS-Cascade")
def ts_cascade(scale: float = 1.0, order: Order = "first") -> Policy:
    """Thompson sampling with one Gaussian number per list, shared by all items; learns up to the first click.

    Parameters
    ----------
    scale : float, default 1.0
        Factor of the standard deviation; a larger one explores more.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    Ranks by `mean + Z s`, where Z is standard normal, the same for all items of a list, and s the larger of
    `sqrt(v log(t + 1) / (T + 1))` and `log(t + 1) / (T + 1)` with `v = mean (1 - mean)`. An item never examined has
    mean 0. Cheung, Tan and Zhong, A Thompson Sampling Algorithm for Cascading Bandits, AISTATS 2019, algorithm 1;
    Zhong, Cheung and Tan, Thompson Sampling Algorithms for Cascading Bandits, JMLR 2021. CascadeTS draws for each item.
    """
    return Policy(ThroughFirstClick(), Everything(), SharedGaussian(scale), TopK(order))


@entry("CascadeKL-UCB++")
def cascade_kl_ucb_plus_plus(steps: Steps = "theory", order: Order = "first") -> Policy:
    """CascadeKL-UCB whose exploration budget shrinks with the observations of an item.

    Parameters
    ----------
    steps : float or "theory", default "theory"
        Number of lists n; "theory" is that of the simulation. Where it is unknown, n is the next power of 2 above the
        number of lists learned.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    `U(e) = max{q: T KL(mean || q) <= log+(y (1 + log+(y)^2))}` with `y = n / (L T)`, where log+ is the logarithm, but
    never below 0. The index of Menard and Garivier, A Minimax and Asymptotically Optimal Algorithm for Stochastic
    Bandits, ALT 2017; no paper uses it for lists.
    """
    return Policy(ThroughFirstClick(), Everything(), KLUCBPlusPlus(steps), TopK(order))


@entry("CascadeMOSS")
def cascade_moss(steps: Steps = "theory", order: Order = "first") -> Policy:
    """CascadeUCB1 whose exploration budget shrinks with the observations of an item.

    Parameters
    ----------
    steps : float or "theory", default "theory"
        Number of lists n; "theory" is that of the simulation. Where it is unknown, n is the next power of 2 above the
        number of lists learned.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    `U(e) = mean + sqrt(log+(n / (L T)) / T)`, where log+ is the logarithm, but never below 0. The index of Audibert and
    Bubeck, Minimax Policies for Adversarial and Stochastic Bandits, COLT 2009; no paper uses it for lists.
    """
    return Policy(ThroughFirstClick(), Everything(), MOSS(steps), TopK(order))
