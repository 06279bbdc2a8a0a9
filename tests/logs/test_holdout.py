"""The lists held out, drawn by their number or the latest, and digests of logs."""

from typing import Any

import numpy as np
import pytest

from toplist.core.problem import InvalidInput
from toplist.logs import ClickLog
from toplist.logs.comparison.holdout import held_out_lists
from toplist.logs.list_hashes import ListHasher, LogDigest
from toplist.logs.random_rows import random_rows


def numbered(lists: int = 400) -> ClickLog:
    """A log whose lists are all different."""
    return ClickLog.from_lists([f"q{n}" for n in range(lists)], [[n, n + 1] for n in range(lists)], [[1]] * lists)


def test_the_share_is_as_wanted_and_depends_on_the_seed() -> None:
    log = numbered(2000)
    one, other = (held_out_lists(log, "random", 0.25, seed) for seed in (1, 2))
    assert abs(one.mean() - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 2000)
    assert (one & other).mean() == pytest.approx(0.0625, abs=0.02)
    assert (held_out_lists(log, "random", 0.25, 1) == one).all()
    assert (held_out_lists(log, "random", 0.5, 1) >= one).all()  # a larger holdout has the lists of a smaller one


def test_the_split_does_not_depend_on_the_parts() -> None:
    whole = held_out_lists(numbered(), "random", 0.25, 3)
    parts = [random_rows(min(70, 400 - first), first, 0.25, 3) for first in range(0, 400, 70)]
    assert (np.concatenate(parts) == whole).all()


def test_equal_lists_are_split_too() -> None:
    log = ClickLog.from_lists(["q"] * 2000, [["a", "b"]] * 2000, [[1]] * 2000)
    assert abs(held_out_lists(log, "random", 0.25, 0).mean() - 0.25) < 0.04


def test_the_hash_sees_query_items_order_clicks_time_and_visitor() -> None:
    given: dict[str, Any] = {"queries": ["q"], "items": [["a", "b"]], "clicked": [[1]]}
    logs = [
        ClickLog.from_lists(**given),
        ClickLog.from_lists(**given | {"queries": ["r"]}),
        ClickLog.from_lists(**given | {"items": [["b", "a"]]}),
        ClickLog.from_lists(**given | {"items": [["a", "b", "c"]]}),
        ClickLog.from_lists(**given | {"clicked": [[2]]}),
        ClickLog.from_lists(**given, time=[1.0]),
        ClickLog.from_lists(**given, time=[2.0]),
        ClickLog.from_lists(**given, visitors=["v"]),
        ClickLog.from_lists(**given, visitors=["w"]),
        ClickLog.from_lists(["7"], [[1]], [[]]),
        ClickLog.from_lists([7], [[1]], [[]]),
    ]
    assert len({int(ListHasher().hashes(log)[0]) for log in logs}) == len(logs)


def test_plain_and_compiled_hashes_are_equal() -> None:
    log = numbered(2000)  # 4,000 positions are hashed by compiled code
    few = log.take(np.arange(5))
    assert (ListHasher().hashes(few) == ListHasher().hashes(log)[:5]).all()


def test_a_digest_ignores_the_order_alone_and_adds_up_over_parts() -> None:
    log, hasher = numbered(50), ListHasher()
    whole = hasher.digest(log)
    assert hasher.digest(log.take(np.arange(49, -1, -1))) == whole
    assert hasher.digest(log.take(np.arange(49))).fingerprint() != whole.fingerprint()
    parts = [hasher.digest(log.take(np.arange(first, first + 10))) for first in range(0, 50, 10)]
    total = LogDigest()
    for part in parts:
        total = total.plus(part)
    assert total == whole
    assert whole.line(50, 51) == str(log)


def test_the_latest_lists_are_held_out_together() -> None:
    time = [3.0, 1.0, 2.0, 5.0, 4.0, 4.0, 0.0, float("nan")]
    log = ClickLog.from_lists(["q"] * 8, [["a"]] * 8, [[]] * 8, time=time)
    assert np.flatnonzero(held_out_lists(log, "time", 0.25, 0)).tolist() == [3]  # 3 would be too many
    assert np.flatnonzero(held_out_lists(log, "time", 0.5, 0)).tolist() == [0, 3, 4, 5]
    assert np.flatnonzero(held_out_lists(log, "time", 0.01, 0)).tolist() == [3]  # at least the last moment


def test_what_cannot_be_split_says_so() -> None:
    log = numbered(3)
    with pytest.raises(InvalidInput, match="a split by time needs them; split it at random"):
        held_out_lists(log, "time", 0.25, 0)
    with pytest.raises(InvalidInput, match="All lists of the log have the same time"):
        held_out_lists(ClickLog.from_lists(["q"] * 2, [["a"]] * 2, [[]] * 2, time=[1, 1]), "time", 0.25, 0)
    with pytest.raises(InvalidInput, match="holdout of 1e-06 leaves none of 3 lists to hold out"):
        held_out_lists(log, "random", 1e-6, 0)
    with pytest.raises(InvalidInput, match="leaves none of 3 lists to fit"):
        held_out_lists(log, "random", 0.999999, 0)
    with pytest.raises(InvalidInput, match="The split is 'tme', but must be one of random, time"):
        held_out_lists(log, "tme", 0.25, 0)
