"""Tests of the papers' regret bounds against arithmetic done by hand, limits and conditions."""

import itertools
import math
import random
from collections.abc import Callable

import pytest

from toplist import bounds
from toplist.core.problem import InvalidInput

# The numbers in this file come from the formulas in the comments, worked out with `bc -l`.
CLOSE = 1e-12
TOP_FOUR_OF_SIXTEEN = [0.2] * 4 + [0.05] * 12
NAN = math.nan


def close(value: float) -> object:
    """Compare to within rounding."""
    return pytest.approx(value, rel=CLOSE, abs=0)


# The divergence.


@pytest.mark.parametrize(
    ("mean", "other", "expected"),
    [
        (0.5, 0.25, 0.143841036225890464),  # log(4/3) / 2
        (0.25, 0.5, 0.130812035941136959),  # log(1/2) / 4 + 3 log(3/2) / 4
        (0.0, 0.5, 0.693147180559945309),  # log 2, since 0 log 0 = 0
        (1.0, 0.25, 1.386294361119890619),  # log 4
        (1e-20, 0.5, 0.693147180559945309),  # log 2 to double precision: log(p/q) must not fail
        (0.0, 0.0, 0.0),
        (1.0, 1.0, 0.0),
        (0.3, 0.0, math.inf),
        (0.3, 1.0, math.inf),
        (0.0, 1.0, math.inf),
        (1.0, 0.0, math.inf),
    ],
)
def test_divergence_by_hand(mean: float, other: float, expected: float) -> None:
    """Closed forms, and the conventions at 0 and 1."""
    assert bounds.bernoulli_kl(mean, other) == close(expected)


def test_divergence_is_zero_only_between_equals_and_at_least_pinsker() -> None:
    """Pinsker's inequality holds on a grid, and success and failure may be exchanged."""
    grid = [place / 20 for place in range(21)]
    for mean, other in itertools.product(grid, grid):
        divergence = bounds.bernoulli_kl(mean, other)
        assert divergence >= 2 * (mean - other) ** 2
        assert (divergence == 0) == (mean == other)
        # Exchanging success and failure changes nothing.
        assert bounds.bernoulli_kl(1 - mean, 1 - other) == pytest.approx(divergence, abs=1e-12)


def test_divergence_of_near_equals_keeps_its_digits() -> None:
    """Cancellation must not eat the second-order term."""
    # d^2 / (2 q (1-q)) + O(d^3): 1e-16 / (2 * 0.3 * 0.7) = 2.38095e-16.
    assert bounds.bernoulli_kl(0.3 + 1e-8, 0.3) == pytest.approx(2.38095e-16, rel=1e-5, abs=0)
    assert bounds.bernoulli_kl(math.nextafter(0.3, 1), 0.3) > 0


# Vacuous bounds.


def test_vacuous_means_more_than_a_regret_of_one_a_step() -> None:
    """A bound of exactly n still says something, or at least nothing false."""
    assert bounds.vacuous(1000.5, 1000)
    assert bounds.vacuous(math.inf, 1000)
    assert not bounds.vacuous(1000.0, 1000)
    assert not bounds.vacuous(12.0, 1000)


def test_contextual_and_changing_bounds_are_vacuous_on_the_papers_problems() -> None:
    """These bounds are printed as vacuous, not drawn; the cascade bound is drawn."""
    ratio = bounds.hiranandani2019_theorem1(2, 0.5)
    assert bounds.vacuous(bounds.hiranandani2019_theorem2(3, 2, 20_000, ratio), 20_000)
    assert bounds.vacuous(bounds.liu2018_theorem1(200, 10, 5_000, drop=0.1, ridge=10), 5_000)
    # li2019's figure 1, with the memories that its section 4.1 advises for ten changes.
    gaps, steps = [math.inf] * 3 + [0.3] * 7, 100_000
    discount = 1 - math.sqrt(10 / steps) / 4
    window = int(2 * math.sqrt(steps * math.log(steps) / 10))
    assert bounds.vacuous(bounds.li2019_theorem1(gaps, 10, steps, discount, 0.51), steps)
    assert bounds.vacuous(bounds.li2019_theorem2(gaps, 10, steps, window, 0.51), steps)
    assert not bounds.vacuous(bounds.kveton2015_theorem3(TOP_FOUR_OF_SIXTEEN, 4, steps), steps)


