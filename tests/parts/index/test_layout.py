"""Scores over features: dense or sparse, cached or not, all equal the formula."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toplist.core.coverage import AS_IS, COVERAGE_KINDS, coverage, gain, gains
from toplist.core.problem import InvalidInput, Problem
from toplist.core.slate import NONE, Floats, Request, Slate, empty_page
from toplist.parts.arrange import Diverse, TopK
from toplist.parts.feedback import EveryPlace
from toplist.parts.index import KLUCB, Ellipsoid, LogisticBound, Posterior
from toplist.parts.index.layout import empty_layout, lay_out_features, score_all, score_changed
from toplist.parts.index.link import IDENTITY, LOGISTIC
from toplist.parts.memory import Everything, Logistic, Ridge
from toplist.policies import Policy


def features(items: int, d: int, sparse: bool, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    rows = rng.uniform(size=(items, d))
    if sparse:
        keep = np.argsort(rng.uniform(size=(items, d)), axis=1)[:, : max(1, d // 4)]
        mask = np.zeros((items, d), dtype=bool)
        np.put_along_axis(mask, keep, True, axis=1)
        rows[~mask] = 0.0
    return rows


def ask(
    rows: Floats, key: int = 3, candidates: Any = None, edition: int = 0, positions: int = 4, pins: Any = NONE
) -> Request:
    some = np.arange(len(rows)) if candidates is None else np.asarray(candidates)
    return Request(some, positions, np.asarray(pins), NONE, rows, edition, np.arange(len(rows)), key)


def used(policy: Policy, rows: Floats, lists: int = 40) -> tuple[Any, Any, Any]:
    """A policy that has learned: its belief, its cache used throughout, and the problem."""
    problem = Problem(len(rows), 4, rows.shape[1])
    ready = policy.prepare(problem)
    belief, cache = ready.begin(problem), ready.scratch(problem)
    rng = np.random.default_rng(1)
    for number in range(lists):
        slate = ready.slate(problem)
        ready.rank(belief, cache, ask(rows, number), slate)
        page = empty_page(4)
        page.clicks[:] = rng.uniform(size=4) < 0.3
        ready.learn(belief, slate, page)
    return ready, belief, cache


def shown(policy: Any, belief: Any, cache: Any, request: Request) -> Slate:
    slate: Slate = policy.slate(Problem(len(request.labels), 4, request.features.shape[1]))
    policy.rank(belief, cache, request, slate)
    return slate


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("some", [None, [1, 2, 3, 9, 30], list(range(5, 200))])
def test_top_is_the_formula(sparse: bool, some: Any) -> None:
    rows = features(300, 12, sparse, 0)
    policy, belief, cache = used(Policy(EveryPlace(), Ridge(), Ellipsoid(alpha=0.7)), rows)
    assert cache.scoring.layout.edition[1] == sparse
    request = ask(rows, candidates=some)
    x = rows[request.candidates]
    index = x @ belief.theta + 0.7 * np.sqrt(np.einsum("ij,jk,ik->i", x, belief.inverse, x))
    np.testing.assert_allclose(policy.scoring.exact(belief, request), index, rtol=1e-12)
    slate = shown(policy, belief, cache, request)
    assert slate.items.tolist() == request.candidates[np.argsort(-index)[:4]].tolist()
    assert np.array_equal(slate.rows, rows[slate.items])
    values = cache.scoring.value[request.candidates]
    np.testing.assert_allclose(values, index, rtol=1e-9)


def test_a_list_does_not_depend_on_the_cache() -> None:
    """Widths updated from list to list are bit for bit those of a new cache."""
    rows = features(300, 12, False, 2)
    policy, belief, cache = used(Policy(EveryPlace(), Ridge(), Ellipsoid(alpha=0.5)), rows, lists=90)
    assert belief.updates[1] == 1  # the inverse was recomputed once
    fresh = policy.scratch(Problem(300, 4, 12))
    for number in range(5):
        request = ask(rows, key=100 + number)
        assert (
            shown(policy, belief, cache, request).items.tolist() == shown(policy, belief, fresh, request).items.tolist()
        )
    assert np.array_equal(cache.scoring.value, fresh.scoring.value)


def test_new_features_are_noticed() -> None:
    rows, other = features(60, 8, False, 3), features(60, 8, True, 4)
    policy, belief, cache = used(Policy(EveryPlace(), Ridge(), Ellipsoid(alpha=0.5)), rows)
    for changed, edition in ((other, 1), (rows, 2), (other, -1), (rows, -1)):
        request = ask(changed, edition=edition)
        fresh = shown(policy, belief, policy.scratch(Problem(60, 4, 8)), request)
        assert shown(policy, belief, cache, request).items.tolist() == fresh.items.tolist()


def greedy(rows: Floats, belief: Any, alpha: float, kind: str, candidates: Any, pins: Any = ()) -> list[int]:
    """Algorithm 1 of hiranandani2019, literally."""
    chosen: list[int] = []
    for place in range(min(4, len(candidates))):
        if len(pins) and pins[place] >= 0:
            chosen.append(int(pins[place]))
            continue
        best, most = -1, -np.inf
        for item in candidates:
            if item not in chosen and item not in list(pins):
                x = gains(rows[[*chosen, item]], kind)[-1]
                value = x @ belief.theta + alpha * np.sqrt(x @ belief.inverse @ x)
                if value > most:
                    best, most = int(item), value
        chosen.append(best)
    return chosen


@pytest.mark.parametrize("kind", COVERAGE_KINDS)
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("pins", [(), (-1, 7, -1, 3)])
def test_diverse_is_the_greedy_list_of_gains(kind: str, sparse: bool, pins: Any) -> None:
    rows = features(40, 9, sparse, 5)
    policy, belief, cache = used(Policy(EveryPlace(), Ridge(), Ellipsoid(alpha=0.3), Diverse(kind)), rows)
    for candidates in (range(40), [3, 7, 11, 20, 21, 39], [3, 7]):
        if pins and len(candidates) < 4:
            continue
        slate = shown(
            policy, belief, cache, ask(rows, candidates=list(candidates), pins=np.array(pins, dtype=np.int64))
        )
        size = slate.size[0]
        assert slate.items[:size].tolist() == greedy(rows, belief, 0.3, kind, candidates, pins)
        np.testing.assert_allclose(slate.rows[:size], gains(rows[slate.items[:size]], kind), rtol=1e-12, atol=1e-15)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from(list(COVERAGE_KINDS)))
def test_coverage_is_what_gains_add_up_to(seed: int, kind: str) -> None:
    rows = features(5, 6, seed % 2 == 0, seed)
    expected = 1.0 - np.prod(1.0 - rows, axis=0) if kind == "probabilistic" else rows.max(axis=0)
    np.testing.assert_allclose(coverage(rows, kind), expected, atol=1e-12)
    for place, added in enumerate(gains(rows, kind)):
        before = coverage(rows[:place], kind) if place else np.zeros(6)
        np.testing.assert_allclose(added, coverage(rows[: place + 1], kind) - before, atol=1e-12)


def test_logistic_values() -> None:
    rows = features(70, 10, False, 6)
    policy, belief, cache = used(Policy(EveryPlace(), Logistic(), LogisticBound(scale=0.4)), rows, lists=20)
    request = ask(rows)
    slate = shown(policy, belief, cache, request)
    t, d, ridge, n = 20.0, 10.0, 4.0, 21.0
    rho = 0.4 * 0.25 * 0.5 / 0.1 * np.sqrt(d / 2 * np.log(1 + t / (ridge * d)) + 0.5 * np.log(n))
    mean = 1.0 / (1.0 + np.exp(-rows @ belief.theta))
    index = mean + rho * np.sqrt(np.einsum("ij,jk,ik->i", rows, belief.inverse, rows))
    assert slate.items.tolist() == np.argsort(-index)[:4].tolist()
    np.testing.assert_allclose(policy.scoring.exact(belief, request), np.minimum(index, 1.0), rtol=1e-10)
    layout = empty_layout(Problem(70, 4, 10))
    lay_out_features(layout, request)
    values = np.zeros(70)
    score_all(belief, layout, request.candidates, LOGISTIC, rho, layout.nothing, 0, values)
    np.testing.assert_allclose(values, index, rtol=1e-10)


def test_posterior_draws_have_the_posteriors_mean_and_covariance() -> None:
    """4000 draws: means within 5 standard errors, covariances within 5 of theirs."""
    rows = features(30, 4, False, 7)
    policy, belief, cache = used(Policy(EveryPlace(), Ridge(), Posterior()), rows, lists=30)
    drawn = []
    for number in range(4000):
        shown(policy, belief, cache, ask(rows, key=1000 + number))
        drawn.append(cache.scoring.drawn.copy())
    sample = np.array(drawn)
    covariance = np.linalg.inv(belief.gram + np.triu(belief.gram, 1).T)
    deviation = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(sample.mean(axis=0) - belief.theta) < 5 * deviation / np.sqrt(4000))
    scale = np.outer(deviation, deviation)
    assert np.all(np.abs(np.cov(sample.T) - covariance) < 5 * scale * np.sqrt(2 / 4000))


def test_parts_that_do_not_fit_say_what_would() -> None:
    with pytest.raises(InvalidInput, match=r"Diverse arranges by features, but KLUCB does not .* use TopK\(\)"):
        Policy(EveryPlace(), Everything(), KLUCB(), Diverse()).prepare(Problem(9, 3, 2))
    with pytest.raises(InvalidInput, match=r"KLUCB reads counts, but Ridge keeps linear; use .*Ellipsoid"):
        Policy(EveryPlace(), Ridge(), KLUCB(), TopK()).prepare(Problem(9, 3, 2))


@pytest.mark.parametrize("kind", list(COVERAGE_KINDS))
def test_sparse_items_are_scored_again_as_if_everything_was(kind: str) -> None:
    """After each item placed, every value is that of its gain over the list, whatever pair of features it has."""
    rows = np.zeros((60, 12))
    pairs = [(i, j) for i in range(12) for j in range(i)]
    rng = np.random.default_rng(7)
    for item, pair in enumerate(rng.permutation(pairs)[:60]):
        rows[item, pair] = rng.uniform(0.2, 0.9, size=2)
    ready, belief, _ = used(Policy(EveryPlace(), Ridge(0.3), Ellipsoid(1.5), Diverse(kind)), rows)
    number, problem, request = COVERAGE_KINDS[kind], Problem(60, 4, 12), ask(rows)
    layout, values, covered = ready.scratch(problem).scoring.layout, np.zeros(60), np.zeros(12)
    lay_out_features(layout, request)
    assert layout.edition[1] == 1
    score_all(belief, layout, request.candidates, IDENTITY, 1.5, covered, AS_IS, values)
    for placed in (3, 17, 40, 55):
        covered += [gain(rows[placed, i], covered[i], number) for i in range(12)]
        score_changed(belief, layout, request, IDENTITY, 1.5, covered, number, placed, values)
        exact = np.array([[gain(row[i], covered[i], number) for i in range(12)] for row in rows])
        width = np.sqrt(np.einsum("ij,jk,ik->i", exact, belief.inverse, exact))
        assert values == pytest.approx(exact @ belief.theta + 1.5 * width)
