"""The situation of a log: sizes, horizon, and the sample of queries by traffic."""

from pathlib import Path

import numpy as np
import pytest

from toplist.advice.situation import describe_situation, logged_lists, sample_queries
from toplist.core.problem import InvalidInput
from toplist.logs import ClickLog, read_log

DAY = 86_400.0


def some_log(weights: list[float] | None = None) -> ClickLog:
    return ClickLog.from_lists(
        ["p", "p", "q", "p"], [["a", "b", "c"], ["b", "a", "d"], ["x", "y"], ["a"]],
        clicked=[[1, 3], [2], [], [1]], time=[0.0, DAY, 2 * DAY, 4 * DAY], weights=weights,
    )  # fmt: skip


def test_sizes() -> None:
    found = describe_situation(some_log(), 2, None)
    assert found.lists == 4
    assert found.queries == 2
    assert found.items_per_query == pytest.approx((3 * 4 + 1 * 2) / 4)
    assert found.clicks_per_list == pytest.approx(3 / 4)  # that at position 3 is not on the page
    assert found.several_clicks == 0.0
    assert describe_situation(some_log(), 3, None).several_clicks == pytest.approx(1 / 3)
    assert found.days == 4.0


def test_the_horizon_is_as_long_as_the_log() -> None:
    assert describe_situation(some_log([10.0, 10.0, 5.0, 5.0]), 2, None).horizon == 30
    given = describe_situation(some_log(), 2, 1000)
    assert given.horizon == 1000
    assert given.duration(8) == "8 lists (8.0 days)"
    assert given.duration(0.05) == "0 lists (1.2 hours)"


def test_a_page_longer_than_the_lists_is_refused() -> None:
    with pytest.raises(InvalidInput, match="The number of positions is 4, but must be at most 3"):
        describe_situation(some_log(), 4, None)
    with pytest.raises(InvalidInput, match="no lists with items"):
        describe_situation(ClickLog.from_lists([], [], []), 1, None)


def test_a_list_has_an_item_once() -> None:
    log = ClickLog.from_lists(["q"] * 3, [["a", "b"], ["b", "c", "b"], ["b"]], [[]] * 3)
    with pytest.raises(InvalidInput, match="has 1 list with an item twice, list 2 for one"):
        describe_situation(log, 1, None)
    assert describe_situation(log.take(np.array([0, 2])), 1, None).lists == 2


def test_why_no_list_can_be_used(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"items": ["a", "b"], "clicked": [3]}')
    with pytest.raises(InvalidInput, match=r"no lists with items that can be used, .* 1 skipped: a clicked position"):
        describe_situation(read_log(path), 1, None)


def test_few_queries_are_all_taken() -> None:
    found = sample_queries(some_log(), 5, seed=0)
    assert not found.is_sample
    assert found.weight.tolist() == found.traffic.tolist() == [0.75, 0.25]


def test_a_sample_stands_for_the_traffic() -> None:
    """Systematic samples of 10 of 100 queries: on average, each counts as much as it has traffic."""
    random = np.random.default_rng(0)
    names = [f"q{each}" for each in random.zipf(1.5, 3000) % 100]
    log = ClickLog.from_lists(names, [["a"]] * 3000, [[]] * 3000)
    total = np.zeros(len(log.queries))
    for seed in range(400):
        found = sample_queries(log, 10, seed)
        assert found.is_sample
        assert found.weight.sum() == pytest.approx(1.0)
        total[found.codes] += found.weight
    traffic = np.bincount(log.query) / len(log)
    assert np.abs(total / 400 - traffic).max() < 0.02


def test_logged_lists_name_items_by_their_place() -> None:
    log = some_log()
    items = np.array([log.items.code(item) for item in ("d", "c", "b", "a")])
    found = logged_lists(log, log.queries.code("p"), items, 2, seed=0)
    assert sorted(found.tolist()) == [[2, 3], [3, -1], [3, 2]]
