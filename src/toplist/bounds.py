"""The regret bounds that the five papers prove, as plain functions of a problem and its steps.

Where a theorem sums over items it takes their attraction probabilities, in any order; where it is
stated for the problem with K items at p and the others at p - D it takes those numbers instead.
The theorems want no tie at the K-th best. Here a suboptimal item that ties is measured against the
weakest of the best K that beats it, and adds nothing if there is none: the proofs still hold.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from toplist.core.problem import number, probabilities, refuse, whole

# What to do about an argument that is refused, where several functions take it.
STEPS = "give how many lists are shown"
POSITIONS = "give how many items a list has"
ITEMS = "give how many items there are, at least as many as a list has"
FEATURES = "give how many numbers describe an item"
CHANGES = "give how often the attractions change"
SHARE = "give it as a share of 1"


def bernoulli_kl(mean: float, other: float) -> float:
    """Give the Kullback-Leibler divergence between two Bernoulli distributions.

    KL(p || q) = p log(p/q) + (1-p) log((1-p)/(1-q)), 0 log 0 = 0; infinite if q in {0, 1}, q != p.
    kveton2015 and katariya2016, D_KL in every theorem (p: mean, q: other).
    >>> round(bernoulli_kl(0.05, 0.2), 6)
    0.093943
    """
    return _divergence(number("mean", mean, 0.0, 1.0, SHARE), number("other", other, 0.0, 1.0, SHARE))


def vacuous(bound: float, steps: int) -> bool:
    """Say whether a regret bound promises nothing, being more than n steps can cost.

    bound > n, because in all five papers the reward of a step lies in [0, 1].
    >>> vacuous(1200.5, 1000)
    True
    """
    most = whole("steps", steps, 1, STEPS)
    return number("bound", bound, -math.inf, math.inf, "compute it from valid inputs") > most


def kveton2015_theorem1(positions: int, attraction: float, gap: float, observations: float) -> tuple[float, float]:
    """Enclose the regret of a cascade policy by how often it observed suboptimal items.

    (1-p)^(K-1) D T <= R(n) <= D T, T the expected observations summed over suboptimal items, after
    the start; exact at every n when K items have attraction p and the others p - D.
    kveton2015, Theorem 1.
    >>> kveton2015_theorem1(2, 0.5, 0.25, 2000.0)
    (250.0, 500.0)
    """
    K, levels = whole("positions", positions, 1, POSITIONS), _levels(attraction, gap)
    upper = levels.gap * _inside("observations", observations, 0.0, math.inf, "sum counts", without=[math.inf])
    return math.pow(1 - levels.attraction, K - 1) * upper, upper


def kveton2015_theorem2(attraction: Sequence[float], positions: int, steps: int) -> float:
    """Bound the regret of CascadeUCB1 from above.

    sum over suboptimal e of 12 / D_e * log n + pi^2 L / 3, D_e the gap of e to the K-th best.
    kveton2015, Theorem 2.
    >>> round(kveton2015_theorem2([0.2] * 4 + [0.05] * 12, 4, 100_000), 3)
    11105.046
    """
    ranked, K = _ranked(attraction, positions)
    slope = sum(12 / (better - own) for own, better in _rivals(ranked, K))
    return slope * _logs(steps)[0] + math.pi**2 / 3 * len(ranked)


def kveton2015_theorem3(attraction: Sequence[float], positions: int, steps: int, epsilon: float | None = None) -> float:
    """Bound the regret of CascadeKL-UCB from above, with the best epsilon unless one is given.

    (1+eps) sum of D_e (1 + log(1/D_e)) / KL(w_e || w_K) * (log n + 3 log log n)
    + K L C2 n^-beta + 7 K log log n, where C2 = 1 / (1 - exp(-KL(r || w_e))),
    beta = (1+eps) KL(r || w_e) / KL(w_e || w), KL(r || w) = KL(w_e || w) / (1+eps), at the pair of
    a suboptimal w_e and one of the best K, w, whose C2 n^-beta is largest; log log n is 0 at n < 3.
    kveton2015, Theorem 3, with the "1 +" of its appendix A.2; C2 and beta: Garivier and Cappe 2011.
    >>> round(kveton2015_theorem3([0.2] * 4 + [0.05] * 12, 4, 100_000), 3)
    2376.012
    """
    ranked, K = _ranked(attraction, positions)
    log_steps, log_log_steps = _logs(steps)
    terms = [(better - own, _divergence(own, better)) for own, better in _rivals(ranked, K)]
    slope = sum(gap * (1 - math.log(gap)) / information for gap, information in terms)
    # A set, because many items share their attraction and each pair costs a root finding.
    pairs = {(own, best) for own in ranked[K:] for best in ranked[:K] if best > own}

    def bound(epsilon: float) -> float:
        leading = (1 + epsilon) * slope * (log_steps + 3 * log_log_steps)
        late = max((_late(own, best, epsilon, log_steps) for own, best in pairs), default=0.0)
        return leading + K * len(ranked) * late + 7 * K * log_log_steps

    return _least(bound) if epsilon is None else bound(_positive("epsilon", epsilon, "leave it out for the best"))


def kveton2015_theorem4(items: int, positions: int, attraction: float, gap: float, steps: int) -> float:
    """Bound the regret of any consistent cascade policy from below, for large n.

    (L-K) (1-p)^(K-1) D / KL(p-D || p) * log n: the asymptotic slope times log n.
    kveton2015, Theorem 4.
    >>> round(kveton2015_theorem4(16, 4, 0.2, 0.15, 100_000), 3)
    112.944
    """
    K, levels = whole("positions", positions, 1, POSITIONS), _levels(attraction, gap)
    L, rate = whole("items", items, K, ITEMS), levels.gap / levels.information * _logs(steps)[0]
    return (L - K) * math.pow(1 - levels.attraction, K - 1) * rate


def katariya2016_theorem1(attraction: Sequence[float], positions: int, termination: float, steps: int) -> float:
    """Bound the regret of dcmKL-UCB from above when all positions terminate alike.

    g / a times the bound of kveton2015_theorem3, a = (1 - max w)^(K-1); infinite if a = 0 < g.
    katariya2016, Theorem 1 (g: termination).
    >>> round(katariya2016_theorem1([0.2] * 4 + [0.05] * 12, 4, 0.5, 100_000), 3)
    2320.324
    """
    leaving = number("termination", termination, 0.0, 1.0, SHARE)
    return katariya2016_theorem2(attraction, [leaving] * whole("positions", positions, 1, POSITIONS), steps)


def katariya2016_theorem2(attraction: Sequence[float], termination: Sequence[float], steps: int) -> float:
    """Bound the regret of dcmKL-UCB from above when the order of the positions is known.

    sum over i <= K of (v_i - v_(i+1)) / a * R_i, v sorted downwards and v_(K+1) = 0, R_i the bound
    of kveton2015_theorem3 for i positions, each with its own best epsilon, a = (1 - max w)^(K-1).
    katariya2016, Theorem 2 (v: termination, one for each of the K positions).
    >>> round(katariya2016_theorem2([0.2] * 2 + [0.05] * 6, [0.8, 0.5], 100_000), 3)
    1103.626
    """
    leaving = _downwards("termination", termination, "position")
    ranked, K = _ranked(attraction, len(leaving))
    total, unclicked = 0.0, math.pow(1 - ranked[0], K - 1)
    for place, (here, below) in enumerate(zip(leaving, [*leaving[1:], 0.0], strict=True), 1):
        if here > below:
            cascade = kveton2015_theorem3(ranked, place, steps)
            total += (here - below) / unclicked * cascade if unclicked else math.inf
    return total


def katariya2016_theorem3(
    items: int, positions: int, attraction: float, gap: float, termination: float, steps: int
) -> float:
    """Bound the regret of any consistent policy for DCM users from below, for large n.

    g (L-K) (1-p)^(K-1) D / KL(p-D || p) * log n.
    katariya2016, Theorem 3 (g: termination, the same at all positions).
    >>> round(katariya2016_theorem3(16, 4, 0.2, 0.15, 0.5, 100_000), 3)
    56.472
    """
    cascade = kveton2015_theorem4(items, positions, attraction, gap, steps)
    return number("termination", termination, 0.0, 1.0, SHARE) * cascade


def hiranandani2019_theorem1(positions: int, strongest: float, termination: float = 1.0) -> float:
    """Give the share of the best list's reward that the greedy list is sure to earn.

    gamma = (1 - 1/e) max{1/K, 1 - (K-1) c_max / 2}; for termination zeta, zeta c_max for c_max.
    hiranandani2019, Theorem 1 (c_max: strongest, the largest attraction of an item shown alone).
    >>> round(hiranandani2019_theorem1(4, 0.2), 6)
    0.442484
    """
    K = whole("positions", positions, 1, POSITIONS)
    top = number("strongest", strongest, 0.0, 1.0, SHARE) * number("termination", termination, 0.0, 1.0, SHARE)
    return (1 - math.exp(-1)) * max(1 / K, 1 - (K - 1) * top / 2)


def hiranandani2019_alpha(
    features: int, positions: int, steps: int, sigma: float = 0.1, preference_norm: float = 1.0
) -> float:
    """Give the least optimism alpha of CascadeLSB for which its regret bound holds.

    alpha = sqrt(d log(1 + n K / (d sigma^2)) + 2 log n) / sigma + |theta|, where |theta| <= 1.
    hiranandani2019, Theorem 2, (10), with the norm outside the root as in Zong et al. 2016.
    >>> round(hiranandani2019_alpha(18, 8, 20_000), 3)
    164.207
    """
    d, K = whole("features", features, 1, FEATURES), whole("positions", positions, 1, POSITIONS)
    log_steps, sigma = _logs(steps)[0], _positive("sigma", sigma, "leave it out for 0.1")
    norm = number("preference_norm", preference_norm, 0.0, 1.0, "scale the features so that it is at most 1")
    spread = d * math.log1p(steps * K / (d * sigma**2))
    return math.sqrt(spread + 2 * log_steps) / sigma + norm


def hiranandani2019_theorem2(
    features: int,
    positions: int,
    steps: int,
    ratio: float,
    sigma: float = 0.1,
    alpha: float | None = None,
    preference_norm: float = 1.0,
) -> float:
    """Bound the regret of CascadeLSB against the best list, its own reward divided by gamma.

    2 alpha K / gamma * sqrt(d n log(1 + n K / (d sigma^2)) / log(1 + 1/sigma^2)) + 1, with alpha
    the least that is permitted (hiranandani2019_alpha) or a given larger one.
    hiranandani2019, Theorem 2, (11) (gamma: ratio, which hiranandani2019_theorem1 guarantees).
    >>> round(hiranandani2019_theorem2(18, 8, 20_000, ratio=0.5))
    5431583
    """
    least = hiranandani2019_alpha(features, positions, steps, sigma, preference_norm)
    if alpha is None:
        alpha = least
    else:
        alpha = _inside("alpha", alpha, least, math.inf, "leave it out for the least", without=[math.inf])
    ratio = _inside("ratio", ratio, 0.0, 1.0, "take hiranandani2019_theorem1's", without=[0.0])
    spread = math.log1p(steps * positions / (features * sigma**2)) / math.log1p(sigma**-2)
    return 2 * alpha * positions / ratio * math.sqrt(features * steps * spread) + 1


def liu2018_theorem1(
    features: int, positions: int, steps: int, drop: float, ridge: float, scale: float = 1.25
) -> float:
    """Bound the regret of GL-CDCM, whose delta is 1 / sqrt(n), from above.

    4 d K p_v s * sqrt(n K log((1 + n / (lambda d)) sqrt(n)) log(1 + K n / (lambda d))), p_v the
    largest v_i - v_(i+1) over positions (v_(K+1) = 0, v sorted downwards) and steps.
    liu2018, Theorem 1 (p_v: drop; lambda: ridge, at least K; s: scale, k_mu sigma / c_mu).
    >>> round(liu2018_theorem1(10, 4, 10_000, drop=0.2, ridge=4), 3)
    66928.017
    """
    d, K = whole("features", features, 1, FEATURES), whole("positions", positions, 1, POSITIONS)
    log_steps, scale = _logs(steps)[0], _positive("scale", scale, "leave it out for 1.25")
    drop = number("drop", drop, 0.0, 1.0, SHARE)
    ridge = _inside("ridge", ridge, K, math.inf, f"give K = {K}", without=[math.inf])
    confidence = math.log1p(steps / (ridge * d)) + log_steps / 2
    spread = math.sqrt(steps * K * confidence * math.log1p(K * steps / (ridge * d)))
    return 4 * d * K * drop * scale * spread


def li2019_gaps(epochs: Sequence[Sequence[float]], positions: int) -> list[float]:
    """Give each item's smallest gap to the K-th best item over the epochs between changes.

    D_a = min over epochs where a is suboptimal of w_K - w_a; infinite if a always is optimal.
    li2019, section 4.1 (w: the attraction probabilities of an epoch).
    >>> [round(gap, 3) for gap in li2019_gaps([[0.5, 0.3, 0.1], [0.5, 0.3, 0.9]], 2)]
    [inf, 0.2, 0.2]
    """
    lengths = [len(epoch) for epoch in epochs]
    if len(set(lengths)) != 1:
        raise refuse("epoch lengths", lengths, "all the same, of one epoch or more", "list every item in every epoch")
    gaps = [math.inf] * lengths[0]
    for epoch in epochs:
        better = dict(_rivals(*_ranked(epoch, positions)))
        gaps = list(map(min, gaps, (better.get(own, math.inf) - own for own in epoch)))
    return gaps


def li2019_theorem1(gaps: Sequence[float], changes: int, steps: int, discount: float, epsilon: float) -> float:
    """Bound the regret of CascadeDUCB from above.

    L Y ln((1-g) eps) / ln g + sum over items of C_a * ceil(n (1-g)) * ln(1 / (1-g)), where
    C_a = 4 / ((1 - 1/e) ln(1 + 4 sqrt(1 - 1/(2 eps)))) + 32 eps / (D_a g^(1/(1-g))).
    li2019, Theorem 1, for g and eps in (1/2, 1); (10) prints the logarithm as a factor, but its
    proof, (23), divides by it, and so does this (g: discount, D_a: li2019_gaps, Y: changes).
    >>> round(li2019_theorem1([math.inf] * 3 + [0.3] * 7, 5, 100_000, 0.999, 0.6))
    1257535
    """
    discount = _inside("discount", discount, 0.5, 1.0, "the theorem holds only inside", without=[0.5, 1.0])
    missed = 4 / ((1 - math.exp(-1)) * _peeling(epsilon, gaps))
    L, kept = len(gaps), math.pow(discount, 1 / (1 - discount))
    constants = sum(missed + 32 * epsilon / (gap * kept) for gap in gaps)
    biased = math.log((1 - discount) * epsilon) / math.log(discount)
    # The slack undoes rounding: 100_000 * (1 - 0.999) is a little over 100 in floating point.
    spans = math.ceil(whole("steps", steps, 1, STEPS) * (1 - discount) * (1 - 1e-12))
    return L * whole("changes", changes, 0, CHANGES) * biased - constants * spans * math.log(1 - discount)


def li2019_theorem2(gaps: Sequence[float], changes: int, steps: int, window: int, epsilon: float) -> float:
    """Bound the regret of CascadeSWUCB from above.

    L Y tau + L ln(tau)^2 / q + sum of C_a n ln(tau) / tau, q = ln(1 + 4 sqrt(1 - 1/(2 eps))),
    C_a = 2 / ln(tau) * ceil(ln(tau) / q) + 8 eps / D_a * ceil(n / tau) / (n / tau).
    li2019, Theorem 2, for eps in (1/2, 1) (tau: window, at least 2; D_a: li2019_gaps, Y: changes).
    >>> round(li2019_theorem2([math.inf] * 3 + [0.3] * 7, 5, 100_000, 2000, 0.6))
    151162
    """
    L, peeling = len(gaps), _peeling(epsilon, gaps)
    window = whole("window", window, 2, "give how many of the latest lists count")
    log_window, spans = math.log(window), whole("steps", steps, 1, STEPS) / window
    missed = L * (log_window**2 / peeling + 2 * spans * math.ceil(log_window / peeling))
    explored = sum(8 * epsilon / gap for gap in gaps) * math.ceil(spans) * log_window
    return L * whole("changes", changes, 0, CHANGES) * window + missed + explored


def li2019_theorem3(items: int, attraction: float, gap: float, steps: int) -> float:
    """Bound the worst-case regret of any policy from below, for large n, two changes and K = L/2.

    L D (1-p)^(K-1) sqrt(2 n / (3 KL(p-D || p))).
    li2019, Theorem 3 (at every step half of the items have attraction p, the others p - D).
    >>> round(li2019_theorem3(16, 0.2, 0.15, 100_000), 3)
    423.997
    """
    L, steps, levels = whole("items", items, 2, ITEMS), whole("steps", steps, 1, STEPS), _levels(attraction, gap)
    if L % 2 == 1:
        raise refuse("items", items, "an even number", "show half of the items, K = L/2")
    observed = math.sqrt(2 * steps / (3 * levels.information))
    return L * levels.gap * math.pow(1 - levels.attraction, L // 2 - 1) * observed


def _peeling(epsilon: float, gaps: Sequence[float]) -> float:
    """Give ln(1 + 4 sqrt(1 - 1/(2 eps))); at the policies' eps = 1/2 it is 0 and the proof void."""
    epsilon = _inside("epsilon", epsilon, 0.5, 1.0, "give one a little over 1/2", without=[0.5, 1.0])
    if not all(0 < gap <= 1 or gap == math.inf for gap in gaps):
        raise refuse("gaps", list(gaps), "in (0, 1], or inf for an item that always is optimal", "use li2019_gaps")
    return math.log1p(4 * math.sqrt(1 - 1 / (2 * epsilon)))


