"""Figure 1 of li2019: regret where some items jump every other epoch, on cascade models learned from a search log.

Run with `python -m toplist.experiments.li2019.figure1 --data FOLDER`, or `make li2019 DATA=FOLDER`. The log's models do
not come with toplist; the paper has 100 queries, and 10 runs of each.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from toplist.clicks import Cascade
from toplist.datasets import click_models
from toplist.engine.bar import Bar
from toplist.engine.crew import Progress
from toplist.engine.result import Result, check_plot
from toplist.engine.runs import simulate
from toplist.engine.statistics import ratio, standard_error, written
from toplist.experiments import commands
from toplist.experiments.verdicts import BEHIND, Measured, converges, halves, left_behind, printed_number, side
from toplist.problem import refuse, whole
from toplist.randomness import branch
from toplist.slate import Floats, Ints
from toplist.starts import NeverSeenFirst
from toplist.tables import aligned, counted
from toplist.worlds import jumping

DISCOUNTED, WINDOWED = "cascade-ducb", "cascade-swucb"
HALVED = "cascade-ducb(eps=0.125)"  # the same with half the printed radius, which is then that of CascadeSWUCB
LEFT_BEHIND = ("cascade-kl-ucb", "ranked-exp3", "batch-rank")  # by the changes, as the paper says
RESETTING = "cascade-kl-ucb-resetting"  # ours, not the paper's
POLICIES = (DISCOUNTED, HALVED, WINDOWED, *LEFT_BEHIND, RESETTING)
STEPS, EPOCH, RUNS, QUERIES, POSITIONS = 100_000, 10_000, 10, 60, 3
POINTS = 20  # of a curve, per epoch

# What the paper prints: CascadeKL-UCB's regret in the first and in the ninth epoch, both of the same, first attraction.
PRINTED = {1: Measured(111.50, 1.12), 9: Measured(447.82, 137.16)}
PRINTED_FOR = "cascade-kl-ucb"


class Claim(NamedTuple):
    """Something the paper says, and whether it comes out."""

    text: str
    holds: bool


def checkpoints(steps: int, epoch: int) -> Ints:
    """The ends of all halves of epochs, and points between them."""
    within = np.linspace(0, epoch, POINTS + 1)[1:].round().astype(np.int64)
    return np.unique((np.arange(0, steps, epoch)[:, None] + within).ravel())


def play_queries(
    attractions: Iterable[Floats], policies: Iterable[str], steps: int, epoch: int, runs: int, seed: int,
    jobs: int | None, progress: Callable[[Progress], None],
) -> list[Result]:  # fmt: skip
    """A result per query, each with users and jumps of its own; of fewer queries, if it is interrupted after one."""
    every, named, begun = list(attractions), list(policies), time.monotonic()
    each = len(named) * runs * steps
    played: list[Result] = []
    for number, attraction in enumerate(every):

        def report(now: Progress, before: int = number * each) -> None:
            progress(Progress(before + now.done, len(every) * each, time.monotonic() - begun))

        world = jumping(attraction, POSITIONS, up=epoch, down=epoch)
        own_seed = int(branch(seed, number)) % 2**63
        try:
            result = simulate(
                named, world, Cascade(), steps, runs, own_seed,
                start=NeverSeenFirst(), checkpoints=checkpoints(steps, epoch).tolist(), threads=jobs, progress=report,
            )  # fmt: skip
        except KeyboardInterrupt:
            if not played:
                raise
            break
        played.append(result)
    return played


def together(results: list[Result]) -> Result:
    """All queries as one result, whose runs are the runs of all."""
    first = results[0]
    return Result(
        checkpoints=first.checkpoints,
        regret={name: np.concatenate([result.regret[name] for result in results]) for name in first.policies},
        clicks={name: np.concatenate([result.clicks[name] for result in results]) for name in first.policies},
        settings={"title": f"li2019, figure 1: {len(results)} queries, K = {POSITIONS}; cascade users"},
        breakpoints=[run for result in results for run in result.breakpoints],
        detections={name: [run for result in results for run in result.detections[name]] for name in first.detections},
    )


def shares(added: Floats) -> list[float]:
    """Of each epoch, the regret of the second half over that of the first."""
    return [ratio(second, first) for first, second in added.tolist()]


def epochs_table(result: Result, epoch: int) -> list[str]:
    """What each epoch adds to everybody's regret, and the second half of it as a share of the first."""
    count = result.steps // epoch
    columns = [
        ["epoch", *(str(number) for number in range(1, count + 1))],
        ["attraction", *("some up" if number % 2 else "first" for number in range(count))],
    ]
    for name in result.policies:
        added = halves(result.mean(name), result.checkpoints, epoch)
        columns.append([name, *written(added.sum(axis=1).tolist(), 1)])
        columns.append(["2nd/1st", *written(shares(added), 2)])
    return aligned(columns, left=(1,))


