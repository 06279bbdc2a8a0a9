"""What do priors earn, and what does a wrong one cost? `python -m toplist.experiments.warm_starts` plays both.

It also measures how soon an item that is wrongly thought worthless overtakes the K-th best, and whether dividing a
ranking into segments costs clicks.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import toplist
from toplist.core.prior import Prior
from toplist.core.problem import checked_seed, whole
from toplist.core.slate import Floats
from toplist.engine.result import Result
from toplist.engine.simulate import simulate
from toplist.engine.starts import NeverSeenFirst
from toplist.experiments.default_policy import attraction_around, markdown
from toplist.experiments.pooled_segments import SegmentStudy, division_effect
from toplist.experiments.warm_policy import WarmPolicy
from toplist.policies.by_name import make
from toplist.ranker import Ranker
from toplist.support.files import import_optional, write_text
from toplist.support.plots import PALETTE, draw_and_save
from toplist.support.script import run_script

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POLICIES = ("dcm-ts", "dcm-kl-ucb", "cascade-kl-ucb", "cascade-ucb1")
ITEMS, POSITIONS, RATE = 40, 6, 0.1
STRENGTH = 100.0
STEPS = 20_000
WORTHLESS = Prior(0.0, STRENGTH)
# Overtaking: attraction of the K best items, which are thought worthless, and of the others.
BEST, OTHERS = 0.3, 0.15
WITHIN = 4000  # lists in which items that are thought worthless overtake, for all of POLICIES
OVERTAKING = 5  # times as many runs
# Divided rankings, of items alone and with features, which need fewer lists.
SEGMENTED = (SegmentStudy(), SegmentStudy(before=3000, after=6000, policy="dcm-lin-ucb", features=8))
WITH_FEATURES = 3  # times as many runs: they are short, and differ more


def prior_kinds(attraction: Floats, positions: int) -> dict[str, list[Prior]]:
    """Priors of all items by how right they are.

    >>> kinds = prior_kinds(np.array([0.4, 0.1, 0.3, 0.2]), 1)
    >>> {kind: [prior.mean for prior in priors] for kind, priors in kinds.items()}
    {'none': [0.5, 0.5, 0.5, 0.5], 'right': [0.4, 0.1, 0.3, 0.2], 'half right': [0.4, 0.1, 0.2, 0.3], \
'wrong': [0.1, 0.4, 0.2, 0.3], 'best thought worthless': [0.0, 0.1, 0.3, 0.2]}
    """
    order = np.argsort(attraction)
    reversed_ranks = np.empty(len(attraction))
    reversed_ranks[order] = attraction[order[::-1]]
    half = attraction.copy()
    wronged = np.arange(len(attraction)) >= len(attraction) // 2
    part = np.flatnonzero(wronged)
    part = part[np.argsort(attraction[part])]
    half[part] = attraction[part[::-1]]
    worthless = attraction.copy()
    worthless[order[-positions:]] = 0.0
    means = {
        "right": attraction, "half right": half, "wrong": reversed_ranks, "best thought worthless": worthless,
    }  # fmt: skip
    priors = {kind: [Prior(float(each), STRENGTH) for each in mean] for kind, mean in means.items()}
    return {"none": [Prior(0.5, 0.0)] * len(attraction)} | priors


def curves(policy: str, runs: int, seed: int, threads: int | None) -> Result:
    """The regret of one policy with each kind of prior."""
    attraction = attraction_around(RATE, ITEMS)
    warm = {
        kind: WarmPolicy.of(make(policy), priors, POSITIONS)
        for kind, priors in prior_kinds(attraction, POSITIONS).items()
    }
    world, users = toplist.worlds.Fixed(attraction, POSITIONS), toplist.clicks.DCM(0.5)
    return simulate(warm, world, users, STEPS, runs, seed, start=NeverSeenFirst(), threads=threads)


def draw_curves(results: dict[str, Result]) -> Figure:
    """A panel per policy."""
    figures, ticker = import_optional("matplotlib.figure", "plots"), import_optional("matplotlib.ticker", "plots")
    figure: Figure = figures.Figure(figsize=(9.0, 6.6), dpi=150, layout="constrained")
    import_optional("matplotlib.backends.backend_agg", "plots").FigureCanvasAgg(figure)
    grid = figure.subplots(2, 2, sharex=True)
    for axes, (policy, result) in zip(grid.flat, results.items(), strict=True):
        for kind, colour in zip(result.policies, PALETTE, strict=False):
            mean, error = result.mean(kind, "regret"), result.standard_error(kind, "regret")
            axes.plot(result.checkpoints, mean, color=colour, label=kind)
            axes.fill_between(result.checkpoints, mean - error, mean + error, color=colour, alpha=0.18, linewidth=0)
        axes.set_title(policy, loc="left", fontsize="medium")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="0.9", linewidth=0.6)
        axes.xaxis.set_major_locator(ticker.MaxNLocator(nbins=4, integer=True))
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(ticker.StrMethodFormatter("{x:,.12g}"))
    for axes in grid[1]:
        axes.set_xlabel("lists shown")
    for axes in grid[:, 0]:
        axes.set_ylabel("clicks lost (regret)")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def lists_to_overtake(
    policy: str, seed: int, others_known: bool, items: int = 20, positions: int = 4, most: int = 40_000,
    compiled: bool = True,
) -> int:  # fmt: skip
    """Lists until every one of the K best items, thought worthless, has a mean above the attraction of the others.

    Its mean includes the prior, and the others are as good as the K-th best that is not thought worthless.

    Parameters
    ----------
    policy : str
        The policy.
    seed : int
        Seed of visitors and lists.
    others_known : bool
        Whether the others begin with a right prior; else with none.
    items, positions : int
        Sizes.
    most : int, default 40,000
        Largest number of lists to play.
    compiled : bool, default True
        Whether to compile the policy.

    Returns
    -------
    int
        Number of lists; `most` if some have not overtaken by then.
    """
    best, rng = set(range(positions)), np.random.default_rng(seed)
    priors = {item: WORTHLESS if item in best else Prior(OTHERS, STRENGTH) for item in range(items)}
    if not others_known:
        priors = {item: prior for item, prior in priors.items() if item in best}
    ranker = Ranker(range(items), positions, policy, seed, priors=priors, name="page", compiled=compiled)
    for lists in range(1, most + 1):
        shown = ranker.rank()
        clicks: list[Any] = []
        for place, item in enumerate(shown):
            if rng.random() < (BEST if item in best else OTHERS):
                clicks.append({"position": place + 1})
                if rng.random() < 0.5:
                    break
        ranker.learn(shown, clicks)
        if lists % 10 == 0:
            means = [row["mean"] for row in ranker.estimates().rows() if row["item"] in best]
            if all(mean is not None and mean > OTHERS for mean in means):
                return lists
    return most


def overtaking_table(runs: int, seed: int) -> str:
    """Lists to overtake, median and largest, by policy and by what the others begin with."""
    rows = [["policy", "others with a right prior", "others without a prior"]]
    for policy in POLICIES:
        cells = []
        for known in (True, False):
            found = np.array([lists_to_overtake(policy, seed + run, known) for run in range(OVERTAKING * runs)])
            cells.append(f"{np.median(found):,.0f}, at most {found.max():,}")
        rows.append([f"`{policy}`", *cells])
    return markdown(rows)


def regret_table(results: dict[str, Result], at: Sequence[int] = (1000, 5000, STEPS)) -> str:
    """Regret after some numbers of lists, by policy and kind of prior."""
    rows = [["policy", "prior", *(f"{lists:,} lists" for lists in at)]]
    for policy, result in results.items():
        for kind in result.policies:
            mean, error = result.mean(kind, "regret"), result.standard_error(kind, "regret")
            places = [int(np.searchsorted(result.checkpoints, lists)) for lists in at]
            rows.append([f"`{policy}`", kind, *(f"{mean[place]:.0f} ± {error[place]:.0f}" for place in places)])
    return markdown(rows)


def segments_table(runs: int, seed: int) -> str:
    """What a division into segments does to the click-through, by how much they differ."""
    rows = [["policy", "segments", "begin with the pool", "with its strength stated, 100 looks", "begin from nothing"]]
    kinds = ("equal", 0.0), ("different", 0.7), ("very different", 1.5)
    for study, (name, differ) in product(SEGMENTED, kinds):
        cells = []
        for pool, strength in (("prior", None), ("prior", 100.0), ("none", None)):
            several = WITH_FEATURES * runs if study.features else runs
            effect = division_effect(study._replace(differ=differ, pool_strength=strength), pool, several, seed)
            cells.append(f"{effect.mean:+.1%} ({effect.low:+.1%} to {effect.high:+.1%})")
        rows.append([f"`{study.policy}`", name, *cells])
    return markdown(rows)


def main() -> int:
    """Play, print the tables, and write them and the figure to the folder."""
    parser = argparse.ArgumentParser(description="Warm starts: regret, overtaking, and segments.")
    parser.add_argument("--folder", type=Path, default=Path("out/warm-starts"), help="for results")
    parser.add_argument("--runs", type=int, default=20, help="runs of each setting of the curves (default 20)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random numbers (default 0)")
    parser.add_argument("--threads", type=int, help="number of threads of the curves (default: all cores)")
    parser.add_argument("--only", choices=("curves", "overtaking", "segments"), help="one of the three parts")
    asked = parser.parse_args()
    runs, seed = whole("--runs", asked.runs, 2, "standard errors need two"), checked_seed(asked.seed)
    asked.folder.mkdir(parents=True, exist_ok=True)
    texts = []
    if asked.only in (None, "curves"):
        results = {policy: curves(policy, runs, seed, asked.threads) for policy in POLICIES}
        draw_and_save(lambda: draw_curves(results), asked.folder / "warm-starts.png")
        texts.append(regret_table(results))
    if asked.only in (None, "overtaking"):
        texts.append(overtaking_table(runs, seed))
    if asked.only in (None, "segments"):
        texts.append(segments_table(max(2, runs // 2), seed))
    text = "\n\n".join(texts)
    write_text(asked.folder / f"{asked.only or 'warm-starts'}.md", "The tables", text + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(run_script(main))
