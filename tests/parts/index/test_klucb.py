"""KL-UCB: the solver against slow bisection, its bounds, and the lazy scan against solving everything."""

import math
from typing import Any, NamedTuple

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toplist.clicks import DCM, Cascade
from toplist.core.beliefs import array_bytes
from toplist.core.problem import Problem
from toplist.core.randomness import uniform
from toplist.core.slate import Floats, Ints, Request
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import NeverSeenFirst, OneSample
from toplist.parts.detectors import CUSUM
from toplist.parts.feedback import EveryPlace, ThroughFirstClick, ThroughLastClick
from toplist.parts.index import KLUCB
from toplist.parts.index.kl_solver import ROUNDING, exploration_budget, kl_bend, kl_slope, kl_upper
from toplist.parts.index.select import select
from toplist.parts.index.ucb1 import ScoreScratch, score_scratch
from toplist.parts.memory import Counts, Discounted, Everything, Resetting, Window
from toplist.policies import Policy, Ranked
from toplist.worlds import Fixed, b_top_k


def slow_upper(examined: float, clicked: float, budget: float, digits: int = 18) -> Any:
    """The same by bisection, from the definition."""
    with mpmath.workdps(digits + 10):
        mean, radius = mpmath.mpf(clicked) / examined, mpmath.mpf(budget) / examined
        if mean == 1:
            return mpmath.mpf(1)
        low, high = mean, mpmath.mpf(1)
        for _ in range(int(digits / math.log10(2.0)) + 1):
            q = (low + high) / 2
            divergence = (1 - mean) * mpmath.log((1 - mean) / (1 - q)) if q < 1 else mpmath.inf
            if mean > 0:
                divergence += mean * mpmath.log(mean / q)
            low, high = (q, high) if divergence <= radius else (low, q)
        return low


def is_index(examined: float, clicked: float, budget: float, found: float) -> bool:
    """Whether the index by its definition is within 1e-10 of a number: the divergence passes the radius there."""
    with mpmath.workdps(30):
        mean, radius = mpmath.mpf(clicked) / examined, mpmath.mpf(budget) / examined

        def divergence(q: Any) -> Any:
            one = mean * mpmath.log(mean / q) if mean > 0 else 0
            return one + ((1 - mean) * mpmath.log((1 - mean) / (1 - q)) if mean < 1 else 0)

        below, above = mpmath.mpf(found) - mpmath.mpf("1e-10"), mpmath.mpf(found) + mpmath.mpf("1e-10")
        is_not_too_large = below <= mean or (below <= 1 and divergence(below) <= radius)
        return bool(above >= mean and is_not_too_large and (above >= 1 or divergence(above) >= radius))


@pytest.mark.parametrize("wrong", [-2e-10, 2e-10])
@pytest.mark.parametrize(("examined", "clicked"), [(50, 5), (3, 0), (7, 7)])
def test_the_definition_tells_an_index_from_its_neighbours(examined: int, clicked: int, wrong: float) -> None:
    exact = float(slow_upper(examined, clicked, 2.0))
    assert is_index(examined, clicked, 2.0, exact)
    assert not is_index(examined, clicked, 2.0, exact + wrong)


COUNTS = (1, 2, 3, 7, 20, 137, 1000, 31_623, 10**6, 10**9)
MEANS = (0.0, 1e-9, 1e-6, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 0.99, 1 - 1e-6, 1.0)
TIMES = (1, 2, 3, 5, 20, 1000, 10**5, 10**7, 10**12)


@pytest.mark.parametrize("count", COUNTS)
def test_index_agrees_with_its_definition(count: int) -> None:
    for mean in MEANS:
        clicked = count * mean
        for t in TIMES:
            budget = exploration_budget(float(t), 3.0)
            found = kl_upper(float(count), clicked, budget)
            assert is_index(count, clicked, budget, found), (count, mean, t)


@given(st.floats(1e-3, 1e9), st.floats(0, 1), st.floats(0, 60))
@settings(max_examples=300, deadline=None)
def test_index_agrees_anywhere(count: float, mean: float, budget: float) -> None:
    found = kl_upper(count, count * mean, budget)
    assert is_index(count, count * mean, budget, found)


def test_index_of_whole_counts_and_clicks() -> None:
    for examined in range(1, 60):
        for clicked in range(examined + 1):
            found = kl_upper(float(examined), float(clicked), 7.5)
            assert is_index(examined, clicked, 7.5, found)


def test_index_is_a_pure_function_and_never_seen_is_above_everything() -> None:
    once = kl_upper(123.0, 17.0, 14.2)
    for other in ((1.0, 1.0, 3.0), (50.0, 0.0, 9.0), (1e9, 5.0, 30.0)):
        kl_upper(*other)
        assert kl_upper(123.0, 17.0, 14.2) == once
    assert kl_upper(0.0, 0.0, 5.0) == math.inf