# kveton2015.


def test_kveton2015_theorem1_by_hand() -> None:
    """With one position there is nothing above it, and both sides are equal."""
    # Upper 0.2 * 100 = 20, lower (1 - 0.5)^2 * 20 = 5.
    assert bounds.kveton2015_theorem1(3, 0.5, 0.2, 100) == (close(5.0), close(20.0))
    assert bounds.kveton2015_theorem1(1, 0.5, 0.2, 100) == (close(20.0), close(20.0))


@pytest.mark.parametrize(("attraction", "gap"), [(0.2, 0.15), (0.7, 0.1), (0.9, 0.9)])
def test_kveton2015_theorem1_encloses_the_regret_of_every_list(attraction: float, gap: float) -> None:
    """Exact regret and exact expected observations of all 120 lists."""
    weights = [attraction] * 3 + [attraction - gap] * 3
    best = 1 - (1 - attraction) ** 3
    for shown in itertools.permutations(range(6), 3):
        reached, observed = 1.0, 0.0
        for item in shown:
            observed += reached * (item >= 3)
            reached *= 1 - weights[item]
        lower, upper = bounds.kveton2015_theorem1(3, attraction, gap, observed)
        regret = best - (1 - reached)
        assert lower - 1e-12 <= regret <= upper + 1e-12


def test_kveton2015_theorem2_by_hand_in_any_order() -> None:
    """The items need not be sorted."""
    # K-th best 0.5, gaps 0.1 and 0.4: (12/0.1 + 12/0.4) log 1000 + 4 pi^2 / 3.
    expected = 1049.322764382106369
    for attraction in itertools.permutations([0.9, 0.5, 0.4, 0.1]):
        assert bounds.kveton2015_theorem2(attraction, 2, 1000) == close(expected)


def test_kveton2015_theorem2_measures_a_tie_against_the_next_better_item() -> None:
    """A tie at the K-th best must not divide by zero."""
    # Best 0.5, 0.3; the second 0.3 can only displace 0.5: (12/0.2 + 12/0.2) log 1000 + 4 pi^2 / 3.
    tied = bounds.kveton2015_theorem2([0.5, 0.3, 0.3, 0.1], 2, 1000)
    assert tied == close(842.090106012642258)
    # All alike: no list is worse than another, only 3 pi^2 / 3 is left.
    assert bounds.kveton2015_theorem2([0.3] * 3, 2, 1000) == close(math.pi**2)


def test_kveton2015_theorem3_by_hand() -> None:
    """A problem and an epsilon for which r is 0.3 exactly."""
    # w = 0.5, 0.1, K = 1, n = 1000, and r = 0.3, so that
    # 1 + eps = KL(.1||.5) / KL(.3||.5) = 0.36806420716849707 / 0.08228287850505185.
    epsilon = 3.473156674336561640
    # C2 = 1 / (1 - exp(-KL(.3||.1))) = 7.0205228841786148, beta = 1.8675037820214847;
    # leading (1+eps) 0.4 (1 + log 2.5) / KL(.1||.5) * (log 1000 + 3 log log 1000)
    # = 118.361415819936950; K L C2 n^-beta = 0.000035066151832;
    # 7 K log log 1000 = 13.528513137412458.
    expected = 118.361415819936950 + 0.000035066151832 + 13.528513137412458
    value = bounds.kveton2015_theorem3([0.1, 0.5], 1, 1000, epsilon)
    assert value == pytest.approx(expected, rel=1e-11)


