"""Algorithms for users whose preferences change, and Thompson sampling; each is one line of parts."""

from __future__ import annotations

from toplist.core.problem import number
from toplist.parts.arrange import Diverse, TopK
from toplist.parts.detectors import CUSUM, GLR
from toplist.parts.feedback import ThroughFirstClick, ThroughLastClick
from toplist.parts.index import KLUCB, UCB1, BetaPosterior, Ellipsoid
from toplist.parts.memory import Discounted, DiscountedRidge, Everything, Resetting, Window, WindowedRidge
from toplist.policies.bandits import Order
from toplist.policies.by_name import entry
from toplist.policies.composed import Policy
from toplist.policies.linear import Alpha

Rate = float | str


@entry("CascadeDUCB", "li2019")
def cascade_ducb(eps: float = 0.5, gamma: Rate = "theory", changes: float = 1.0, order: Order = "first") -> Policy:
    """CascadeUCB1 that discounts old lists by gamma.

    Parameters
    ----------
    eps : float, default 0.5
        Exploration parameter epsilon of the confidence radius.
    gamma : float or {"theory", "doubling"}, default "theory"
        Discount per list. "theory" is `1 - sqrt(changes / n) / 4` for n steps; "doubling" recomputes it whenever the
        number of lists doubles, as "theory" does where n is unknown.
    changes : float, default 1.0
        Expected number of changes of the users' preferences over all steps.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    `U(e) = mean + 2 sqrt(eps log N / T)`, where N and T are discounted. Li and de Rijke, Cascading Non-Stationary
    Bandits: Online Learning to Rank in the Non-Stationary Cascade Model, IJCAI 2019, algorithm 1.
    """
    checked = number("CascadeDUCB's eps", eps, 0.0, 1e8, "the paper's is 0.5")
    return Policy(ThroughFirstClick(), Discounted(gamma, changes), UCB1(4.0 * checked), TopK(order))


@entry("CascadeSWUCB", "li2019")
def cascade_swucb(eps: float = 0.5, tau: Rate = "theory", changes: float = 1.0, order: Order = "first") -> Policy:
    """CascadeUCB1 that learns from the last tau lists only.

    Parameters
    ----------
    eps : float, default 0.5
        Exploration parameter epsilon of the confidence radius.
    tau : int or {"theory", "doubling"}, default "theory"
        Length of the window in lists. "theory" is `2 sqrt(n ln(n) / changes)` for n steps; "doubling" recomputes it
        whenever the number of lists doubles, as "theory" does where n is unknown.
    changes : float, default 1.0
        Expected number of changes of the users' preferences over all steps.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    `U(e) = mean + sqrt(eps log min(t, tau) / T)`, over the window. Li and de Rijke, Cascading Non-Stationary Bandits:
    Online Learning to Rank in the Non-Stationary Cascade Model, IJCAI 2019, algorithm 1.
    """
    return Policy(ThroughFirstClick(), Window(tau, changes), UCB1(eps), TopK(order))


@entry("CascadeTS")
def cascade_ts(order: Order = "first") -> Policy:
    """Thompson sampling: shows the best items of a draw from each posterior; learns up to the first click.

    Parameters
    ----------
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    Draws from `Beta(1 + S, 1 + T - S)` for each item; learns from every item up to and including the first click. It is
    Beta TS of Zhong, Cheung and Tan, Thompson Sampling Algorithms for Cascading Bandits, JMLR 2021, who start without a
    sample of each item. TS-Cascade draws one number for all items.
    """
    return Policy(ThroughFirstClick(), Everything(), BetaPosterior(), TopK(order))


@entry("dcmTS")
def dcm_ts(order: Order = "first") -> Policy:
    """CascadeTS for users who click more than once; learns from every item up to and including the last click.

    Parameters
    ----------
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    The reading of dcmKL-UCB with Thompson sampling; not in any paper.
    """
    return Policy(ThroughLastClick(), Everything(), BetaPosterior(), TopK(order))


@entry("CascadeKL-UCB, discounted")
def cascade_kl_ucb_discounted(
    loglog: float = 3.0, gamma: Rate = "theory", changes: float = 1.0, order: Order = "first"
) -> Policy:
    """CascadeKL-UCB that discounts old lists by gamma.

    Parameters
    ----------
    loglog : float, default 3.0
        Factor of log log t in the exploration budget; 0 explores less.
    gamma : float or {"theory", "doubling"}, default "theory"
        Discount per list. "theory" is `1 - sqrt(changes / n) / 4` for n steps; "doubling" recomputes it whenever the
        number of lists doubles, as "theory" does where n is unknown.
    changes : float, default 1.0
        Expected number of changes of the users' preferences over all steps.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    The memory of CascadeDUCB with the index of CascadeKL-UCB; not in any paper.
    """
    return Policy(ThroughFirstClick(), Discounted(gamma, changes), KLUCB(loglog), TopK(order))


