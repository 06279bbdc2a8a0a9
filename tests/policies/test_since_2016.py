"""Algorithms published after the five papers, each list by list against a second, plain implementation of its rule.

The plain rules keep whole histories, and compute everything anew for every list.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

import toplist
from toplist.core.problem import Problem
from toplist.core.randomness import branch, uniform
from toplist.core.slate import NONE, Floats, Ints, Request, empty_page
from toplist.parts.index import BetaPosterior
from toplist.parts.index.parsimonious import parsimonious_budget
from toplist.parts.index.thompson import draw_everything
from toplist.parts.memory import Everything
from toplist.policies import make
from toplist.policies.grab import find_leader
from toplist.policies.pb_mhb import NARROW, erf_series, walk_on

ITEMS, POSITIONS, STEPS, FEATURES = 7, 3, 300, 3
LABELS = np.arange(ITEMS) + 100
ATTRACTION = np.array([0.75, 0.45, 0.6, 0.1, 0.05, 0.3, 0.5])
ROWS = np.random.default_rng(8).random((ITEMS, FEATURES)) / 2.0
EXAMINATION = [0.75, 1.0, 0.5]  # sums of these are exact
UNKNOWN = ", unknown n"
PUBLISHED = [  # parameters as docs/newer.md says them
    "cascade-ucb-v(scale=2.0)", "ts-cascade(scale=1.0)", "lin-ts-cascade(scale=1.0, noise=0.25, sigma=1.0)",
    "pbm-pie(epsilon=0.01)", "pb-mhb(scale=1000.0, sweeps=1)", "grab(period=10.0)", "uni-rank(slack=1.0, loglog=3.0)",
    "pmed(alpha=1.0, fit_gap=20.0, plan_gap=1000.0)", "glrt-cascade-ucb(scale=1.5, changes=1.0)",
    "glrt-cascade-kl-ucb(loglog=3.0, changes=1.0)", "c3-ucb(discount=1.0, noise=1.0)", "cascade-hybrid(norm=1.0)",
]  # fmt: skip

Observations = list[tuple[int, int, int]]  # per examined position: item, position, click
Rule = Callable[[Observations, int, int], list[int]]  # what was observed, the number of the list, its key


def ranked(values: dict[int, float], key: int) -> list[int]:
    """The items by descending value; of equals, the one with the larger hash goes first."""
    return sorted(values, key=lambda item: (-values[item], -branch(key, int(LABELS[item]))))


def outcomes(seen: Observations, item: int) -> list[int]:
    return sorted(click for other, _, click in seen if other == item)


def kl(p: float, q: float) -> float:
    ones = p * math.log(p / q) if p > 0 else 0.0
    return ones + ((1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0)


def largest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest number for which something holds, by bisection."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def ucb_v(seen: Observations, t: int, key: int) -> list[int]:
    values = {}
    for item in range(ITEMS):
        clicks = outcomes(seen, item)
        values[item] = math.inf
        if clicks:
            each = math.log(t) / len(clicks)
            values[item] = float(np.mean(clicks)) + math.sqrt(4 * np.var(clicks) * each) + 6 * each
    return ranked(values, key)


def ts_cascade(seen: Observations, t: int, key: int) -> list[int]:
    shared = branch(key, -1)
    z = math.sqrt(-2 * math.log(1 - uniform(shared, 0))) * math.cos(2 * math.pi * uniform(shared, 1))
    values = {}
    for item in range(ITEMS):
        clicks = outcomes(seen, item)
        mean = float(np.mean(clicks)) if clicks else 0.0
        each = math.log(t + 1) / (len(clicks) + 1)
        values[item] = mean + z * max(math.sqrt(mean * (1 - mean) * each), each)
    return ranked(values, key)


def beta_ts(seen: Observations, t: int, key: int) -> list[int]:
    """A draw for every item, from counts of the whole history; how often lists are shown is tested below."""
    problem = Problem(ITEMS, POSITIONS)
    belief, draws = Everything().prepare(problem).begin(problem), BetaPosterior().scratch(problem)
    belief.clock[0] = t - 1
    for item, _, click in seen:
        belief.examined[item] += 1
        belief.clicked[item] += click
    request = Request(np.arange(ITEMS), POSITIONS, NONE, NONE, np.zeros((ITEMS, 0)), 0, LABELS, key)
    draw_everything(belief, draws, request, branch(key, -1))
    return ranked(dict(enumerate(draws.value.tolist())), key)


def by_budget(budget: Callable[[float], float], index: Callable[[float, int, float], float], steps: Any) -> Rule:
    """The rule of an index with a budget per item, which depends on the lists per item and observation."""

    def rule(seen: Observations, t: int, key: int) -> list[int]:
        n = steps or min(2**power for power in range(1, 60) if 2**power > t - 1)
        values = {}
        for item in range(ITEMS):
            clicks = outcomes(seen, item)
            values[item] = math.inf
            if clicks:
                values[item] = index(sum(clicks) / len(clicks), len(clicks), budget(n / (ITEMS * len(clicks))))
        return ranked(values, key)

    return rule


def moss_budget(y: float) -> float:
    return max(0.0, math.log(y))


def plus_plus_budget(y: float) -> float:
    return max(0.0, math.log(y * (1 + max(0.0, math.log(y)) ** 2)))


def moss_index(mean: float, times: int, budget: float) -> float:
    return mean + math.sqrt(budget / times)


def kl_index(mean: float, times: int, budget: float) -> float:
    return largest(lambda q: times * kl(mean, q) <= budget, mean, 1.0 - 1e-15) if budget > 0 and mean < 1 else mean


def pie_unknown(seen: Observations, t: int, key: int) -> list[int]:
    """Without a number of lists, that of the next one."""
    return pie(seen, t, key, t)


def pie(seen: Observations, _: int, key: int, steps: int = STEPS) -> list[int]:
    """Algorithm 1 of the paper, with bounds found by a search for the smallest loss and a bisection."""
    own = branch(key, -1)
    counts = np.zeros((ITEMS, POSITIONS, 2))  # displays and clicks
    for item, at, click in seen:
        counts[item, at] += 1, click
    estimate = {}
    for item in range(ITEMS):
        exposure = float(counts[item, :, 0] @ EXAMINATION)
        estimate[item] = counts[item, :, 1].sum() / exposure if exposure > 0 else math.inf
    leaders = ranked(estimate, key)[:POSITIONS]
    best = [leaders[1], leaders[0], leaders[2]]  # the second position is examined most, then the first
    level, budget = estimate[leaders[-1]], 1.01 * math.log(steps)

    def bound(item: int) -> float:
        kept = [(n, s / n, kappa) for (n, s), kappa in zip(counts[item].tolist(), EXAMINATION, strict=True) if n]

        def loss(q: float) -> float:
            return math.fsum(n * kl(mean, kappa * q) for n, mean, kappa in kept)

        low, high = 1e-9, 1 - 1e-9
        for _ in range(60):  # the loss is convex
            left, right = low + (high - low) / 3, high - (high - low) / 3
            low, high = (low, right) if loss(left) <= loss(right) else (left, high)
        return 1.0 if loss(1 - 1e-12) <= budget else largest(lambda q: loss(q) <= budget, low, 1 - 1e-12)

    able = [item for item in range(ITEMS) if item not in leaders and level <= 1 and bound(item) >= level]
    if able and uniform(own, 0) < 0.5:
        best[2] = max(able, key=lambda item: branch(branch(own, 1), int(LABELS[item])))
    return best


def step_from(now: float, deviation: float, key: int) -> float:
    """A Gaussian step that ends between 0 and 1, from the random numbers that the policy uses."""
    numbers = (uniform(key, at) for at in range(1, 10_000))
    for first in numbers:
        second = next(numbers)
        if deviation >= 0.4:
            if second < math.exp(-(((first - now) / deviation) ** 2) / 2):
                return first
        else:
            then = now + deviation * math.sqrt(-2 * math.log(1 - first)) * math.cos(2 * math.pi * second)
            if 0 < then < 1:
                return then
    raise AssertionError("no step ends between 0 and 1")


def walk(scale: float, sweeps: int) -> Rule:
    """PB-MHB: Metropolis and Hastings' rule with the density of the whole posterior, and that of both steps."""
    drawn: list[tuple[Floats, Floats]] = []

    def rule(seen: Observations, t: int, key: int) -> list[int]:
        counts = np.full((ITEMS, POSITIONS, 2), 0.5)  # displays without a click, and clicks
        for item, at, click in seen:
            counts[item, at, click] += 1
        own, deviation = branch(key, -1), scale / math.sqrt(t)
        first = branch(own, -2)
        if t == 1:
            theta = np.array([1 - uniform(first, int(label)) for label in LABELS])
            kappa = np.array([1.0, *(1 - uniform(branch(first, -2), at) for at in range(1, POSITIONS))])
        else:
            theta, kappa = (values.copy() for values in drawn[t - 2])

        def posterior() -> float:
            chance = np.outer(theta, kappa)
            return float((counts[..., 1] * np.log(chance) + counts[..., 0] * np.log1p(-chance)).sum())

        def density(start: float, end: float) -> float:
            bell = NormalDist(start, deviation)
            return math.log(bell.pdf(end)) - math.log(bell.cdf(1.0) - bell.cdf(0.0))

        for sweep in range(sweeps):
            moves = [(theta, item, branch(branch(branch(own, sweep), 0), int(LABELS[item]))) for item in range(ITEMS)]
            moves += [(kappa, at, branch(branch(branch(own, sweep), 1), at)) for at in range(1, POSITIONS)]
            for values, at, its in moves:
                now, before = float(values[at]), posterior()
                values[at] = then = step_from(now, deviation, its)
                gain = posterior() - before + density(then, now) - density(now, then)
                if math.log(1 - uniform(its, 0)) >= gain:
                    values[at] = now
        drawn.append((theta, kappa))
        best = ranked(dict(enumerate(theta.tolist())), key)
        shown = [0] * POSITIONS
        for rank, at in enumerate(sorted(range(POSITIONS), key=lambda at: -kappa[at])):
            shown[at] = best[rank]
        return shown

    return rule


