"""The papers' algorithms that are a line of parts."""

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
    """The items with the largest UCB1 index, learned from what stands up to the first click.

    U(e) = mean + sqrt(scale log(t-1) / T). Kveton, Szepesvari, Wen and Ashkan, Cascading Bandits: Learning to Rank in
    the Cascade Model, ICML 2015, algorithm 1. With order="last" the worst of the best stands first (Table 2).
    """
    return Policy(ThroughFirstClick(), Everything(), UCB1(scale), TopK(order))


@entry("CascadeKL-UCB", "kveton2015")
def cascade_kl_ucb(loglog: float = 3.0, order: Order = "first") -> Policy:
    """The items with the largest KL-UCB index, learned from what stands up to the first click.

    U(e) = max{q: T KL(mean || q) <= log t + loglog log log t}. Kveton, Szepesvari, Wen and Ashkan, Cascading Bandits:
    Learning to Rank in the Cascade Model, ICML 2015, algorithm 1. With order="last" the worst of the best stands first
    (Table 2).
    """
    return Policy(ThroughFirstClick(), Everything(), KLUCB(loglog), TopK(order))


@entry("dcmKL-UCB", "katariya2016")
def dcm_kl_ucb(loglog: float = 3.0, order: Order = "first") -> Policy:
    """The items with the largest KL-UCB index, learned from every click up to the last.

    The k-th largest index goes to the k-th position of `order`, which lists the most terminating position first.
    Katariya, Kveton, Szepesvari and Wen, DCM Bandits: Learning to Rank with Multiple Clicks, ICML 2016, algorithm 1;
    liu2018 calls it KL-DCM.
    """
    return Policy(ThroughLastClick(), Everything(), KLUCB(loglog), TopK(order))


@entry("First-Click", "katariya2016")
def first_click(loglog: float = 3.0, order: Order = "first") -> Policy:
    """dcmKL-UCB that is shown the first click only.

    The same parts as CascadeKL-UCB, on users who click more than once. Katariya, Kveton, Szepesvari and Wen, DCM
    Bandits, ICML 2016, section 5.2.
    """
    return Policy(ThroughFirstClick(), Everything(), KLUCB(loglog), TopK(order))


@entry("Last-Click", "katariya2016")
def last_click(loglog: float = 3.0, order: Order = "first") -> Policy:
    """dcmKL-UCB that is shown the last click only.

    Everything above the last click counts as seen and refused. Katariya, Kveton, Szepesvari and Wen, DCM Bandits, ICML
    2016, section 5.2; kveton2015, section 5.3, runs CascadeKL-UCB on DBN users this way.
    """
    return Policy(OnlyLastClick(), Everything(), KLUCB(loglog), TopK(order))


@entry("RankedKL-UCB", "katariya2016")
def ranked_kl_ucb(loglog: float = 3.0, clicks: str = "every", collision: str = "remaining") -> Ranked:
    """One KL-UCB bandit per position, each learning from the click at its own position.

    Each chooses its best item among those not placed above it. Radlinski, Kleinberg and Joachims, Learning Diverse
    Rankings with Multi-Armed Bandits, ICML 2008, algorithm 2, with KL-UCB as kveton2015 and katariya2016 use it; with
    clicks="last" the bandits see the last click only, as in kveton2015.
    """
    return Ranked(EveryPlace(clicks), Everything(), KLUCB(loglog), collision)


@entry("RankedUCB1")
def ranked_ucb1(scale: float = 1.5, clicks: str = "every", collision: str = "remaining") -> Ranked:
    """One UCB1 bandit per position, each learning from the click at its own position.

    Radlinski, Kleinberg and Joachims, Learning Diverse Rankings with Multi-Armed Bandits, ICML 2008, algorithm 2, with
    the UCB1 index of kveton2015.
    """
    return Ranked(EveryPlace(clicks), Everything(), UCB1(scale), collision)


@entry("RankedExp3", "katariya2016")
def ranked_exp3(exploration: float | str = "theory", clicks: str = "every", collision: str = "random") -> Ranked:
    """One Exp3 bandit per position; a proposal that is taken already is replaced at random and earns nothing.

    p(e) = (1 - gamma) w(e) / sum of w + gamma / L. Radlinski, Kleinberg and Joachims, Learning Diverse Rankings with
    Multi-Armed Bandits, ICML 2008, algorithm 2 with Exp3, a baseline of katariya2016 and li2019.
    """
    return Ranked(EveryPlace(clicks), ExponentialWeights(exploration), ExploringDraw(), collision)


@entry("Random")
def random() -> Policy:
    """Every list equally likely: what learning must beat.

    It counts clicks like the others, so that its estimates can be read, but never looks at them.
    """
    return Policy(EveryPlace(), Everything(), Chance())


@entry("Best list")
def best() -> ShowList:
    """The best list of the moment, as only a simulator can know it: what learning cannot beat.

    Its regret is 0.
    """
    return ShowList()
