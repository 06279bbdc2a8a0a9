"""Memories of features against direct solutions by other methods."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

import toplist.core.protocols  # noqa: F401  registers the methods of parts with the compiler
from toplist.core.compiling import compiled
from toplist.core.problem import InvalidInput, Problem
from toplist.core.slate import Floats, Slate, empty_slate
from toplist.parts.memory import Logistic, LogisticSGD, Ridge
from toplist.parts.memory.newton import FARTHEST, replace_levels
from toplist.parts.memory.ridge import IN_STEP, REFRESH_EVERY


def learn(memory: Any, belief: Any, rows: Floats, values: Floats, items: Any, slate: Slate) -> None:
    """One list per row, in one compiled loop."""
    for t in range(len(rows)):
        for i in range(rows.shape[1]):
            slate.rows[0, i] = rows[t, i]
        memory.tick(belief)
        memory.add(belief, items[t], 1.0, values[t], slate, 0)
        memory.conclude(belief)


learn_compiled = compiled(learn)


def train(memory: Any, rows: Floats, values: Floats, items: Any = None, compiled: bool = True) -> Any:
    problem = Problem(50, 2, rows.shape[1])
    ready = memory.prepare(problem)
    belief = ready.begin(problem)
    items = np.zeros(len(rows), dtype=np.int64) if items is None else items
    (learn_compiled if compiled else learn)(ready, belief, rows, values, items, empty_slate(2, rows.shape[1]))
    return belief


def observations(count: int, d: int, collinear: bool = False, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, d)) / np.sqrt(d)
    if collinear:
        rows[:, -1] = rows[:, 0] + 1e-4 * rng.normal(size=count)
    return rows, (rng.uniform(size=count) < 0.3).astype(float)


@pytest.mark.parametrize("collinear", [False, True])
@pytest.mark.parametrize("d", [1, 5, 30])
def test_ridge_is_a_direct_solve_after_ten_thousand_updates(d: int, collinear: bool) -> None:
    rows, values = observations(10_000, d, collinear)
    belief = train(Ridge(sigma=0.1), rows, values)
    gram = np.eye(d) + rows.T @ rows / 0.01
    theta = np.linalg.solve(gram, rows.T @ values / 0.01)
    np.testing.assert_allclose(belief.theta, theta, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(belief.inverse @ gram, np.eye(d), atol=1e-8)
    np.testing.assert_allclose(belief.gram, np.triu(gram), rtol=1e-10)


def test_the_inverse_is_the_base_less_its_rank_one_terms() -> None:
    """An index relies on it between two recomputations of the inverse."""
    since = 3 * REFRESH_EVERY // 4 + IN_STEP  # lists, of one observation each, until it is recomputed
    rows, values = observations(since + 40, 6)
    belief = train(Ridge(), rows, values)
    assert belief.updates.tolist() == [40, 1]
    shrunk = belief.base - np.einsum("u,ui,uj->ij", belief.shrink[:40], belief.direction[:40], belief.direction[:40])
    np.testing.assert_allclose(belief.inverse, shrunk, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_the_inverse_is_recomputed_in_step(length: int) -> None:
    """In the same lists, whatever the number of observations: runs on a GPU then do it together."""
    problem = Problem(50, length, 3)
    memory = Ridge().prepare(problem)
    belief, slate, rng = memory.begin(problem), empty_slate(length, 3), np.random.default_rng(length)
    recomputed: list[int] = []
    for step in range(1, 600):
        slate.rows[:] = rng.normal(size=(length, 3))
        memory.tick(belief)
        for place in range(length):
            memory.add(belief, 0, 1.0, 1.0, slate, place)
        memory.conclude(belief)
        if belief.updates[1] > len(recomputed):
            recomputed.append(step)
    assert recomputed
    assert all(step % IN_STEP == 0 for step in recomputed)


@pytest.mark.parametrize(("length", "d"), [(1, 1), (1, 12), (3, 3), (10, 40), (150, 3), (300, 12)])
def test_the_observations_of_a_list_are_added_at_once(length: int, d: int) -> None:
    """Whatever their number: the inverse is recomputed when the directions are used up, also within a list."""
    problem = Problem(50, length, d)
    memory = Ridge(sigma=0.3, prior=2.0).prepare(problem)
    belief, slate, rng = memory.begin(problem), empty_slate(length, d), np.random.default_rng(length)
    gram, total = 2.0 * np.eye(d), np.zeros(d)
    for _ in range(max(3, 560 // length)):
        rows, weights = rng.normal(size=(length, d)), rng.uniform(0.1, 1.0, length)
        rows[rng.uniform(size=(length, d)) < 0.4] = 0.0
        values = (rng.uniform(size=length) < 0.3).astype(float)
        slate.rows[:] = rows
        memory.tick(belief)
        for place in range(length):
            memory.add(belief, 0, weights[place], values[place], slate, place)
        memory.conclude(belief)
        gram, total = gram + (rows.T * weights) @ rows / 0.09, total + rows.T @ (weights * values)
        np.testing.assert_allclose(belief.gram, np.triu(gram), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(belief.inverse, np.linalg.inv(gram), rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(belief.theta, np.linalg.solve(gram, total / 0.09), rtol=1e-8, atol=1e-10)
        used = belief.updates[0]
        shrunk = belief.base - (belief.direction[:used].T * belief.shrink[:used]) @ belief.direction[:used]
        np.testing.assert_allclose(belief.inverse, shrunk, rtol=1e-9, atol=1e-12)
    assert belief.updates[1] >= 2


def maximum_likelihood(rows: Floats, values: Floats, penalty: float) -> Floats:
    """By another method, from another library."""

    def loss(theta: Floats) -> tuple[float, Floats]:
        total = rows @ theta
        value = np.logaddexp(0.0, total).sum() - values @ total + penalty / 2 * theta @ theta
        return float(value), rows.T @ (1.0 / (1.0 + np.exp(-total)) - values) + penalty * theta

    found = optimize.minimize(loss, np.zeros(rows.shape[1]), jac=True, method="BFGS", options={"gtol": 1e-10})
    return np.asarray(found.x)


@pytest.mark.parametrize(("d", "penalty"), [(1, 0.01), (5, 0.01), (5, 1.0), (12, 0.1)])
def test_logistic_is_the_maximum_likelihood(d: int, penalty: float) -> None:
    rows, values = observations(1500, d)
    belief = train(Logistic(penalty), rows, values)
    np.testing.assert_allclose(belief.theta, maximum_likelihood(rows, values, penalty), atol=1e-7)
    np.testing.assert_allclose(belief.gram, np.triu(2.0 * np.eye(d) + rows.T @ rows), rtol=1e-10)  # lambda is K = 2


def test_fixed_features_take_one_row_per_item_and_give_the_same() -> None:
    table, _ = observations(50, 4)
    rng = np.random.default_rng(1)
    items = rng.integers(50, size=3000)
    values = (rng.uniform(size=3000) < 0.4).astype(float)
    belief = train(Logistic(0.05), table[items], values, items)
    assert belief.used[0] == len(set(items.tolist()))
    np.testing.assert_allclose(belief.theta, maximum_likelihood(table[items], values, 0.05), atol=1e-7)


def newton(rows: Floats, tries: Floats, clicked: Floats, penalty: float) -> Floats:
    """The maximum likelihood weights to the last digits, by full Newton steps."""
    theta = np.zeros(rows.shape[1])
    for _ in range(500):
        mean = 1.0 / (1.0 + np.exp(-rows @ theta))
        hessian = (rows * (tries * mean * (1.0 - mean))[:, None]).T @ rows + penalty * np.eye(len(theta))
        step = np.linalg.solve(hessian, rows.T @ (clicked - tries * mean) - penalty * theta)
        theta += step / max(1.0, np.abs(rows @ step).max())
        if np.abs(step).max() < 1e-13:
            break
    return theta


def bent_inverse(belief: Any, penalty: float) -> Floats:
    """The expected value of the stored inverse."""
    rows = belief.history[:, : belief.used[0]].T
    bent = (rows * belief.bent[: belief.used[0], None]).T @ rows
    return np.asarray(np.linalg.inv(penalty * np.eye(rows.shape[1]) + belief.precision + bent))


@pytest.mark.parametrize("collinear", [False, True])
@pytest.mark.parametrize(("count", "items", "d"), [(400, 0, 6), (3000, 40, 5), (1500, 20, 30)], ids=str)
def test_logistic_is_a_direct_solve_after_every_list(count: int, items: int, d: int, collinear: bool) -> None:
    """New features, fixed ones, and fewer items than features; strong preferences, so that curvatures change."""
    rng = np.random.default_rng(d)
    rows, _ = observations(count, d, collinear)
    which = rng.integers(items, size=count) if items else np.zeros(count, dtype=np.int64)
    rows = rows[which] if items else rows
    values = (rng.uniform(size=count) < 1.0 / (1.0 + np.exp(-4.0 * rows @ rng.normal(size=d)))).astype(float)
    memory, penalty = Logistic(0.01).prepare(Problem(50, 2, d)), 0.01
    belief, slate = memory.begin(Problem(50, 2, d)), empty_slate(2, d)
    for t in range(count):
        learn_compiled(memory, belief, rows[t : t + 1], values[t : t + 1], which[t : t + 1], slate)
        if t < 30 or t % 97 == 0 or t + 1 == count:
            used = belief.used[0]
            direct = newton(belief.history[:, :used].T, belief.tries[:used], belief.clicked[:used], penalty)
            np.testing.assert_allclose(belief.theta, direct, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(belief.bend, bent_inverse(belief, penalty), rtol=1e-7, atol=1e-9)
    assert not belief.total.any()  # the next list starts with its own gradient alone


def test_the_stored_inverse_includes_folded_rows() -> None:
    rows, values = observations(500, 5)
    belief = train(Logistic(0.01, capacity=64), 3.0 * rows, values)
    assert belief.precision.any()
    np.testing.assert_allclose(belief.bend, bent_inverse(belief, 0.01), rtol=1e-7, atol=1e-9)
    mean = 1.0 / (1.0 + np.exp(-belief.history.T @ belief.theta))
    gradient = belief.pull - belief.precision @ belief.theta - 0.01 * belief.theta
    gradient += belief.history @ (belief.clicked - belief.tries * mean)
    assert np.abs(belief.bend @ gradient).max() < 1e-8


def test_click_probabilities_by_the_series_are_those_of_the_exponential_function() -> None:
    levels = np.linspace(-FARTHEST, FARTHEST, 10_001)
    exact, found = 1.0 / (1.0 + np.exp(-levels)), levels.copy()
    compiled(replace_levels)(found)
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=0.0)
    np.testing.assert_allclose(found, exact, rtol=0.0, atol=1e-15)
    beyond = np.array([-1e300, -FARTHEST, FARTHEST, 1e300])
    replace_levels(beyond)
    assert beyond[0] == beyond[1] < 1e-25
    assert beyond[2] == beyond[3] == 1.0


@pytest.mark.parametrize("damage", [0.01, 3.0, 1000.0])
def test_an_inverse_damaged_by_rounding_is_recomputed(damage: float) -> None:
    rows, values = observations(300, 4)
    memory = Logistic(0.01).prepare(Problem(50, 2, 4))
    belief, slate = memory.begin(Problem(50, 2, 4)), empty_slate(2, 4)
    items = np.zeros(300, dtype=np.int64)
    learn_compiled(memory, belief, rows[:200], values[:200], items[:200], slate)
    belief.bend[:] *= damage
    learn_compiled(memory, belief, rows[200:], values[200:], items[200:], slate)
    np.testing.assert_allclose(belief.theta, newton(rows, np.ones(300), values, 0.01), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(belief.bend, bent_inverse(belief, 0.01), rtol=1e-7, atol=1e-9)


def test_separable_clicks_have_an_answer() -> None:
    rows = np.linspace(-1, 1, 101)[:, None]
    values = (rows[:, 0] > 0).astype(float)
    belief = train(Logistic(0.01), rows, values)
    np.testing.assert_allclose(belief.theta, maximum_likelihood(rows, values, 0.01), rtol=1e-6)
    with pytest.raises(InvalidInput, match="penalty is 0"):
        Logistic(0.0).prepare(Problem(5, 2, 3))


def test_folding_stays_close_to_the_full_fit() -> None:
    """200 of 5000 rows are stored, and the estimate is within a fifth of a standard deviation of the full one."""
    rows, _ = observations(5000, 5)
    rng = np.random.default_rng(2)
    theta = np.array([1.0, -2.0, 0.5, 0.0, 1.5])
    values = (rng.uniform(size=5000) < 1.0 / (1.0 + np.exp(-rows @ theta))).astype(float)
    folded = train(Logistic(0.01, capacity=200), rows, values)
    full = maximum_likelihood(rows, values, 0.01)
    mean = 1.0 / (1.0 + np.exp(-rows @ full))
    deviation = np.sqrt(np.diag(np.linalg.inv((rows * (mean * (1 - mean))[:, None]).T @ rows)))
    assert np.max(np.abs(folded.theta - full) / deviation) < 0.2
    assert folded.used[0] == 200


def test_sgd_steps_along_the_gradient_from_before_the_list() -> None:
    memory = LogisticSGD(rate=0.3).prepare(Problem(5, 2, 2))
    belief, slate = memory.begin(Problem(5, 2, 2)), empty_slate(2, 2)
    belief.theta[:] = [0.5, -1.0]
    rows, values = np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([1.0, 0.0])
    slate.rows[:] = rows
    memory.tick(belief)
    for place in range(2):
        memory.add(belief, place, 1.0, values[place], slate, place)
    memory.conclude(belief)
    before = np.array([0.5, -1.0])
    expected = before + 0.3 * rows.T @ (values - 1.0 / (1.0 + np.exp(-rows @ before)))
    np.testing.assert_allclose(belief.theta, expected, rtol=1e-12)
    np.testing.assert_allclose(belief.inverse, np.linalg.inv(2.0 * np.eye(2) + rows.T @ rows), rtol=1e-12)


@given(st.integers(1, 8), st.integers(0, 40), st.integers(0, 10_000))
def test_plain_and_compiled_memories_agree(d: int, count: int, seed: int) -> None:
    rows, values = observations(count, d, seed=seed)
    for memory in (Ridge(), Logistic(capacity=16), LogisticSGD()):
        plain, fast = (train(memory, rows, values, compiled=compiled) for compiled in (False, True))
        assert all(np.array_equal(a, b) for a, b in zip(plain, fast, strict=True))


def test_items_without_features_are_refused() -> None:
    for memory in (Ridge(), Logistic(), LogisticSGD()):
        with pytest.raises(InvalidInput, match="learns from features, but these items have none"):
            memory.prepare(Problem(5, 2, 0))
