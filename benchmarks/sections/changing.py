"""What do forgetting and Thompson sampling cost, compared with the plain policy and with a hand-written loop?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks import fused
from benchmarks.contenders import Contender, Size, by_hand, engine
from benchmarks.measure import Effort, ratio, rough, rounds_of, steps_for
from benchmarks.report import Show, Table, Target, nanoseconds, times, verdict_cells

SMALL, LARGE = Size(16, 4), Size(1000, 10)
QUICK_SIZES = (SMALL, Size(60, 3))
ROUNDS = 5
LONG = 1_000_000  # steps over which the detectors are measured; all their splits are in use then

# Each with its plain policy, and the least share of that policy's speed, required at L=16.
AGAINST = (
    ("cascade-ducb", "cascade-ucb1", 0.5),
    ("cascade-swucb", "cascade-ucb1", 0.5),
    ("cascade-kl-ucb-discounted", "cascade-kl-ucb", None),
    ("cascade-kl-ucb-windowed", "cascade-kl-ucb", None),
    ("cascade-kl-ucb-resetting", "cascade-kl-ucb", 0.2),
    ("cascade-kl-ucb-cusum", "cascade-kl-ucb", None),
    ("cascade-lsb-discounted", "cascade-lsb", None),
    ("cascade-lsb-windowed", "cascade-lsb", None),
)
QUICK_ROWS = 3
DRAWN = 0.7  # of the speed of a hand-written loop

COLUMNS: dict[str, Show] = {
    "policy": str,
    "baseline": str,
    "size": str,
    "n": str,
    "step": nanoseconds,
    "baseline step": nanoseconds,
    "ratio": times,
    "target": str,
    "verdict": str,
}


def measure(effort: Effort) -> Sequence[Table]:
    """One row per forgetting policy and size, and one for Thompson sampling."""
    effort = effort._replace(rounds=min(effort.rounds, ROUNDS))
    rows = []
    for size in QUICK_SIZES if effort.quick else (SMALL, LARGE):
        for policy, plain, share in AGAINST[:QUICK_ROWS] if effort.quick else AGAINST:
            steps = LONG if policy == "cascade-kl-ucb-resetting" and size == SMALL and not effort.quick else None
            wanted = share if size == SMALL else None
            rows.append(
                compare(policy, plain, engine(plain, size, compiled=not effort.quick), size, wanted, effort, steps)
            )
        hand = by_hand(fused.thompson, size)
        rows.append(compare("cascade-ts", "fused", hand, size, DRAWN, effort, None))
    notes = [
        "CPU time per step on users who do not change, from the first step on; ratio: speed-up over the baseline,",
        "median over rounds. Policies over features are given topics, two of eighteen per item.",
    ]
    return [Table("Policies that forget, and Thompson sampling", COLUMNS, rows, notes)]


def compare(
    policy: str, baseline: str, other: Contender, size: Size, wanted: float | None, effort: Effort, steps: int | None
) -> dict[str, Any]:
    """One row, over `steps` steps, or as many as time allows."""
    contenders = {policy: engine(policy, size, compiled=not effort.quick), baseline: other}
    roughly = {name: rough(contender, effort.seconds) for name, contender in contenders.items()}
    if steps is None:
        steps = steps_for(max(roughly.values()), effort.seconds)
    measured = rounds_of(contenders, dict.fromkeys(contenders, steps), roughly, effort)
    share = ratio(measured[baseline], measured[policy]).middle
    return {
        "policy": policy,
        "baseline": baseline,
        "size": str(size),
        "n": steps,
        "step": median(measured[policy]),
        "baseline step": median(measured[baseline]),
        "ratio": share,
        **verdict_cells(share, None if wanted is None else Target(wanted)),
    }
