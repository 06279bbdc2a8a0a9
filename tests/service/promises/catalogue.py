"""All promises, each with the sizes of its long form and of the short form that is run with the tests."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from . import (
    ages,
    cluster,
    duplicates,
    ending,
    flips,
    full_disk,
    fuzzing,
    kills,
    memory,
    rebuilds,
    regret,
    releases,
    stateful,
    takeovers,
)
from .altered import NOBODY_FENCES, OWN_CLOCK, REPLY_FIRST, SAME_EPOCH
from .broken import Broken, NoAnswer
from .proxy import LATE

FAULTY_EPISODES = 12  # of a check with a planted fault


class Promise(NamedTuple):
    """A promise of the service, and how it is put to the test."""

    says: str
    check: Callable[..., str]  # raises `Broken`, or tells what was found
    long: Mapping[str, Any]
    short: Mapping[str, Any]
    tested: bool = False  # whether another test is its short form already
    fault: str = ""  # which the check must notice where it is planted
    faulty: Mapping[str, Any] = {}  # what brings it out

    def kept(self, short: bool) -> str:
        """Put it to the test, in a folder of its own; what was found."""
        return self._run(self.short if short else self.long)

    def noticed(self, **more: Any) -> str:
        """Plant its fault; what the check says of it, with some sizes changed.

        Raises `Broken` if it says nothing, or only that an answer did not come in time.
        """
        try:
            few = {"episodes": FAULTY_EPISODES, "fault": self.fault, "closed": 20.0}
            told = self._run({**self.long, **few, **self.faulty, **more})
        except NoAnswer as problem:
            raise NoAnswer(f"{self.fault} was not noticed: {problem}") from problem
        except Broken as problem:
            return str(problem)
        raise Broken(f"{self.fault} was not noticed: {told}")

    def _run(self, sizes: Mapping[str, Any]) -> str:
        with tempfile.TemporaryDirectory(prefix="toplist-promise-", ignore_cleanup_errors=True) as folder:
            return self.check(Path(folder), **sizes)


PROMISES: dict[str, Promise] = {
    "kills": Promise(
        "1. kill -9 under load loses nothing that was acknowledged, and nothing is learned twice",
        kills.check, {"kills": 200}, {"kills": 3, "seed": 4, "last": 0.3},  # the third while it starts
    ),
    "duplicates": Promise(
        "2. reports sent ten times in any order are learned once, with identical replies",
        duplicates.check, {"impressions": 3000, "window": 20.0}, {"impressions": 40, "window": 2.0},
    ),
    "rebuilds": Promise(
        "3. beliefs rebuilt, backed up and restored are the live ones, byte for byte",
        rebuilds.check, {"impressions": 100_000}, {"impressions": 300},
    ),
    "ages": Promise(
        "4. clicks of any age are classified, and windows close soon",
        ages.check, {"impressions": 20_000, "window": 30.0}, {"impressions": 150, "window": 1.5},
    ),
    "fuzzing": Promise(
        "5. no request that fits or breaks the OpenAPI document gets a 5xx",
        fuzzing.check, {"requests": 20_000, "examples": 100}, {"requests": 1, "examples": 1}, tested=True,
    ),
    "stateful": Promise(
        "6. any order of steps, restarts and crashes among them, leads to what a small model says",
        stateful.check, {"examples": 500, "steps": 60}, {"examples": 12, "steps": 40}, tested=True,
    ),
    "memory": Promise(
        "7. memory does not grow under a steady load",
        memory.check, {"seconds": 600.0, "warm_up": 120.0, "per_second": 300.0},
        {"seconds": 8.0, "warm_up": 4.0, "per_second": 50.0},
    ),
    "ending": Promise(
        "7. SIGTERM loses no reply in flight",
        ending.check, {"ends": 50}, {"ends": 2},
    ),
    "full_disk": Promise(
        "7. a full disk is refused with 503, loses nothing acknowledged, and is recovered from",
        full_disk.check, {"times": 20}, {"times": 1, "loaded": 0.2},
    ),
    "flips": Promise(
        "8. a flipped bit of the store is named",
        flips.check, {"flips": 600, "lists": 120}, {"flips": 40}, tested=True,
    ),
    "regret": Promise(
        "9. a service fed by simulated visitors has the regret of the simulator",
        regret.check, {"runs": 100, "steps": 2000}, {"runs": 20, "steps": 100},
    ),
    "takeovers": Promise(
        "10. servers that take turns on one PostgreSQL database lose nothing and learn nothing twice",
        takeovers.check, {"episodes": 200}, {"episodes": 4, "last": 0.3},
    ),
    "cluster": Promise(
        "11. several servers at once, killed, stopped, restarted and cut off, lose nothing and learn nothing twice",
        cluster.check, {"episodes": 20}, {"episodes": 5, "last": 0.3}, tested=True,  # by those of one kind
    ),
    "cluster_kills": Promise(
        "11.1 kill -9 of random servers",
        cluster.check, {"episodes": 200, "kinds": ("kill",), "pause": 1.5},
        {"episodes": 1, "kinds": ("kill",), "last": 0.3}, fault=REPLY_FIRST,
    ),
    "cluster_stops": Promise(
        "11.2 owners that are stopped for longer than their lease",
        cluster.check, {"episodes": 100, "kinds": ("stop",), "fenced": 0.5},
        {"episodes": 2, "kinds": ("stop",), "last": 0.3, "fenced": 0.5}, fault=NOBODY_FENCES, faulty={"fenced": 0.0},
    ),
    "cluster_cuts": Promise(
        "11.3 connections that are cut, slow, or work in one direction only",
        cluster.check, {"episodes": 100, "kinds": ("cut",)},
        {"episodes": 1, "kinds": ("cut",), "last": 0.3}, fault=SAME_EPOCH,
        faulty={"troubles": (LATE,)},  # a commit that is on its way while its owner takes another epoch
    ),
    "cluster_crashes": Promise(
        "11.4 the database is killed",
        cluster.check, {"episodes": 50, "kinds": ("crash",), "pause": 1.0},
        {"episodes": 1, "kinds": ("crash",), "last": 0.3}, fault=REPLY_FIRST,
    ),
    "cluster_restarts": Promise(
        "11.5 rolling restarts of all servers",
        cluster.check, {"episodes": 20, "kinds": ("restart",), "by_library": True, "median_gap": 2.0},
        {"episodes": 1, "kinds": ("restart",), "by_library": True, "last": 0.3}, fault=OWN_CLOCK,
        faulty={"episodes": 3, "median_gap": inf},
    ),
    "releases": Promise(
        "12. servers that start at once make the tables once, and two releases run beside each other",
        releases.check, {"races": 30, "episodes": 10}, {"races": 2, "episodes": 1, "last": 0.3},
        fault=releases.NO_LOCK,
    ),
}  # fmt: skip