def _late(own: float, best: float, epsilon: float, log_steps: float) -> float:
    """Give C2 n^-beta: how often an item at `own` passes for `best` after its share of trials."""
    if own == 0:
        return 0.0  # never clicked, so never overestimated
    information = _divergence(own, best)
    if math.isinf(information):
        return 1 / (1 - own)  # best is 1: passes until its first skip (r = 1, beta = 0)
    target, mean = information / (1 + epsilon), own
    # KL(. || best) is convex and falls, so Newton from the left climbs to r and never passes it.
    for _ in range(100):
        fall = math.log(best / mean) + math.log((1 - mean) / (1 - best))
        climbed = mean + (_divergence(mean, best) - target) / fall
        if not mean < climbed < best:
            break
        mean = climbed
    away = _divergence(mean, own)
    if away == 0:
        return math.inf  # epsilon too small to tell r from `own`
    return math.exp(-(1 + epsilon) * away / information * log_steps) / -math.expm1(-away)


def _least(bound: Callable[[float], float]) -> float:
    """Minimise over epsilon: the best point of a grid on log epsilon, then golden section there."""
    # Any epsilon gives a true bound, so range and spacing of the grid can only cost tightness.
    golden, grid = (math.sqrt(5) - 1) / 2, [place / 2 for place in range(-28, 29)]
    least, centre = min((bound(math.exp(point)), point) for point in grid)
    low, high = centre - 0.5, centre + 0.5
    while high - low > 1e-9:
        left, right = high - golden * (high - low), low + golden * (high - low)
        at_left, at_right = bound(math.exp(left)), bound(math.exp(right))
        least = min(least, at_left, at_right)
        low, high = (low, right) if at_left < at_right else (left, high)
    return least