def theorem3_by_bisection(attraction: list[float], positions: int, steps: int, epsilon: float) -> float:
    """Compute kveton2015's Theorem 3 for distinct attractions in the simplest way."""

    def divergence(mean: float, other: float) -> float:
        skipped = (1 - mean) * math.log((1 - mean) / (1 - other))
        return mean * math.log(mean / other) + skipped

    ranked = sorted(attraction)[::-1]
    slope, latest = 0.0, 0.0
    for own in ranked[positions:]:
        gap = ranked[positions - 1] - own
        slope += gap * (1 + math.log(1 / gap)) / divergence(own, ranked[positions - 1])
        for best in ranked[:positions]:
            low, high, information = own, best, divergence(own, best)
            for _ in range(200):
                middle = (low + high) / 2
                if divergence(middle, best) > information / (1 + epsilon):
                    low = middle
                else:
                    high = middle
            away = divergence(low, own)
            beta = (1 + epsilon) * away / information
            latest = max(latest, steps**-beta / (1 - math.exp(-away)))
    log_log = math.log(math.log(steps))
    leading = (1 + epsilon) * slope * (math.log(steps) + 3 * log_log)
    return leading + positions * len(ranked) * latest + 7 * positions * log_log


def test_kveton2015_theorem3_equals_plain_bisection_on_random_problems() -> None:
    """Newton's r and the largest pair agree with bisection over all pairs."""
    draw = random.Random(5)
    for _ in range(40):
        items = draw.randint(2, 6)
        positions = draw.randint(1, items - 1)
        attraction = [place / 40 for place in draw.sample(range(1, 40), items)]
        steps, epsilon = draw.choice([5, 1000, 10**6]), math.exp(draw.uniform(-2, 3))
        plain = theorem3_by_bisection(attraction, positions, steps, epsilon)
        value = bounds.kveton2015_theorem3(attraction, positions, steps, epsilon)
        assert value == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("steps", [1, 2, 3, 100, 100_000, 10**9])
@pytest.mark.parametrize(
    ("attraction", "positions"),
    [(TOP_FOUR_OF_SIXTEEN, 4), ([0.9, 0.5, 0.45, 0.1], 2), ([0.3, 0.299], 1), ([1.0, 0.4, 0.0], 1)],
)
def test_kveton2015_theorem3_is_least_over_epsilon(attraction: list[float], positions: int, steps: int) -> None:
    """The search is at or under a finer grid, close to it, and deterministic."""
    least = bounds.kveton2015_theorem3(attraction, positions, steps)
    on_grid = [
        bounds.kveton2015_theorem3(attraction, positions, steps, math.exp(place / 10)) for place in range(-140, 141)
    ]
    assert least <= min(on_grid) * (1 + 1e-9)
    # A grid a tenth apart on the log scale cannot be far off either, so the least is not too low.
    assert least >= 0.95 * min(on_grid)
    assert least == bounds.kveton2015_theorem3(attraction, positions, steps)


def test_kveton2015_theorem3_in_the_limits() -> None:
    """Nothing suboptimal, sure items, items never clicked, a vanishing epsilon."""
    # L = K: nothing is suboptimal, 7 * 2 log log 1000 is left; likewise when all items are alike.
    assert bounds.kveton2015_theorem3([0.5, 0.4], 2, 1000) == close(27.057026274824917)
    assert bounds.kveton2015_theorem3([0.5] * 5, 2, 1000) == close(27.057026274824917)
    # A sure item against a never clicked one: a single trial tells them apart; 7 log log 3.
    assert bounds.kveton2015_theorem3([1.0, 0.0], 1, 3) == close(0.658334793316893)
    # Against one clicked half of the time: K L C2 n^-beta = 1 * 2 / (1 - 0.5) = 4, beta = 0.
    assert bounds.kveton2015_theorem3([1.0, 0.5], 1, 2) == close(4.0)
    # An epsilon below floating-point resolution gives the useless but valid bound.
    assert bounds.kveton2015_theorem3([0.5, 0.4], 1, 1000, 1e-300) == math.inf