@entry("CascadeKL-UCB, windowed")
def cascade_kl_ucb_windowed(
    loglog: float = 3.0, tau: Rate = "theory", changes: float = 1.0, order: Order = "first"
) -> Policy:
    """CascadeKL-UCB that learns from the last tau lists only.

    Parameters
    ----------
    loglog : float, default 3.0
        Factor of log log t in the exploration budget; 0 explores less.
    tau : int or {"theory", "doubling"}, default "theory"
        Length of the window in lists. "theory" is `2 sqrt(n ln(n) / changes)` for n steps; "doubling" recomputes it
        whenever the number of lists doubles, as "theory" does where n is unknown.
    changes : float, default 1.0
        Expected number of changes of the users' preferences over all steps.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    The memory of CascadeSWUCB with the index of CascadeKL-UCB; not in any paper.
    """
    return Policy(ThroughFirstClick(), Window(tau, changes), KLUCB(loglog), TopK(order))


@entry("CascadeKL-UCB, resetting")
def cascade_kl_ucb_resetting(
    loglog: float = 3.0, level: float = 1e-3, forgets: str = "everything", order: Order = "first"
) -> Policy:
    """CascadeKL-UCB that forgets everything, or one item, when a likelihood-ratio test detects a change.

    Parameters
    ----------
    loglog : float, default 3.0
        Factor of log log t in the exploration budget; 0 explores less.
    level : float, default 0.001
        Probability of ever raising a false alarm for an item that does not change.
    forgets : {"everything", "item"}, default "everything"
        What an alarm discards: the counts of all items, or those of the changed item.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    Each item has a detector, the test of Besson and Kaufmann, The Generalized Likelihood Ratio Test meets klUCB, 2019.
    """
    return Policy(ThroughFirstClick(), Resetting(GLR(level), forgets), KLUCB(loglog), TopK(order))


@entry("CascadeKL-UCB, CUSUM")
def cascade_kl_ucb_cusum(
    loglog: float = 3.0, level: float = 1e-4, slack: float = 0.1, forgets: str = "everything", order: Order = "first"
) -> Policy:
    """CascadeKL-UCB that forgets everything, or one item, when a CUSUM test detects a change.

    Parameters
    ----------
    loglog : float, default 3.0
        Factor of log log t in the exploration budget; 0 explores less.
    level : float, default 0.0001
        Rate of false alarms: at most one in 1 / level observations on average.
    slack : float, default 0.1
        Smallest change of an item's click probability to look for.
    forgets : {"everything", "item"}, default "everything"
        What an alarm discards: the counts of all items, or those of the changed item.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    Each item has a detector, two-sided CUSUM, as in Liu, Lee and Shroff, A Change-Detection Based Framework for
    Piecewise-Stationary Multi-Armed Bandit Problem, AAAI 2018.
    """
    return Policy(ThroughFirstClick(), Resetting(CUSUM(level, slack), forgets), KLUCB(loglog), TopK(order))


@entry("dcmKL-UCB, discounted")
def dcm_kl_ucb_discounted(
    loglog: float = 3.0, gamma: Rate = "theory", changes: float = 1.0, order: Order = "first"
) -> Policy:
    """dcmKL-UCB that discounts old lists by gamma.

    Parameters
    ----------
    loglog : float, default 3.0
        Factor of log log t in the exploration budget; 0 explores less.
    gamma : float or {"theory", "doubling"}, default "theory"
        Discount per list. "theory" is `1 - sqrt(changes / n) / 4` for n steps; "doubling" recomputes it whenever the
        number of lists doubles, as "theory" does where n is unknown.
    changes : float, default 1.0
        Expected number of changes of the users' preferences over all steps.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    The memory of CascadeDUCB with the reading and index of dcmKL-UCB; not in any paper.
    """
    return Policy(ThroughLastClick(), Discounted(gamma, changes), KLUCB(loglog), TopK(order))


