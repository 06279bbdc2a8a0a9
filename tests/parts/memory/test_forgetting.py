"""Memories that forget, against sums over the whole history."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toplist.core.beliefs import ItemRows
from toplist.core.compiling import compiled
from toplist.core.problem import InvalidInput, Problem
from toplist.core.slate import NONE, Floats, Request, empty_slate
from toplist.parts.memory import Discounted, DiscountedRidge, Resetting, Ridge, Window, WindowedRidge
from toplist.parts.memory.discounted import LARGEST_UNIT
from toplist.policies import make

ITEMS, PLACES = 4, 3
PROBLEM = Problem(ITEMS, PLACES)


class Observation(NamedTuple):
    """One observation, or one free sample."""

    when: int  # lists learned, itself included; for a sample, those before it
    item: int
    weight: float
    value: float


observations = st.tuples(st.integers(0, ITEMS - 1), st.sampled_from([1.0, 0.3, 2.5]), st.sampled_from([0.0, 1.0, 0.4]))
events = st.one_of(
    st.tuples(st.just("learn"), st.lists(observations, max_size=PLACES)),
    st.tuples(st.just("sample"), observations),
    st.tuples(st.just("forget"), st.integers(0, ITEMS - 1)),
)


def live(memory: Any, happened: list[Any], check: Callable[[Any, list[Observation], int], None]) -> None:
    """Feed events to a memory, and compare it with the full history after each."""
    ready = memory.prepare(PROBLEM)
    belief, slate = ready.begin(PROBLEM), empty_slate(PLACES)
    layout = ItemRows.of(ready, PROBLEM)
    history: list[Observation] = []
    lists = 0
    for kind, what in happened:
        if kind == "learn":
            lists += 1
            ready.tick(belief)
            for item, weight, value in what:
                ready.add(belief, item, weight, value, slate, 0)
                history.append(Observation(lists, item, weight, value))
            ready.conclude(belief)
        elif kind == "sample":
            ready.add(belief, *what, slate, 0)
            history.append(Observation(lists, *what))
        else:
            layout.forget(belief, what)
            history = [each for each in history if each.item != what]
        check(belief, history, lists)


def totals(history: list[Observation], counts: list[float]) -> tuple[Floats, Floats]:
    """Per item the sums of weights and of values; `counts` has the discount of each list."""
    examined, clicked = np.zeros(ITEMS), np.zeros(ITEMS)
    for when, item, weight, value in history:
        examined[item] += counts[when] * weight
        clicked[item] += counts[when] * weight * value
    return examined, clicked


def agree(belief: Any, history: list[Observation], counts: list[float], clock: float) -> None:
    examined, clicked = totals(history, counts)
    np.testing.assert_allclose(belief.examined / belief.unit[0], examined, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(belief.clicked / belief.unit[0], clicked, rtol=1e-9, atol=1e-12)
    assert belief.clock[0] == pytest.approx(clock)


def discounts(gamma: float, lists: int) -> list[float]:
    return [gamma ** (lists - when) for when in range(lists + 1)]


@given(st.lists(events, max_size=30), st.sampled_from([0.3, 0.9, 0.999]))
def test_discounted_counts_are_the_discounted_history(happened: list[Any], gamma: float) -> None:
    def check(belief: Any, history: list[Observation], lists: int) -> None:
        agree(belief, history, discounts(gamma, lists), (1 - gamma**lists) / (1 - gamma))

    live(Discounted(gamma), happened, check)


def test_a_unit_that_grew_too_large_changes_nothing() -> None:
    """0.01 to the power of 100 leaves nothing of the first lists, and the unit was rescaled several times."""
    happened: list[Any] = [("learn", [(each % ITEMS, 1.0, 1.0)]) for each in range(100)]
    largest = 0.0

    def check(belief: Any, history: list[Observation], lists: int) -> None:
        nonlocal largest
        largest = max(largest, float(belief.unit[0]))
        agree(belief, history, discounts(0.01, lists), (1 - 0.01**lists) / 0.99)

    live(Discounted(0.01), happened, check)
    assert 1e10 < largest <= LARGEST_UNIT


def one_sample_each(happened: list[Any]) -> list[Any]:
    """The same events without further samples of an item, since all leave the window together."""
    kept, sampled = [], set()
    for kind, what in happened:
        if kind == "forget":
            sampled.discard(what)
        elif kind == "sample":
            if what[0] in sampled:
                continue
            sampled.add(what[0])
        kept.append((kind, what))
    return kept


@settings(max_examples=200)
@given(st.lists(events, max_size=40).map(one_sample_each), st.sampled_from([1, 2, 3, 7, 100]))
def test_a_window_has_the_observations_of_its_lists_and_no_others(happened: list[Any], tau: int) -> None:
    """Also where items leave and come back, and where the window is longer than the history."""

    def check(belief: Any, history: list[Observation], lists: int) -> None:
        inside = [each for each in history if each.when > lists - tau]
        gone = [item for item in range(ITEMS) if all(each.item != item for each in inside)]
        assert not belief.examined[gone].any()  # exactly 0: unseen items come first
        agree(belief, inside, [1.0] * (lists + 1), min(lists, tau))

    live(Window(tau), happened, check)


def test_samples_of_an_item_leave_the_window_with_the_last_of_them() -> None:
    learned: Any = ("learn", [])
    sample: Any = ("sample", (1, 1.0, 1.0))
    counts: list[float] = []
    live(Window(2), [sample, learned, sample, learned, learned], lambda belief, *_: counts.append(belief.examined[1]))
    assert counts == [1.0, 1.0, 2.0, 2.0, 0.0]


def test_doubling_updates_the_rates_at_every_power_of_2_and_keeps_the_counts() -> None:
    """li2019, section 4.3; tau is rounded down, and removed lists stay removed."""
    rates: list[tuple[float, float]] = []
    memories: list[Any] = [Discounted("doubling").prepare(PROBLEM), Window("doubling", longest=20).prepare(PROBLEM)]
    beliefs, slate = [memory.begin(PROBLEM) for memory in memories], empty_slate(PLACES)
    history: list[Observation] = []
    counts, oldest = [1.0], 1
    for lists in range(1, 201):
        for memory, belief in zip(memories, beliefs, strict=True):
            memory.tick(belief)
            memory.add(belief, lists % ITEMS, 1.0, float(lists % 3 == 0), slate, 0)
            memory.conclude(belief)
        n = 2 ** int(np.log2(lists))
        gamma = 1 - 1 / (4 * np.sqrt(n))
        tau = min(20, max(1, int(2 * np.sqrt(n * np.log(n)))))
        rates.append((float(beliefs[0].gamma[0]), float(beliefs[1].tau[0])))
        assert rates[-1] == pytest.approx((gamma, tau))
        counts = [count * gamma for count in counts] + [1.0]
        history.append(Observation(lists, lists % ITEMS, 1.0, float(lists % 3 == 0)))
        agree(beliefs[0], history, counts, sum(counts[1:]))
        oldest = max(oldest, lists - tau + 1)
        agree(beliefs[1], history, [float(when >= oldest) for when in range(lists + 1)], min(lists, tau))
    assert len(set(rates)) > 5


def test_rates_follow_the_paper_where_the_number_of_steps_is_known() -> None:
    problem = Problem(10, 3, steps=100_000)
    assert Discounted().prepare(problem).gamma == pytest.approx(1 - 1 / (4 * np.sqrt(1e5)))
    assert Window().prepare(problem).tau == int(2 * np.sqrt(1e5 * np.log(1e5)))
    assert Discounted(changes=10).prepare(problem).gamma == pytest.approx(1 - np.sqrt(10 / 1e5) / 4)
    assert Window(changes=10).prepare(problem).tau == int(2 * np.sqrt(1e5 * np.log(1e5) / 10))
    memories: tuple[Any, ...] = (Discounted(), Window())
    for memory in memories:
        ready = memory.prepare(problem)
        assert ready.prepare(problem) == ready
        unknown = memory.prepare(PROBLEM)
        assert (
            unknown.prepare(PROBLEM) == unknown == memory._replace(**{memory._fields[0]: "doubling"}).prepare(PROBLEM)
        )


@pytest.mark.parametrize(
    ("memory", "sentence"),
    [
        (Discounted(0.0), "Discounted's gamma is 0.0"),
        (Discounted(1.5), "Discounted's gamma is 1.5"),
        (Discounted("fast"), "'theory' or 'doubling'"),
        (Discounted(changes=0), "use Everything"),
        (Window(0), "Window's tau is 0"),
        (Window("long"), "'theory' or 'doubling'"),
        (Window(longest=0), "Window's longest is 0"),
        (Window(changes=1e4), "at most one per step"),
        (Resetting("glr"), "a detector, like GLR()"),
        (Resetting(forgets="all"), "'item' or 'everything'"),
    ],
)
def test_invalid_parameters_are_refused(memory: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory.prepare(Problem(10, 3, steps=1000))
    assert sentence in str(refused.value)


def test_the_indices_of_li2019_are_their_formulas() -> None:
    """x/0 is above everything; N is the number of lists, discounted or at most tau."""
    for name, widen, counts in (
        ("cascade-ducb(gamma=0.9)", 2.0, discounts(0.9, 12)),
        ("cascade-swucb(tau=5)", 1.0, [0.0] * 8 + [1.0] * 5),
    ):
        policy = make(name).prepare(PROBLEM)
        belief, slate = policy.begin(PROBLEM), empty_slate(PLACES)
        said = []
        for lists in range(12):
            policy.memory.tick(belief)
            item, value = lists % 3, float(lists % 2)
            policy.memory.add(belief, item, 1.0, value, slate, 0)
            policy.memory.conclude(belief)
            said.append(Observation(lists + 1, item, 1.0, value))
        candidates = np.arange(ITEMS)
        request = Request(candidates, PLACES, NONE, NONE, np.zeros((ITEMS, 0)), 0, candidates, 1)
        examined, clicked = totals(said, counts)
        lists_counted = sum(counts[1:])
        expected = clicked[:3] / examined[:3] + widen * np.sqrt(0.5 * np.log(lists_counted) / examined[:3])
        index = policy.scoring.exact(belief, request)
        np.testing.assert_allclose(index[:3], expected)
        assert index[3] == np.inf


def learn(memory: Any, belief: Any, rows: Floats, values: Floats, slate: Any) -> None:
    """A list per two rows, in one compiled loop."""
    for t in range(0, len(rows), 2):
        memory.tick(belief)
        for place in range(2):
            for i in range(rows.shape[1]):
                slate.rows[place, i] = rows[t + place, i]
            memory.add(belief, place, 1.0, values[t + place], slate, place)
        memory.conclude(belief)


learn_compiled = compiled(learn)


def train(memory: Any, rows: Floats, values: Floats, compiled: bool = True) -> Any:
    d = rows.shape[1]
    problem = Problem(ITEMS, PLACES, d)
    ready = memory.prepare(problem)
    belief = ready.begin(problem)
    (learn_compiled if compiled else learn)(ready, belief, rows, values, empty_slate(PLACES, d))
    return belief


def draw_rows(lists: int, d: int) -> tuple[Floats, Floats, Floats]:
    """Rows, values, and the age of each row's list at the end."""
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2 * lists, d)) / np.sqrt(d)
    return rows, (rng.uniform(size=2 * lists) < 0.3).astype(float), np.repeat(np.arange(lists)[::-1], 2).astype(float)


