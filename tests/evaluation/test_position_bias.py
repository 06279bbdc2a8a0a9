"""Position bias from swapped neighbours: the truth is found, whatever the items are."""

import math

import numpy as np
import pytest

from toplist.evaluation import CannotEstimate, position_bias
from toplist.logs import ClickLog

EXAMINATION = np.array([1.0, 0.6, 0.45])


def swapped_log(lists: int, seed: int, repeats: int = 1) -> ClickLog:
    """Two queries whose lists have neighbours swapped at random, more often for better items; PBM clicks.

    A visitor sees `repeats` lists with the same clicks.
    """
    rng = np.random.default_rng(seed)
    attraction = {"x": [0.9, 0.5, 0.3], "y": [0.4, 0.2, 0.6]}
    queries, items, clicked, visitors = [], [], [], []
    for visitor in range(lists // repeats):
        query = "x" if rng.random() < 0.7 else "y"
        order = [0, 1, 2]
        if rng.random() < (0.2 if query == "x" else 0.5):
            at = int(rng.integers(2))
            order[at], order[at + 1] = order[at + 1], order[at]
        clicks = [k + 1 for k, item in enumerate(order) if rng.random() < EXAMINATION[k] * attraction[query][item]]
        for _ in range(repeats):
            queries.append(query)
            items.append([f"{query}{item}" for item in order])
            clicked.append(clicks)
            visitors.append(visitor)
    return ClickLog.from_lists(queries, items, clicked, visitors=visitors if repeats > 1 else None)


def test_the_ratios_of_examination_are_found() -> None:
    found = position_bias(swapped_log(40_000, 1))
    assert [each.position for each in found.neighbours] == [2, 3]
    for each, truth in zip(found.neighbours, EXAMINATION[1:] / EXAMINATION[:-1], strict=True):
        assert each.interval.low < truth < each.interval.high
        assert each.interval.high - each.interval.low < 0.15
    last = found.neighbours[-1]
    assert last.examination_interval.low < EXAMINATION[2] < last.examination_interval.high
    assert last.examination == pytest.approx(np.prod([each.ratio for each in found.neighbours]))
    assert found.refused == ""


def test_the_intervals_hold_the_truth_as_often_as_they_say() -> None:
    truth, held = EXAMINATION[1:] / EXAMINATION[:-1], np.zeros(3)
    for seed in range(300):
        found = position_bias(swapped_log(600, 1000 + seed)).neighbours
        held[:2] += [each.interval.low < true < each.interval.high for each, true in zip(found, truth, strict=True)]
        last = found[-1].examination_interval
        held[2] += last.low < EXAMINATION[2] < last.high
    assert (held / 300 > 0.92).all(), held
    assert (held / 300 < 0.98).all(), held


def test_repeated_lists_of_a_visitor_tell_nothing_new() -> None:
    log = swapped_log(3000, 3, repeats=3)
    by_visitor, by_list = position_bias(log).neighbours[0], position_bias(log, by="list").neighbours[0]
    assert by_visitor.ratio == by_list.ratio
    wide, short = (math.log(each.interval.high / each.interval.low) for each in (by_visitor, by_list))
    assert wide == pytest.approx(short * math.sqrt(3), rel=0.02)


def test_one_pair_is_a_plain_ratio_of_rates() -> None:
    lists = [["a", "b"]] * 60 + [["b", "a"]] * 40
    clicked = [[1]] * 30 + [[]] * 30 + [[2]] * 10 + [[]] * 30
    log = ClickLog.from_lists(["q"] * 100, lists, clicked)
    found = position_bias(log).neighbours[0]
    assert found.pairs == 2
    assert found.ratio == pytest.approx((10 / 40) / (30 / 60))


def test_a_log_without_swaps_is_refused() -> None:
    log = ClickLog.from_lists(["q"] * 9, [["a", "b"]] * 9, [[1, 2]] * 9)
    with pytest.raises(CannotEstimate, match="No item of a query is shown at both of positions 1 and 2"):
        position_bias(log)
    single = ClickLog.from_lists(["q"] * 9, [["a"]] * 9, [[1]] * 9)
    with pytest.raises(CannotEstimate, match="one position only"):
        position_bias(single)


def test_it_says_where_it_ends() -> None:
    log = ClickLog.from_lists(["q"] * 40, [["a", "b", "c"], ["b", "a", "c"]] * 20, [[1, 2, 3], [1, 2], [2], [1]] * 10)
    found = position_bias(log)
    assert len(found.neighbours) == 1
    assert "does not tell how position 3 is examined" in str(found)
    assert found.to_dict()["neighbours"][0]["position"] == 2
