"""Simulates several policies on the same visitors: prints a table, and writes a plot to out/regret.png."""

from __future__ import annotations

import sys
from pathlib import Path

import toplist


def show(progress: toplist.Progress) -> None:
    """Print a progress line that updates in place, on a terminal only."""
    if sys.stderr.isatty():
        share = progress.done / progress.total
        end = "\n" if progress.done == progress.total else ""
        print(f"\r{share:4.0%} of {progress.total:,} steps", end=end, file=sys.stderr, flush=True)


def main() -> None:
    """Simulate katariya2016's problem: 4 of 16 items are worth showing, and users click more than once."""
    picture = Path("out") / "regret.png"
    picture.parent.mkdir(exist_ok=True)
    world, users = toplist.worlds.b_lb(items=16, positions=4, attraction=0.2, gap=0.15, termination=0.5)
    policies = ["dcm-ts", "dcm-kl-ucb", "last-click", "cascade-ucb1", "ranked-kl-ucb"]
    print("Compiling and playing (the first time takes half a minute more) ...", flush=True)
    result = toplist.simulate(policies, world, users, steps=20_000, runs=20, seed=0, progress=show, plot=picture)
    print(result)
    print(f"The plot is in {picture}.")


if __name__ == "__main__":
    main()