@entry("dcmKL-UCB, windowed")
def dcm_kl_ucb_windowed(
    loglog: float = 3.0, tau: Rate = "theory", changes: float = 1.0, order: Order = "first"
) -> Policy:
    """dcmKL-UCB that learns from the last tau lists only.

    Parameters
    ----------
    loglog : float, default 3.0
        Factor of log log t in the exploration budget; 0 explores less.
    tau : int or {"theory", "doubling"}, default "theory"
        Length of the window in lists. "theory" is `2 sqrt(n ln(n) / changes)` for n steps; "doubling" recomputes it
        whenever the number of lists doubles, as "theory" does where n is unknown.
    changes : float, default 1.0
        Expected number of changes of the users' preferences over all steps.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    The memory of CascadeSWUCB with the reading and index of dcmKL-UCB; not in any paper.
    """
    return Policy(ThroughLastClick(), Window(tau, changes), KLUCB(loglog), TopK(order))


@entry("dcmKL-UCB, resetting")
def dcm_kl_ucb_resetting(
    loglog: float = 3.0, level: float = 1e-3, forgets: str = "everything", order: Order = "first"
) -> Policy:
    """dcmKL-UCB that forgets everything, or one item, when a likelihood-ratio test detects a change.

    Parameters
    ----------
    loglog : float, default 3.0
        Factor of log log t in the exploration budget; 0 explores less.
    level : float, default 0.001
        Probability of ever raising a false alarm for an item that does not change.
    forgets : {"everything", "item"}, default "everything"
        What an alarm discards: the counts of all items, or those of the changed item.
    order : {"first", "last"} or sequence of int, default "first"
        Positions from the most to the least valuable: "first" from the top down, "last" from the bottom up, or 1-based
        positions.

    Notes
    -----
    As "CascadeKL-UCB, resetting", with the reading of dcmKL-UCB; not in any paper.
    """
    return Policy(ThroughLastClick(), Resetting(GLR(level), forgets), KLUCB(loglog), TopK(order))


@entry("CascadeLSB, discounted")
def cascade_lsb_discounted(
    alpha: Alpha = "figures", gamma: Rate = "theory", changes: float = 1.0, sigma: float = 0.1, norm: float = 1.0
) -> Policy:
    """CascadeLSB that discounts old lists by gamma.

    Parameters
    ----------
    alpha : float or {"figures", "theory"}, default "figures"
        Width of the confidence ellipsoid. "theory" is equation (10) of hiranandani2019; "figures" is the same without
        the factor 1/sigma, which gives the figures that the paper prints.
    gamma : float or {"theory", "doubling"}, default "theory"
        Discount per list. "theory" is `1 - sqrt(changes / n) / 4` for n steps; "doubling" recomputes it whenever the
        number of lists doubles, as "theory" does where n is unknown.
    changes : float, default 1.0
        Expected number of changes of the users' preferences over all steps.
    sigma : float, default 0.1
        Standard deviation of the noise in the regression; a smaller one learns faster from each observation.
    norm : float, default 1.0
        Bound on the length of the weights theta, used where `alpha` is computed.

    Notes
    -----
    The memory is that of Russac, Vernade and Cappe, Weighted Linear Bandits for Non-Stationary Environments, NeurIPS
    2019, algorithm 1; no paper combines it with diverse lists.
    """
    return Policy(ThroughFirstClick(), DiscountedRidge(gamma, changes, sigma), Ellipsoid(alpha, norm), Diverse())


@entry("CascadeLSB, windowed")
def cascade_lsb_windowed(
    alpha: Alpha = "figures", tau: Rate = "theory", changes: float = 1.0, sigma: float = 0.1, norm: float = 1.0
) -> Policy:
    """CascadeLSB that learns from the last tau lists only.

    Parameters
    ----------
    alpha : float or {"figures", "theory"}, default "figures"
        Width of the confidence ellipsoid. "theory" is equation (10) of hiranandani2019; "figures" is the same without
        the factor 1/sigma, which gives the figures that the paper prints.
    tau : int or {"theory", "doubling"}, default "theory"
        Length of the window in lists. "theory" is `2 sqrt(n ln(n) / changes)` for n steps; "doubling" recomputes it
        whenever the number of lists doubles, as "theory" does where n is unknown.
    changes : float, default 1.0
        Expected number of changes of the users' preferences over all steps.
    sigma : float, default 0.1
        Standard deviation of the noise in the regression; a smaller one learns faster from each observation.
    norm : float, default 1.0
        Bound on the length of the weights theta, used where `alpha` is computed.

    Notes
    -----
    The window of CascadeSWUCB over the regression of CascadeLSB; not in any paper.
    """
    memory = WindowedRidge(tau, changes, sigma=sigma)
    return Policy(ThroughFirstClick(), memory, Ellipsoid(alpha, norm), Diverse())
