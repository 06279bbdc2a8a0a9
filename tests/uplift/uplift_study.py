"""Do intervals of the uplift hold what they say? Simulated experiments, heavy-tailed visitors: `make uplift-study`.

The lists of a visitor follow a power law, so that one visitor in some hundred has a large part of all lists; who has
more lists clicks less. Visitors come at any time and come again, and after every closed list somebody looks. The true
means are sums over the distribution, so that coverage is counted against the exact truth.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from typing import NamedTuple

import numpy as np

from toplist.core.slate import Bools, Floats, Ints
from toplist.support.tables import aligned_lines
from toplist.uplift import Tally, VisitorCounts
from toplist.uplift.intervals import (
    LEAST_RESULTS,
    LEAST_VISITORS,
    first_information,
    normal_quantile,
    sequence_radius,
)
from toplist.uplift.intervals import difference as difference_of
from toplist.uplift.intervals import ratio as ratio_of
from toplist.uplift.sample_ratio import ALARM_LEVEL, STRENGTH
from toplist.uplift.sums import METRICS, RatioEstimate, ratio_estimate

MOST_LISTS = 1000  # of a visitor
TAIL, SHIFT = 3.5, 4.0  # n lists with probability proportional to (n + SHIFT)^-TAIL: no third moment
PLACES = 5  # each clicked or not
CLICKS = METRICS.index("clicks_per_list")
COUNTS: Ints = np.arange(1, MOST_LISTS + 1)
WEIGHTS: Floats = np.asarray((COUNTS + SHIFT) ** -TAIL, dtype=np.float64)
SHARES: Floats = WEIGHTS / WEIGHTS.sum()
RATES: Floats = np.asarray(0.3 * COUNTS**-0.3, dtype=np.float64)  # chance of a click at a place, by the number of lists
SPREAD = 6.0  # of a visitor's own chance, Beta distributed around that


class Setting(NamedTuple):
    """An experiment."""

    title: str
    visitors: int
    share: float  # of the holdout
    effect: float  # factor of the policy's clicks
    assigned: float | None = None  # share that was asked for; None: the true one


class Looks(NamedTuple):
    """An experiment after each of its closed lists."""

    difference: RatioEstimate
    ratio: RatioEstimate
    begin: int  # the first look with intervals; after the last where one visitor has too many of the lists
    holdout: Ints  # visitors so far
    policy: Ints


class Closed(NamedTuple):
    """All lists of an experiment, in the order of closing."""

    visitor: Ints
    clicks: Ints
    in_holdout: Bools  # by list


def true_mean(effect: float) -> float:
    """Clicks per list."""
    return effect * PLACES * float(np.sum(SHARES * COUNTS * RATES) / np.sum(SHARES * COUNTS))


def draw(setting: Setting, rng: np.random.Generator) -> Closed:
    """The lists of one experiment."""
    lists = COUNTS[np.searchsorted(np.cumsum(SHARES), rng.random(setting.visitors)).clip(max=MOST_LISTS - 1)]
    held = rng.random(setting.visitors) < setting.share
    chance = RATES[lists - 1] * np.where(held, 1.0, setting.effect)
    own = rng.beta(SPREAD * chance, SPREAD * (1.0 - chance))
    visitor = np.repeat(np.arange(setting.visitors), lists)
    arrival = rng.random(setting.visitors)[visitor]
    order = np.argsort(arrival + (1.0 - arrival) * rng.random(len(visitor)), kind="stable")
    visitor = visitor[order]
    return Closed(visitor, rng.binomial(PLACES, own[visitor]), held[visitor])


def follow(closed: Closed) -> Looks:
    """The estimates after each list, by sums of what each list adds."""
    visitor, clicks, held = closed
    by_visitor = np.argsort(visitor, kind="stable")
    first = np.flatnonzero(np.diff(visitor[by_visitor], prepend=-1))
    size = np.diff(np.append(first, len(visitor)))
    before, earlier = np.zeros((2, len(visitor)), dtype=np.int64)
    before[by_visitor] = np.arange(len(visitor)) - np.repeat(first, size)
    sums = np.cumsum(clicks[by_visitor]) - clicks[by_visitor]
    earlier[by_visitor] = sums - np.repeat(sums[first], size)
    added = np.array(
        [
            before == 0, np.ones(len(visitor)), 2 * before + 1, clicks, (2 * earlier + clicks) * clicks,
            earlier + (before + 1) * clicks,
        ]
    )  # fmt: skip
    holdout, policy = (np.cumsum(np.where(group, added, 0.0), axis=1) for group in (held, ~held))
    with np.errstate(divide="ignore", invalid="ignore"):
        enough = [(one[1] ** 2 / one[2] >= LEAST_VISITORS) & (one[3] >= LEAST_RESULTS) for one in (holdout, policy)]
        both = enough[0] & enough[1]
        begin = int(np.argmax(both)) if both.any() else len(both)
        ours, theirs = ratio_estimate(*policy), ratio_estimate(*holdout)
        return Looks(
            difference_of(ours, theirs), ratio_of(ours, theirs), begin, holdout[0].astype(int), policy[0].astype(int)
        )


def stream(closed: Closed, share: float) -> list[Tally]:
    """The same by `Tally`, list by list."""
    tally, found = Tally(), list[Tally]()
    counts: dict[int, VisitorCounts] = {}
    for visitor, clicks, held in zip(*(column.tolist() for column in closed), strict=True):
        before = counts.get(visitor, VisitorCounts())
        counts[visitor] = after = before.plus(VisitorCounts(1, int(clicks > 0), clicks, 0))
        tally = tally.counted(held, before, after, share)
        found.append(tally)
    return found


def evidence_by_predictions(holdout: Ints, policy: Ints, share: float) -> Floats:
    """The evidence of `log_evidence` after each visitor, as bets on the next one by the visitors before."""
    is_held = np.diff(holdout, prepend=0) == 1
    before = np.where(is_held, holdout - 1 + STRENGTH * share, policy - 1 + STRENGTH * (1.0 - share))
    predicted = before / (holdout + policy - 1 + STRENGTH)
    return np.asarray(np.cumsum(np.log(predicted / np.where(is_held, share, 1.0 - share))))


class Found(NamedTuple):
    """What happened in one experiment."""

    sequence: bool  # whether the sequences of difference and ratio held the truth at all looks
    ratio_sequence: bool
    fixed: bool  # whether the fixed-horizon interval did at the end
    ratio_fixed: bool
    fixed_always: bool  # or at all looks, for which it is not made
    widest: float  # largest width of the sequence over that of the fixed-horizon interval
    alarm: bool  # of the sample-ratio check
    repeated_alarm: bool  # of a test for one look that is repeated at every look
    stopped: bool  # by a guardrail without tolerance
    stopped_fixed: bool  # by the fixed-horizon interval in its place


def judge(looks: Looks, setting: Setting, level: float = 0.05) -> Found:
    """Compare an experiment with the truth."""
    truths = true_mean(setting.effect) - true_mean(1.0), math.log(setting.effect)
    held: list[tuple[bool, bool, bool, float]] = []
    highs: list[Floats] = []
    for found, truth in zip((looks.difference, looks.ratio), truths, strict=True):
        mean, variance = found.mean[looks.begin :], found.variance[looks.begin :]
        start = first_information(RatioEstimate(mean[0], variance[0]))
        wide, narrow = sequence_radius(variance, start, level), normal_quantile(level) * np.sqrt(variance)
        error = np.abs(mean - truth)
        always = bool(np.all(error <= wide))
        held.append(
            (always, bool(error[-1] <= narrow[-1]), bool(np.all(error <= narrow)), float(np.max(wide / narrow)))
        )
        highs = [mean + wide, mean + narrow]  # of the ratio in the end
    assigned = setting.share if setting.assigned is None else setting.assigned
    came = np.flatnonzero(np.diff(looks.holdout + looks.policy, prepend=0))
    shares = looks.holdout[came], looks.policy[came]
    evidence = float(np.max(evidence_by_predictions(*shares, assigned)))
    total = shares[0] + shares[1]
    score = np.abs(shares[0] - total * assigned) / np.sqrt(total * assigned * (1.0 - assigned))
    return Found(
        held[0][0], held[1][0], held[0][1], held[1][1], held[0][2], max(held[0][3], held[1][3]),
        evidence >= math.log(1.0 / ALARM_LEVEL), bool(np.any(score[20:] > normal_quantile(ALARM_LEVEL))),
        bool(np.any(highs[0] < 0.0)), bool(np.any(highs[1] < 0.0)),
    )  # fmt: skip


class Rates(NamedTuple):
    """The share of experiments with intervals; of these, shares as in `Found`, and the largest width of any."""

    begun: float
    sequence: float
    ratio_sequence: float
    fixed: float
    ratio_fixed: float
    fixed_always: float
    widest: float
    alarm: float
    repeated_alarm: float
    stopped: float
    stopped_fixed: float


def study(setting: Setting, experiments: int, seed: int) -> Rates:
    """Many experiments; those without intervals make no promise but that of the sample-ratio check."""
    followed = (follow(draw(setting, np.random.default_rng([seed, number]))) for number in range(experiments))
    found = [judge(looks, setting) for looks in followed if looks.begin < len(looks.holdout)]
    rates = Rates(len(found) / experiments, *np.mean(np.array(found, dtype=np.float64), axis=0).tolist())
    return rates._replace(widest=max(one.widest for one in found))


SAME = Setting("no effect, half held out", 3000, 0.5, 1.0)
FEW = Setting("no effect, a tenth held out", 8000, 0.1, 1.0)
BETTER = Setting("15 % more clicks, a fifth held out", 5000, 0.2, 1.15)
HARMFUL = Setting("20 % fewer clicks, half held out", 6000, 0.5, 0.8)
LOST = Setting("a tenth of the holdout is lost", 8000, 0.45 / 0.95, 1.0, assigned=0.5)
SETTINGS = (SAME, FEW, BETTER, HARMFUL, LOST)


def main() -> int:
    """Run the study and print its table; the exit status says whether all promises are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    begun = time.process_time()
    rows, kept = [["setting", *(field.replace("_", " ") for field in Rates._fields)]], True
    slack = 2.5 * math.sqrt(0.05 * 0.95 / arguments.experiments)  # chance of the study itself
    for setting in SETTINGS:
        rates = study(setting, arguments.experiments, arguments.seed)
        rows.append([setting.title, *(f"{rate:.3f}" for rate in rates)])
        kept &= min(rates.sequence, rates.ratio_sequence) >= 0.95 and rates.widest <= 2.5
        kept &= all(0.93 <= fixed <= 0.97 for fixed in (rates.fixed, rates.ratio_fixed))
        if setting.assigned is None:
            kept &= rates.alarm <= ALARM_LEVEL + slack
        if setting.effect >= 1.0:
            kept &= rates.stopped <= 0.05
        else:
            kept &= rates.stopped >= 0.9
    print("\n".join(aligned_lines(list(zip(*rows, strict=True)))))
    print(f"{arguments.experiments} experiments each, {time.process_time() - begun:.0f} s of CPU time.")
    print("All promises are kept." if kept else "A promise is broken.")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
