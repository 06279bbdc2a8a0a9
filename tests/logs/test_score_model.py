"""Scores of fitted click models equal a direct slow computation, list by list."""

import math
import sys
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from toplist.core.problem import InvalidInput
from toplist.logs import ClickLog, fit_model
from toplist.logs.comparison.calibration import EDGES, Rates
from toplist.logs.models import MODELS
from toplist.logs.score_model import Scores, score_model

Counted = Callable[[bool, int], bool]


def small_log(lists: int = 60, seed: int = 5, weights: bool = True) -> ClickLog:
    """Two queries, lists of different lengths, some with several clicks, and weights."""
    chance = np.random.default_rng(seed)
    queries, items, clicked = [], [], []
    for _ in range(lists):
        query = int(chance.integers(2))
        shown = chance.permutation(4)[: chance.integers(1, 5)]
        queries.append(f"q{query}")
        items.append([f"i{item + 3 * query}" for item in shown])
        clicked.append([place + 1 for place in range(len(shown)) if chance.random() < 0.4 / (1 + 0.3 * place)])
    return ClickLog.from_lists(
        queries, items, clicked, weights=chance.integers(1, 4, lists).tolist() if weights else None
    )


class Slow:
    """The scores of all positions for which `counted(known, clicks above)` holds, one position at a time."""

    def __init__(self, fitted: Any, log: ClickLog, counted: Counted) -> None:
        self.logs: dict[bool, dict[int, list[tuple[float, float]]]] = {
            True: defaultdict(list),
            False: defaultdict(list),
        }
        self.total = self.lists = self.impossible = 0.0
        predictions = fitted.predict(log)
        for number in range(len(log)):
            chance, above, used, weight = 1.0, 0, False, float(log.weights[number])
            for place, at in enumerate(range(log.start[number], log.start[number + 1])):
                if counted(bool(predictions.known[at]), above):
                    used = True
                    for is_given, several in ((True, predictions.given), (False, predictions.marginal)):
                        q = float(several[at]) if log.click[at] else 1.0 - float(several[at])
                        self.logs[is_given][place].append((weight, q))
                        chance *= q if is_given else 1.0
                above += int(log.click[at])
            self.lists += weight * used
            self.impossible += weight * (chance == 0.0)
            self.total += weight * math.log(chance) if chance > 0 else -math.inf

    def perplexity(self, is_given: bool) -> list[float]:
        found = []
        for _, several in sorted(self.logs[is_given].items()):
            mean = sum(weight * (math.log2(q) if q > 0 else -math.inf) for weight, q in several)
            found.append(2.0 ** (-mean / sum(weight for weight, _ in several)))
        return found


@pytest.mark.parametrize("name", MODELS)
def test_scores_equal_a_slow_computation(name: str) -> None:
    log = small_log()
    train, held = log.take(np.arange(25)), log.take(np.arange(25, 60))
    fitted = fit_model(train, name, errors="none")
    found = score_model(fitted, held)
    rows: list[tuple[Scores, Counted]] = [
        (found.every, lambda _, __: True),
        (found.seen_pairs, lambda known, _: known),
        (found.to_first_click, lambda _, above: above == 0),
    ]
    for scores, counted in rows:
        slow = Slow(fitted, held, counted)
        assert scores.lists == slow.lists
        assert scores.impossible == slow.impossible
        assert scores.log_likelihood == pytest.approx(slow.total, rel=1e-12)
        assert scores.perplexity_by_position == pytest.approx(slow.perplexity(True), rel=1e-12)
        assert scores.marginal_perplexity_by_position == pytest.approx(slow.perplexity(False), rel=1e-12)
        assert scores.perplexity == pytest.approx(np.mean(slow.perplexity(True)), rel=1e-12)
        assert scores.per_list == scores.log_likelihood / slow.lists
    assert found.per_list @ held.weights == pytest.approx(found.every.log_likelihood, rel=1e-12)
    assert found.per_list_to_first_click @ held.weights == pytest.approx(found.to_first_click.log_likelihood)


def test_the_likelihood_of_the_lists_of_a_fit_is_that_of_the_fit() -> None:
    log = small_log()
    for name in ("dbn", "ubm", "pbm", "item-ctr"):
        fitted = fit_model(log, name, errors="none")
        assert score_model(fitted, log).every.log_likelihood == pytest.approx(fitted.log_likelihood, rel=1e-9)


def test_cascade_counts_lists_with_several_clicks_and_explains_them_up_to_the_first() -> None:
    log = small_log()
    found = score_model(fit_model(log, "cascade"), log)
    several = log.weights[log.clicks_per_list() > 1].sum()
    assert found.every.impossible == several > 0
    assert found.every.per_list == -math.inf
    assert math.isinf(found.every.perplexity)
    assert math.isfinite(found.every.marginal_perplexity)
    assert found.to_first_click.impossible == 0
    assert math.isfinite(found.to_first_click.per_list)
    assert found.to_first_click.shown.sum() < found.every.shown.sum()


