"""Thompson sampling over counts: draws follow the posterior, and lazy lists are those of drawing for everything."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import toplist.core.protocols  # noqa: F401  registers the methods of parts with the compiler
from toplist.core.beliefs import BLOCK, MANY, ItemRows
from toplist.core.compiling import compiled, helper
from toplist.core.problem import Problem
from toplist.core.randomness import branch, toss
from toplist.core.slate import NONE, Floats, Ints, Request, empty_slate
from toplist.parts.detectors import CUSUM
from toplist.parts.index import BetaPosterior
from toplist.parts.index.beta_draw import (
    CERTAIN,
    FAR,
    NEAR,
    beta_limit,
    beta_tail,
    draw_beta,
    draw_to_level,
    shrinking_limit,
)
from toplist.parts.index.draw_numbers import TO_UNIT, as_number, number_of, top_bits
from toplist.parts.index.draw_race import (
    CHUNKS,
    Weights,
    add_up,
    block_race,
    item_level,
    item_weight,
    level_start,
    number_in_race,
)
from toplist.parts.index.lazy_draws import LazyDraws
from toplist.parts.index.select import select
from toplist.parts.index.thompson import draw_everything
from toplist.parts.memory import Discounted, Everything, Resetting, Window

COUNTS = [
    (0.0, 0.0), (0.0, 1.0), (3.0, 0.0), (1.0, 1.0), (2.0, 2.5), (0.3, 0.2), (1e-3, 1e-3), (1e-8, 2e-8), (1e-10, 3.0),
    (7.5, 1e-9), (0.02, 40.0), (3.0, 900.0), (400.0, 4.0), (80.0, 120.0), (0.5, 1e6), (1e6, 0.1), (1e9, 0.0),
    (0.0, 1e9), (3.0, 1e9), (1e9, 2.0), (5e8, 5e8), (2e7, 9.8e8),
]  # fmt: skip


@compiled
def fill_draws(clicks: float, refusals: float, reach: float, key: int, drawn: Floats) -> None:
    """Fill draws from one posterior."""
    tail = beta_tail(clicks, refusals, reach)
    for i in range(len(drawn)):
        own = branch(key, i)
        drawn[i] = draw_beta(clicks, refusals, tail, as_number(top_bits(own)), own)


@pytest.mark.parametrize("reach", [NEAR, FAR])
@pytest.mark.parametrize(("clicks", "refusals"), COUNTS)
def test_draws_follow_the_posterior(clicks: float, refusals: float, reach: float) -> None:
    """80,000 draws against SciPy's distribution, by Kolmogorov and Smirnov, all of them and the upper tail alone."""
    drawn = np.zeros(80_000)
    fill_draws(clicks, refusals, reach, branch(3, 1), drawn)
    posterior = stats.beta(1.0 + clicks, 1.0 + refusals)
    assert 0.0 <= drawn.min() <= drawn.max() <= 1.0
    assert stats.kstest(drawn, posterior.cdf).pvalue > 1e-3
    tail = drawn[drawn > posterior.isf(0.02)]
    assert abs(len(tail) - 1600) < 4 * np.sqrt(1600)
    assert stats.kstest(posterior.sf(tail) / 0.02, "uniform").pvalue > 1e-3


def test_the_envelope_is_above_the_tail_and_no_more_than_all() -> None:
    for (clicks, refusals), reach in product(COUNTS, (NEAR, FAR)):
        tail, posterior = beta_tail(clicks, refusals, reach), stats.beta(1.0 + clicks, 1.0 + refusals)
        assert 0.0 < tail.mass <= 1.0
        if tail.start > 0.0:
            assert posterior.sf(tail.start) <= tail.mass * (1.0 + 1e-5) <= 0.4
            assert clicks / (clicks + refusals) < tail.start < 1.0


