"""Fits find the parameters and the model that a log was simulated from; `make coverage` has the long form."""

from __future__ import annotations

import numpy as np
import pytest
from recovery.comparison import compare
from recovery.intervals import coverage, fit_with_diagonal_errors
from small_logs import small_log

from toplist.logs import patterns
from toplist.logs.models import MODELS


@pytest.fixture
def compiled_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patterns, "SHORT", 0)  # many fits: even short ones are worth compiling


@pytest.mark.usefixtures("compiled_fits")
def test_95_percent_intervals_cover_the_truth_as_often_as_they_say() -> None:
    fits = 60
    right = {found.kind: found for found in coverage("dbn", fits)}
    shrunk = coverage("dbn", fits, shrunk=True)
    for found in (*right.values(), *shrunk):
        assert found.intervals > 0.95 * fits * (1 if found.kind == "persistence" else 8)
        assert abs(found.share - 0.95) < 3.5 * np.sqrt(0.95 * 0.05 / found.intervals), found
    # The same with errors from the diagonal of the information alone, which are too small.
    diagonal = {found.kind: found for found in coverage("dbn", fits, fit=fit_with_diagonal_errors)}
    assert all(diagonal[kind].covered <= found.covered for kind, found in right.items())
    assert diagonal["persistence"].covered < right["persistence"].covered  # `make coverage` finds the size: 90%


@pytest.mark.parametrize("true", ["cascade", "sdbn", "dbn", "pbm"])
def test_the_true_model_is_found_on_held_out_lists(true: str) -> None:
    log, held_out = (small_log(true, lists=60_000, queries=1, positions=3, seed=seed) for seed in (1, 3))
    verdicts = compare(true, log, held_out, list(MODELS))
    assert [verdict.wrong for verdict in verdicts if not verdict.is_right] == []
    assert len(verdicts) == len(MODELS) - 1
    assert any(verdict.is_worse for verdict in verdicts)