def test_log_log_is_zero_until_log_exceeds_one() -> None:
    """With L = K only 7 K log log n is left; n = 1 and 2 have log n <= 1."""
    assert bounds.kveton2015_theorem3([0.5], 1, 1) == 0
    assert bounds.kveton2015_theorem3([0.5], 1, 2) == 0
    assert bounds.kveton2015_theorem3([0.5], 1, 3) == close(0.658334793316893)


def test_kveton2015_theorem4_by_hand() -> None:
    """Also without suboptimal items and at one step."""
    # 3 * 0.5 * 0.25 / KL(.25||.5) * log 1000.
    assert bounds.kveton2015_theorem4(5, 2, 0.5, 0.25, 1000) == close(19.802522076668374)
    assert bounds.kveton2015_theorem4(5, 5, 0.5, 0.25, 1000) == 0
    assert bounds.kveton2015_theorem4(5, 2, 0.5, 0.25, 1) == 0


def test_kveton2015_theorem4_grows_with_items_and_falls_with_positions_and_gap() -> None:
    """The trends that Table 1 of the paper shows."""

    def slope(items: int, positions: int, gap: float) -> float:
        return bounds.kveton2015_theorem4(items, positions, 0.2, gap, 100_000)

    for items, positions in itertools.product(range(9, 20), range(1, 8)):
        assert slope(items + 1, positions, 0.15) > slope(items, positions, 0.15)
        assert slope(items, positions + 1, 0.15) < slope(items, positions, 0.15)
        assert slope(items, positions, 0.075) > slope(items, positions, 0.15)


@pytest.mark.parametrize("items", [16, 32])
@pytest.mark.parametrize("positions", [2, 4, 8])
@pytest.mark.parametrize("gap", [0.15, 0.075])
def test_lower_bounds_lie_under_upper_bounds(items: int, positions: int, gap: float) -> None:
    """On the problems of kveton2015's Table 1 and katariya2016's figure 2a."""
    attraction = [0.2] * positions + [0.2 - gap] * (items - positions)
    for steps in (10, 1000, 100_000):
        lower = bounds.kveton2015_theorem4(items, positions, 0.2, gap, steps)
        upper = bounds.kveton2015_theorem3(attraction, positions, steps)
        assert lower < upper
        assert lower < bounds.kveton2015_theorem2(attraction, positions, steps)
        lower = bounds.katariya2016_theorem3(items, positions, 0.2, gap, 0.8, steps)
        assert lower < bounds.katariya2016_theorem1(attraction, positions, 0.8, steps)


def test_upper_bounds_grow_with_steps_and_items() -> None:
    """More steps or more items never lower an upper bound."""
    for bound in (bounds.kveton2015_theorem2, bounds.kveton2015_theorem3):
        values = [bound(TOP_FOUR_OF_SIXTEEN, 4, 10**power) for power in range(1, 9)]
        assert values == sorted(values)
        values = [bound([0.2] * 4 + [0.05] * more, 4, 1000) for more in range(1, 9)]
        assert values == sorted(values)


# katariya2016.


def test_katariya2016_theorem1_scales_the_cascade_bound() -> None:
    """g / a times the cascade bound."""
    cascade = bounds.kveton2015_theorem3([0.5, 0.5, 0.1], 2, 1000)
    # g / a = 0.3 / (1 - 0.5) = 0.6; with one position a = 1.
    value = bounds.katariya2016_theorem1([0.5, 0.1, 0.5], 2, 0.3, 1000)
    assert value == close(0.6 * cascade)
    single = bounds.kveton2015_theorem3([0.5, 0.1], 1, 1000)
    assert bounds.katariya2016_theorem1([0.5, 0.1], 1, 1.0, 1000) == close(single)


def test_katariya2016_theorem1_with_a_sure_item_or_without_termination() -> None:
    """a = 0 bounds nothing, unless termination is 0."""
    assert bounds.katariya2016_theorem1([1.0, 0.5, 0.1], 2, 0.5, 1000) == math.inf
    assert bounds.katariya2016_theorem1([1.0, 0.5, 0.1], 2, 0.0, 1000) == 0


