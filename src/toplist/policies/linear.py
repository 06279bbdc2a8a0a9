"""The papers' algorithms over features that are one line of parts each."""

from __future__ import annotations

from toplist.parts.arrange import Diverse, TopK
from toplist.parts.feedback import EveryPlace, ThroughFirstClick, ThroughLastClick, UntilSatisfied
from toplist.parts.index import Ellipsoid, GrowingPosterior, LogisticBound, Posterior
from toplist.parts.memory import Logistic, LogisticSGD, Ridge
from toplist.policies.bandits import Order
from toplist.policies.by_name import entry
from toplist.policies.composed import Policy

Alpha = float | str


@entry("CascadeLSB", "hiranandani2019")
def cascade_lsb(alpha: Alpha = "figures", sigma: float = 0.1, norm: float = 1.0) -> Policy:
    """Shows diverse lists, each item chosen for its gain over the items above it; learns up to the first click.

    Parameters
    ----------
    alpha : float or {"figures", "theory"}, default "figures"
        Width of the confidence ellipsoid. "theory" is equation (10) of hiranandani2019; "figures" is the same without
        the factor 1/sigma, which gives the figures that the paper prints.
    sigma : float, default 0.1
        Standard deviation of the noise in the regression; a smaller one learns faster from each observation.
    norm : float, default 1.0
        Bound on the length of the weights theta, used where `alpha` is computed.

    Notes
    -----
    Each position gets the item with the largest `x'theta + alpha sqrt(x'M^-1 x)`, x its gain in topic coverage. Learns
    from every item up to and including the first click. Hiranandani, Singh, Gupta, Burhanuddin, Wen and Kveton,
    Cascading Linear Submodular Bandits, UAI 2019, algorithm 1.
    """
    return Policy(ThroughFirstClick(), Ridge(sigma), Ellipsoid(alpha, norm), Diverse())


@entry("dcmLSB", "hiranandani2019")
def dcm_lsb(alpha: Alpha = "figures", sigma: float = 0.1, norm: float = 1.0) -> Policy:
    """CascadeLSB for users who click more than once; learns from every item down to where the user left.

    Parameters
    ----------
    alpha : float or {"figures", "theory"}, default "figures"
        Width of the confidence ellipsoid. "theory" is equation (10) of hiranandani2019; "figures" is the same without
        the factor 1/sigma, which gives the figures that the paper prints.
    sigma : float, default 0.1
        Standard deviation of the noise in the regression; a smaller one learns faster from each observation.
    norm : float, default 1.0
        Bound on the length of the weights theta, used where `alpha` is computed.

    Notes
    -----
    Hiranandani, Singh, Gupta, Burhanuddin, Wen and Kveton, Cascading Linear Submodular Bandits, UAI 2019, algorithm 2.
    """
    return Policy(UntilSatisfied(), Ridge(sigma), Ellipsoid(alpha, norm), Diverse())


@entry("LSBGreedy", "hiranandani2019")
def lsb_greedy(alpha: Alpha = "figures", sigma: float = 0.1, norm: float = 1.0) -> Policy:
    """CascadeLSB that treats every position as examined.

    Parameters
    ----------
    alpha : float or {"figures", "theory"}, default "figures"
        Width of the confidence ellipsoid. "theory" is equation (10) of hiranandani2019; "figures" is the same without
        the factor 1/sigma, which gives the figures that the paper prints.
    sigma : float, default 0.1
        Standard deviation of the noise in the regression; a smaller one learns faster from each observation.
    norm : float, default 1.0
        Bound on the length of the weights theta, used where `alpha` is computed.

    Notes
    -----
    Yue and Guestrin, Linear Submodular Bandits and their Application to Diversified Retrieval, NIPS 2011, a baseline of
    hiranandani2019.
    """
    return Policy(EveryPlace(), Ridge(sigma), Ellipsoid(alpha, norm), Diverse())


@entry("CascadeLinUCB", "hiranandani2019")
def cascade_lin_ucb(alpha: Alpha = "figures", sigma: float = 0.1, norm: float = 1.0, order: Order = "first") -> Policy:
    """Shows the items with the largest linear UCB index of their features; learns up to the first click.

    Parameters
    ----------
    alpha : float or {"figures", "theory"}, default "figures"
        Width of the confidence ellipsoid. "theory" is equation (10) of hiranandani2019; "figures" is the same without
        the factor 1/sigma, which gives the figures that the paper prints.
    sigma : float, default 0.1
        Standard deviation of the noise in the regression; a smaller one learns faster from each observation.
    norm : float, default 1.0
        Bound on the length of the weights theta, used where `alpha` is computed.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    `x'theta + alpha sqrt(x'M^-1 x)`, x the features of the item, independent of the rest of the list. Learns from every
    item up to and including the first click. Zong, Ni, Sung, Ke, Wen and Kveton, Cascading Bandits for Large-Scale
    Recommendation Problems, UAI 2016, algorithm 2, a baseline of hiranandani2019.
    """
    return Policy(ThroughFirstClick(), Ridge(sigma), Ellipsoid(alpha, norm), TopK(order))


@entry("dcmLinUCB")
def dcm_lin_ucb(alpha: Alpha = "figures", sigma: float = 0.1, norm: float = 1.0, order: Order = "first") -> Policy:
    """CascadeLinUCB for users who click more than once; learns from every item up to and including the last click.

    Parameters
    ----------
    alpha : float or {"figures", "theory"}, default "figures"
        Width of the confidence ellipsoid. "theory" is equation (10) of hiranandani2019; "figures" is the same without
        the factor 1/sigma, which gives the figures that the paper prints.
    sigma : float, default 0.1
        Standard deviation of the noise in the regression; a smaller one learns faster from each observation.
    norm : float, default 1.0
        Bound on the length of the weights theta, used where `alpha` is computed.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    The reading of dcmKL-UCB with the memory and index of CascadeLinUCB; not in any paper.
    """
    return Policy(ThroughLastClick(), Ridge(sigma), Ellipsoid(alpha, norm), TopK(order))


