"""Figure 1 of liu2018, as it comes out: regret, and the distance of the estimates from theta*.

Run with `python -m toplist.experiments.liu2018.figure1`, or `make liu2018`. The paper prints neither the size of its
problem nor numbers, so what it reads in the figure is put beside what is found here. Contexts are drawn at every step,
as in the paper, and then once per run with a longer theta*, where exploring is not free and so has more to win.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from toplist.clicks import ChangingDCM
from toplist.engine.bar import Bar
from toplist.engine.statistics import Difference, paired_difference
from toplist.experiments import commands
from toplist.experiments.liu2018.following import Followed, follow
from toplist.experiments.verdicts import side
from toplist.tables import aligned
from toplist.worlds import Contextual

STEPS, RUNS = 10_000, 24


class Part(NamedTuple):
    """A problem, the policies, and which of two is expected below the other."""

    title: str
    world: Contextual
    policies: dict[str, str]
    below: tuple[tuple[str, str], ...]
    nearer: tuple[str, str]  # whose estimate is expected nearer to theta* than whose
    times: int = 1  # as many runs as elsewhere: where LR gets stuck it loses very much, so that few runs tell little


PARTS = (
    Part(
        "Contexts drawn at every step",
        Contextual(items=20, positions=4, dimension=10),
        {
            "GL-CDCM": "gl-cdcm",
            "LR": "lr",
            "GL-CDCM (SGD)": "gl-cdcm-sgd",
            "LR (SGD)": "lr-sgd",
            "dcmKL-UCB": "dcm-kl-ucb",
        },
        (
            ("GL-CDCM", "LR"),
            ("GL-CDCM", "GL-CDCM (SGD)"),
            ("LR", "LR (SGD)"),
            ("GL-CDCM", "dcmKL-UCB"),
            ("LR", "dcmKL-UCB"),
            ("GL-CDCM (SGD)", "dcmKL-UCB"),
            ("LR (SGD)", "dcmKL-UCB"),
        ),
        ("GL-CDCM", "LR"),
    ),
    Part(
        "Contexts drawn once",
        Contextual(items=100, positions=5, dimension=20, length=3.0, fresh=False),
        {"GL-CDCM, scale 0.1": "gl-cdcm(scale=0.1)", "LR": "lr", "GL-CDCM": "gl-cdcm", "dcmKL-UCB": "dcm-kl-ucb"},
        (("GL-CDCM, scale 0.1", "LR"), ("GL-CDCM, scale 0.1", "GL-CDCM"), ("LR", "dcmKL-UCB")),
        ("GL-CDCM, scale 0.1", "LR"),
        times=4,
    ),
)


def comparisons(part: Part, found: Followed) -> list[str]:
    """Whose regret is below whose, paired by run, beside what is expected."""
    rows = [("regret", "less", "95% paired", "expected", "here")]
    for ours, other in part.below:
        difference = found.result.difference(ours, other)
        rows.append((ours, other, _interval(difference, 1), "below", side(difference)))
    return aligned(list(zip(*rows, strict=True)), left=(0, 1, 3, 4))


def distances(part: Part, found: Followed) -> list[str]:
    """The mean cosine distances over time, and whose is below whose, paired by run."""
    ours, other = part.nearer
    kept = found.result.checkpoints
    rows = [("steps", *found.distance, f"{ours} less {other} [95% paired]", "here")]
    for place in np.unique(np.searchsorted(kept, kept[-1] * np.array([0.01, 0.03, 0.1, 0.3, 1.0]))).tolist():
        each = {label: distance[:, place] for label, distance in found.distance.items()}
        difference = paired_difference(each[ours], each[other])
        means = (f"{values.mean():.4f}" for values in each.values())
        rows.append((f"{kept[place]:,}", *means, _interval(difference, 4), side(difference)))
    return aligned(list(zip(*rows, strict=True)), left=(len(rows[0]) - 1,))


def _interval(difference: Difference, digits: int) -> str:
    return "{:+.{d}f} [{:+.{d}f}, {:+.{d}f}]".format(*difference[:3], d=digits)


def main(arguments: list[str] | None = None, write: Callable[[str], object] = print) -> int:
    """Print both parts: regret, who is below whom, and the distances from theta*."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--runs", type=int, default=RUNS, help="with contexts drawn once, four times as many")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, help="threads (default: one per core)")
    options = parser.parse_args(arguments)
    for part in PARTS:
        begun = time.monotonic()
        world = part.world
        size = f"L = {world.items}, K = {world.positions}, d = {world.dimension}, |theta*| = {world.length:g}"
        write(f"{part.title}: {size}")
        with Bar(sys.stderr) as bar:
            runs = part.times * options.runs
            found = follow(part.policies, world, ChangingDCM(), options.steps, runs, options.seed, options.jobs, bar)
        write(f"{found.result}\n")
        for line in comparisons(part, found):
            write(line)
        write("\nMean cosine distance of the estimate from theta*, 1 - cos")
        for line in distances(part, found):
            write(line)
        write(f"{time.monotonic() - begun:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(commands.run(main))