def test_katariya2016_theorem2_weighs_the_cascade_bound_of_every_prefix() -> None:
    """In whatever order the positions come."""
    attraction, steps = [0.5, 0.4, 0.3, 0.1], 1000
    one, two, three = (bounds.kveton2015_theorem3(attraction, K, steps) for K in (1, 2, 3))
    # a = 0.5^2; v = 0.9, 0.6, 0.5 falls by 0.3, 0.1 and 0.5: over a 1.2, 0.4 and 2.
    expected = 1.2 * one + 0.4 * two + 2 * three
    for termination in itertools.permutations([0.9, 0.6, 0.5]):
        assert bounds.katariya2016_theorem2(attraction, termination, steps) == close(expected)


def test_katariya2016_theorem2_reduces_to_theorem1() -> None:
    """When all positions terminate alike."""
    for termination in (0.2, 0.7, 1.0):
        general = bounds.katariya2016_theorem2(TOP_FOUR_OF_SIXTEEN, [termination] * 4, 1000)
        special = bounds.katariya2016_theorem1(TOP_FOUR_OF_SIXTEEN, 4, termination, 1000)
        cascade = bounds.kveton2015_theorem3(TOP_FOUR_OF_SIXTEEN, 4, 1000)
        # 0.8^3 = 0.512.
        assert general == special == close(termination / 0.512 * cascade)


def test_katariya2016_theorem3_by_hand() -> None:
    """kveton2015's Theorem 4 times the termination."""
    # 0.4 * 3 * 0.5 * 0.25 / KL(.25||.5) * log 1000.
    assert bounds.katariya2016_theorem3(5, 2, 0.5, 0.25, 0.4, 1000) == close(7.921008830667349)


# hiranandani2019.


def test_hiranandani2019_theorem1_by_hand() -> None:
    """Either side of the maximum, and with termination."""
    # (1 - 1/e) (1 - 0.5/2); (1 - 1/e) / 5, since 1 - 4 * 0.9/2 < 1/5; (1 - 1/e) (1 - 0.25/2).
    assert bounds.hiranandani2019_theorem1(2, 0.5) == close(0.474090419121418259)
    assert bounds.hiranandani2019_theorem1(5, 0.9) == close(0.126424111765711536)
    assert bounds.hiranandani2019_theorem1(2, 0.5, termination=0.5) == close(0.553105488974987969)


def test_hiranandani2019_ratio_falls_with_positions_and_attraction() -> None:
    """And stays between its value at its worst and at its best."""
    for positions, strength in itertools.product(range(1, 9), range(10)):
        ratio = bounds.hiranandani2019_theorem1(positions, strength / 10)
        assert bounds.hiranandani2019_theorem1(positions + 1, strength / 10) <= ratio
        assert bounds.hiranandani2019_theorem1(positions, (strength + 1) / 10) <= ratio
        assert 1 / positions - 1e-12 <= ratio / (1 - 1 / math.e) <= 1 + 1e-12


def test_hiranandani2019_alpha_by_hand() -> None:
    """The norm stands outside the root."""
    # d = 2, K = 4, n = 100, |theta| = 0.5: sqrt(2 log 201 + 2 log 100) + 0.5 for sigma = 1,
    # 2 sqrt(2 log 801 + 2 log 100) + 0.5 for sigma = 0.5.
    assert bounds.hiranandani2019_alpha(2, 4, 100, 1.0, 0.5) == close(4.951623320553339)
    assert bounds.hiranandani2019_alpha(2, 4, 100, 0.5, 0.5) == close(10.004117479516528)


