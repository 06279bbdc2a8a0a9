"""Is the advice good? Thirty simulated situations whose visitors are known: `make advice-study`.

In each, an old ranking makes a log, the advice is given from the log alone, and every policy that it played is played
on the known visitors. The best choice is the policy that truly gains most over the old ranking. The advice is right if
it says to switch to a policy that gains at least 90% of that; where the best choice gains less than 1%, to stay is
right, too.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from toplist.advice import Advice, advise
from toplist.advice.answer import STAY, SWITCH, WORTH
from toplist.advice.drift import logit
from toplist.advice.known_visitors import clicked_by, item_id, known_visitors, old_lists
from toplist.advice.proof import true_curves
from toplist.advice.query_worlds import QueryPlan
from toplist.core.slate import Floats
from toplist.engine.simulate import checked_threads
from toplist.logs import IdTable
from toplist.support.tables import aligned_lines

ENOUGH = 0.9  # share of the best choice's gain
CHANGED = 0.4  # share of the items that change at a break


class Case(NamedTuple):
    """A situation.

    Parameters
    ----------
    title : str
        A few words.
    visitors : str
        Click model of the visitors.
    items, positions, queries, lists : int
        Size of the page and of the log.
    skill : float
        How much the old ranking knows, from 0 (nothing) to 1 (everything).
    rate : float
        Mean attraction.
    epochs : int
        Number of epochs of the log; the visitors go on changing at that rate.
    features : int
        Number of features that decide attraction.
    """

    title: str
    visitors: str
    items: int
    positions: int
    queries: int = 3
    lists: int = 15_000
    skill: float = 0.5
    rate: float = 0.15
    epochs: int = 1
    features: int = 0


CASES = (
    *(
        Case(f"{visitors}, {items} items, {word}", visitors, items, positions, skill=skill)
        for visitors in ("cascade", "dcm", "pbm")
        for items, positions in ((6, 3), (25, 5), (80, 8))
        for word, skill in (("poor ranking", 0.2), ("good ranking", 0.9))
    ),
    Case("dbn, 20 items", "dbn", 20, 5),
    Case("ubm, 20 items", "ubm", 20, 5),
    Case("ccm, few clicks", "ccm", 15, 5, rate=0.05),
    Case("sdbn, one query", "sdbn", 30, 6, queries=1),
    Case("cascade, 2 breaks", "cascade", 10, 3, epochs=3, queries=2),
    Case("dcm, 3 breaks", "dcm", 12, 4, epochs=4, queries=2),
    Case("pbm, 2 breaks", "pbm", 12, 4, epochs=3, queries=2),
    Case("dcm, 1 break, many items", "dcm", 30, 5, epochs=2, queries=2),
    Case("dcm, features", "dcm", 40, 5, features=4),
    Case("cascade, features", "cascade", 60, 5, features=5, lists=6_000),
    Case("pbm, features", "pbm", 30, 5, features=3),
    Case("dcm, features, short log", "dcm", 100, 5, features=4, lists=3_000),
)


class Judged(NamedTuple):
    """An advice and the truth: gains as shares of the clicks of the old ranking."""

    verdict: str
    advised: str
    gain: float
    best: str
    best_gain: float
    expected: tuple[float, float, float]
    covered: bool

    @property
    def is_right(self) -> bool:
        """Whether the advice is as good as it must be."""
        if self.best_gain < WORTH and self.verdict == STAY:
            return True
        return self.verdict == SWITCH and self.gain >= ENOUGH * self.best_gain


class Made(NamedTuple):
    """A situation made: visitors by epoch of the log and after it, features, and scores of the old ranking."""

    attraction: list[Floats]
    features: dict[str, Floats] | None
    scores: Floats


def make(case: Case, seed: int) -> Made:
    """Draw the attraction of the items in all epochs."""
    random = np.random.default_rng([seed, sum(map(ord, case.title))])
    shape = (case.queries, case.items)
    features = None
    if case.features:
        rows = random.dirichlet(np.ones(case.features), shape)
        worth = random.beta(1.0, 1.0 / case.rate - 1.0, case.features)
        first = np.clip(rows @ worth, 0.005, 0.95)
        features = {item_id(query, item): rows[query, item] for query in range(shape[0]) for item in range(shape[1])}
    else:
        first = np.clip(random.beta(1.0, 1.0 / case.rate - 1.0, shape), 0.005, 0.95)
    epochs = [first]
    for _ in range(2 * case.epochs - 1):  # those of the log, and as many after it
        row = epochs[-1].copy()
        for query in range(shape[0]) if case.epochs > 1 else ():
            moved = random.choice(case.items, max(2, round(CHANGED * case.items)), replace=False)
            row[query, moved] = row[query, random.permutation(moved)]
        epochs.append(row)
    noise = random.standard_normal(shape) * first.std(axis=1, keepdims=True)
    mean = first.mean(axis=1, keepdims=True)
    return Made(epochs, features, case.skill * (first - mean) + (1.0 - case.skill) * noise)


def judge(
    case: Case,
    seed: int = 0,
    draws: int = 20,
    runs: int = 12,
    compiled: bool | None = None,
    threads: int | None = None,
    policies: Sequence[str] | None = None,
) -> tuple[Judged, Advice]:
    """Advise in a situation, and compare with the truth."""
    made = make(case, seed)
    visitors = [known_visitors(case.visitors, row, case.positions, seed) for row in made.attraction[: case.epochs]]
    lists = old_lists(made.scores, case.positions, case.lists, 0.7, seed)
    log = clicked_by(visitors, lists, seed)
    advice = advise(
        log,
        case.positions,
        features=made.features,
        policies=policies,
        draws=draws,
        seed=seed,
        compiled=compiled,
        threads=threads,
    )
    true = true_curves(
        advice, visitors[-1], log, advice.outcome.policies, runs, seed + 1, checked_threads(threads), compiled,
        made.features, moves_on(case, made, log.items) if case.epochs > 1 else None,
    )  # fmt: skip
    base = float(true["logged ranking"][-1])
    gains = {name: float(true[name][-1]) / base - 1.0 for name in advice.outcome.policies}
    best = max(gains, key=lambda name: gains[name])
    expected = advice.outcome.relative_gain(advice.best)
    covered = expected[1] <= gains[advice.best] <= expected[2]
    return Judged(advice.verdict, advice.best, gains[advice.best], best, gains[best], expected, covered), advice


def moves_on(case: Case, made: Made, ids: IdTable) -> Callable[[QueryPlan], QueryPlan]:
    """Plans whose visitors go on changing at the rate of the log."""

    def moved(plan: QueryPlan) -> QueryPlan:
        numbers = [int(str(ids[code]).split("-")[1]) for code in plan.items.tolist()]
        query = int(str(ids[int(plan.items[0])]).split("-")[0][1:])
        later = made.attraction[case.epochs - 1 :][: case.epochs + 1]
        now = logit(later[0][query, numbers])
        shifts = np.array([logit(row[query, numbers]) - now for row in later])
        size = plan.horizon / case.epochs
        half = [(0, size / 2), *((epoch, size) for epoch in range(1, case.epochs)), (case.epochs, size / 2)]
        return plan._replace(epochs=tuple(half), shifts=shifts)

    return moved


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge all situations, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("titles", nargs="*", help="only situations whose title begins so (default: all)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed (default: 1)")
    parser.add_argument("--draws", type=int, default=20, metavar="N", help="draws of an advice (default: 20)")
    parser.add_argument("--runs", type=int, default=12, metavar="N", help="runs for the truth (default: 12)")
    options = parser.parse_args(arguments)
    chosen = [case for case in CASES if not options.titles or any(map(case.title.startswith, options.titles))]
    rows = [
        ["situation", "advice", "policy", "gain", "best choice", "its gain", "share", "expected", "held", "seconds", ""]
    ]
    right = held = 0
    for case in chosen:
        begun = time.process_time()
        found, _ = judge(case, options.seed, options.draws, options.runs)
        right += found.is_right
        held += found.covered
        share = f"{found.gain / found.best_gain:.0%}" if found.best_gain >= WORTH else "-"
        low, high = (f"{each:+.1%}" for each in found.expected[1:])
        rows.append([
            case.title, found.verdict, found.advised, f"{found.gain:+.1%}", found.best, f"{found.best_gain:+.1%}",
            share, f"{low} to {high}", "yes" if found.covered else "no", f"{time.process_time() - begun:.0f}",
            "" if found.is_right else "WRONG",
        ])  # fmt: skip
        print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    print("\n".join(aligned_lines(list(zip(*rows, strict=True)), left=(0, 1, 2, 4, 7, 8, 10))))
    print(f"\nRight in {right} of {len(chosen)} situations; the interval of the gain holds the truth in {held}.")
    return int(right < 0.9 * len(chosen))


if __name__ == "__main__":
    sys.exit(main())
