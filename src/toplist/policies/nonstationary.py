"""Algorithms for people who change their minds, each a line of parts; and Thompson sampling."""

from __future__ import annotations

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
    """CascadeUCB1 whose past counts gamma times as much after every list.

    U(e) = mean + 2 sqrt(eps log N / T), where N and T are discounted. Li and de Rijke, Cascading Non-Stationary
    Bandits: Online Learning to Rank in the Non-Stationary Cascade Model, IJCAI 2019, algorithm 1.
    """
    return Policy(ThroughFirstClick(), Discounted(gamma, changes), UCB1(4.0 * eps), TopK(order))


@entry("CascadeSWUCB", "li2019")
def cascade_swucb(eps: float = 0.5, tau: Rate = "theory", changes: float = 1.0, order: Order = "first") -> Policy:
    """CascadeUCB1 that knows the last tau lists only.

    U(e) = mean + sqrt(eps log min(t, tau) / T), over the window. Li and de Rijke, Cascading Non-Stationary Bandits:
    Online Learning to Rank in the Non-Stationary Cascade Model, IJCAI 2019, algorithm 1.
    """
    return Policy(ThroughFirstClick(), Window(tau, changes), UCB1(eps), TopK(order))


@entry("CascadeTS")
def cascade_ts(order: Order = "first") -> Policy:
    """The best items of a draw from what is believed of each, learned from what stands up to the first click.

    Thompson sampling with Beta(1 + S, 1 + T - S). Cheung, Tan and Zhong, A Thompson Sampling Algorithm for Cascading
    Bandits, AISTATS 2019, draws so in all but the shape of the distribution.
    """
    return Policy(ThroughFirstClick(), Everything(), BetaPosterior(), TopK(order))


@entry("dcmTS")
def dcm_ts(order: Order = "first") -> Policy:
    """CascadeTS for people who click more than once, learned from every click up to the last.

    The reading of dcmKL-UCB with Thompson sampling, which no paper has.
    """
    return Policy(ThroughLastClick(), Everything(), BetaPosterior(), TopK(order))


@entry("CascadeKL-UCB, discounted")
def cascade_kl_ucb_discounted(
    loglog: float = 3.0, gamma: Rate = "theory", changes: float = 1.0, order: Order = "first"
) -> Policy:
    """CascadeKL-UCB whose past counts gamma times as much after every list.

    The memory of CascadeDUCB with the index of CascadeKL-UCB, which no paper has.
    """
    return Policy(ThroughFirstClick(), Discounted(gamma, changes), KLUCB(loglog), TopK(order))


@entry("CascadeKL-UCB, windowed")
def cascade_kl_ucb_windowed(
    loglog: float = 3.0, tau: Rate = "theory", changes: float = 1.0, order: Order = "first"
) -> Policy:
    """CascadeKL-UCB that knows the last tau lists only.

    The memory of CascadeSWUCB with the index of CascadeKL-UCB, which no paper has.
    """
    return Policy(ThroughFirstClick(), Window(tau, changes), KLUCB(loglog), TopK(order))


@entry("CascadeKL-UCB, resetting")
def cascade_kl_ucb_resetting(
    loglog: float = 3.0, level: float = 1e-3, forgets: str = "everything", order: Order = "first"
) -> Policy:
    """CascadeKL-UCB that forgets everything, or an item, when a detector says that it has changed.

    Each item is watched by the likelihood ratio of Besson and Kaufmann, The Generalized Likelihood Ratio Test meets
    klUCB, 2019, with false alarms at most at `level`.
    """
    return Policy(ThroughFirstClick(), Resetting(GLR(level), forgets), KLUCB(loglog), TopK(order))


@entry("CascadeKL-UCB, CUSUM")
def cascade_kl_ucb_cusum(
    loglog: float = 3.0, level: float = 1e-4, slack: float = 0.1, forgets: str = "everything", order: Order = "first"
) -> Policy:
    """CascadeKL-UCB that forgets everything, or an item, when a sum of deviations says that it has changed.

    Each item is watched by two-sided CUSUM, as in Liu, Lee and Shroff, A Change-Detection Based Framework for
    Piecewise-Stationary Multi-Armed Bandit Problem, AAAI 2018.
    """
    return Policy(ThroughFirstClick(), Resetting(CUSUM(level, slack), forgets), KLUCB(loglog), TopK(order))


@entry("dcmKL-UCB, discounted")
def dcm_kl_ucb_discounted(
    loglog: float = 3.0, gamma: Rate = "theory", changes: float = 1.0, order: Order = "first"
) -> Policy:
    """dcmKL-UCB whose past counts gamma times as much after every list.

    The memory of CascadeDUCB with the reading and index of dcmKL-UCB, which no paper has.
    """
    return Policy(ThroughLastClick(), Discounted(gamma, changes), KLUCB(loglog), TopK(order))


@entry("dcmKL-UCB, windowed")
def dcm_kl_ucb_windowed(
    loglog: float = 3.0, tau: Rate = "theory", changes: float = 1.0, order: Order = "first"
) -> Policy:
    """dcmKL-UCB that knows the last tau lists only.

    The memory of CascadeSWUCB with the reading and index of dcmKL-UCB, which no paper has.
    """
    return Policy(ThroughLastClick(), Window(tau, changes), KLUCB(loglog), TopK(order))


@entry("dcmKL-UCB, resetting")
def dcm_kl_ucb_resetting(
    loglog: float = 3.0, level: float = 1e-3, forgets: str = "everything", order: Order = "first"
) -> Policy:
    """dcmKL-UCB that forgets everything, or an item, when a detector says that it has changed.

    As "CascadeKL-UCB, resetting", with the reading of dcmKL-UCB, which no paper has.
    """
    return Policy(ThroughLastClick(), Resetting(GLR(level), forgets), KLUCB(loglog), TopK(order))


@entry("CascadeLSB, discounted")
def cascade_lsb_discounted(
    alpha: Alpha = "figures", gamma: Rate = "theory", changes: float = 1.0, sigma: float = 0.1, norm: float = 1.0
) -> Policy:
    """CascadeLSB whose past counts gamma times as much after every list.

    The memory is that of Russac, Vernade and Cappe, Weighted Linear Bandits for Non-Stationary Environments, NeurIPS
    2019, algorithm 1; no paper has it with diverse lists.
    """
    return Policy(ThroughFirstClick(), DiscountedRidge(gamma, changes, sigma), Ellipsoid(alpha, norm), Diverse())


@entry("CascadeLSB, windowed")
def cascade_lsb_windowed(
    alpha: Alpha = "figures", tau: Rate = "theory", changes: float = 1.0, sigma: float = 0.1, norm: float = 1.0
) -> Policy:
    """CascadeLSB that knows the last tau lists only.

    The window of CascadeSWUCB over the regression of CascadeLSB, which no paper has.
    """
    memory = WindowedRidge(tau, changes, sigma=sigma)
    return Policy(ThroughFirstClick(), memory, Ellipsoid(alpha, norm), Diverse())