@pytest.mark.parametrize("d", [1, 6])
def test_discounted_ridge_is_a_direct_solve(d: int) -> None:
    """After 5,000 lists; the widths are those of D-LinUCB."""
    rows, values, age = draw_rows(5000, d)
    belief = train(DiscountedRidge(0.99), rows, values)
    once, twice = 0.99**age, 0.99 ** (2 * age)
    v = np.eye(d) + (rows * once[:, None]).T @ rows / 0.01
    v2 = np.eye(d) + (rows * twice[:, None]).T @ rows / 0.01
    inverse = np.linalg.inv(v)
    np.testing.assert_allclose(belief.theta, inverse @ (rows.T @ (once * values)) / 0.01, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(belief.inverse, inverse @ v2 @ inverse, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(belief.examined[:2] / belief.unit[0], (1 - 0.99**5000) / 0.01)


@pytest.mark.parametrize("tau", [1, 37, 600, 9000])
def test_windowed_ridge_is_a_direct_solve(tau: int) -> None:
    """After 5,000 lists: some windows went around many times, one is longer than the history."""
    rows, values, age = draw_rows(5000, 6)
    belief = train(WindowedRidge(tau), rows, values)
    inside = age < tau
    gram = np.eye(6) + rows[inside].T @ rows[inside] / 0.01
    theta = np.linalg.solve(gram, rows[inside].T @ values[inside] / 0.01)
    np.testing.assert_allclose(belief.theta, theta, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(belief.inverse @ gram, np.eye(6), atol=1e-8)
    np.testing.assert_allclose(np.triu(belief.gram), np.triu(gram), rtol=1e-9, atol=1e-9)
    assert belief.examined[:2].tolist() == [min(tau, 5000)] * 2


@pytest.mark.parametrize("memory", [DiscountedRidge(0.99), WindowedRidge(30)])
def test_plain_and_compiled_ridge_agree(memory: Any) -> None:
    rows, values, _ = draw_rows(100, 4)
    fast, slow = train(memory, rows, values), train(memory, rows, values, compiled=False)
    for one, other in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(one, other)


def test_without_forgetting_it_is_plain_ridge() -> None:
    rows, values, _ = draw_rows(300, 4)
    still = train(Ridge(), rows, values)
    for memory in (DiscountedRidge(1.0), WindowedRidge(1000)):
        belief = train(memory, rows, values)
        np.testing.assert_allclose(belief.theta, still.theta, rtol=1e-9)