def test_hiranandani2019_theorem2_by_hand() -> None:
    """With the least alpha and with a larger one."""
    # sigma = 0.5: 2 alpha * 4 / 0.5 * sqrt(200 log 801 / log 5) + 1, alpha = 10.004... as above,
    # then 20. sigma = 1: 2 * 4.95... * 4 / 0.5 * sqrt(200 log 201 / log 2) + 1.
    value = bounds.hiranandani2019_theorem2(2, 4, 100, 0.5, 0.5, preference_norm=0.5)
    assert value == close(4614.7634019680767)
    value = bounds.hiranandani2019_theorem2(2, 4, 100, 0.5, 0.5, alpha=20)
    assert value == close(9224.7289524333881)
    value = bounds.hiranandani2019_theorem2(2, 4, 100, 0.5, 1.0, preference_norm=0.5)
    assert value == close(3100.153935092938104)


# liu2018.


def test_liu2018_theorem1_by_hand() -> None:
    """Also by the default scale, and without any termination."""
    # d = 2, K = 3, n = 100, p_v = 0.5, lambda = 3, delta = 1/10, s = 1:
    # 4 * 2 * 3 * 0.5 * sqrt(300 log((1 + 100/6) * 10) log(1 + 300/6)).
    value = bounds.liu2018_theorem1(2, 3, 100, drop=0.5, ridge=3, scale=1.0)
    assert value == close(937.482825018450643)
    # By default s = 0.25 * 0.5 / 0.1 = 1.25.
    assert bounds.liu2018_theorem1(2, 3, 100, 0.5, 3) == close(1.25 * 937.482825018450643)
    assert bounds.liu2018_theorem1(2, 3, 100, 0.0, 3) == 0


def test_liu2018_theorem1_grows_slower_than_steps_and_falls_with_ridge() -> None:
    """It is of the order sqrt(n) log n."""
    values = [bounds.liu2018_theorem1(5, 3, 10**power, 0.2, 3) for power in range(2, 12)]
    for before, after in itertools.pairwise(values):
        assert before < after < 10 * before
    assert bounds.liu2018_theorem1(5, 3, 100, 0.2, 30) < values[0]


# li2019.


def test_li2019_gaps_by_hand() -> None:
    """The smallest gap over epochs; ties go to the next better item or cost nothing."""
    epochs = [[0.9, 0.5, 0.3, 0.1], [0.2, 0.5, 0.3, 0.8]]
    # K = 2. First epoch: 0.5 - 0.3, 0.5 - 0.1; second: 0.5 - 0.2, 0.5 - 0.3; item 2 always optimal.
    gaps = bounds.li2019_gaps(epochs, 2)
    assert gaps == [close(0.3), math.inf, close(0.2), close(0.4)]
    assert bounds.li2019_gaps([[0.9, 0.5, 0.5]], 2) == [math.inf, close(0.4), close(0.4)]
    assert bounds.li2019_gaps([[0.5, 0.5, 0.5]], 2) == [math.inf] * 3


def test_li2019_theorem1_by_hand() -> None:
    """One item that always is optimal, one that is not."""
    # L = 2, one change, n = 1000, g = 0.9, eps = 0.75, q = log(1 + 4 sqrt(1/3)) = 1.19676722943922:
    # 2 log(0.075) / log(0.9) + (2 * 4 / ((1 - 1/e) q) + 24 / (0.5 * 0.9^10)) * 100 log 10.
    value = bounds.li2019_theorem1([math.inf, 0.5], 1, 1000, 0.9, 0.75)
    assert value == close(34182.151229254300704)


def test_li2019_theorem1_counts_whole_spans_in_spite_of_rounding() -> None:
    """100_000 * (1 - 0.999) is 100.00000000000009 in floating point, but 100 spans."""

    def spans(steps: int) -> float:
        unit = bounds.li2019_theorem1([0.5], 0, 1, 0.999, 0.75)  # ceil(0.001) = 1
        return bounds.li2019_theorem1([0.5], 0, steps, 0.999, 0.75) / unit

    assert spans(100_000) == close(100)
    assert spans(100_001) == close(101)


