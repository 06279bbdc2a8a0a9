"""A small suite, and its board."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from toplist.leaderboard import Leaderboard, field_of, play_suite, read_suite

SMALL = json.dumps(
    {
        "version": 7,
        "problems": [
            {"name": "one", "kind": "a", "world": "fixed(attraction=[0.8, 0.3, 0.1, 0.1], positions=2)",
             "users": "cascade"},
            {"name": "two", "kind": "a", "world": "fixed(attraction=[0.1, 0.7, 0.4, 0.1], positions=2)",
             "users": "pbm(examination=[1.0, 0.5])"},
            {"name": "three", "kind": "b", "features": True,
             "world": "contextual(items=4, positions=2, dimension=2, length=3.0)", "users": "cascade"},
        ],
        "tuning": [
            {"name": "tune-a", "kind": "a", "world": "fixed(attraction=[0.6, 0.3, 0.1], positions=1)",
             "users": "cascade"},
            {"name": "tune-b", "kind": "b", "features": True, "world": "contextual(items=4, positions=2, dimension=2)",
             "users": "cascade"},
        ],
    }
)  # fmt: skip
NAMES = ["cascade-ucb1", "cascade-kl-ucb", "c3-ucb"]


def played(folder: Path | None = None, own: Any = None, runs: int = 3) -> Leaderboard:
    suite, contenders = read_suite(SMALL), field_of({}, own or {}, NAMES)
    horizons, cells = play_suite(suite.problems, contenders, 60, runs, 0, [20], threads=1, folder=folder)
    return Leaderboard(suite.problems, contenders, horizons, cells, {"suite": 7, "problems": 3, "steps": 60,
                                                                     "runs": runs, "seed": 0})  # fmt: skip