def test_budget_takes_log_log_as_zero_until_log_exceeds_one() -> None:
    assert exploration_budget(1.0, 3.0) == 0.0
    assert exploration_budget(2.0, 3.0) == math.log(2)
    assert exploration_budget(100.0, 3.0) == math.log(100) + 3 * math.log(math.log(100))


@given(st.floats(1, 1e6), st.floats(0, 1), st.floats(0.01, 30), st.floats(0, 5) | st.floats(0, 1e-3))
@settings(max_examples=500)
def test_tangent_and_parabola_bound_the_index(count: float, mean: float, budget: float, more: float) -> None:
    clicked = count * mean
    before, after = kl_upper(count, clicked, budget), kl_upper(count, clicked, budget + more)
    slope, bend = kl_slope(count, clicked, before), kl_bend(count, clicked, before)
    assert after <= before + slope * more + ROUNDING / 10
    assert after >= before + slope * more - bend * more * more - ROUNDING / 10


@given(st.floats(1, 1e6), st.floats(0, 1), st.floats(0, 30), st.floats(0, 1000))
@settings(max_examples=500)
def test_tries_without_a_click_thin_the_index(count: float, mean: float, budget: float, tries: float) -> None:
    before = kl_upper(count, count * mean, budget)
    after = kl_upper(count + tries, count * mean, budget)
    assert after <= before + ROUNDING / 10
    assert after >= before * count / (count + tries) - ROUNDING / 10
    assert count / (count + tries) >= 1 - tries / count - 1e-15


@pytest.mark.parametrize(("count", "mean", "budget"), [(50, 0.1, 9.0), (1000, 0.6, 14.0), (3, 0.0, 5.0)])
def test_slope_and_bend_are_the_derivatives(count: float, mean: float, budget: float) -> None:
    with mpmath.workdps(50):
        here = slow_upper(count, count * mean, budget, digits=40)
        first = mpmath.diff(lambda c: slow_upper(count, count * mean, c, digits=40), budget, h=mpmath.mpf(10) ** -12)
        second = mpmath.diff(
            lambda c: slow_upper(count, count * mean, c, digits=40), budget, n=2, h=mpmath.mpf(10) ** -10
        )
    assert kl_slope(count, count * mean, float(here)) == pytest.approx(float(first), rel=1e-6)
    assert kl_bend(count, count * mean, float(here)) == pytest.approx(-float(second) / 2, rel=1e-6)


class SolveEverything(NamedTuple):
    """KL-UCB that solves every item at every list, for comparison."""

    loglog: float = 3.0

    def prepare(self, problem: Problem) -> "SolveEverything":
        return self

    def scratch(self, problem: Problem) -> ScoreScratch:
        return score_scratch(problem)

    def reads(self) -> str:
        return "counts"

    def top(self, belief: Counts, cache: ScoreScratch, request: Request, chosen: Ints, scores: Floats) -> None:
        budget = exploration_budget(belief.clock[0] + 1.0, self.loglog) * belief.unit[0]
        for i in range(len(request.candidates)):
            item = request.candidates[i]
            cache.score[i] = kl_upper(belief.examined[item], belief.clicked[item], budget)
        count = len(request.candidates)
        select(cache.score, request.candidates, count, request.labels, request.key, chosen, scores)


