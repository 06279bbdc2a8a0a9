"""Offline evaluation beside Open Bandit Pipeline, each in its own environment: `make bench-obp`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.random_slates import POSITIONS, random_slates
from benchmarks.report import Show, Table, Target, nanoseconds, render, times, verdict_cells
from toplist.evaluation import ESTIMATORS, LoggedLists
from toplist.evaluation.intervals import IntervalSettings, bootstrap_interval
from toplist.evaluation.question import EstimatorSettings, Question
from toplist.evaluation.targets import target_of_columns
from toplist.evaluation.units import units_of
from toplist.logs import ClickLog

NEEDED = ("torch", "scikit-learn", "pandas", "matplotlib", "tqdm", "scipy", "PyYAML", "seaborn", "pingouin")
OBP = ("pyieoe", "obp==0.5.7")  # declared for Python 3.10 or older; its slate estimators also run on 3.11
POINTS, INTERVALS, RESAMPLES = 1_000_000, 10_000, 10_000
ROUNDS = 5  # the median leaves out a first one that loads machine code
LEAST = Target(10.0)


def main(home: Path) -> None:
    """Install obp if it is not there, and print the table."""
    python = str(home / "bin" / "python")
    if not (home / "ready").exists():
        print(f"Installing {', '.join(OBP)} in {home} ...", flush=True)
        venv.create(home, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, *NEEDED], check=True)
        subprocess.run([*install, "--ignore-requires-python", "--no-deps", *OBP], check=True)
        (home / "ready").touch()
    logs = {"value": random_slates(POINTS), "interval": random_slates(INTERVALS)}
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for kind, log in logs.items():
            paths.append(str(Path(folder) / f"{kind}.npz"))
            np.savez(paths[-1], **slate_columns(log))
        script = Path(__file__).with_name("peers_obp.py")
        done = subprocess.run([python, script, *paths, str(RESAMPLES)], check=True, capture_output=True, text=True)
    theirs: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    rows: list[dict[str, Any]] = []
    for name, other in theirs.items():
        estimator, kind = name.split()
        measured = [ours(logs[kind], estimator, kind == "interval") for _ in range(ROUNDS)]
        spent, value = median(each for each, _ in measured), measured[0][1]
        ratio = other["seconds"] / spent
        off = abs(value - other["value"])
        rows.append(
            {"estimator": estimator, "what": kind, "obp": other["seconds"], "toplist": spent, "ratio": ratio,
             "difference": off} | verdict_cells(ratio, LEAST, " x")
        )  # fmt: skip
    columns: dict[str, Show] = {
        "estimator": str, "what": str, "obp": nanoseconds, "toplist": nanoseconds, "ratio": times,
        "difference": lambda value: f"{value:.1e}", "target": str, "verdict": str,
    }  # fmt: skip
    notes = [
        f"CPU time. value: of {POINTS:,} lists of {POSITIONS}, from arrays to the estimate. interval: bootstrap of",
        f"{INTERVALS:,} lists with {RESAMPLES:,} resamples; its difference is that of the means of the resamples.",
    ]
    print(render(Table("Offline evaluation beside Open Bandit Pipeline 0.5.7", columns, rows, notes)))


def slate_columns(log: ClickLog) -> dict[str, Any]:
    """The columns that obp takes."""
    lists = LoggedLists.of(log)
    assert lists.propensity is not None
    assert lists.marginal is not None
    cascade = np.cumprod(lists.propensity, axis=1)
    whole = np.repeat(cascade[:, -1], POSITIONS)
    columns = {"pscore": whole, "pscore_cascade": cascade.ravel(), "pscore_item_position": lists.marginal.ravel()}
    return {
        "slate_id": np.repeat(np.arange(len(lists)), POSITIONS),
        "position": np.tile(np.arange(POSITIONS), len(lists)),
        "reward": lists.click.ravel(),
        **columns,
        **{f"evaluation_policy_{name}": column for name, column in columns.items()},
    }


def ours(log: ClickLog, estimator: str, with_interval: bool) -> tuple[float, float]:
    """CPU seconds, and the value; of an interval the mean of its ends."""
    begun = time.process_time()
    question = Question(LoggedLists.of(log), units_of(log), target_of_columns(log), EstimatorSettings())
    estimate = ESTIMATORS[estimator](question).estimate
    value = estimate.value
    if with_interval:
        settings = IntervalSettings("bootstrap", resamples=RESAMPLES, seed=1)
        found = bootstrap_interval(estimate, question.units, settings)
        value = (found.low + found.high) / 2.0
    return time.process_time() - begun, value


if __name__ == "__main__":
    main(Path(sys.argv[1]))
