"""KL-UCB's first lists: estimates within their errors, and the lists of solving everything."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toplist.clicks import Cascade
from toplist.core.compiling import compiled, is_machine_code
from toplist.core.problem import Problem
from toplist.core.randomness import branch
from toplist.core.slate import NONE, Floats, Request
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import OneSample
from toplist.parts.index.early_kl import (
    EARLY,
    LANES,
    choose_by_estimates,
    choose_early,
    early_scratch,
    fill_estimates,
)
from toplist.parts.index.few_keys import PLACES, WIDTH
from toplist.parts.index.kl_solver import exploration_budget, kl_upper
from toplist.parts.memory import Counts, Everything
from toplist.policies import make
from toplist.worlds import b_top_k

fill_compiled = compiled(fill_estimates)
choose_compiled = compiled(choose_by_estimates)
early_compiled = compiled(choose_early)


def counts_of(examined: Floats, clicked: Floats, lists: float = 5.0) -> Counts:
    belief = Everything().begin(Problem(len(examined), 1))
    belief.examined[:], belief.clicked[:], belief.clock[0] = examined, clicked, lists
    return belief


def request_of(items: int, key: int, first: int = 0) -> Request:
    labels = np.random.default_rng(items).permutation(items)
    return Request(np.arange(first, items), 1, NONE, NONE, np.zeros((1, 0)), 0, labels, key)


def by_rule(belief: Counts, request: Request, budget: float) -> list[int]:
    """All candidates, as indices and standings order them."""
    return sorted(
        request.candidates.tolist(),
        key=lambda slot: (
            kl_upper(float(belief.examined[slot]), float(belief.clicked[slot]), budget),
            branch(request.key, int(request.labels[slot])),
        ),
        reverse=True,
    )


def errors_and_doubts(examined: Floats, clicked: Floats, budget: float) -> tuple[Floats, Floats]:
    """Errors of the machine code's estimates, and their bounds."""
    scratch = early_scratch(Problem(LANES, 1))
    fill_compiled(examined, clicked, budget, scratch, 0)
    exact = [kl_upper(tries, hits, budget) for tries, hits in zip(examined.tolist(), clicked.tolist(), strict=True)]
    return np.abs(scratch.worth[: len(exact)] - exact), scratch.doubt[: len(exact)].astype(float)


@pytest.mark.parametrize("whole", [True, False])
def test_errors_of_estimates_are_at_most_two_thirds_of_their_bounds(whole: bool) -> None:
    """Over counts that early lists can have, and larger ones; the bounds are narrow where lists are early."""
    generator, narrow = np.random.default_rng(5 + whole), []
    for _ in range(2000):
        t = float(np.exp(generator.uniform(np.log(2.0), np.log(1e5))))
        examined = np.exp(generator.uniform(0.0, np.log(4.0 * t), LANES))
        clicked = examined * generator.random(LANES) * generator.choice([0.01, 0.1, 0.3, 1.0])
        if whole:
            examined, clicked = np.floor(examined), np.minimum(np.floor(clicked), np.floor(examined))
        error, doubt = errors_and_doubts(examined, clicked, exploration_budget(t, 3.0))
        assert (error <= doubt / 1.5).all()
        narrow.append(np.median(doubt))
    assert np.median(narrow) < 1e-6


def test_ends_of_the_range_are_exact() -> None:
    examined, clicked = np.array([0.0, 1.0, 7.0, 1e30]), np.array([0.0, 1.0, 7.0, 1e30])
    scratch = early_scratch(Problem(LANES, 1))
    fill_compiled(examined, clicked, 2.0, scratch, 0)
    assert scratch.worth[:4].tolist() == [np.inf, 1.0, 1.0, 1.0]
    assert scratch.doubt[:4].tolist() == [0.0] * 4


@given(
    st.lists(st.tuples(st.integers(0, 30), st.floats(0, 1)), min_size=WIDTH, max_size=PLACES),
    st.integers(1, WIDTH),
    st.floats(0.1, 30.0),
    st.integers(0, 2**62),
)
@settings(max_examples=300, deadline=None)
def test_lists_are_those_of_solving_everything(
    drawn: list[tuple[int, float]], wanted: int, budget: float, key: int
) -> None:
    """Unless they are left open: few clicks of few examinations are often equal counts."""
    examined = np.array([float(tries) for tries, _ in drawn])
    clicked = np.floor(examined * [share for _, share in drawn])
    belief, request = counts_of(examined, clicked), request_of(len(drawn), key)
    for choose in (choose_by_estimates, choose_compiled):
        chosen, scores = np.full(wanted, -1), np.zeros(wanted)
        with np.errstate(all="ignore"):  # machine code does not warn
            is_clear = choose(belief, early_scratch(Problem(PLACES, wanted)), request, budget, chosen, scores)
        if is_clear:
            assert chosen.tolist() == by_rule(belief, request, budget)[:wanted]