def test_li2019_theorem2_by_hand() -> None:
    """The same problem with a window of 30."""
    # As above with tau = 30: L Y tau = 60, 2 log(30)^2 / q, ceil(log 30 / q = 2.84) = 3,
    # ceil(1000 / 30) = 34: 60 + 2 log(30)^2 / q + 2 * 2 * 1000/30 * 3 + 8 * 0.75 / 0.5 * 34 log 30.
    value = bounds.li2019_theorem2([math.inf, 0.5], 1, 1000, 30, 0.75)
    assert value == close(1867.020851896154458)


def test_li2019_upper_bounds_grow_with_changes_and_small_gaps_and_diverge_at_half() -> None:
    """At epsilon = 1/2, where the theorems end, their proofs need infinitely much."""
    for bound, memory in (
        (bounds.li2019_theorem1, 0.99),
        (bounds.li2019_theorem2, 100),
    ):
        call: Callable[..., float] = bound
        base = call([math.inf, 0.5], 1, 1000, memory, 0.75)
        assert call([math.inf, 0.5], 2, 1000, memory, 0.75) > base
        assert call([math.inf, 0.4], 1, 1000, memory, 0.75) > base
        assert call([0.5, 0.5], 1, 1000, memory, 0.75) > base
        assert call([math.inf, 0.5], 1, 1000, memory, 0.5 + 1e-12) > 100 * base


def test_li2019_theorem3_by_hand() -> None:
    """It grows as sqrt(n)."""
    # L = 4, K = 2: 4 * 0.25 * 0.5 * sqrt(2 * 600 / (3 KL(.25||.5))).
    assert bounds.li2019_theorem3(4, 0.5, 0.25, 600) == close(27.648791117900251)
    assert bounds.li2019_theorem3(4, 0.5, 0.25, 2400) == close(2 * 27.648791117900251)


