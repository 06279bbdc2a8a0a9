"""The papers' algorithms that are one line of parts each."""

from __future__ import annotations

from collections.abc import Sequence

from toplist.parts.arrange import TopK
from toplist.parts.feedback import EveryPlace, OnlyLastClick, ThroughFirstClick, ThroughLastClick
from toplist.parts.index import KLUCB, UCB1, Chance, ExploringDraw
from toplist.parts.memory import Everything, ExponentialWeights
from toplist.policies.by_name import entry
from toplist.policies.composed import Policy
from toplist.policies.fixed_list import ShowList
from toplist.policies.ranked import Ranked

Order = str | Sequence[int]


@entry("CascadeUCB1", "kveton2015")
def cascade_ucb1(scale: float = 1.5, order: Order = "first") -> Policy:
    """Shows the items with the largest UCB1 index; learns from every item up to and including the first click.

    Parameters
    ----------
    scale : float, default 1.5
        Factor of log t in the confidence radius; a larger one explores more.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions. With "last" the worst of the K best items stands on top (kveton2015, Table 2).

    Notes
    -----
    `U(e) = mean + sqrt(scale log(t-1) / T)`. Kveton, Szepesvari, Wen and Ashkan, Cascading Bandits: Learning to Rank in
    the Cascade Model, ICML 2015, algorithm 1.
    """
    return Policy(ThroughFirstClick(), Everything(), UCB1(scale), TopK(order))


@entry("CascadeKL-UCB", "kveton2015")
def cascade_kl_ucb(loglog: float = 3.0, order: Order = "first") -> Policy:
    """Shows the items with the largest KL-UCB index; learns from every item up to and including the first click.

    Parameters
    ----------
    loglog : float, default 3.0
        Factor of log log t in the exploration budget; 0 explores less.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions. With "last" the worst of the K best items stands on top (kveton2015, Table 2).

    Notes
    -----
    `U(e) = max{q: T KL(mean || q) <= log t + loglog log log t}`. Kveton, Szepesvari, Wen and Ashkan, Cascading Bandits:
    Learning to Rank in the Cascade Model, ICML 2015, algorithm 1.
    """
    return Policy(ThroughFirstClick(), Everything(), KLUCB(loglog), TopK(order))


@entry("dcmKL-UCB", "katariya2016")
def dcm_kl_ucb(loglog: float = 3.0, order: Order = "first") -> Policy:
    """Shows the items with the largest KL-UCB index; learns from every item up to and including the last click.

    Parameters
    ----------
    loglog : float, default 3.0
        Factor of log log t in the exploration budget; 0 explores less.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least terminating: "first" from the top down, "last" from the bottom up, or
        1-based positions. The k-th largest index goes to the k-th position of `order`.

    Notes
    -----
    A list without a click counts as examined to its end. Katariya, Kveton, Szepesvari and Wen, DCM Bandits: Learning to
    Rank with Multiple Clicks, ICML 2016, algorithm 1; liu2018 calls it KL-DCM.
    """
    return Policy(ThroughLastClick(), Everything(), KLUCB(loglog), TopK(order))


@entry("First-Click", "katariya2016")
def first_click(loglog: float = 3.0, order: Order = "first") -> Policy:
    """dcmKL-UCB that receives the first click only: a baseline for users who click more than once.

    Parameters
    ----------
    loglog : float, default 3.0
        Factor of log log t in the exploration budget; 0 explores less.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least terminating: "first" from the top down, "last" from the bottom up, or
        1-based positions.

    Notes
    -----
    The same parts as CascadeKL-UCB. Katariya, Kveton, Szepesvari and Wen, DCM Bandits, ICML 2016, section 5.2.
    """
    return Policy(ThroughFirstClick(), Everything(), KLUCB(loglog), TopK(order))