@pytest.mark.parametrize("items", [WIDTH, 10, LANES, 21, PLACES])
def test_nearly_all_lists_are_clear(items: int) -> None:
    generator, clear = np.random.default_rng(items), 0
    scratch = early_scratch(Problem(PLACES, WIDTH))
    for key in range(500):
        examined = np.floor(np.exp(generator.uniform(1.0, 6.0, items)))
        belief = counts_of(examined, np.floor(examined * generator.uniform(0.0, 0.4, items)))
        first, chosen, scores = key % 2 if items > WIDTH else 0, np.zeros(WIDTH, dtype=np.int64), np.zeros(WIDTH)
        request = request_of(items, key, first)
        if choose_compiled(belief, scratch, request, 12.0, chosen, scores):
            clear += 1
            assert chosen.tolist() == by_rule(belief, request, 12.0)[:WIDTH]
            index = [kl_upper(belief.examined[slot], belief.clicked[slot], 12.0) for slot in chosen]
            assert scores.tolist() == pytest.approx(index, abs=1e-4)
    assert clear >= 485


@pytest.mark.parametrize("place", [1, WIDTH - 1, WIDTH, WIDTH + 1])
def test_close_indices_of_different_counts_are_left_open(place: int) -> None:
    """Two items within the list, or the last one in it and another; a list without either of the two is clear."""
    examined, clicked = np.full(9, 50.0), np.array([30.0, 25.0, 20.0, 15.0, 10.0, 5.0, 3.0, 2.0, 1.0])
    scratch, chosen, scores = early_scratch(Problem(9, WIDTH)), np.zeros(WIDTH, dtype=np.int64), np.zeros(WIDTH)
    budget, aim = 9.0, kl_upper(50.0, clicked[place - 1], 9.0) - 1e-9
    low, high = 0.0, 80.0  # clicks among 80 for an index that is hardly smaller
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if kl_upper(80.0, middle, budget) < aim else (low, middle)
    assert choose_compiled(counts_of(examined, clicked), scratch, request_of(9, 3), budget, chosen, scores)
    assert chosen.tolist() == [0, 1, 2, 3]
    examined[place], clicked[place] = 80.0, low
    is_clear = choose_compiled(counts_of(examined, clicked), scratch, request_of(9, 3), budget, chosen, scores)
    assert is_clear == (place > WIDTH)


@pytest.mark.parametrize("budget", [1e-40, 1e-20, 1e-9, 1e-3, 60.0, 1e3, 1e20, 1e40])
def test_no_budget_gives_a_wrong_list(budget: float) -> None:
    generator = np.random.default_rng(1)
    scratch, chosen, scores = early_scratch(Problem(12, WIDTH)), np.zeros(WIDTH, dtype=np.int64), np.zeros(WIDTH)
    for key in range(100):
        examined = np.exp(generator.uniform(0.0, generator.choice([3.0, 100.0]), 12))
        belief, request = counts_of(examined, examined * generator.random(12)), request_of(12, key)
        if choose_compiled(belief, scratch, request, budget, chosen, scores):
            assert chosen.tolist() == by_rule(belief, request, budget)[:WIDTH]


def test_other_requests_and_later_lists_are_left_to_others() -> None:
    belief, request = counts_of(np.full(9, 50.0), np.arange(9.0)), request_of(9, 3)
    scratch, chosen, scores = early_scratch(Problem(9, 3)), np.zeros(3, dtype=np.int64), np.zeros(3)
    assert early_compiled(belief, scratch, request, 9.0, chosen, scores)
    assert chosen.tolist() == [8, 7, 6]
    assert not early_compiled(belief, scratch, request, 0.0, chosen, scores)
    for other in (
        request._replace(candidates=np.array([0, 2, 3, 4])), request._replace(exceptions=np.array([4])),
        request._replace(present=np.arange(9) != 4), request._replace(candidates=np.arange(2)),
    ):  # fmt: skip
        assert not early_compiled(belief, scratch, other, 9.0, chosen, scores)
    for problem in (Problem(PLACES + 1, 3), Problem(9, WIDTH + 1)):
        assert not early_compiled(belief, early_scratch(problem), request, 9.0, chosen, scores)
    belief.clock[0] = EARLY * 9 + 1.0
    assert not early_compiled(belief, scratch, request, 9.0, chosen, scores)
    assert not is_machine_code()  # so plain Python leaves all lists to others
    assert not choose_early(belief, scratch, request, 9.0, chosen, scores)


def test_first_lists_are_made_of_estimates() -> None:
    """Without them, 2.5 indices of a list would be solved."""
    setup = RunSetup.of(make("cascade-kl-ucb"), b_top_k(16, 4), Cascade(), OneSample(), 1000)
    player = Player(setup, 5, np.array([1000]))
    player.play(1000)
    assert player.cache.scoring.solves[0] < 200
