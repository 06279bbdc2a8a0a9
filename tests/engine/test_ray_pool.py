"""Ray workers of a local cluster give the numbers of threads, bit for bit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from toplist.clicks import Cascade
from toplist.core.problem import InvalidInput
from toplist.engine.ray_pool import RayPool
from toplist.engine.simulate import WatchedResult, simulate_with_watch
from toplist.support.progress import Progress
from toplist.worlds import b_top_k

SIZE: dict[str, Any] = {"steps": 300, "runs": 3, "seed": 5}


def test_without_ray_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r'pip install "toplist\[ray\]"'):
        RayPool()


@pytest.fixture(scope="module")
def pool() -> Iterator[RayPool]:
    with RayPool(workers=1) as opened:
        yield opened


def same(ours: WatchedResult, theirs: WatchedResult) -> bool:
    return all(
        np.array_equal(found[label], other[label])
        for found, other in (
            (ours.result.regret, theirs.result.regret),
            (ours.result.clicks, theirs.result.clicks),
            (ours.watched, theirs.watched),
        )
        for label in found
    ) and list(ours.result.regret) == list(theirs.result.regret)


@pytest.mark.slow
def test_the_same_numbers_as_on_threads(pool: RayPool) -> None:
    def clicks_so_far(player: Any) -> float:  # local: workers cannot import the modules of tests
        return float(player.run.totals[1])

    policies = ["cascade-ucb1", "cascade-kl-ucb-resetting", "random"]
    given: tuple[Any, Any, Any] = (policies, b_top_k(6, 2, 0.5, 0.3), Cascade())
    reports: list[Progress] = []
    ours = simulate_with_watch(*given, **SIZE, watch=clicks_so_far, threads=1)
    theirs = simulate_with_watch(*given, **SIZE, watch=clicks_so_far, pool=pool, progress=reports.append)
    assert same(ours, theirs)
    assert ours.result.detections == theirs.result.detections
    assert [reports[0].done, reports[-1].done, reports[-1].total] == [0, 2700, 2700]


@pytest.mark.slow
def test_large_arrays_can_be_written_to(pool: RayPool) -> None:
    """Arrays that Ray deserialises are read-only, and numba would compile everything again for them."""
    assert pool.submit(lambda array: bool(array.flags.writeable), np.zeros(200_000)).result()


@pytest.mark.slow
def test_a_run_that_threads_left_unfinished_continues(pool: RayPool, tmp_path: Path) -> None:
    file = tmp_path / "kept.npz"
    given: tuple[Any, Any, Any] = (["cascade-ucb1"], b_top_k(6, 2, 0.5, 0.3), Cascade())

    def stop(now: Progress) -> None:
        if now.done:
            raise KeyboardInterrupt

    size: dict[str, Any] = {"steps": 200_000, "runs": 2, "seed": 5}
    with pytest.raises(KeyboardInterrupt):
        simulate_with_watch(*given, **size, threads=1, resume=file, progress=stop)
    reports: list[Progress] = []
    theirs = simulate_with_watch(*given, **size, pool=pool, resume=file, progress=reports.append)
    assert reports[0].earlier > 0
    assert same(simulate_with_watch(*given, **size, threads=1), theirs)


@pytest.mark.slow
def test_an_error_of_a_worker_is_raised_here(pool: RayPool) -> None:
    def refuse(_: Any) -> float:
        raise InvalidInput("This is not to be watched; watch something else.")

    given: tuple[Any, Any, Any] = (["random"], b_top_k(6, 2, 0.5, 0.3), Cascade())
    with pytest.raises(InvalidInput, match="watch something else"):
        simulate_with_watch(*given, **SIZE, watch=refuse, pool=pool)


@pytest.mark.slow
def test_an_existing_connection_is_left_open(pool: RayPool) -> None:
    with RayPool(workers=1) as second:
        assert second.submit(abs, -3).result() == 3
    assert pool.submit(abs, -4).result() == 4