@entry("Last-Click", "katariya2016")
def last_click(loglog: float = 3.0, order: Order = "first") -> Policy:
    """dcmKL-UCB that receives the last click only: a baseline for users who click more than once.

    Parameters
    ----------
    loglog : float, default 3.0
        Factor of log log t in the exploration budget; 0 explores less.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least terminating: "first" from the top down, "last" from the bottom up, or
        1-based positions.

    Notes
    -----
    Every item above the last click counts as examined and not clicked. Katariya, Kveton, Szepesvari and Wen, DCM
    Bandits, ICML 2016, section 5.2; kveton2015, section 5.3, runs CascadeKL-UCB on DBN users this way.
    """
    return Policy(OnlyLastClick(), Everything(), KLUCB(loglog), TopK(order))


@entry("RankedKL-UCB", "katariya2016")
def ranked_kl_ucb(loglog: float = 3.0, clicks: str = "every", collision: str = "remaining") -> Ranked:
    """Runs one KL-UCB bandit per position; each learns from the click at its own position.

    Parameters
    ----------
    loglog : float, default 3.0
        Factor of log log t in the exploration budget; 0 explores less.
    clicks : {"every", "last"}, default "every"
        Clicks that the bandits receive: all, or the last one only, as in kveton2015.
    collision : {"remaining", "random"}, default "remaining"
        Items that a bandit may propose: those not placed above it, or all; with "random" a proposal that is already
        placed is replaced by a random free item and earns nothing.

    Notes
    -----
    Radlinski, Kleinberg and Joachims, Learning Diverse Rankings with Multi-Armed Bandits, ICML 2008, algorithm 2, with
    KL-UCB as in kveton2015 and katariya2016.
    """
    return Ranked(EveryPlace(clicks), Everything(), KLUCB(loglog), collision)


@entry("RankedUCB1")
def ranked_ucb1(scale: float = 1.5, clicks: str = "every", collision: str = "remaining") -> Ranked:
    """Runs one UCB1 bandit per position; each learns from the click at its own position.

    Parameters
    ----------
    scale : float, default 1.5
        Factor of log t in the confidence radius; a larger one explores more.
    clicks : {"every", "last"}, default "every"
        Clicks that the bandits receive: all, or the last one only.
    collision : {"remaining", "random"}, default "remaining"
        Items that a bandit may propose: those not placed above it, or all; with "random" a proposal that is already
        placed is replaced by a random free item and earns nothing.

    Notes
    -----
    Radlinski, Kleinberg and Joachims, Learning Diverse Rankings with Multi-Armed Bandits, ICML 2008, algorithm 2, with
    the UCB1 index of kveton2015.
    """
    return Ranked(EveryPlace(clicks), Everything(), UCB1(scale), collision)


@entry("RankedExp3", "katariya2016")
def ranked_exp3(exploration: float | str = "theory", clicks: str = "every", collision: str = "random") -> Ranked:
    """Runs one Exp3 bandit per position; a proposal already placed is replaced at random and earns nothing.

    Parameters
    ----------
    exploration : float or "theory", default "theory"
        gamma, the share of draws that are uniform; "theory" is `min(1, sqrt(L ln L / ((e-1) n)))`.
    clicks : {"every", "last"}, default "every"
        Clicks that the bandits receive: all, or the last one only.
    collision : {"random", "remaining"}, default "random"
        Items that a bandit may propose: all, or those not placed above it.

    Notes
    -----
    `p(e) = (1 - gamma) w(e) / sum of w + gamma / L`. Radlinski, Kleinberg and Joachims, Learning Diverse Rankings with
    Multi-Armed Bandits, ICML 2008, algorithm 2 with Exp3, a baseline of katariya2016 and li2019.
    """
    return Ranked(EveryPlace(clicks), ExponentialWeights(exploration), ExploringDraw(), collision)


@entry("Random")
def random() -> Policy:
    """Shows a random list, every list equally likely: a baseline that does not learn.

    Notes
    -----
    It counts clicks like the others, so that its estimates can be read, but never uses them.
    """
    return Policy(EveryPlace(), Everything(), Chance())


@entry("Best list")
def best() -> ShowList:
    """Shows the best list at every step: the upper bound, available in simulations only.

    Notes
    -----
    Its regret is 0.
    """
    return ShowList()
