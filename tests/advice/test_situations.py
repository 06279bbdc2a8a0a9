"""A short form of the study of the advice, on small situations; `make advice-study` is the long one."""

import numpy as np
import pytest
from situations import CASES, ENOUGH, Case, judge
from small_logs_of_truth import made_log

from toplist.advice import advise
from toplist.advice.answer import STAY
from toplist.advice.proof import true_curves

SMALL = (
    Case("dcm, poor ranking", "dcm", 6, 3, queries=1, lists=1500, skill=0.0, rate=0.25),
    Case("cascade, perfect ranking", "cascade", 4, 4, queries=1, lists=800, skill=1.0),
)


def test_the_study_has_thirty_situations_of_all_kinds() -> None:
    assert len(CASES) == 30
    assert {case.visitors for case in CASES} >= {"cascade", "dcm", "pbm", "dbn", "ubm"}
    assert sum(case.epochs > 1 for case in CASES) >= 3
    assert sum(case.features > 0 for case in CASES) >= 3
    assert min(case.items for case in CASES) < 10
    assert max(case.items for case in CASES) > 50


@pytest.mark.slow
@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.title)
def test_the_advice_is_near_the_best_choice(case: Case) -> None:
    few = ["dcm-ts", "bubble-rank(delta=0.001)"]
    found, advice = judge(case, seed=3, draws=10, runs=3, compiled=False, threads=1, policies=few)
    if case.items == case.positions:  # cascade visitors click once at most, in whatever order
        assert advice.verdict == STAY
        assert found.is_right, found
    else:  # the log is short, so that it may be too little to be sure
        assert advice.verdict != STAY
        assert found.gain >= ENOUGH * found.best_gain > 0.0, found


@pytest.mark.slow
def test_intervals_hold_the_truth() -> None:
    """Ten logs of random items; with intervals of 95%, fewer than 7 hold with a probability of 0.1%."""
    held = 0
    for seed in range(10):
        attraction = np.random.default_rng([seed, 5]).beta(1.5, 4.0, (2, 6))
        log, truth = made_log(attraction, 600, disorder=1.5, seed=seed)
        found = advise(
            log, 3, models=["dcm"], policies=["dcm-ts"], draws=8, lists=100, seed=seed, threads=1, compiled=False
        )
        true = true_curves(found, truth, log, ["dcm-ts"], 3, seed, 1, False)
        gain = float(true["dcm-ts"][-1] - true["logged ranking"][-1])
        _, low, high = found.outcome.gain("dcm-ts").last()
        held += low <= gain <= high
        assert np.isfinite([low, high]).all()
    assert held >= 7