def in_epoch(result: Result, name: str, number: int, epoch: int) -> Measured:
    """The regret of an epoch, counted from 1, over all runs."""
    kept = np.column_stack([np.zeros(result.runs), result.regret[name]])
    ends = np.searchsorted([0, *result.checkpoints.tolist()], [(number - 1) * epoch, number * epoch])
    own = kept[:, ends[1]] - kept[:, ends[0]]
    return Measured(float(own.mean()), float(standard_error(own)))


def claims(result: Result, epoch: int) -> list[Claim]:
    """What the paper says of those that were played, two epochs at least, by the tests of `experiments.verdicts`."""
    found = []
    for name in (DISCOUNTED, HALVED, WINDOWED):
        if name in result.policies:
            added = halves(result.mean(name), result.checkpoints, epoch)
            slowest = max(shares(added[1:]))
            text = f"{name} converges after each break: a second half adds at most {slowest:.2f} of its first"
            found.append(Claim(text, converges(added)))
    if {DISCOUNTED, WINDOWED} <= set(result.policies):
        apart = result.difference(WINDOWED, DISCOUNTED)
        text = f"{WINDOWED} under {DISCOUNTED}: {apart.mean:+,.0f} [{apart.low:+,.0f}, {apart.high:+,.0f}]"
        found.append(Claim(text, side(apart) == "below"))
    if WINDOWED in result.policies:
        follower = float(result.mean(WINDOWED)[-1])
        for name in (name for name in LEFT_BEHIND if name in result.policies):
            regret = float(result.mean(name)[-1])
            text = f"{name} does not: {regret / follower:.2f} times the regret of {WINDOWED}, at least {BEHIND} asked"
            found.append(Claim(text, left_behind(regret, follower)))
    if {RESETTING, WINDOWED} <= set(result.policies):
        apart = result.difference(RESETTING, WINDOWED)
        text = f"{RESETTING}, of no paper, under {WINDOWED}: {apart.mean:+,.0f} [{apart.low:+,.0f}, {apart.high:+,.0f}]"
        found.append(Claim(text, side(apart) == "below"))
    if PRINTED_FOR in result.policies and epoch == EPOCH:
        for number, printed in PRINTED.items():
            if number * epoch <= result.steps:
                ours = in_epoch(result, PRINTED_FOR, number, epoch)
                text = f"{PRINTED_FOR} in epoch {number}: {ours}, printed {printed}"
                found.append(Claim(text, printed_number(ours, printed).met))
    return found


def report(result: Result, epoch: int, write: Callable[[str], object]) -> int:
    """Write tables and verdicts; how many claims do not come out."""
    write(f"{result}\n")
    write("Regret that each epoch adds, and its second half as a share of its first")
    for line in epochs_table(result, epoch):
        write(line)
    write("")
    judged = claims(result, epoch) if result.steps > epoch else []
    for claim in judged:
        write(f"{'holds' if claim.holds else 'DOES NOT HOLD'}: {claim.text}")
    missed = sum(not claim.holds for claim in judged)
    write(f"{missed} of {len(judged)} claims do not hold")
    return missed


def main(arguments: list[str] | None = None, write: Callable[[str], object] = print) -> int:
    """Play all queries, and print regret, epochs and verdicts; 0 if all claims hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("policies", nargs="*", default=list(POLICIES), help=f"default: {' '.join(POLICIES)}")
    parser.add_argument("--data", required=True, metavar="PATH", help="the JSON file of click models, or its folder")
    parser.add_argument("--queries", type=int, default=QUERIES, help="the first so many (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=RUNS, help="of each query (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=STEPS, help="(default: %(default)s)")
    parser.add_argument("--epoch", type=int, default=EPOCH, help="steps between changes (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, help="threads (default: one per core)")
    parser.add_argument("--plot", metavar="FILE", help="draw the regret to a .png, .svg or .pdf file")
    options = parser.parse_args(arguments)
    if options.epoch < 2 or options.epoch % 2 or options.steps < 1 or options.steps % options.epoch:
        accepted = "a whole number of epochs, each of an even number of steps"
        raise refuse("The number of steps", options.steps, accepted, f"an epoch has {options.epoch}")
    if options.plot is not None:
        check_plot(options.plot)
    begun = time.monotonic()
    found = click_models.read(options.data)
    count = min(whole("The number of queries", options.queries, 1, "give how many to play"), len(found.queries))
    write(f"{found}; {count} played with K = {POSITIONS}, {counted(options.runs, 'run')} each, seed {options.seed}")
    attractions = list(found.attraction().values())[:count]
    with Bar(sys.stderr) as bar:
        played = play_queries(
            attractions, options.policies, options.steps, options.epoch, options.runs, options.seed, options.jobs, bar
        )
    interrupted = len(played) < count
    if interrupted:
        write(f"Interrupted: only the first {len(played)} of {count} queries.")
    result = together(played)
    missed = report(result, options.epoch, write)
    if options.plot is not None:
        result.plot(options.plot)
    write(f"{time.monotonic() - begun:.0f} s")
    return commands.INTERRUPTED if interrupted else 1 if missed else 0


if __name__ == "__main__":
    sys.exit(commands.run(main))
