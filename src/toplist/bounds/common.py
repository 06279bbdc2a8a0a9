"""Shared by the bounds of all papers: the Kullback-Leibler divergence, and checks of arguments."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from toplist.core.problem import number, probabilities, refuse, whole

# Advice of the errors, where several functions take the argument.
STEPS = "give the number of lists"
POSITIONS = "give the number of items in a list"
ITEMS = "give the number of items, at least that of positions"
FEATURES = "give the number of features of an item"
CHANGES = "give the number of changes"
SHARE = "give it as a share of 1"


def bernoulli_kl(mean: float, other: float) -> float:
    """Kullback-Leibler divergence between two Bernoulli distributions.

    Parameters
    ----------
    mean : float
        Probability p of the first distribution.
    other : float
        Probability q of the second.

    Returns
    -------
    float
        KL(p, q); infinite if q is 0 or 1 and differs from p.

    Notes
    -----
    `KL(p || q) = p log(p/q) + (1-p) log((1-p)/(1-q))`, with 0 log 0 = 0: D_KL in every theorem of kveton2015 and
    katariya2016.

    Examples
    --------
    >>> round(bernoulli_kl(0.05, 0.2), 6)
    0.093943
    """
    return divergence(number("mean", mean, 0.0, 1.0, SHARE), number("other", other, 0.0, 1.0, SHARE))


def vacuous(bound: float, steps: int) -> bool:
    """Whether a regret bound exceeds the largest possible regret of n steps, and so says nothing.

    Parameters
    ----------
    bound : float
        The bound.
    steps : int
        Number of lists n.

    Returns
    -------
    bool
        True if the bound is vacuous.

    Notes
    -----
    `bound > n`, because in all five papers the reward of a step lies in [0, 1].

    Examples
    --------
    >>> vacuous(1200.5, 1000)
    True
    """
    most = whole("steps", steps, 1, STEPS)
    return number("bound", bound, -math.inf, math.inf, "compute it from valid inputs") > most


def divergence(mean: float, other: float) -> float:
    """KL(mean || other) of two probabilities, unchecked, because the searches call it often."""
    if mean == other:
        return 0.0
    if other in (0.0, 1.0):
        return math.inf
    total = _term(mean, other, mean - other) + _term(1 - mean, 1 - other, other - mean)
    # Pinsker's inequality: rounding must not make the divergence of nearly equal means 0 or negative.
    return max(total, 2 * (mean - other) ** 2)


def _term(part: float, base: float, more: float) -> float:
    # log1p keeps the digits of nearly equal parts; of very unequal ones it would compute log 0.
    near = abs(more) < base / 2
    return part * (math.log1p(more / base) if near else math.log(part / base)) if part else 0.0


class Levels(NamedTuple):
    """The two attractions of a problem with K items at p and the others at p - D."""

    attraction: float  # p
    gap: float  # D
    information: float  # KL(p-D || p)


def checked_levels(attraction: float, gap: float) -> Levels:
    """Check D in (0, p], and return p, D and KL(p-D || p)."""
    best = number("attraction", attraction, 0.0, 1.0, SHARE)
    gap = number("gap", gap, 0.0, best, f"take no more than attraction = {best!r} from the other items")
    low = best - gap
    if low == best:
        raise refuse("gap", gap, f"large enough to be seen beside attraction = {best!r}", "change either")
    return Levels(best, gap, divergence(low, best))


def log_and_log_log(steps: int) -> tuple[float, float]:
    """log n and log log n, the latter 0 until log n > 1."""
    log_steps = math.log(whole("steps", steps, 1, STEPS))
    return log_steps, math.log(log_steps) if log_steps > 1 else 0.0


def checked_problem(attraction: Sequence[float], positions: int) -> tuple[list[float], int]:
    """The checked attraction probabilities of a problem, largest first, and K."""
    ranked, K = sorted_probabilities("attraction", attraction, "item"), whole("positions", positions, 1, POSITIONS)
    if len(ranked) < K:
        raise refuse("positions", positions, f"1 to L = {len(ranked)}", "show fewer or add items")
    return ranked, K


def sorted_probabilities(what: str, given: Sequence[float], per: str) -> list[float]:
    """The checked probabilities, largest first."""
    values: list[float] = probabilities(what, given, None, per).tolist()
    return sorted(values, reverse=True)


def pair_with_rivals(ranked: Sequence[float], positions: int) -> list[tuple[float, float]]:
    """Pair each suboptimal attraction with the weakest strictly better one of the best K."""
    best = ranked[:positions]
    behind = [own for own in ranked[positions:] if own < best[0]]
    return [(own, min(top for top in best if top > own)) for own in behind]


def checked_positive(what: str, given: float, advice: str) -> float:
    """Check that a number is above 0 and finite."""
    return checked_inside(what, given, 0.0, math.inf, advice, without=[0.0, math.inf])


def checked_inside(what: str, given: float, least: float, most: float, advice: str, without: Sequence[float]) -> float:
    """Check a number as `number` does, where an end of the interval is excluded."""
    value = number(what, given, least, most, advice)
    if value in without:
        raise refuse(what, given, f"a number between {least:g} and {most:g} other than {value:g}", advice)
    return value
