"""The papers' algorithms over features that are a line of parts."""

from __future__ import annotations

from toplist.parts.arrange import Diverse, TopK
from toplist.parts.feedback import EveryPlace, ThroughFirstClick, ThroughLastClick, UntilSatisfied
from toplist.parts.index import Ellipsoid, LogisticBound, Posterior
from toplist.parts.memory import Logistic, LogisticSGD, Ridge
from toplist.policies.bandits import Order
from toplist.policies.by_name import entry
from toplist.policies.composed import Policy

Alpha = float | str


@entry("CascadeLSB", "hiranandani2019")
def cascade_lsb(alpha: Alpha = "figures", sigma: float = 0.1, norm: float = 1.0) -> Policy:
    """Diverse lists: each item for what it adds to those above, learned from what stands up to the first click.

    At each position the item with the largest x'theta + alpha sqrt(x'M^-1 x), x its gain in topic coverage.
    Hiranandani, Singh, Gupta, Burhanuddin, Wen and Kveton, Cascading Linear Submodular Bandits, UAI 2019, algorithm 1.
    """
    return Policy(ThroughFirstClick(), Ridge(sigma), Ellipsoid(alpha, norm), Diverse())


@entry("dcmLSB", "hiranandani2019")
def dcm_lsb(alpha: Alpha = "figures", sigma: float = 0.1, norm: float = 1.0) -> Policy:
    """CascadeLSB for people who click more than once, learned from what stands up to where they left.

    Hiranandani, Singh, Gupta, Burhanuddin, Wen and Kveton, Cascading Linear Submodular Bandits, UAI 2019, algorithm 2.
    """
    return Policy(UntilSatisfied(), Ridge(sigma), Ellipsoid(alpha, norm), Diverse())


@entry("LSBGreedy", "hiranandani2019")
def lsb_greedy(alpha: Alpha = "figures", sigma: float = 0.1, norm: float = 1.0) -> Policy:
    """CascadeLSB that takes every position as examined.

    Yue and Guestrin, Linear Submodular Bandits and their Application to Diversified Retrieval, NIPS 2011, a baseline of
    hiranandani2019.
    """
    return Policy(EveryPlace(), Ridge(sigma), Ellipsoid(alpha, norm), Diverse())


@entry("CascadeLinUCB", "hiranandani2019")
def cascade_lin_ucb(alpha: Alpha = "figures", sigma: float = 0.1, norm: float = 1.0, order: Order = "first") -> Policy:
    """The items with the largest linear UCB index of their features, whatever stands beside them.

    x'theta + alpha sqrt(x'M^-1 x), learned from what stands up to the first click. Zong, Ni, Sung, Ke, Wen and Kveton,
    Cascading Bandits for Large-Scale Recommendation Problems, UAI 2016, algorithm 2, a baseline of hiranandani2019.
    """
    return Policy(ThroughFirstClick(), Ridge(sigma), Ellipsoid(alpha, norm), TopK(order))


@entry("dcmLinUCB")
def dcm_lin_ucb(alpha: Alpha = "figures", sigma: float = 0.1, norm: float = 1.0, order: Order = "first") -> Policy:
    """CascadeLinUCB for people who click more than once, learned from every click up to the last.

    The reading of dcmKL-UCB with the memory and index of CascadeLinUCB, which no paper has.
    """
    return Policy(ThroughLastClick(), Ridge(sigma), Ellipsoid(alpha, norm), TopK(order))


@entry("CascadeLinTS")
def cascade_lin_ts(scale: float = 1.0, sigma: float = 0.1, order: Order = "first") -> Policy:
    """CascadeLinUCB by Thompson sampling: the best items for weights drawn from what is believed.

    theta ~ N(theta, scale^2 M^-1), once per list. Zong, Ni, Sung, Ke, Wen and Kveton, Cascading Bandits for Large-Scale
    Recommendation Problems, UAI 2016, algorithm 1.
    """
    return Policy(ThroughFirstClick(), Ridge(sigma), Posterior(scale), TopK(order))


@entry("GL-CDCM", "liu2018")
def gl_cdcm(scale: float = 1.0, penalty: float = 1e-2, none: str = "nothing", order: Order = "first") -> Policy:
    """The items with the largest bound on a logistic model of their features, learned from every click up to the last.

    mu(theta'x) + scale rho(t) sqrt(x'V^-1 x), ordered without the paper's cap at 1. A page without clicks teaches
    nothing, as printed; with none="everything" it teaches that all of it was refused. Liu, Li and Zhang, Contextual
    Dependent Click Bandit Algorithm for Web Recommendation, 2018, algorithm 1.
    """
    return Policy(ThroughLastClick(none), Logistic(penalty), LogisticBound(scale), TopK(order))


@entry("GL-CDCM (SGD)", "liu2018")
def gl_cdcm_sgd(scale: float = 1.0, rate: float = 0.05, none: str = "nothing", order: Order = "first") -> Policy:
    """GL-CDCM that follows its estimate by one gradient step per list.

    Liu, Li and Zhang, Contextual Dependent Click Bandit Algorithm for Web Recommendation, 2018, section 3.3; the paper
    prints no step size.
    """
    return Policy(ThroughLastClick(none), LogisticSGD(rate), LogisticBound(scale), TopK(order))


@entry("LR", "liu2018")
def lr(penalty: float = 1e-2, none: str = "nothing", order: Order = "first") -> Policy:
    """The items that a logistic model of their features thinks best: GL-CDCM without optimism.

    Liu, Li and Zhang, Contextual Dependent Click Bandit Algorithm for Web Recommendation, 2018, section 4.1.
    """
    return Policy(ThroughLastClick(none), Logistic(penalty), LogisticBound(scale=0.0), TopK(order))


@entry("LR (SGD)", "liu2018")
def lr_sgd(rate: float = 0.05, none: str = "nothing", order: Order = "first") -> Policy:
    """LR that follows its estimate by one gradient step per list.

    Liu, Li and Zhang, Contextual Dependent Click Bandit Algorithm for Web Recommendation, 2018, section 4.1.
    """
    return Policy(ThroughLastClick(none), LogisticSGD(rate), LogisticBound(scale=0.0), TopK(order))
