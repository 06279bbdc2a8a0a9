"""How fast are the algorithms since the five papers, compared with NumPy loops?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from benchmarks import numpy_features, numpy_since2019
from benchmarks.contenders import Contender, Size, Topics, engine, features_in_numpy, in_numpy
from benchmarks.measure import Effort, ratio, rough, rounds_of, steps_for
from benchmarks.numpy_pmed import pmed
from benchmarks.numpy_unirank import uni_rank
from benchmarks.report import Show, Table, Target, nanoseconds, times, verdict_cells

SIZE = Size(16, 4)
WANTED = 20.0  # times the speed of the NumPy loop
ROUNDS = 5
LOOPS = {
    "cascade-ucb-v": numpy_since2019.ucb_v,
    "ts-cascade": numpy_since2019.ts_cascade,
    "cascade-moss": numpy_since2019.moss,
    "cascade-kl-ucb-plus-plus": numpy_since2019.kl_ucb_plus_plus,
    "pbm-pie": numpy_since2019.pie,
    "pb-mhb": numpy_since2019.mhb,
    "grab": numpy_since2019.grab,
    "glrt-cascade-ucb": numpy_since2019.glrt_ucb,
    "glrt-cascade-kl-ucb": numpy_since2019.glrt_kl_ucb,
    "uni-rank": uni_rank,
    "pmed": pmed,
}
OVER_FEATURES = {
    "lin-ts-cascade(sigma=0.1)": numpy_since2019.lin_ts_cascade,  # the noise of the NumPy loops
    "c3-ucb": numpy_since2019.c3,
    "cascade-hybrid": numpy_features.topics_alone,
    f"cascade-hybrid(topics={numpy_features.HYBRID_TOPICS})": numpy_features.hybrid,
    "recur-rank": numpy_since2019.recur_rank,
}
COLUMNS: dict[str, Show] = {
    "algorithm": str,
    "size": str,
    "n": str,
    "toplist": nanoseconds,
    "NumPy step": nanoseconds,
    "ratio": times,
    "quartiles": str,
    "target": str,
    "verdict": str,
}


def measure(effort: Effort) -> Sequence[Table]:
    """One row per policy; a quick run, for tests, plays them in plain Python."""
    topics = Topics(*SIZE)
    contenders: dict[str, tuple[Contender, str]] = {
        name: (in_numpy(loop, SIZE), str(SIZE)) for name, loop in LOOPS.items()
    }
    contenders |= {
        name: (features_in_numpy(loop, topics, every=False), str(topics)) for name, loop in OVER_FEATURES.items()
    }
    effort = effort._replace(rounds=min(effort.rounds, ROUNDS))
    rows = [row(name, size, loop, effort) for name, (loop, size) in contenders.items()]
    notes = [
        "CPU time per step, from the first step on, on cascade users; ratio: speed-up of toplist, median over rounds."
    ]
    return [Table("Algorithms since the five papers, compared with NumPy loops", COLUMNS, rows, notes)]


def row(name: str, size: str, loop: Contender, effort: Effort) -> dict[str, Any]:
    """The row of a policy."""
    pair = {"toplist": engine(name, SIZE, compiled=not effort.quick), "NumPy": loop}
    roughly = {each: rough(contender, effort.seconds) for each, contender in pair.items()}
    steps = steps_for(max(roughly.values()), effort.seconds)
    measured = rounds_of(pair, dict.fromkeys(pair, steps), roughly, effort)
    gain = ratio(measured["NumPy"], measured["toplist"])
    return {
        "algorithm": name,
        "size": size,
        "n": steps,
        "toplist": median(measured["toplist"]),
        "NumPy step": median(measured["NumPy"]),
        "ratio": gain.middle,
        "quartiles": f"{gain.low:.3g} to {gain.high:.3g}",
        **verdict_cells(gain.middle, Target(WANTED)),
    }