def lin_ts_cascade(seen: Observations, t: int, key: int) -> list[int]:
    gram, total = np.eye(FEATURES), np.zeros(FEATURES)
    for item, _, click in seen:
        gram += np.outer(ROWS[item], ROWS[item])
        total += click * ROWS[item]
    drawn = branch(key, -1)
    z = [
        math.sqrt(-2 * math.log(1 - uniform(drawn, 2 * i))) * math.cos(2 * math.pi * uniform(drawn, 2 * i + 1))
        for i in range(FEATURES)
    ]
    width = 3 * 0.25 * math.sqrt(FEATURES * math.log(t)) * math.sqrt(POSITIONS)
    theta = np.linalg.solve(gram, total) + width * np.linalg.solve(np.linalg.cholesky(gram).T, z)
    return ranked({item: float(ROWS[item] @ theta) if t > 1 else 0.0 for item in range(ITEMS)}, key)


RULES: dict[str, Rule] = {
    "cascade-ucb-v": ucb_v,
    "ts-cascade": ts_cascade,
    "cascade-ts": beta_ts,
    "cascade-moss": by_budget(moss_budget, moss_index, STEPS),
    f"cascade-moss{UNKNOWN}": by_budget(moss_budget, moss_index, None),
    "cascade-kl-ucb-plus-plus": by_budget(plus_plus_budget, kl_index, STEPS),
    f"cascade-kl-ucb-plus-plus{UNKNOWN}": by_budget(plus_plus_budget, kl_index, None),
    f"pbm-pie(examination={EXAMINATION})": pie,
    f"pbm-pie(examination={EXAMINATION}){UNKNOWN}": pie_unknown,
    "lin-ts-cascade": lin_ts_cascade,
    "pb-mhb": walk(1000.0, 1),
    "pb-mhb(scale=2, sweeps=2)": walk(2.0, 2),
}


