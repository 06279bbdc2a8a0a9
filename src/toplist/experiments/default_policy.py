"""Which policy should be the default? `python -m toplist.experiments.default_policy` plays the candidates."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

import toplist
from toplist.core.problem import checked_seed, whole
from toplist.core.randomness import uniform
from toplist.core.slate import Floats
from toplist.engine.compare import BASELINE, curves_in_turn
from toplist.engine.comparison import Comparison
from toplist.engine.player import RunSetup
from toplist.engine.resume_file import ResumeFile, describe
from toplist.engine.scheduler import RunScheduler
from toplist.engine.simulate import checked_threads
from toplist.engine.starts import NeverSeenFirst
from toplist.engine.statistics import standard_error
from toplist.experiments.comparison_matrix import standard_users
from toplist.experiments.live_policy import LivePolicy
from toplist.policies.by_name import make
from toplist.support.files import slug, write_text
from toplist.support.progress import Progress
from toplist.support.progress_bar import ProgressBar
from toplist.support.script import run_script
from toplist.worlds import coming_and_going

CANDIDATES = (
    "dcm-ts", "cascade-ts", "pbm-ts", "dcm-kl-ucb", "dcm-kl-ucb(loglog=0)", "cascade-kl-ucb", "last-click",
    "dcm-kl-ucb-discounted", "dcm-kl-ucb-resetting", "pbm-ucb", "ranked-kl-ucb", "top-rank(delta=0.001)",
    "bubble-rank(delta=0.001)",
)  # fmt: skip
WITH_PRIOR = "dcm-ts, prior"  # not a candidate: it is given the click rate of the median item
PRIOR_STRENGTH = 10.0

RATES = (0.01, 0.03, 0.1, 0.3)  # attraction of the median item
USERS = ("cascade", "dcm", "pbm", "ccm")
SIZES = ((40, 6), (200, 10))
DELAYS = (0, 0, 100, 1000)  # lists between a list and the report of its clicks; half of all pages report at once
SPREAD = 0.7  # standard deviation of the log odds of attraction
STAY = 5000.0  # mean number of lists that an item is on offer, and absent, where items come and go
HORIZONS = (1_000, 10_000, 100_000)
LONG_HORIZON = 1_000_000  # of the long cells
NEAR = 1.1  # times the least regret


class StudyPage(NamedTuple):
    """One page: its visitors, its items and how late its clicks are reported."""

    rate: float
    users: str
    items: int
    positions: int
    delay: int
    passing: bool  # whether items come and go
    is_long: bool  # whether it is played for LONG_HORIZON lists

    def label(self) -> str:
        """All settings as text."""
        late = f"reports {self.delay:,} lists late" if self.delay else "reports at once"
        items = "items come and go" if self.passing else "items stay"
        return f"{self.rate:.0%}, {self.users}, L={self.items}, {late}, {items}"

    def horizons(self) -> tuple[int, ...]:
        """The numbers of lists after which the regret is recorded."""
        return (*HORIZONS, LONG_HORIZON) if self.is_long else HORIZONS

    def world(self) -> Any:
        """Items around the rate; one class of worlds for all cells, so that a policy is compiled once."""
        lifetimes = () if self.passing else [(0, None)] * self.items
        return coming_and_going(attraction_around(self.rate, self.items), self.positions, lifetimes, STAY, STAY)


def attraction_around(rate: float, items: int) -> Floats:
    """Attraction with normally distributed log odds and this median, in mixed order.

    >>> sorted(attraction_around(0.1, 5).round(3).tolist())
    [0.043, 0.071, 0.1, 0.138, 0.214]
    """
    odds = [math.log(rate / (1 - rate)) + SPREAD * NormalDist().inv_cdf((i + 0.5) / items) for i in range(items)]
    mixed = sorted(range(items), key=lambda item: uniform(0, item))
    return np.array([1 / (1 + math.exp(-odds[rank])) for rank in mixed])


def design() -> list[StudyPage]:
    """The cells: every click rate with all users and both sizes; delays and items balanced over these.

    Rates, users and delays form a Latin square, so that each delay occurs equally often with every rate and with all
    users. The same holds for items that come and go. A quarter of the cells is long.

    >>> cells = design()
    >>> len(cells), sum(cell.passing for cell in cells), sum(cell.delay == 100 for cell in cells)
    (32, 16, 8)
    """
    return [
        StudyPage(
            rate, users, *SIZES[size], DELAYS[i ^ j ^ (2 * size)],
            passing=(i + j // 2 + size) % 2 == 1, is_long=size == 0 and i ^ j in (0, 3),
        )
        for size in range(len(SIZES)) for i, rate in enumerate(RATES) for j, users in enumerate(USERS)
    ]  # fmt: skip


def policies_of(cell: StudyPage) -> dict[str, LivePolicy]:
    """The candidates on a page, the one with a prior, and random lists."""
    found = {name: LivePolicy(make(name), cell.delay) for name in CANDIDATES}
    found[WITH_PRIOR] = LivePolicy(make("dcm-ts"), cell.delay, cell.rate, PRIOR_STRENGTH)
    return found | {BASELINE: LivePolicy(make(BASELINE), cell.delay)}


def play(
    cells: Sequence[StudyPage], runs: int, seed: int, threads: int, folder: Path, progress: Callable[[Progress], None]
) -> Comparison:
    """Play all cells, and continue from the folder if some were played; a column per cell and horizon.

    As on a live page, items begin without samples, and no policy is told the number of lists.
    """
    setups = []
    for cell in cells:
        world, users = cell.world(), standard_users(cell.items, cell.positions)[cell.users]
        made = policies_of(cell)
        setups.append(
            {label: RunSetup.of(policy, world, users, NeverSeenFirst(), None) for label, policy in made.items()}
        )
    folder.mkdir(parents=True, exist_ok=True)
    schedulers = []
    for cell, own in zip(cells, setups, strict=True):
        checkpoints = np.array(cell.horizons())
        file = ResumeFile(folder / f"{slug(cell.label())}.npz", partial(describe, own, checkpoints, seed))
        schedulers.append(RunScheduler(own, checkpoints, runs, seed, file))
    regret: dict[str, dict[str, Floats]] = {}
    for cell, curves in zip(cells, curves_in_turn(schedulers, threads, progress), strict=True):
        for number, horizon in enumerate(cell.horizons()):
            regret[column(cell, horizon)] = {label: runs[:, number, 0] for label, runs in curves.items()}
    return Comparison(regret, BASELINE, {"runs": runs, "seed": seed, "version": toplist.__version__})


def column(cell: StudyPage, horizon: int) -> str:
    """Label of the column of a cell after some lists."""
    return f"{cell.label()}, {horizon:,} lists"


class RegretShare(NamedTuple):
    """Mean regret over that of random lists, over some columns, with its standard error."""

    mean: float
    error: float

    def text(self) -> str:
        """In percent.

        >>> RegretShare(0.1234, 0.0049).text()
        '12.3 ± 0.5'
        """
        return f"{100 * self.mean:.1f} ± {100 * self.error:.1f}"


def share(found: Comparison, policy: str, chosen: Sequence[tuple[StudyPage, int]]) -> RegretShare:
    """Regret relative to random lists, averaged over cells and horizons.

    Horizons of one cell share their runs, so the error is that of their mean in each run.
    """
    by_cell: dict[StudyPage, list[Floats]] = {}
    for cell, horizon in chosen:
        label = column(cell, horizon)
        by_cell.setdefault(cell, []).append(found.of(policy, label) / found.mean(BASELINE, label))
    sums = [np.sum(shares, axis=0) for shares in by_cell.values()]
    mean = sum(float(each.mean()) for each in sums) / len(chosen)
    error = math.sqrt(sum(float(standard_error(each)) ** 2 for each in sums)) / len(chosen)
    return RegretShare(mean, error)


def fits_a_default(policy: Any) -> bool:
    """Whether a policy supports everything that a ranker offers: subsets, pins, new items and lists of others."""
    able = policy.capabilities()
    supported = able.takes_subsets and able.takes_pins and able.adds_items and able.learns_from_any_list
    return bool(supported and able.learns and not able.needs_features)


def verdict(found: Comparison, cells: Sequence[StudyPage]) -> str:
    """The candidate with the least mean share over all columns, of those that support everything."""
    everything = [(cell, horizon) for cell in cells for horizon in cell.horizons()]
    able = [name for name in CANDIDATES if fits_a_default(make(name))]
    return min(able, key=lambda name: share(found, name, everything).mean)


def tables(found: Comparison, cells: Sequence[StudyPage]) -> str:
    """Markdown tables: by horizon, by setting, and the winner by click rate and horizon."""
    everything = [(cell, horizon) for cell in cells for horizon in cell.horizons()]
    names = [name for name in found.policies if name != BASELINE]
    names.sort(key=lambda name: share(found, name, everything).mean)
    winner = verdict(found, cells)

    def among(**wanted: Any) -> list[tuple[StudyPage, int]]:
        return [
            (cell, horizon) for cell, horizon in everything
            if all((horizon if name == "horizon" else getattr(cell, name)) == value for name, value in wanted.items())
        ]  # fmt: skip

    horizons = sorted({horizon for _, horizon in everything})
    first = [["policy", "mean", *(f"{n:,} lists" for n in horizons), "worst", "over the best", "default?"]]
    for name in names:
        ratios = [found.over_best(name, column(*each)).value for each in everything]
        worst = max(found.relative(name, column(*each)).value for each in everything)
        able = name != WITH_PRIOR and fits_a_default(make(name))
        first.append([
            f"`{name}`", share(found, name, everything).text(),
            *(f"{100 * share(found, name, among(horizon=n)).mean:.1f}" for n in horizons), f"{100 * worst:.0f}",
            f"{math.exp(float(np.mean(np.log(ratios)))):.2f}, at most {max(ratios):.1f}",
            "**chosen**" if name == winner else "possible" if able else "no",
        ])  # fmt: skip

    settings: dict[str, list[tuple[StudyPage, int]]] = {}
    for title, field, values in (
        ("{:.0%}", "rate", RATES), ("{}", "users", USERS), ("{:,} late", "delay", sorted(set(DELAYS))),
        ("L={}", "items", [items for items, _ in SIZES]),
    ):  # fmt: skip
        settings |= {
            "at once" if value == 0 else title.format(value): chosen
            for value in values
            if (chosen := among(**{field: value}))
        }
    settings |= {"items stay": among(passing=False), "come and go": among(passing=True)}
    settings = {title: chosen for title, chosen in settings.items() if chosen}
    second = [["policy", *settings]] + [
        [f"`{name}`", *(f"{100 * share(found, name, each).mean:.1f}" for each in settings.values())] for name in names
    ]

    third = [["attraction", *(f"{n:,} lists" for n in horizons)]]
    for rate in RATES:
        columns = [each for n in horizons if (each := among(rate=rate, horizon=n))]
        pairs = [(share(found, winner, each), share(found, "dcm-kl-ucb", each)) for each in columns]
        third.append([f"{rate:.0%}", *(f"{100 * one.mean:.1f} ({100 * other.mean:.1f})" for one, other in pairs)])
    far = max(everything, key=lambda each: found.over_best(winner, column(*each)).value)
    beaten = f"{found.over_best(winner, column(*far)).value:.1f} times that of `{found.best(column(*far))}`"
    near = sum(found.over_best(winner, column(*each)).value <= NEAR for each in everything)
    return "\n\n".join(
        [
            f"Regret in percent of that of random lists: {len(cells)} pages, {found.size()}.",
            markdown(first),
            "By setting, over all horizons:",
            markdown(second),
            f"`{winner}` by click rate and horizon, and `dcm-kl-ucb` in parentheses:",
            markdown(third),
            f"A page after a number of lists is a case. In {near} of {len(everything)} cases, the regret of `{winner}` "
            f"is the least or at most {NEAR - 1:.0%} larger. It is furthest from it on {column(*far)}: {beaten}.",
        ]
    )


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Rows as a table in Markdown, the first one as its head."""
    head, *body = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, f"|{'---|' * len(rows[0])}", *body])


def main() -> int:
    """Play, print the tables, and write them and all numbers to the folder."""
    parser = argparse.ArgumentParser(description="Compare the candidates for the default policy.")
    parser.add_argument("--folder", type=Path, default=Path("out/default-policy"), help="for results, and to resume")
    parser.add_argument("--runs", type=int, default=4, help="runs of each policy on each page (default 4)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default 0)")
    parser.add_argument("--threads", type=int, help="number of threads (default: all cores)")
    asked = parser.parse_args()
    runs, seed = whole("--runs", asked.runs, 2, "standard errors need two"), checked_seed(asked.seed)
    cells = design()
    with ProgressBar(sys.stderr) as bar:
        found = play(cells, runs, seed, checked_threads(asked.threads), asked.folder, bar)
    text = tables(found, cells)
    found.to_json(asked.folder / "default-policy.json")
    write_text(asked.folder / "default-policy.md", "The tables", text + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(run_script(main))