# Invalid input.


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.bernoulli_kl(1.1, 0.5), r"mean is 1\.1, but must be a number between 0 and 1; "),
        (lambda: bounds.bernoulli_kl(0.5, NAN), "other is nan"),
        (lambda: bounds.vacuous(NAN, 10), "bound is nan"),
        (lambda: bounds.vacuous(1.0, 0), "steps is 0, but must be a whole number of at least 1; "),
        (lambda: bounds.kveton2015_theorem1(0, 0.5, 0.2, 1), "positions is 0"),
        (
            lambda: bounds.kveton2015_theorem1(2, 0.5, 0.6, 1),
            r"gap is 0\.6, but .* 0 and 0\.5; .* attraction = 0\.5",
        ),
        (lambda: bounds.kveton2015_theorem1(2, 0.5, 0.2, -1), "observations is -1"),
        (lambda: bounds.kveton2015_theorem1(2, 0.5, 0.2, NAN), "observations is nan"),
        (lambda: bounds.kveton2015_theorem1(2, 0.5, 0.2, math.inf), "observations is inf, but .* other than inf"),
        (
            lambda: bounds.kveton2015_theorem2([0.5, -0.1], 1, 10),
            r"attraction\[1\] is -0\.1, but .* a probability",
        ),
        (lambda: bounds.kveton2015_theorem2([0.5, NAN], 1, 10), r"attraction\[1\] is nan"),
        (lambda: bounds.kveton2015_theorem2([0.5, 0.1], 3, 10), "positions is 3, but must be 1 to L = 2; "),
        (lambda: bounds.kveton2015_theorem2([], 1, 10), "positions is 1, but must be 1 to L = 0; "),
        (lambda: bounds.kveton2015_theorem2([0.5, 0.1], 1, 0), "steps is 0"),
        (lambda: bounds.kveton2015_theorem3([0.5, 0.1], 0, 10), "positions is 0"),
        (
            lambda: bounds.kveton2015_theorem3([0.5, 0.1], 1, 10, 0.0),
            r"epsilon is 0\.0, but .* other than 0; ",
        ),
        (lambda: bounds.kveton2015_theorem4(3, 4, 0.5, 0.1, 10), "items is 3.* at least 4"),
        (lambda: bounds.kveton2015_theorem4(5, 4, 0.5, 0.0, 10), r"gap is 0\.0, but must be large enough"),
        (lambda: bounds.kveton2015_theorem4(5, 4, 0.5, NAN, 10), "gap is nan"),
        (lambda: bounds.kveton2015_theorem4(5, 4, 0.5, 1e-18, 10), "gap is 1e-18, but must be large enough"),
        (lambda: bounds.katariya2016_theorem1([0.5, 0.1], 1, 1.5, 10), r"termination is 1\.5"),
        (lambda: bounds.katariya2016_theorem2([0.5, 0.1], [NAN], 10), r"termination\[0\] is nan"),
        (lambda: bounds.katariya2016_theorem2([0.5], [0.5, 0.5], 10), "1 to L = 1"),
        (lambda: bounds.katariya2016_theorem3(5, 2, 0.5, 0.2, -1, 10), "termination is -1"),
        (lambda: bounds.hiranandani2019_theorem1(2, 1.5), r"strongest is 1\.5"),
        (lambda: bounds.hiranandani2019_alpha(2, 2, 10, sigma=0), "sigma is 0"),
        (lambda: bounds.hiranandani2019_alpha(2, 2, 10, 1.0, 1.2), r"preference_norm is 1\.2"),
        (lambda: bounds.hiranandani2019_theorem2(2, 2, 10, 0.0), r"ratio is 0\.0, but .* other than 0; "),
        (lambda: bounds.hiranandani2019_theorem2(2, 4, 100, 0.5, 1.0, 4.9), r"alpha is 4\.9, but .* 5\.45162 and inf"),
        (lambda: bounds.hiranandani2019_theorem2(2, 4, 100, 0.5, 1.0, NAN), "alpha is nan"),
        (lambda: bounds.liu2018_theorem1(2, 3, 100, 0.5, 2.9), r"ridge is 2\.9, but .* 3 and inf; give K = 3"),
        (lambda: bounds.liu2018_theorem1(2, 3, 100, 1.5, 3), r"drop is 1\.5"),
        (lambda: bounds.li2019_gaps([], 1), "epoch lengths is"),
        (lambda: bounds.li2019_gaps([[0.5], [0.5, 0.1]], 1), r"epoch lengths is \[1, 2\]"),
        (lambda: bounds.li2019_theorem1([0.5], 1, 10, 0.9, 0.5), r"epsilon is 0\.5, but .* other than 0\.5; "),
        (lambda: bounds.li2019_theorem1([0.5], 1, 10, 0.5, 0.6), r"discount is 0\.5, but .* other than 0\.5; "),
        (lambda: bounds.li2019_theorem1([0.5], 1, 10, 1.0, 0.6), r"discount is 1\.0, but .* other than 1; "),
        (lambda: bounds.li2019_theorem1([0.0], 1, 10, 0.9, 0.6), r"gaps is \[0\.0\]"),
        (lambda: bounds.li2019_theorem1([0.5], -1, 10, 0.9, 0.6), "changes is -1"),
        (lambda: bounds.li2019_theorem2([0.5], 1, 10, 5, 1.0), r"epsilon is 1\.0, but .* other than 1; "),
        (lambda: bounds.li2019_theorem2([0.5], 1, 10, 1, 0.6), "window is 1, but .* at least 2"),
        (lambda: bounds.li2019_theorem3(5, 0.5, 0.2, 10), "items is 5, but must be an even number"),
        (lambda: bounds.li2019_theorem3(4, 0.5, 0.2, math.inf), "steps is inf"),  # type: ignore[arg-type]
        (lambda: bounds.li2019_theorem3(4, 0.5, 0.2, 2.5), r"steps is 2\.5"),  # type: ignore[arg-type]
        (lambda: bounds.li2019_theorem3(4, 0.5, 0.2, 10.0), r"steps is 10\.0"),  # type: ignore[arg-type]
    ],
)
def test_errors_say_what_was_given_and_what_is_accepted(call: Callable[[], object], message: str) -> None:
    """Every refusal names the argument and its value."""
    with pytest.raises(InvalidInput, match=message):
        call()