@pytest.mark.parametrize("name", RULES)
def test_lists_are_those_of_the_plain_rule(name: str) -> None:
    """Every list of a run, the clicks of some of which arrive three lists late."""
    known = not name.endswith(UNKNOWN)
    policy = make(name.removesuffix(UNKNOWN))
    features = FEATURES if policy.capabilities().needs_features else 0
    problem = Problem(ITEMS, POSITIONS, features, STEPS if known else None)
    policy = policy.prepare(problem)
    belief, cache, page = policy.begin(problem), policy.scratch(problem), empty_page(POSITIONS)
    seen: Observations = []
    rng, shown = np.random.default_rng(5), set()
    waiting: list[tuple[Any, Ints]] = []
    learned = 0
    for number in range(STEPS):
        key, slate = branch(11, number), policy.slate(problem)
        rows: Floats = ROWS if features else np.zeros((ITEMS, 0))
        policy.rank(belief, cache, Request(np.arange(ITEMS), POSITIONS, NONE, NONE, rows, 0, LABELS, key), slate)
        assert slate.items.tolist() == RULES[name](seen, learned + 1, key)[:POSITIONS], f"list {number}"
        shown.add(tuple(slate.items.tolist()))
        attracted = (rng.random(POSITIONS) < ATTRACTION[slate.items]).astype(np.int64)
        if name.startswith("pb"):
            clicks = attracted * (rng.random(POSITIONS) < EXAMINATION)
        else:  # on every third list visitors go on after a click, which a cascade reading does not see
            clicks = attracted * ((np.cumsum(attracted) == 1) | (number % 3 == 0))
        waiting.append((slate, clicks))
        while len(waiting) > (3 if number % 50 < 10 else 0):
            given, clicks = waiting.pop(0)
            page.clicks[:], page.left[0], page.seen[:] = clicks, 0, -1.0
            policy.learn(belief, given, page)
            learned += 1
            examined = int(np.argmax(clicks)) + 1 if clicks.any() and not name.startswith("pb") else POSITIONS
            seen += [(int(given.items[at]), at, int(clicks[at])) for at in range(examined)]
    assert len(shown) > 10  # it explores


