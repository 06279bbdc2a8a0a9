"""The short form of `make soak`: every attack for a moment, with few connections, beside some honest traffic."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from soak.attacker import Slice
from soak.attacks import ATTACKS
from soak.findings import Latencies, unattacked
from soak.plan import Plan
from soak.report import broken_promises, lines, memory_bound
from soak.soak import Outcome, soak
from soak.watch import Sample

NAMES = tuple(attack.name for attack in ATTACKS if attack.name != "new policies")  # which compiles for some seconds
SHORT = Plan(
    warm_up=0.2, quiet=0.5, attacked=0.15 * len(NAMES) + 1.0, slice=0.15, pause=0.1, lists_per_second=20.0, final=1.0,
    connections=8, scale=0.03, attacks=NAMES,
)  # fmt: skip


@pytest.mark.slow
def test_honest_traffic_is_served_beside_all_attacks(tmp_path: Path) -> None:
    outcome = soak(tmp_path, SHORT)
    assert broken_promises(outcome, with_times=False) == [], "\n".join(lines(outcome))
    assert {one.attack for one in outcome.slices} == set(NAMES)
    assert outcome.counts["list"] > 50
    assert outcome.counts["report"] == outcome.counts["list"]
    assert outcome.counts["health"] > 2


# The checks can fail.


class Samples:
    """A watch that is over."""

    def __init__(self, memory: int) -> None:
        self.samples = [Sample(0.0, memory, {}, 1.0)]


def found(**more: Any) -> Outcome:
    """A soak of a hundred seconds, in which all promises are kept."""
    plan = Plan(warm_up=0.0, quiet=50.0, attacked=50.0)
    slices = [
        Slice("guessed keys", "stranger", 50.0, 70.0, 9, {"401": 9}),
        Slice("reads", "admin", 70.0, 100.0, 1, {"200": 1}),
    ]
    due = np.arange(0.0, 100.0, 0.1)
    latencies = Latencies(np.zeros_like(due), due, np.full_like(due, 0.01))
    kept: dict[str, Any] = {
        "plan": plan, "slices": slices, "latencies": latencies, "counts": {"list": 1000}, "failed": 0, "failures": [],
        "watch": Samples(200 << 20), "disk": None, "base": 150 << 20, "store": "", "broken": [],
    }  # fmt: skip
    return Outcome(**kept | more)


def test_promises_that_are_kept_pass() -> None:
    assert broken_promises(found()) == []


def slow(begin: float, end: float) -> Latencies:
    """Latencies with some that are four times as long."""
    latencies = found().latencies
    latencies.seconds[(latencies.due >= begin) & (latencies.due < end)] = 0.04
    return latencies


FAULTS: dict[str, Callable[[], Outcome]] = {
    "honest requests failed": lambda: found(failed=1, failures=["a report"]),
    "MB are resident": lambda: found(watch=Samples(round(memory_bound(found())) + 1)),
    "times 500": lambda: found(slices=[found().slices[0]._replace(got={"500": 1})]),
    "times ADMITTED": lambda: found(slices=[found().slices[0]._replace(got={"ADMITTED": 1})]),
    "times HELD ON": lambda: found(slices=[found().slices[0]._replace(got={"HELD ON": 1})]),
    "no held connection was ended": lambda: found(slices=[found().slices[0]._replace(attack="slow heads")]),
    "no request was made": lambda: found(slices=[found().slices[0]._replace(requests=0, got={})]),
    "keys could be guessed": lambda: found(slices=[found().slices[0]._replace(got={"401": 10_000})]),
    "beside stranger and serve attacks": lambda: found(latencies=slow(60.0, 61.0)),
    "lost": lambda: found(broken=["1 acknowledged lists lost or changed"]),
}


@pytest.mark.parametrize("name", FAULTS)
def test_broken_promises_are_named(name: str) -> None:
    assert [name in each for each in broken_promises(FAULTS[name]())] == [True]


def test_pauses_count_as_unattacked() -> None:
    plan = Plan(warm_up=1.0, quiet=9.0, attacked=40.0)
    slices = [Slice("a", "serve", at, at + 5.0, 1, {}) for at in (10.0, 15.0, 30.0)]
    assert unattacked(plan, slices) == [(1.0, 10.0), (22.0, 30.0), (37.0, 50.0)]