def _divergence(mean: float, other: float) -> float:
    """Give KL(mean || other) of two probabilities; the searches call it too often to check every time."""
    if mean == other:
        return 0.0
    if other in (0.0, 1.0):
        return math.inf
    divergence = _term(mean, other, mean - other) + _term(1 - mean, 1 - other, other - mean)
    # Pinsker's inequality keeps rounding from making nearly equal means 0 or less apart.
    return max(divergence, 2 * (mean - other) ** 2)


def _term(part: float, base: float, more: float) -> float:
    # log1p keeps the digits of nearly equal parts; of very unequal ones it would see log 0.
    near = abs(more) < base / 2
    return part * (math.log1p(more / base) if near else math.log(part / base)) if part else 0.0


class _Levels(NamedTuple):
    """The two attractions of a problem with K items at p and the others at p - D."""

    attraction: float  # p
    gap: float  # D
    information: float  # KL(p-D || p)


def _levels(attraction: float, gap: float) -> _Levels:
    """Check D in (0, p] and give both with KL(p-D || p)."""
    best = number("attraction", attraction, 0.0, 1.0, SHARE)
    gap = number("gap", gap, 0.0, best, f"take no more than attraction = {best!r} from the other items")
    low = best - gap
    if low == best:
        raise refuse("gap", gap, f"large enough to be seen beside attraction = {best!r}", "change either")
    return _Levels(best, gap, _divergence(low, best))


