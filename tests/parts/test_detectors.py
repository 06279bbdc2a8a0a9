"""Change detectors against their definitions, and their guarantees on false alarms and delays."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toplist.core.problem import InvalidInput, Problem
from toplist.experiments.detector_delays import alarms_of, delays, false_alarms, report
from toplist.parts.detectors import CUSUM, FIRST_SPLIT, GLR, MOST_SPLITS, SPLIT_SPACING, SPLITS

PROBLEM = Problem(1, 1)


def divergence(p: float, q: float) -> float:
    return sum(a * math.log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def ratio(values: list[float]) -> float:
    """The largest likelihood ratio over all splits, from its definition."""
    n, mean = len(values), sum(values) / len(values)
    if mean in (0.0, 1.0):
        return 0.0
    best = 0.0
    for s in range(1, n):
        first, second = sum(values[:s]) / s, sum(values[s:]) / (n - s)
        best = max(best, s * divergence(first, mean) + (n - s) * divergence(second, mean))
    return best


def first_alarm(detector: Any, values: list[float]) -> int | None:
    row = np.zeros(detector.room())
    return next((t for t, value in enumerate(values, 1) if detector.watch(row, 1.0, value)), None)


streams = st.lists(st.tuples(st.floats(0.0, 1.0), st.integers(1, 40)), min_size=1, max_size=3)


@given(streams, st.integers(0, 1000), st.sampled_from([0.5, 0.1, 1e-3]))
def test_glr_alarms_exactly_as_defined(parts: Any, seed: int, level: float) -> None:
    """As long as there is room for all splits."""
    rng = np.random.default_rng(seed)
    values = [float(rng.random() < mean) for mean, length in parts for _ in range(length)][:MOST_SPLITS]
    expected = next((t for t in range(1, len(values) + 1) if ratio(values[:t]) >= math.log(3 * t**1.5 / level)), None)
    assert first_alarm(GLR(level).prepare(PROBLEM), values) == expected


def test_glr_keeps_its_splits_close_to_each_other() -> None:
    glr = GLR(1e-9).prepare(PROBLEM)
    row, rng = np.zeros(glr.room()), np.random.default_rng(1)
    for t in range(1, 5001):
        assert not glr.watch(row, 1.0, float(rng.random() < 0.3))
        splits = row[FIRST_SPLIT : FIRST_SPLIT + int(row[SPLITS])]
        assert splits[0] == 1
        assert splits[-1] == t
        older, newer = splits[:-1], splits[1:]
        dropped = newer - older > 1
        assert (newer - older <= SPLIT_SPACING * np.minimum(newer, t - older))[dropped].all()


def test_glr_alarms_only_where_all_splits_would() -> None:
    found = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        values = (rng.random(900) < np.where(np.arange(900) < 400, 0.3, 0.5)).astype(float).tolist()
        when = first_alarm(GLR(0.05).prepare(PROBLEM), values)
        if when is not None:
            found += 1
            assert ratio(values[:when]) >= math.log(3 * when**1.5 / 0.05)
    assert found >= 6


def test_cusum_is_its_two_sums() -> None:
    cusum = CUSUM(level=1e-2, slack=0.1, samples=20).prepare(PROBLEM)
    for seed in range(50):
        rng = np.random.default_rng(seed)
        values = (rng.random(200) < np.where(np.arange(200) < 80, 0.3, 0.7)).astype(float).tolist()
        mean, up, down, expected = sum(values[:20]) / 20, 0.0, 0.0, None
        for t, value in enumerate(values[20:], 21):
            up, down = max(0.0, up + value - mean - 0.1), max(0.0, down + mean - value - 0.1)
            if max(up, down) > math.log(100) / 0.8:
                expected = t
                break
        assert first_alarm(cusum, values) == expected


@pytest.mark.parametrize("mean", [0.05, 0.3, 0.5])
def test_glr_has_at_most_the_nominal_rate_of_false_alarms(mean: float) -> None:
    """5% nominal; 400 streams of 2,000 observations, fixed seeds. A broken threshold alarms on most of them."""
    _, share = false_alarms(GLR(0.05), mean, streams=400, length=2000)
    assert share <= 0.05


@pytest.mark.parametrize("mean", [0.05, 0.3, 0.5])
def test_cusum_has_at_most_the_nominal_rate_of_false_alarms(mean: float) -> None:
    """Once in 10,000 observations nominal; 500 streams of 10,000, fixed seeds."""
    count, _ = false_alarms(CUSUM(1e-4), mean, streams=500, length=10_000)
    assert count / (500 * 10_000) <= 1e-4


@pytest.mark.parametrize(
    ("detector", "after", "median"),
    [(GLR(), 0.3, 1400), (GLR(), 0.5, 110), (GLR(), 0.9, 20), (CUSUM(), 0.5, 65), (CUSUM(), 0.9, 22)],
)
def test_jumps_are_detected_in_time(detector: Any, after: float, median: float) -> None:
    """From 0.2 after 2,000 observations; 100 streams, fixed seeds. The medians measured are 1219, 88, 16, 52 and 18."""
    seen = delays(detector, 0.2, after, streams=100, patience=20_000)
    assert seen.found > 0.98
    assert seen.median <= median


def test_alarms_are_counted_from_1_and_the_detector_restarts() -> None:
    alarms = alarms_of(GLR(), 0.05, 0.95, 500, 1000, seed=0)
    assert len(alarms) == 1
    assert 500 < alarms[0] < 530


def test_the_report_has_a_row_for_every_case() -> None:
    text = report(streams=20, observations=100_000)
    assert text.count("GLR(level=0.001)") == text.count("CUSUM(level=0.0001, slack=0.1, samples=100)") == 6


@pytest.mark.parametrize("detector", [GLR(0.0), GLR(1.0), GLR(-1), CUSUM(slack=0.0), CUSUM(samples=0), CUSUM(level=2)])
def test_invalid_parameters_are_refused(detector: Any) -> None:
    with pytest.raises(InvalidInput):
        detector.prepare(PROBLEM)