PROBLEMS: dict[str, tuple[Any, Any, Any, Any]] = {
    "table 1": (b_top_k(16, 4, 0.2, 0.15), Cascade(), ThroughFirstClick(), OneSample()),
    "small gap": (b_top_k(16, 8, 0.2, 0.075), Cascade(), ThroughFirstClick(), OneSample()),
    "nothing sampled": (b_top_k(32, 4, 0.2, 0.15), Cascade(), ThroughFirstClick(), NeverSeenFirst()),
    "several clicks": (b_top_k(64, 5, 0.4, 0.2), DCM(0.5), ThroughLastClick(), OneSample()),
    "all different": (
        Fixed([uniform(3, i) for i in range(100)], 10), DCM([0.9, 0.2] * 5), ThroughLastClick(), OneSample()
    ),
    "all equal": (Fixed([0.1] * 40, 6), Cascade(), ThroughFirstClick(), OneSample()),
    "certain and impossible": (Fixed([1.0, 0.0] * 8, 3), DCM(0.0), ThroughLastClick(), NeverSeenFirst()),
    "a thousand items": (b_top_k(1000, 10, 0.2, 0.15), Cascade(), ThroughFirstClick(), OneSample()),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_lazy_shows_exactly_the_lists_of_solving_everything(name: str) -> None:
    """Last lists and beliefs compared byte for byte at 50 checkpoints; other tests go list by list."""
    world, users, reading, start = PROBLEMS[name]
    steps = 10_000 if world.problem(None).items == 1000 else 50_000
    players = [
        Player(RunSetup.of(Policy(reading, Everything(), index), world, users, start, steps), 5, np.array([steps]))
        for index in (KLUCB(), SolveEverything())
    ]
    for until in range(steps // 50, steps + 1, steps // 50):
        for player in players:
            player.play(until)
        lazy, full = players
        assert lazy.run.slate.items.tolist() == full.run.slate.items.tolist()
        assert lazy.belief.examined.tobytes() == full.belief.examined.tobytes()
        assert lazy.belief.clicked.tobytes() == full.belief.clicked.tobytes()
        assert lazy.run.totals.tobytes() == full.run.totals.tobytes()
    solves = players[0].cache.scoring.solves[0] / steps
    assert solves < 1.5 * players[0].setup.problem.positions  # not by solving everything after all


HASTY = Resetting(CUSUM(0.5, 0.05, 5), "everything")  # alarms all the time


@pytest.mark.parametrize(
    "memory", [Discounted(0.999), Discounted(0.6), Window(500), HASTY, HASTY._replace(forgets="item")]
)
def test_lazy_shows_the_same_lists_whatever_is_forgotten(memory: Any) -> None:
    """Counts that shrink, budgets in a growing unit, and everything forgotten at once; list by list."""
    world, steps = Fixed([0.05 + 0.6 * uniform(9, item) for item in range(12)], 3), 1500
    players = [
        Player(
            RunSetup.of(Policy(ThroughFirstClick(), memory, index), world, Cascade(), OneSample(), steps),
            5,
            np.array([steps]),
            compiled=isinstance(index, KLUCB),  # as for its policies of the catalogue
        )
        for index in (KLUCB(), SolveEverything())
    ]
    for until in range(1, steps + 1):
        for player in players:
            player.play(until)
        assert players[0].run.slate.items.tolist() == players[1].run.slate.items.tolist()
    assert array_bytes(players[0].belief) == array_bytes(players[1].belief)
    assert getattr(players[0].belief, "found", [99])[0] > 20


@pytest.mark.parametrize(("items", "positions"), [(4, 4), (10, 10), (12, 3)])
def test_lazy_ranked_bandits_show_exactly_the_lists_of_solving_everything(items: int, positions: int) -> None:
    """Bandits of lower positions learn rarely shown arms many times between two rankings."""
    world = Fixed([0.05 + 0.6 * uniform(9, item) for item in range(items)], positions)
    for run in range(10):
        beliefs = []
        for index in (KLUCB(), SolveEverything()):
            policy = Ranked(EveryPlace(), Everything(), index)
            player = Player(RunSetup.of(policy, world, DCM(0.5), OneSample(), 2000), run, np.array([2000]))
            player.play(2000)
            beliefs.append(player.belief.examined.tobytes() + player.belief.clicked.tobytes())
        assert beliefs[0] == beliefs[1]


@pytest.mark.parametrize("seed", range(3))
def test_lazy_shows_the_same_lists_step_by_step_on_subsets(seed: int) -> None:
    """Eligible subsets, budgets that jump and fall, and counts that change without the cache."""
    rng = np.random.default_rng(seed)
    problem = Problem(30, 5)
    lazy, full = KLUCB().prepare(problem), SolveEverything()
    cache, room = lazy.scratch(problem), full.scratch(problem)
    belief = Everything().begin(problem)
    chosen, others, scores = np.zeros(5, dtype=np.int64), np.zeros(5, dtype=np.int64), np.zeros(5)
    nothing = np.zeros(0, dtype=np.int64)
    for step in range(1500):
        belief.clock[0] = max(0.0, belief.clock[0] + rng.integers(-3, 5)) if step % 50 else rng.integers(0, 10**6)
        some = np.sort(rng.choice(30, rng.integers(5, 31), replace=False))
        request = Request(some, 5, nothing, nothing, np.zeros((30, 0)), 0, np.arange(30), int(rng.integers(2**62)))
        lazy.top(belief, cache, request, chosen, scores)
        full.top(belief, room, request, others, scores)
        assert chosen.tolist() == others.tolist()
        # Several lists may be learned between two rankings, of these items or others.
        for item in [
            *chosen[: rng.integers(0, 6)],
            *rng.integers(0, 30, rng.integers(0, 3)).repeat(rng.integers(1, 9)),
        ]:
            belief.examined[item] += rng.choice([1.0, 0.25])
            belief.clicked[item] += float(rng.random() < 0.2)
        if step % 100 == 99:  # and a window has dropped some
            belief.examined[:5] = np.maximum(belief.examined[:5] - 3.0, belief.clicked[:5])