def _logs(steps: int) -> tuple[float, float]:
    """Give log n and log log n, the latter 0 until log n > 1."""
    log_steps = math.log(whole("steps", steps, 1, STEPS))
    return log_steps, math.log(log_steps) if log_steps > 1 else 0.0


def _ranked(attraction: Sequence[float], positions: int) -> tuple[list[float], int]:
    """Check a problem and give its attraction probabilities, largest first, and K."""
    ranked, K = _downwards("attraction", attraction, "item"), whole("positions", positions, 1, POSITIONS)
    if len(ranked) < K:
        raise refuse("positions", positions, f"1 to L = {len(ranked)}", "show fewer or add items")
    return ranked, K


def _downwards(what: str, given: Sequence[float], per: str) -> list[float]:
    """Check probabilities and give them, largest first."""
    values: list[float] = probabilities(what, given, None, per).tolist()
    return sorted(values, reverse=True)


def _rivals(ranked: Sequence[float], positions: int) -> list[tuple[float, float]]:
    """Pair each suboptimal attraction with the weakest strictly better one of the best K."""
    best = ranked[:positions]
    behind = [own for own in ranked[positions:] if own < best[0]]
    return [(own, min(top for top in best if top > own)) for own in behind]


def _positive(what: str, given: float, advice: str) -> float:
    return _inside(what, given, 0.0, math.inf, advice, without=[0.0, math.inf])


def _inside(what: str, given: float, least: float, most: float, advice: str, without: Sequence[float]) -> float:
    """Check a number as `number` does, where some end of the interval does not belong to it."""
    value = number(what, given, least, most, advice)
    if value in without:
        raise refuse(what, given, f"a number between {least:g} and {most:g} other than {value:g}", advice)
    return value