@compiled
def reached(clicks: float, refusals: float, limit: int, level: float, key: int, tries: int) -> int:
    """How many numbers at or above a limit lead to a draw that reaches the level."""
    tail, wrong = beta_tail(clicks, refusals), 0
    for i in range(tries):
        own = branch(key, i)
        # Half of the numbers lie right above the limit.
        bits = limit + top_bits(own) % (1 + (CERTAIN - limit) // (1 << 20 if i % 2 else 1))
        if bits < CERTAIN and draw_beta(clicks, refusals, tail, as_number(bits), own) >= level:
            wrong += 1
    return wrong


def test_no_number_above_its_limit_leads_to_a_draw_that_reaches_the_level() -> None:
    random = np.random.default_rng(4)
    settled = 0
    for case in range(400):
        clicks, refusals = 10.0 ** random.uniform(-4, 5, 2) * (random.random(2) > 0.1)
        level = float(stats.beta(1.0 + clicks, 1.0 + refusals).isf(10.0 ** random.uniform(-6, 0)))
        limit = beta_limit(beta_tail(clicks, refusals), level)
        settled += limit < CERTAIN
        assert reached(clicks, refusals, min(limit, CERTAIN), level, branch(9, case), 500) == 0
        shrink = float(random.uniform(0.8, 1.0))
        limit = min(shrinking_limit(clicks, refusals, level, shrink), CERTAIN)
        for s in (1.0, 0.5 + 0.5 * shrink, shrink):
            assert reached(s * clicks, s * refusals, limit, level, branch(11, case), 500) == 0
    assert settled > 200


def test_numbers_of_items_in_blocks_are_uniform_and_independent() -> None:
    """The numbers of two items of a block and of one of another, and the least of a block, over 20,000 lists."""
    lists, items = 20_000, [3, 90, BLOCK + 3]
    numbers = np.array([[number_of(branch(2, n), True, item, 1000 + item) for item in items] for n in range(lists)])
    for column in numbers.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3
    # Pairs over a grid of 8 x 8: the correlation alone would not show that both avoid the least number.
    for one, other in ((0, 1), (0, 2)):
        table = np.histogram2d(numbers[:, one], numbers[:, other], bins=8, range=[[0, 1], [0, 1]])[0]
        assert stats.chisquare(table.ravel()).pvalue > 1e-3
    least = np.array([min(number_of(branch(2, n), True, i, 1000 + i) for i in range(BLOCK)) for n in range(300)])
    assert stats.kstest(1.0 - (1.0 - least) ** BLOCK, "uniform").pvalue > 1e-3


@compiled
def fill_race_numbers(weights: Weights, sums: Ints, labels: Ints, key: int, numbers: Floats) -> None:
    """Fill the numbers of some items of a block for many lists."""
    add_up(weights, sums)
    for n in range(len(numbers)):
        own = branch(key, n)
        race = block_race(weights, sums, branch(own, -7))
        for i in range(numbers.shape[1]):
            inside = labels[i]
            numbers[n, i] = number_in_race(race, inside, int(weights[inside]), top_bits(branch(own, inside)))


def test_numbers_of_a_race_are_uniform_and_independent_whatever_the_weights() -> None:
    """Items with large, small, equal and no weights, over 60,000 lists; together and in pairs, which often win."""
    weights = np.ones(BLOCK, dtype=np.int16)
    weights[[3, 4, 90]], weights[5] = [9000, 3000, 9000], 0
    numbers = np.zeros((60_000, 5))
    fill_race_numbers(weights, np.zeros(CHUNKS, dtype=np.int64), np.array([3, 4, 90, 5, 17]), branch(2, 1), numbers)
    for column in numbers.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3
    for one, other in ((0, 1), (0, 2), (1, 4), (2, 3)):
        table = np.histogram2d(numbers[:, one], numbers[:, other], bins=8, range=[[0, 1], [0, 1]])[0]
        assert stats.chisquare(table.ravel()).pvalue > 1e-3
    times = -np.log1p(-numbers[:, :3]) / weights[[3, 4, 90]]  # the first of a race
    assert stats.kstest(times.min(axis=1) * 21_000, "expon").pvalue > 1e-3
    assert abs(np.mean(times.argmin(axis=1) == 1) - 1 / 7) < 0.006


def test_a_race_with_one_runner_or_none() -> None:
    weights, numbers = np.zeros(BLOCK, dtype=np.int16), np.zeros((5000, 2))
    for weight in (0, 5):
        weights[BLOCK - 1] = weight
        fill_race_numbers(
            weights, np.zeros(CHUNKS, dtype=np.int64), np.array([BLOCK - 1, 0]), branch(4, weight), numbers
        )
        assert stats.kstest(numbers[:, 0], "uniform").pvalue > 1e-3
        assert stats.kstest(numbers[:, 1], "uniform").pvalue > 1e-3


def test_weights_are_in_proportion_to_chances_at_the_level_of_a_block() -> None:
    """The likeliest item has a chance of at most 1 in 16 there, and of at least 1 in 16 one level below."""
    for clicks, refusals in COUNTS:
        tail = beta_tail(clicks, refusals)
        level = item_level(tail)
        assert 1 <= item_weight(tail, level) <= item_weight(tail, max(level - 1, 0)) <= 32_767
        assert level == 0 or item_weight(tail, level - 1) > 32_000
    tails = [beta_tail(clicks, 4 * clicks) for clicks in (9.0, 5.0)]
    level = item_level(tails[1])
    narrow, wide = (item_weight(tail, level) for tail in tails)
    chance = [beta_limit(tail, level_start(level)) for tail in tails]
    assert narrow / wide == pytest.approx(chance[0] / chance[1], rel=0.1)


class Scene:
    """An index with its cache, a memory that learns from clicks, and candidates of which some are absent at times."""

    def __init__(self, memory: Any, items: int, positions: int, spread: float = 0.3) -> None:
        problem = Problem(items, positions)
        random = np.random.default_rng(items)
        self.index, self.memory = BetaPosterior().prepare(problem), memory.prepare(problem)
        self.belief, self.cache = self.memory.begin(problem), self.index.scratch(problem)
        self.layout = ItemRows.of(self.memory, problem)
        self.attraction = 0.05 + spread * random.random(items) ** 2
        self.labels = random.integers(-(2**62), 2**62, items)
        self.slate = empty_slate(positions)
        eligible, self.present = random.random(items) < 0.9, random.random(items) < 0.9
        self.all, self.some = np.arange(items), np.flatnonzero(eligible)
        self.exceptions = np.flatnonzero(eligible != self.present)
        self.listed = self.some[~self.present[self.some]]  # of these candidates

    def differences(self, first: int, last: int) -> int:
        request = Request(
            self.all, len(self.slate.items), NONE, NONE, np.zeros((0, 0)), 0, self.labels, 0, self.present
        )
        dense = request._replace(exceptions=self.exceptions)
        return compare_lists(
            self.index, self.memory, self.belief, self.cache, request,
            (request._replace(candidates=self.some, exceptions=self.listed), dense, dense), self.attraction, self.slate,
            np.zeros(len(self.slate.items), dtype=np.int64), np.zeros((2, len(self.slate.items))), first, last,
        )  # fmt: skip


@helper
def with_key(asked: Request, key: int) -> Request:
    """The same request for another list."""
    return Request(
        asked.candidates, asked.positions, asked.pins, asked.order, asked.features, 0, asked.labels, key, asked.present,
        asked.exceptions,
    )  # fmt: skip


@compiled
def compare_lists(
    index: Any, memory: Any, belief: Any, cache: LazyDraws, all_items: Request, some: tuple[Request, Request, Request],
    attraction: Floats, slate: Any, again: Ints, scores: Floats, first: int, last: int,
) -> int:  # fmt: skip
    """Learn from lazy lists, and count those that differ from the lists of drawing for everything."""
    wrong, positions = 0, len(again)
    for step in range(first, last):
        key = branch(5, step)
        asked = some[step // 8 % 3] if step % 8 == 7 else all_items  # the same items, listed or by exceptions
        flat = some[0] if step % 8 == 7 else all_items
        index.top(belief, cache, with_key(asked, key), slate.items, scores[0])
        found = draw_everything(belief, cache, with_key(flat, key), branch(key, -1))
        select(cache.value, flat.candidates, found, flat.labels, key, again, scores[1])
        same = True
        for place in range(positions):
            same = same and slate.items[place] == again[place] and scores[0, place] == scores[1, place]
        wrong += 0 if same else 1
        memory.tick(belief)
        for place in range(positions):
            item = slate.items[place]
            clicked = toss(branch(6, step), item, attraction[item])
            memory.add(belief, item, 1.0 if step % 3 else 0.4, 1.0 if clicked else 0.0, slate, place)
        memory.conclude(belief)
    return wrong


@compiled
def make_list(index: Any, belief: Any, cache: LazyDraws, request: Request, chosen: Ints, scores: Floats) -> None:
    """Make one list."""
    index.top(belief, cache, request, chosen, scores)


MEMORIES = {
    "everything": Everything(),
    "a prior": Everything(prior_mean=0.2, prior_strength=3.0),
    "discounted": Discounted(0.995),
    "soon forgotten": Discounted(0.7),
    "a window": Window(300),
    "resetting": Resetting(CUSUM()),
}
PROBLEMS = [(9, 5, 0.5), (16, 4, 0.5), (40, 10, 0.3), (60, 1, 0.3), (100, 10, 0.9), (300, 10, 0.1)]


@pytest.mark.parametrize(("items", "positions", "spread"), PROBLEMS)
def test_lists_are_those_of_drawing_for_everything(items: int, positions: int, spread: float) -> None:
    """List for list over 40,000 steps, with far fewer draws."""
    scene = Scene(Everything(), items, positions, spread)
    assert scene.differences(0, 40_000) == 0
    assert scene.cache.drawn[0] < 40_000 * (12 + 2.5 * positions)  # more at the beginning than later


@pytest.mark.parametrize("name", MEMORIES)
@pytest.mark.parametrize(("items", "steps"), [(200, 20_000), (MANY + 3 * BLOCK + 5, 600)])
def test_lists_of_every_memory_are_those_of_drawing_for_everything(name: str, items: int, steps: int) -> None:
    scene = Scene(MEMORIES[name], items, 6)
    for part in range(4):
        assert scene.differences(part * steps // 4, (part + 1) * steps // 4) == 0
        scene.layout.forget(scene.belief, 7 + part)  # another item takes its place
        scene.labels[7 + part] += 1
    draws = scene.cache.drawn[0] - (items if items > MANY else 0)
    assert draws < steps * items / (4 if items < MANY else 20)


def test_blocks_stay_closed_for_most_numbers() -> None:
    """Of 100,000 items, of which all were clicked differently, a list draws for a few."""
    scene = Scene(Everything(), 100_000, 10)
    random = np.random.default_rng(8)
    scene.belief.examined[:] = random.integers(20, 400, 100_000)
    scene.belief.clicked[:] = np.floor(0.3 * random.random(100_000) * scene.belief.examined)
    assert scene.differences(0, 40) == 0
    before = int(scene.cache.drawn[0])
    assert scene.differences(40, 100) == 0
    assert scene.cache.drawn[0] - before < 60 * 200
    blocks = scene.cache.blocks
    assert np.mean(blocks.limit * TO_UNIT) < 0.3
    assert len(set(blocks.weight[:BLOCK].tolist())) > 10
    assert np.array_equal(blocks.weight[: len(scene.all)] > 0, scene.present)


def test_lists_do_not_depend_on_what_was_computed_before() -> None:
    """Weights, levels and tails that follow single observations are those of a new cache."""
    scene = Scene(Everything(), MANY + 40, 5)
    random = np.random.default_rng(3)
    for part in range(12):
        assert scene.differences(40 * part, 40 * (part + 1)) == 0
        some = random.integers(0, MANY, 20).tolist()
        scene.layout.forget(scene.belief, some[:5])
        scene.present[some[5:10]] ^= True
        scene.belief.examined[some[10:]] += 30.0
        scene.belief.clicked[some[10:]] += random.integers(0, 30, 10)
        scene.layout.touch(scene.belief, some)
        old, scene.cache = scene.cache, scene.index.scratch(Problem(MANY + 40, 5))
        key, lists = branch(31, part), []
        for cache in (old, scene.cache):
            request = Request(scene.all, 5, NONE, NONE, np.zeros((0, 0)), 0, scene.labels, key, scene.present, NONE)
            make_list(scene.index, scene.belief, cache, request, scene.slate.items, np.zeros(5))
            lists.append(scene.slate.items.tolist())
        assert lists[0] == lists[1]
        for one, other in ((old.blocks.weight, scene.cache.blocks.weight), (old.start, scene.cache.start)):
            assert np.array_equal(one, other)
        scene.cache = old


def test_draws_that_reach_the_level_are_those_without_one() -> None:
    random = np.random.default_rng(6)
    reached = 0
    for case in range(3000):
        clicks, refusals = 10.0 ** random.uniform(-2, 3, 2) * (random.random(2) > 0.1)
        tail, own = beta_tail(clicks, refusals), branch(13, case)
        level = float(random.uniform(0.0, 1.0))
        exact = draw_beta(clicks, refusals, tail, as_number(top_bits(own)), own)
        drawn = draw_to_level(clicks, refusals, tail, as_number(top_bits(own)), own, level)
        assert drawn == exact if exact >= level else drawn < level
        reached += exact >= level
    assert 500 < reached < 2500


def test_a_stream_of_its_own_gives_other_draws() -> None:
    scene = Scene(Everything(), 50, 5)
    request = Request(scene.all, 5, NONE, NONE, np.zeros((50, 0)), 0, scene.labels, 12)
    lists = []
    for stream in (0, 0, 1):
        chosen, scores = np.zeros(5, dtype=np.int64), np.zeros(5)
        BetaPosterior(stream).top(scene.belief, scene.index.scratch(Problem(50, 5)), request, chosen, scores)
        lists.append(chosen.tolist())
    assert lists[0] == lists[1] != lists[2]
