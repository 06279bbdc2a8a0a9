"""Section 8.1 of hiranandani2019: how close the greedy list comes to the best one, on problems made of MovieLens 1M.

Run with `python -m toplist.experiments.hiranandani2019.ratio --data FOLDER`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

import numpy as np

from toplist.datasets import movielens
from toplist.experiments import commands
from toplist.experiments.hiranandani2019 import ratings
from toplist.slate import Floats
from toplist.tables import aligned
from toplist.worlds import TopicCoverage, exact_best, greedy_best

PRINTED = {1: "1.000", 2: "0.9926", 3: "0.9997", 4: "0.9986"}  # for the paper's own sample
LEAST = 0.99  # what the paper says of all of them


def sampled(world: TopicCoverage, items: int, people: int, seed: int) -> TopicCoverage:
    """Some of a world's items and people, at random."""
    rng = np.random.default_rng(seed)
    kept = np.sort(rng.choice(len(world.topics), min(items, len(world.topics)), replace=False))
    those = np.sort(rng.choice(len(world.preferences), min(people, len(world.preferences)), replace=False))
    return TopicCoverage(world.topics[kept], world.preferences[those], world.positions)


def ratios(world: TopicCoverage, positions: int) -> Floats:
    """Per person, the reward of the greedy list over that of the best one; 1 where nothing attracts."""
    found = []
    for taste in world.preferences:
        single = world._replace(preferences=taste, positions=positions)
        best = exact_best(single)[1]
        found.append(greedy_best(single)[1] / best if best > 0.0 else 1.0)
    return np.array(found)


def table(world: TopicCoverage, positions: Sequence[int] = tuple(PRINTED)) -> list[str]:
    """Mean and least ratio for each length of the list, beside the paper's mean."""
    found = {length: ratios(world, length) for length in positions}
    columns = [
        ["K", *map(str, found)],
        ["paper", *(PRINTED.get(length, "-") for length in found)],
        ["mean", *(f"{each.mean():.4f}" for each in found.values())],
        ["least", *(f"{each.min():.4f}" for each in found.values())],
        ["above 0.99", *("yes" if each.mean() > LEAST else "NO" for each in found.values())],
    ]
    return aligned(columns, left=())


def main(arguments: list[str] | None = None, write: Callable[[str], object] = print) -> int:
    """Print the ratios for 100 random people and items, or other numbers of these."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", required=True, metavar="FOLDER", help="the folder of MovieLens 1M")
    parser.add_argument("--people", type=int, default=100, help="for how many, drawn at random")
    parser.add_argument("--items", type=int, default=100, help="of how many movies, drawn at random")
    parser.add_argument("--pool", type=int, default=1000, help="the most rated movies and raters to draw from")
    parser.add_argument("--topics", type=int, default=18, help="genres, the most common ones")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    found = movielens.read(options.data)
    write(f"{options.data}: {found}")
    feedback = ratings.feedback(found, options.pool, options.pool, options.topics)
    world = sampled(ratings.world(feedback, 1, options.seed), options.items, options.people, options.seed)
    write(f"{len(world.topics)} movies and {len(world.preferences)} people at random; reward of greedy over best list")
    for line in table(world):
        write(line)
    return 0


if __name__ == "__main__":
    sys.exit(commands.run(main))