def test_unseen_pairs_have_the_prior_mean_and_are_left_out_of_the_second_row() -> None:
    train = ClickLog.from_lists(["q"] * 4, [["a", "b"]] * 4, [[1], [2], [2], []])
    held = ClickLog.from_lists(["q", "q", "new"], [["a", "c"], ["b", "a"], ["a", "b"]], [[1], [], [2]])
    fitted = fit_model(train, "item-ctr")
    found = score_model(fitted, held)
    prior = fitted.priors["rate"].mean
    assert found.unseen == 3
    assert (found.every.lists, found.seen_pairs.lists) == (3, 2)
    difference = found.every.log_likelihood - found.seen_pairs.log_likelihood
    assert difference == pytest.approx(math.log(1 - prior) + math.log(1 - prior) + math.log(prior))


def test_rates_by_position_and_by_probability() -> None:
    log = small_log()
    fitted = fit_model(log, "position-ctr", priors={})
    found = score_model(fitted, log)
    assert found.by_position.shown == pytest.approx(log.shown_by_position())
    assert found.by_position.clicks == pytest.approx(log.clicks_by_position())
    assert found.by_position.predicted == pytest.approx(found.by_position.observed)  # its own lists
    bins = found.by_probability
    assert bins.shown.sum() == pytest.approx(log.shown_by_position().sum())
    full = bins.shown > 0
    assert (bins.predicted[full] >= EDGES[:-1][full]).all()
    assert (bins.predicted[full] <= EDGES[1:][full]).all()
    assert bins.error() == pytest.approx(0.0, abs=1e-12)
    low, high = bins.interval()
    assert (low[full] < bins.observed[full]).all()
    assert (bins.observed[full] < high[full]).all()


def test_calibration_error_is_the_mean_distance() -> None:
    rates = Rates(np.array([10.0, 30.0, 0.0]), np.array([1.0, 9.0, 0.0]), np.array([2.0, 6.0, 0.0]))
    assert rates.error() == pytest.approx((1.0 + 3.0) / 40.0)
    assert np.isnan(rates.predicted[2])


def test_a_row_of_weight_w_counts_as_w_lists() -> None:
    log = small_log()
    fitted = fit_model(log, "pbm", errors="none")
    repeated = log.take(np.repeat(np.arange(len(log)), log.weights.astype(int)))
    plain = ClickLog(repeated.queries, repeated.items, repeated.query, repeated.start, repeated.item, repeated.click)
    one, other = score_model(fitted, log), score_model(fitted, plain)
    assert one.every.per_list == pytest.approx(other.every.per_list, rel=1e-12)
    assert one.by_probability.shown == pytest.approx(other.by_probability.shown)


def test_a_log_in_chunks_has_the_same_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    log = small_log()
    fitted = fit_model(log, "dcm", errors="none")
    whole = score_model(fitted, log)
    monkeypatch.setattr(sys.modules["toplist.logs.score_model"], "CHUNK", 7)
    parts = score_model(fitted, log)
    assert parts.every.log_given == pytest.approx(whole.every.log_given, rel=1e-12)
    assert (parts.per_list == whole.per_list).all()
    assert parts.by_position.clicks == pytest.approx(whole.by_position.clicks)


def test_lists_longer_than_those_of_the_fit_are_left_out_and_counted() -> None:
    train = ClickLog.from_lists(["q"] * 3, [["a", "b"]] * 3, [[1], [2], []])
    held = ClickLog.from_lists(["q"] * 2, [["a", "b", "c"], ["b", "a"]], [[3], [1]], weights=[5, 2])
    fitted = fit_model(train, "pbm")
    found = score_model(fitted, held)
    assert (found.too_long, found.every.lists) == (5, 2)
    assert np.isnan(found.per_list[0])
    assert np.isfinite(found.per_list[1])
    with pytest.raises(InvalidInput, match="no lists of 1 to 2 positions, which pbm was fitted to"):
        score_model(fitted, held.take(np.array([0])))
    with pytest.raises(InvalidInput, match="no lists"):
        score_model(fitted, held.take(np.array([], dtype=np.int64)))


def test_empty_lists_and_lists_of_weight_0_do_not_count() -> None:
    log = ClickLog.from_lists(["q"] * 4, [["a", "b"], [], ["a", "b"], ["b"]], [[1], [], [1, 2], []])
    log = replace(log, weight=np.array([2.0, 1.0, 0.0, 1.0]))  # a log of one's own has only weights above 0
    found = score_model(fit_model(log, "cascade"), log)
    assert found.every.lists == 3
    assert found.every.impossible == 0
    assert math.isfinite(found.every.per_list)