@pytest.mark.parametrize("text", PUBLISHED)
def test_defaults_are_the_published_parameters(text: str) -> None:
    assert repr(make(text.partition("(")[0])) == repr(make(text))


def test_lists_of_beta_ts_are_as_frequent_as_those_of_numpys_posteriors() -> None:
    """10,000 lists after the same clicks, against the distributions Beta(1 + clicks, 1 + refusals) of NumPy."""
    problem, rng = Problem(3, 2), np.random.default_rng(2)
    policy = make("cascade-ts").prepare(problem)
    belief, cache, page, slate = policy.begin(problem), policy.scratch(problem), empty_page(2), policy.slate(problem)
    outcomes = np.ones((3, 2))  # refusals and clicks, with one of each as the prior
    history = [((1, 2), (0, 1)), ((1, 2), (0, 0)), ((2, 1), (0, 1)), ((2, 1), (1, 0)), ((1, 2), (0, 0))]
    for items, clicks in 2 * history:  # item 0 stays new
        slate.items[:], slate.size[0] = items, 2
        page.clicks[:], page.left[0], page.seen[:] = clicks, 0, -1.0
        policy.learn(belief, slate, page)
        for item, click in zip(items[: clicks.index(1) + 1 if any(clicks) else 2], clicks, strict=False):
            outcomes[item, click] += 1
    shown, lists = Counter[tuple[int, ...]](), 10_000
    for number in range(lists):
        request = Request(np.arange(3), 2, NONE, NONE, np.zeros((3, 0)), 0, LABELS[:3], branch(5, number))
        policy.rank(belief, cache, request, slate)
        shown[tuple(slate.items.tolist())] += 1
    drawn = np.argsort(-rng.beta(outcomes[:, 1], outcomes[:, 0], (400_000, 3)), axis=1)[:, :2]
    for items in itertools.permutations(range(3), 2):
        wanted = float((drawn == items).all(axis=1).mean())
        assert abs(shown[items] / lists - wanted) < 4 * math.sqrt(wanted * (1 - wanted) / lists), items