@entry("CascadeLinTS")
def cascade_lin_ts(scale: float = 1.0, sigma: float = 0.1, order: Order = "first") -> Policy:
    """CascadeLinUCB with Thompson sampling: shows the best items under weights drawn from the posterior.

    Parameters
    ----------
    scale : float, default 1.0
        Factor of the posterior's standard deviation; 1 is the posterior itself.
    sigma : float, default 0.1
        Standard deviation of the noise in the regression; a smaller one learns faster from each observation.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    `theta ~ N(theta, scale^2 M^-1)`, drawn once per list. Zong, Ni, Sung, Ke, Wen and Kveton, Cascading Bandits for
    Large-Scale Recommendation Problems, UAI 2016, algorithm 1.
    """
    return Policy(ThroughFirstClick(), Ridge(sigma), Posterior(scale), TopK(order))


@entry("LinTS-Cascade")
def lin_ts_cascade(scale: float = 1.0, noise: float = 0.25, sigma: float = 1.0, order: Order = "first") -> Policy:
    """CascadeLinTS with a deviation that grows with the number of features, positions and lists.

    Parameters
    ----------
    scale : float, default 1.0
        lambda, the factor of the standard deviation; a larger one explores more.
    noise : float, default 0.25
        Bound R on the noise of an observation, another factor of the standard deviation.
    sigma : float, default 1.0
        Standard deviation of the noise in the regression; a smaller one learns faster from each observation.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    `theta ~ N(theta, (scale v_t)^2 K M^-1)` with `v_t = 3 noise sqrt(d log t)`, drawn once per list. CascadeLinTS has
    a constant deviation and sigma = 0.1. Zhong, Cheung and Tan, Thompson Sampling Algorithms for Cascading Bandits,
    JMLR 2021, LinTS-Cascade(lambda); noise and sigma as in the authors' code.
    """
    return Policy(ThroughFirstClick(), Ridge(sigma), GrowingPosterior(scale, noise), TopK(order))


@entry("GL-CDCM", "liu2018")
def gl_cdcm(scale: float = 1.0, penalty: float = 1e-2, none: str = "nothing", order: Order = "first") -> Policy:
    """Shows the items with the largest upper bound of a logistic model of their features; learns up to the last click.

    Parameters
    ----------
    scale : float, default 1.0
        Factor of the confidence radius rho(t); 0 shows the items with the largest estimate.
    penalty : float, default 0.01
        Penalty on the squared length of the weights; above 0.
    none : {"nothing", "everything"}, default "nothing"
        Positions that count as examined in a list without a click: none of them, as the paper prints it, or all.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    `mu(theta'x) + scale rho(t) sqrt(x'V^-1 x)`, ordered without the paper's cap at 1. Learns from every item up to and
    including the last click. Liu, Li and Zhang, Contextual Dependent Click Bandit Algorithm for Web Recommendation,
    2018, algorithm 1.
    """
    return Policy(ThroughLastClick(none), Logistic(penalty), LogisticBound(scale), TopK(order))


@entry("GL-CDCM (SGD)", "liu2018")
def gl_cdcm_sgd(scale: float = 1.0, rate: float = 0.05, none: str = "nothing", order: Order = "first") -> Policy:
    """GL-CDCM that updates its estimate by one gradient step per list.

    Parameters
    ----------
    scale : float, default 1.0
        Factor of the confidence radius rho(t); 0 shows the items with the largest estimate.
    rate : float, default 0.05
        Step size of the gradient descent; the paper prints none.
    none : {"nothing", "everything"}, default "nothing"
        Positions that count as examined in a list without a click: none of them, as the paper prints it, or all.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    Liu, Li and Zhang, Contextual Dependent Click Bandit Algorithm for Web Recommendation, 2018, section 3.3.
    """
    return Policy(ThroughLastClick(none), LogisticSGD(rate), LogisticBound(scale), TopK(order))


@entry("LR", "liu2018")
def lr(penalty: float = 1e-2, none: str = "nothing", order: Order = "first") -> Policy:
    """Shows the items with the largest estimate of a logistic model of their features: GL-CDCM without exploration.

    Parameters
    ----------
    penalty : float, default 0.01
        Penalty on the squared length of the weights; above 0.
    none : {"nothing", "everything"}, default "nothing"
        Positions that count as examined in a list without a click: none of them, as the paper prints it, or all.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    Liu, Li and Zhang, Contextual Dependent Click Bandit Algorithm for Web Recommendation, 2018, section 4.1.
    """
    return Policy(ThroughLastClick(none), Logistic(penalty), LogisticBound(scale=0.0), TopK(order))


@entry("LR (SGD)", "liu2018")
def lr_sgd(rate: float = 0.05, none: str = "nothing", order: Order = "first") -> Policy:
    """LR that updates its estimate by one gradient step per list.

    Parameters
    ----------
    rate : float, default 0.05
        Step size of the gradient descent; the paper prints none.
    none : {"nothing", "everything"}, default "nothing"
        Positions that count as examined in a list without a click: none of them, as the paper prints it, or all.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    Liu, Li and Zhang, Contextual Dependent Click Bandit Algorithm for Web Recommendation, 2018, section 4.1.
    """
    return Policy(ThroughLastClick(none), LogisticSGD(rate), LogisticBound(scale=0.0), TopK(order))
