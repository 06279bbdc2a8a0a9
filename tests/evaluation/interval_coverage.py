"""How often do the intervals hold the truth? Thousands of simulated logs: `make evaluation-coverage`.

Users, the policy of the log and the target are known, so that the true value is a sum over all lists. A log is a count
of each list with each pattern of clicks, so that a long one costs no more than a short one.

Coverage is counted on users that the estimator assumes; a second table shows the bias on all users.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from toplist.core.slate import Floats, Ints
from toplist.evaluation import ESTIMATORS, CannotEstimate, ListMixture, LoggedLists, ShownLists
from toplist.evaluation.intervals import IntervalSettings, interval_of
from toplist.evaluation.question import EstimatorSettings, Question
from toplist.evaluation.units import units_of
from toplist.logs import ClickLog, IdTable, patterns
from toplist.support.tables import aligned_lines

ITEMS, PLACES = 5, 3
LISTS: Ints = np.array(list(permutations(range(ITEMS), PLACES)), dtype=np.int64)
CLICKS: Ints = np.array(list(product((0, 1), repeat=PLACES)), dtype=np.int64)
# Per position, which lists agree with which up to it, and which have the same item there.
SAME_BEGINNING = [(LISTS[:, None, :n] == LISTS[None, :, :n]).all(axis=2).astype(float) for n in range(1, PLACES + 1)]
SAME_ITEM = [(LISTS[:, None, place] == LISTS[None, :, place]).astype(float) for place in range(PLACES)]
LOW, HIGH = 0.93, 0.97
CLIP = 2.0
QUERIES, NAMES = IdTable(["q"]), IdTable(range(ITEMS))


class Setting(NamedTuple):
    """A policy of the log, a target, and the number of lists of a log."""

    logged: Floats
    target: Floats
    lists: int


def plackett_luce(scores: Floats) -> Floats:
    """The chance of each list if items are drawn one after the other by their scores."""
    found = np.ones(len(LISTS))
    left = np.full(len(LISTS), scores.sum())
    for place in range(PLACES):
        here = scores[LISTS[:, place]]
        found *= here / left
        left = left - here
    return found


def certain(shown: Sequence[int]) -> Floats:
    return np.asarray((np.array(shown) == LISTS).all(axis=1), dtype=np.float64)


RANDOM = Setting(plackett_luce(np.ones(ITEMS)), certain([1, 0, 3]), 20_000)
SOFT = Setting(
    plackett_luce(np.array([1.0, 1.5, 0.8, 1.2, 0.6])), plackett_luce(np.array([3.0, 1.0, 2.0, 0.7, 0.7])), 1500
)


def any_users() -> Floats:
    """Chances of the patterns of clicks on each list, shape (lists, patterns), in no particular way."""
    return np.random.default_rng(1).dirichlet(np.full(len(CLICKS), 0.5), size=len(LISTS))


def from_rates(rates: Floats) -> Floats:
    """Independent clicks with rates of shape (lists, positions)."""
    chance = np.where(CLICKS[None] == 1, rates[:, None, :], 1.0 - rates[:, None, :])
    return np.asarray(chance.prod(axis=2))


def position_users() -> Floats:
    """A click depends on the item and its position."""
    rates = np.array([0.7, 0.3, 0.5, 0.2, 0.4])[:, None] * np.array([1.0, 0.7, 0.5])
    return from_rates(rates[LISTS, np.arange(PLACES)])


def cascade_users() -> Floats:
    """The dependent click model: they go down the list, and may leave after a click."""
    attraction, leave = np.array([0.7, 0.3, 0.5, 0.2, 0.4]), np.array([0.7, 0.5, 0.3])
    found = np.zeros((len(LISTS), len(CLICKS)))
    for number, pattern in enumerate(CLICKS):
        here, gone = np.ones(len(LISTS)), np.zeros(len(LISTS))
        for place, click in enumerate(pattern):
            likes = attraction[LISTS[:, place]]
            if click:
                here, gone = here * likes * (1 - leave[place]), here * likes * leave[place]
            else:
                here = here * (1 - likes)
        found[:, number] = here + gone
    return found


def neighbour_users() -> Floats:
    """A click depends on the items at both sides: a better one below draws clicks away."""
    attraction = np.array([0.7, 0.3, 0.5, 0.2, 0.4])[LISTS]
    below = np.concatenate([attraction[:, 1:], np.zeros((len(LISTS), 1))], axis=1)
    return from_rates(attraction * (1.0 - 0.8 * below))


USERS: dict[str, Callable[[], Floats]] = {
    "position": position_users, "cascade": cascade_users, "neighbours": neighbour_users, "any": any_users,
}  # fmt: skip


class Case(NamedTuple):
    """An estimator with the users that it assumes, and the setting in which it is judged."""

    estimator: str
    users: str
    setting: Setting
    learns: bool = False  # whether the policy of the log learns from its clicks

    @property
    def title(self) -> str:
        return f"{self.estimator}, learning log" if self.learns else self.estimator


CASES = (
    Case("ips", "any", SOFT), Case("snips", "any", SOFT), Case("clipped-ips", "any", SOFT),
    Case("iips", "position", SOFT), Case("sniips", "position", SOFT), Case("clipped-iips", "position", SOFT),
    Case("rips", "cascade", SOFT), Case("snrips", "cascade", SOFT), Case("clipped-rips", "cascade", SOFT),
    Case("pseudoinverse", "position", RANDOM), Case("doubly-robust", "cascade", SOFT),
    Case("direct", "cascade", SOFT), Case("replay", "any", RANDOM), Case("replay-prefix", "cascade", RANDOM),
)  # fmt: skip
LEARNING = (
    Case("ips", "any", SOFT, True), Case("snips", "any", SOFT, True), Case("iips", "position", SOFT, True),
    Case("rips", "cascade", SOFT, True), Case("snrips", "cascade", SOFT, True),
)  # fmt: skip
FITTED = ("direct", "doubly-robust")
BATCHES = 10  # after which a learning policy changes


class World:
    """Users in a setting: its truth, and logs of it."""

    def __init__(self, setting: Setting, users: str) -> None:
        self.setting, self.chances = setting, USERS[users]()
        self.rates = self.chances @ CLICKS  # (lists, positions)
        rows = np.repeat(np.arange(len(LISTS)), len(CLICKS))
        self.items, self.clicks = LISTS[rows], np.tile(CLICKS, (len(LISTS), 1))
        self.cell = (setting.logged[:, None] * self.chances).ravel()
        self.given, self.marginal = self.probabilities(setting.logged)
        self.row = rows
        self.target = ListMixture({PLACES: ShownLists(LISTS, setting.target)}, ITEMS)

    @staticmethod
    def probabilities(policy: Floats) -> tuple[Floats, Floats]:
        """The conditional and the marginal probabilities of the items of all lists."""
        prefix = np.ones((len(LISTS), PLACES + 1))
        marginal = np.zeros((len(LISTS), PLACES))
        for place in range(PLACES):
            prefix[:, place + 1] = SAME_BEGINNING[place] @ policy
            marginal[:, place] = SAME_ITEM[place] @ policy
        return prefix[:, 1:] / prefix[:, :-1], marginal

    def truth(self, estimator: str) -> float:
        """The value of the target; of a clipped estimator, that with clipped weights."""
        logged, target = self.setting.logged, self.setting.target
        if not estimator.startswith("clipped"):
            return float(target @ self.rates.sum(axis=1))
        given, at_place = self.probabilities(target + 1e-300)
        weights = {
            "clipped-ips": (target / logged)[:, None],
            "clipped-iips": at_place / self.marginal,
            "clipped-rips": np.cumprod(given, axis=1) / np.cumprod(self.given, axis=1),
        }[estimator]
        return float(logged @ (np.minimum(weights, CLIP) * self.rates).sum(axis=1))

    def log(self, rng: np.random.Generator) -> ClickLog:
        """A log, as counts of lists with clicks."""
        return self.counted(rng.multinomial(self.setting.lists, self.cell), self.given, self.marginal)

    def counted(self, count: Ints, given: Floats, marginal: Floats) -> ClickLog:
        """A log of some number of each list with clicks, with these probabilities."""
        kept = np.flatnonzero(count)
        rows = self.row[kept]
        return ClickLog(
            QUERIES, NAMES, np.zeros(len(kept), dtype=np.int32), np.arange(0, len(kept) * PLACES + 1, PLACES),
            self.items[kept].astype(np.int32).ravel(), self.clicks[kept].astype(np.uint8).ravel(),
            propensity=given[rows].ravel(), marginal=marginal[rows].ravel(), weight=count[kept].astype(np.float64),
        )  # fmt: skip


class LearningWorld(World):
    """Logs of a policy that draws items by the click-through that it has seen, and changes after each batch."""

    def log(self, rng: np.random.Generator) -> ClickLog:
        """A log whose propensities depend on its own past."""
        clicked, shown, parts = np.ones(ITEMS), np.full(ITEMS, 3.0), []
        for _ in range(BATCHES):
            policy = plackett_luce(clicked / shown)
            chances = (policy[:, None] * self.chances).ravel()
            count = rng.multinomial(self.setting.lists // BATCHES, chances / chances.sum())
            np.add.at(shown, self.items, count[:, None])
            np.add.at(clicked, self.items, count[:, None] * self.clicks)
            parts.append(self.counted(count, *self.probabilities(policy)))
        return ClickLog.concatenate(parts)


class Covered(NamedTuple):
    """How an estimator did over many logs."""

    normal: float
    bootstrap: float
    bernstein: float
    effective: float
    bias: float
    wide: float
    refused: int  # logs whose mean weight is not 1 by its 99.9% interval, which are left out


def cover(case: Case, logs: int, seed: int, resamples: int) -> Covered:
    """The share of logs whose intervals hold the truth."""
    world = (LearningWorld if case.learns else World)(case.setting, case.users)
    truth = world.truth(case.estimator)
    held, values, effective, wide = np.zeros((logs, 3)), np.zeros(logs), np.zeros(logs), np.zeros(logs)
    for number in range(logs):
        log = world.log(np.random.default_rng([seed, number]))
        lists, units = LoggedLists.of(log), units_of(log)
        question = Question(lists, units, world.target, EstimatorSettings(clip=CLIP, seed=number))
        try:
            answer = ESTIMATORS[case.estimator](question)
        except CannotEstimate:
            values[number] = np.nan
            continue
        estimate = answer.estimate
        values[number], effective[number] = estimate.value, answer.effective
        for place, kind in enumerate(("normal", "bootstrap", "bernstein")):
            if (kind == "bernstein" and estimate.bounds is None) or (kind == "bootstrap" and not resamples):
                held[number, place] = np.nan
                continue
            low, high = interval_of(estimate, units, IntervalSettings(kind, resamples=max(resamples, 2), seed=number))
            held[number, place] = low <= truth <= high
            if kind == "normal":
                wide[number] = high - low
    kept = ~np.isnan(values)
    bias, (normal, bootstrap, bernstein) = float(values[kept].mean() - truth), held[kept].mean(axis=0).tolist()
    shares = normal, bootstrap, bernstein
    return Covered(*shares, float(effective[kept].min()), bias, float(wide[kept].mean()), int((~kept).sum()))


def outside(found: Covered) -> list[str]:
    """Which intervals hold the truth too rarely or too often."""
    wrong = [
        name
        for name, share in (("normal", found.normal), ("bootstrap", found.bootstrap))
        if not np.isnan(share) and not LOW <= share <= HIGH
    ]
    return wrong + (["bernstein"] if found.bernstein < 0.95 else [])


def bias_table(logs: int, seed: int) -> list[str]:
    """Mean error of every estimator on all users, in percent of the truth."""
    rows = [["estimator", *USERS]]
    for case in CASES:
        cells = []
        for users in USERS:
            found = cover(case._replace(users=users), logs, seed, 0)
            truth = World(case.setting, users).truth(case.estimator)
            cells.append(f"{100 * found.bias / truth:+.1f}%")
        rows.append([case.estimator, *cells])
    return aligned_lines(list(zip(*rows, strict=True)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both tables; 1 if an interval is not as it should be."""
    parser = argparse.ArgumentParser(prog="python -m tests.evaluation.interval_coverage", description=__doc__)
    parser.add_argument("estimators", nargs="*", metavar="NAME", help="by default all")
    parser.add_argument("--logs", type=int, default=2000, metavar="N", help="simulated logs (default: 2000)")
    parser.add_argument("--resamples", type=int, default=400, metavar="N", help="of the bootstrap (default: 400)")
    parser.add_argument("--bias-logs", type=int, default=100, metavar="N", help="logs for the biases (default: 100)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed (default: 1)")
    options = parser.parse_args(arguments)
    patterns.SHORT = 0  # of thousands of fits, even short ones are worth compiling
    print(f"95% intervals over {options.logs} logs, on users that the estimator assumes: share that hold the truth.")
    rows = [["estimator", "users", "normal", "bootstrap", "bernstein", "effective", "refused", "seconds", ""]]
    failed = 0
    for case in (*CASES, *LEARNING):
        if options.estimators and case.estimator not in options.estimators:
            continue
        begun = time.process_time()
        found = cover(case, options.logs, options.seed, options.resamples)
        wrong = outside(found)
        failed += len(wrong)
        shares = [f"{share:.3f}" if not np.isnan(share) else "-" for share in found[:3]]
        effective = f"{found.effective:.0f}" if not np.isnan(found.effective) else "-"
        seconds = f"{time.process_time() - begun:.0f}"
        rows.append([case.title, case.users, *shares, effective, str(found.refused), seconds, ", ".join(wrong)])
        print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    print("\n".join(aligned_lines(list(zip(*rows, strict=True)), left=(0, 1, 8))))
    if options.bias_logs:
        print(f"\nBias in percent of the value, on all users ({options.bias_logs} logs):")
        print("\n".join(bias_table(options.bias_logs, options.seed)))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
