"""What does a list of very many items cost, compared with scoring all of them?"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

import numpy as np

from benchmarks.contenders import Size
from benchmarks.measure import Effort, ratio
from benchmarks.report import Show, Table, Target, nanoseconds, times, verdict_cells
from toplist.core.problem import Problem
from toplist.core.randomness import branch, uniform
from toplist.core.slate import NONE, Page, Request, empty_page
from toplist.parts.index.shortlist import empty_shortlist
from toplist.policies import make
from toplist.ranker.learner import Learner

SIZE, QUICK_SIZE = Size(100_000, 10), Size(6000, 10)
POLICIES = ("dcm-kl-ucb", "cascade-ucb1")
LISTS, QUICK_LISTS = 500, 5
TARGET = Target(200.0, at_most=True)


def never_seen(learner: Learner) -> None:
    """All items are new."""


def reported(learner: Learner) -> None:
    """Each item has a prior, as if half of one examination was a click."""
    learner.belief.examined[:], learner.belief.clicked[:] = 1.0, 0.5


def spread_out(learner: Learner) -> None:
    """All items were examined many times and have different means."""
    for item in range(learner.problem.items):
        examined = float(20 + int(380.0 * uniform(1, item)))
        learner.belief.examined[item] = examined
        learner.belief.clicked[item] = float(int(0.3 * uniform(2, item) * examined))
    learner.belief.clock[0] = 1e6


def tied(learner: Learner) -> None:
    """As after 59,000 lists with a prior: several counts whose KL-UCB indices round to 1, and others behind them."""
    chances, counts = (0.5, 0.555, 0.5605, 0.5625, 1.0), ((1.0, 0.5), (2.0, 1.5), (3.0, 2.5), (4.0, 3.5), (2.0, 0.5))
    for item in range(learner.problem.items):
        kind = int(np.searchsorted(chances, uniform(3, item)))
        learner.belief.examined[item], learner.belief.clicked[item] = counts[kind]
    learner.belief.clock[0] = 59_000.0


BEGINNINGS: dict[str, Callable[[Learner], None]] = {
    "never seen": never_seen,
    "one click reported": reported,
    "spread out": spread_out,
    "different counts, one index": tied,
}


def measure(effort: Effort) -> Sequence[Table]:
    """One row per policy and beginning."""
    size, lists = (QUICK_SIZE, QUICK_LISTS) if effort.quick else (SIZE, LISTS)
    rows = [
        {"algorithm": policy, "what": name, "size": str(size)} | costs(policy, begin, size, lists, effort.rounds)
        for policy in POLICIES
        for name, begin in BEGINNINGS.items()
    ]
    columns: dict[str, Show] = {
        "algorithm": str,
        "what": str,
        "size": str,
        "all": nanoseconds,
        "shortlist": nanoseconds,
        "ratio": times,
        "quartiles": str,
        "target": str,
        "verdict": str,
    }
    notes = [
        "all: the same policy scoring every item. Both make the same lists in turn, else the benchmark fails.",
        f"CPU time of Learner.rank, median of {lists} lists and of the rounds; each list is learned before the next.",
    ]
    return [Table("Lists of very many items", columns, rows, notes)]


def costs(policy: str, begin: Callable[[Learner], None], size: Size, lists: int, rounds: int) -> dict[str, Any]:
    """Both ways on the same lists, in every round."""
    short, full = [], []
    for turn in range(rounds):
        one, other = (Learner(make(policy), Problem(*size), compiled=True) for _ in range(2))
        begin(one)
        other.belief = one.belief  # read by both, written by one
        cache = other.policy.scratch(other.problem)
        other.caches.append(cache._replace(scoring=cache.scoring._replace(shortlist=empty_shortlist(Problem(1, 1)))))
        seconds = in_turn(one, other, lists, turn)
        short.append(seconds[0])
        full.append(seconds[1])
    gain = ratio(full, short)
    quartiles = f"{gain.low:.3g} to {gain.high:.3g}"
    cells = {"all": median(full), "shortlist": median(short), "ratio": gain.middle, "quartiles": quartiles}
    return cells | verdict_cells(median(short) * 1e6, TARGET, " us")


def in_turn(one: Learner, other: Learner, lists: int, turn: int) -> tuple[float, float]:
    """Median CPU seconds per list of each."""
    items, positions = one.problem.items, one.problem.positions
    labels = np.array([branch(turn, item) for item in range(items)])
    slate, again, page = one.empty_slate(), other.empty_slate(), empty_page(positions)
    examined = np.zeros(items, dtype=bool)
    taken: tuple[list[float], list[float]] = ([], [])
    for number in range(lists):
        key = branch(turn, -1 - number)
        request = Request(np.arange(items), positions, NONE, NONE, np.zeros((items, 0)), 0, labels, key)
        for learner, shown, seconds in ((one, slate, taken[0]), (other, again, taken[1])):
            begun = time.thread_time()
            learner.rank(request, shown)
            seconds.append(time.thread_time() - begun)
        if slate.items.tolist() != again.items.tolist():
            raise AssertionError("a shortlist and the scores of all items made different lists")
        click(page, int(4.0 * uniform(key, 0)))
        one.learn(slate, page, examined)
    return median(taken[0]), median(taken[1])


def click(page: Page, position: int) -> None:
    """Set one click."""
    page.clicks[:] = 0
    page.clicks[position] = 1
