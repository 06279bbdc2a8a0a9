"""Figure 2 of hiranandani2019: who learns the tastes of single people, on problems made of MovieLens 1M.

Run with `python -m toplist.experiments.hiranandani2019.people --data FOLDER`, or `make movielens DATA=FOLDER`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from toplist.clicks import Cascade
from toplist.datasets import movielens
from toplist.engine.bar import Bar
from toplist.engine.result import Result
from toplist.engine.runs import Progress, simulate
from toplist.experiments import commands
from toplist.experiments.hiranandani2019 import ratings
from toplist.experiments.verdicts import FLAT, LINEAR, added, side
from toplist.tables import aligned, counted
from toplist.worlds import TopicCoverage

POLICIES = {
    "CascadeLSB": "cascade-lsb",
    "LSBGreedy": "lsb-greedy",
    "CascadeLinUCB": "cascade-lin-ucb",
    "CascadeKL-UCB": "cascade-kl-ucb",
}
STEPS, PEOPLE = 20_000, 100


class Played(NamedTuple):
    """What one policy found, and what it took."""

    result: Result
    seconds: float
    cpu: float  # seconds, of all threads together


def play(
    label: str,
    world: TopicCoverage,
    steps: int = STEPS,
    people: int = PEOPLE,
    seed: int = 0,
    jobs: int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Played:
    """One policy for so many people, each drawn for a run; equal seeds draw the same people for every policy."""
    policy = {label: POLICIES[label]}
    simulate(policy, world, Cascade(), steps=1, runs=1, threads=1)  # compiles, which is not what is timed
    begun, worked = time.monotonic(), time.process_time()
    result = simulate(policy, world, Cascade(), steps, people, seed, threads=jobs, progress=progress)
    return Played(result, time.monotonic() - begun, time.process_time() - worked)


def joined(results: list[Result]) -> Result:
    """Several policies' results on the same visitors as one."""
    regret = {label: curves for result in results for label, curves in result.regret.items()}
    clicks = {label: curves for result in results for label, curves in result.clicks.items()}
    return Result(results[0].checkpoints, regret, clicks, results[0].settings)


def claims(result: Result) -> list[str]:
    """What the paper reads in its figure, beside what came out; differences are paired, 95%."""
    ours, *rivals = POLICIES
    lines = []
    for rival in rivals:
        difference = result.difference(ours, rival)
        lines.append(f"{ours} with {difference.ratio:.2f} of the regret of {rival}: {side(difference)}")
    for label in POLICIES:
        mean = result.mean(label)
        half, tenth = added(mean, 0.5), added(mean, 0.1)
        shape = "linear" if half > LINEAR else "flat" if tenth < FLAT else "neither flat nor linear"
        lines.append(f"{label}: the last half of the steps adds {half:.0%}, the last tenth {tenth:.1%}: {shape}")
    return lines


def main(arguments: list[str] | None = None, write: Callable[[str], object] = print) -> int:
    """Play all policies, and print regret, differences and times."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", required=True, metavar="FOLDER", help="the folder of MovieLens 1M")
    parser.add_argument("--people", type=int, default=PEOPLE, help="for how many to play, each drawn at random")
    parser.add_argument("--steps", type=int, default=STEPS, help="lists shown to each")
    parser.add_argument("--items", type=int, default=1000, help="movies, the most rated ones")
    parser.add_argument("--raters", type=int, default=1000, help="those who rated most; a half of them is drawn from")
    parser.add_argument("--topics", type=int, default=18, help="genres, the most common ones")
    parser.add_argument("--positions", type=int, default=8, help="length of the list")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, help="threads (default: one per core)")
    options = parser.parse_args(arguments)
    found = movielens.read(options.data)
    write(f"{options.data}: {found}")
    feedback = ratings.feedback(found, options.items, options.raters, options.topics)
    world = ratings.world(feedback, options.positions, options.seed)
    write(
        f"L = {options.items:,} movies, d = {options.topics} genres, K = {options.positions}; "
        f"{feedback.attracted.mean():.2%} of pairs with 5 stars; {len(world.preferences):,} people to draw from; "
        f"regret against the greedy list"
    )
    played: dict[str, Played] = {}
    for label in POLICIES:
        with Bar(sys.stderr) as bar:
            played[label] = play(label, world, options.steps, options.people, options.seed, options.jobs, bar)
        last = played[label].result
        mean, error = float(last.mean(label)[-1]), float(last.standard_error(label)[-1])
        write(f"{label}: {mean:.1f} ± {error:.1f} in {played[label].seconds:.0f} s")
    result = joined([each.result for each in played.values()])
    write(f"\n{result}\n")
    for line in claims(result):
        write(line)
    write("\n" + times(played, options.steps * options.people))
    return 0


def times(played: dict[str, Played], lists: int) -> str:
    """How long each policy took for so many lists, without compiling."""
    columns = [
        ["policy", *played],
        ["seconds", *(f"{each.seconds:.1f}" for each in played.values())],
        ["of CPU", *(f"{each.cpu:.1f}" for each in played.values())],
        ["lists/s of CPU", *(f"{lists / max(each.cpu, 1e-9):,.0f}" for each in played.values())],
    ]
    return "\n".join([f"{counted(lists, 'list')}, compiled beforehand", *aligned(columns)])


if __name__ == "__main__":
    sys.exit(commands.run(main))