@pytest.mark.parametrize("learned", [0, 1, 9, 1000])
def test_the_deviation_of_ts_cascade_is_that_of_the_paper(learned: int) -> None:
    """For the next list t: an off-by-one of t rarely changes a list."""
    problem = Problem(ITEMS, POSITIONS)
    policy = make("ts-cascade").prepare(problem)
    belief = policy.begin(problem)
    belief.clock[0], belief.examined[:], belief.clicked[:] = learned, np.arange(ITEMS), np.arange(ITEMS) // 2
    mean, deviation = policy.scoring.lines(belief, np.arange(ITEMS))
    for item in range(ITEMS):
        rate = (item // 2) / item if item else 0.0
        each = math.log(learned + 2) / (item + 1)
        assert (mean[item], deviation[item]) == pytest.approx((rate, max(math.sqrt(rate * (1 - rate) * each), each)))


@pytest.mark.parametrize("name", ["cascade-moss", "cascade-kl-ucb-plus-plus", "pbm-pie"])
def test_a_number_of_lists_that_cannot_be_is_refused(name: str) -> None:
    for given in ("'many'", "-1"):
        with pytest.raises(toplist.InvalidInput, match="steps is"):
            make(f"{name}(steps={given})").prepare(Problem(ITEMS, POSITIONS))


def test_parameters_are_prepared_once() -> None:
    """A prepared policy can be prepared again, as a ranker that is loaded does."""
    for name in RULES:
        for steps in (STEPS, None):
            problem = Problem(ITEMS, POSITIONS, FEATURES, steps)
            once = make(name.removesuffix(UNKNOWN)).prepare(problem)
            assert repr(once.prepare(problem)) == repr(once)


def test_the_series_of_the_error_function_is_exact_where_it_is_used() -> None:
    for x in np.linspace(1e-3, NARROW, 50).tolist():
        assert 2.0 / math.sqrt(math.pi) * x * erf_series(x * x) == pytest.approx(math.erf(x), rel=1e-14)


def test_the_walk_of_pb_mhb_follows_the_posterior() -> None:
    """Means of 6,000 sweeps against a numerical integral; their standard errors are about 0.005."""
    problem, counts = Problem(2, 2), {"clicked": [5.0, 1.0, 2.0, 1.0], "missed": [4.0, 6.0, 9.0, 3.0]}
    policy = make("pb-mhb").prepare(problem)
    belief, cache = policy.begin(problem), policy.scratch(problem)
    belief.clicked[:], belief.missed[:], belief.clock[0] = counts["clicked"], counts["missed"], 10.0
    request = Request(np.arange(2), 2, NONE, NONE, np.zeros((2, 0)), 0, np.arange(2), 0)
    walked = []
    for number in range(6000):
        walk_on(belief, cache, request._replace(key=branch(3, number)), 1.0 if number % 2 else 1000.0, 1)
        belief.theta[:], belief.kappa[:] = cache.theta, cache.kappa
        walked.append([*cache.theta, cache.kappa[1]])
    grid = (np.arange(60) + 0.5) / 60
    chance = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"))
    log = np.zeros(chance.shape[1:])
    for item in range(2):
        for at, kappa in enumerate((1.0, chance[2])):
            clicks, missed = (counts[name][2 * item + at] + 0.5 for name in ("clicked", "missed"))
            log += clicks * np.log(chance[item] * kappa) + missed * np.log1p(-chance[item] * kappa)
    weight = np.exp(log - log.max())
    means = [(weight * values).sum() / weight.sum() for values in chance]
    assert np.mean(walked, axis=0) == pytest.approx(means, abs=0.02)


def neighbours(leader: tuple[int, ...], rate: Floats) -> list[tuple[int, ...]]:
    """The lists one exchange away from a leader."""
    order = sorted(range(POSITIONS), key=lambda at: -rate[leader[at], at])
    found = []
    for one, two in itertools.pairwise(order):
        swapped = list(leader)
        swapped[one], swapped[two] = leader[two], leader[one]
        found.append(tuple(swapped))
    for item in set(range(ITEMS)) - set(leader):
        replaced = list(leader)
        replaced[order[-1]] = item
        found.append(tuple(replaced))
    return found


@pytest.mark.parametrize("known", [True, False])
def test_lists_of_grab_are_those_of_the_plain_rule(known: bool) -> None:
    """The leader is one of the best assignments by trying all; the rest follows from it list by list."""
    problem = Problem(ITEMS, POSITIONS, 0, STEPS if known else None)
    policy = make("grab(period=4)").prepare(problem)
    belief, cache, page = policy.begin(problem), policy.scratch(problem), empty_page(POSITIONS)
    rng, led, unlike_leader = np.random.default_rng(6), Counter[tuple[int, ...]](), 0
    shown, clicked = np.zeros((ITEMS, POSITIONS)), np.zeros((ITEMS, POSITIONS))
    for number in range(STEPS):
        key, slate = branch(12, number), policy.slate(problem)
        request = Request(np.arange(ITEMS), POSITIONS, NONE, NONE, np.zeros((ITEMS, 0)), 0, LABELS, key)
        policy.rank(belief, cache, request, slate)
        find_leader(belief, cache, request)
        leader = tuple(cache.leader.tolist())
        rate = np.divide(clicked, shown, out=np.zeros_like(shown), where=shown > 0)
        sums = [rate[list(items), range(POSITIONS)].sum() for items in itertools.permutations(range(ITEMS), POSITIONS)]
        assert rate[list(leader), range(POSITIONS)].sum() == pytest.approx(max(sums), abs=1e-12)
        upper, budget = np.ones((ITEMS, POSITIONS)), math.log(STEPS if known else number + 1)
        for item, at in itertools.product(range(ITEMS), range(POSITIONS)):
            if shown[item, at]:
                upper[item, at] = kl_index(rate[item, at], int(shown[item, at]), budget)
        value = {items: upper[list(items), range(POSITIONS)].sum() for items in [leader, *neighbours(leader, rate)]}
        best = {items for items in value if value[items] > max(value.values()) - 1e-9}
        if led[leader] % 4 > 0 and number > ITEMS:
            assert budget in cache.budget, f"list {number}"  # of the indices that were solved
        if led[leader] % 4 == 0 or leader in best:
            best = {leader}
        assert tuple(slate.items.tolist()) in best, f"list {number}"
        unlike_leader += tuple(slate.items.tolist()) != leader
        led[leader] += 1
        clicks = (rng.random(POSITIONS) < ATTRACTION[slate.items] * EXAMINATION).astype(np.int64)
        shown[slate.items, range(POSITIONS)] += 1
        clicked[slate.items, range(POSITIONS)] += clicks
        page.clicks[:], page.left[0], page.seen[:] = clicks, 0, -1.0
        policy.learn(belief, slate, page)
    assert unlike_leader > 50


@pytest.mark.parametrize("learned", [0, 1, 7, 1000])
def test_the_budget_of_pbm_pie_is_that_of_the_paper(learned: int) -> None:
    """(1 + epsilon) log n; n is the number of the next list where it is unknown, and epsilon is 0.01."""
    for steps, n in ((STEPS, STEPS), (None, learned + 1)):
        problem = Problem(ITEMS, POSITIONS, 0, steps)
        policy = make(f"pbm-pie(examination={EXAMINATION})").prepare(problem)
        belief, page = policy.begin(problem), empty_page(POSITIONS)
        page.clicks[:], page.left[0], page.seen[:] = 0, 0, -1.0
        slate = policy.slate(problem)
        slate.items[:], slate.size[0] = range(POSITIONS), POSITIONS
        for _ in range(learned):
            policy.learn(belief, slate, page)
        found = parsimonious_budget(belief, policy.scoring.epsilon, policy.scoring.steps)
        assert found == pytest.approx(1.01 * math.log(n), rel=1e-12)


def test_an_item_that_is_clearly_better_could_be_as_good() -> None:
    """Its bound is above the level, although the level itself is much less likely than its estimate."""
    problem = Problem(ITEMS, POSITIONS, 0, STEPS)
    policy = make(f"pbm-pie(examination={EXAMINATION})").prepare(problem)
    belief, slate = policy.begin(problem), policy.slate(problem)
    policy.sample(belief, 2, 1, 100.0, 1.0, slate)
    policy.sample(belief, 3, 1, 100.0, 0.0, slate)
    able = policy.scoring.contenders(belief, np.arange(ITEMS), 0.1)
    assert able.tolist() == [True, True, True, False, True, True, True]
