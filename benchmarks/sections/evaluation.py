"""How long does offline evaluation take, from a log in memory to an estimate with its normal interval?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks.measure import Effort
from benchmarks.random_slates import ITEMS, POSITIONS, random_slates
from benchmarks.report import Show, Table, Target, nanoseconds, verdict_cells
from toplist.evaluation import ESTIMATORS, LoggedLists, RankedGroups, TargetPolicy
from toplist.evaluation.doubly_robust import doubly_robust_clicks
from toplist.evaluation.estimate import MeanEstimate
from toplist.evaluation.intervals import IntervalSettings, interval_of
from toplist.evaluation.question import EstimatorSettings, Question
from toplist.evaluation.units import units_of
from toplist.logs import ClickLog

LISTS, QUICK_LISTS = 1_000_000, 300
MOST = 5.0  # seconds
MODELS = ("item-position-ctr", "dcm")
EVERY: TargetPolicy = RankedGroups([range(ITEMS)], ITEMS)  # every list is equally likely
ONE: TargetPolicy = RankedGroups([[item] for item in range(ITEMS)], ITEMS)


def measure(effort: Effort) -> Sequence[Table]:
    """Each estimator on the same log; those with a click model with two models."""
    lists = QUICK_LISTS if effort.quick else LISTS
    log = random_slates(lists)
    names = [(name, "") for name in ESTIMATORS if name not in ("direct", "doubly-robust")]
    names += [(name, model) for name in ("direct", "doubly-robust") for model in MODELS]
    rows: list[dict[str, Any]] = []
    for name, model in names:
        spent = median(seconds(log, name, model) for _ in range(1 if effort.quick else 3))
        wanted = Target(MOST, at_most=True)
        rows.append({"estimator": name, "model": model or "-", "time": spent} | verdict_cells(spent, wanted, " s"))
    columns: dict[str, Show] = {"estimator": str, "model": str, "time": nanoseconds, "target": str, "verdict": str}
    notes = ["CPU time from the log in memory to the estimate with its normal interval; doubly robust: 3 folds."]
    return [Table(f"Offline evaluation of {lists:,} lists of {POSITIONS}", columns, rows, notes)]


def seconds(log: ClickLog, name: str, model: str) -> float:
    """CPU seconds of one estimate."""
    begun = time.process_time()
    estimate(log, name, model)
    return time.process_time() - begun


def estimate(log: ClickLog, name: str, model: str) -> float:
    """An estimate, whose interval is made too."""
    lists, units = LoggedLists.of(log), units_of(log)
    settings = EstimatorSettings(model=model) if model else EstimatorSettings()
    question = Question(lists, units, ONE if name == "direct" else EVERY, settings)
    found: MeanEstimate
    if name == "doubly-robust":  # a certain list has hardly any support in such a log: the work is the same
        found = doubly_robust_clicks(question.by_prefix.value, ONE, lists, units, model)
    else:
        found = ESTIMATORS[name](question).estimate
    return interval_of(found, units, IntervalSettings()).high
