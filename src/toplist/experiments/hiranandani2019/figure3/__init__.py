"""Figure 3 of hiranandani2019: as figure 2, on songs with many topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toplist.clicks import Cascade
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Measure, Play, Size
from toplist.experiments.hiranandani2019.both_alphas import ALPHA, OURS, STEPS, ask, plays_with_both, theorem2_text
from toplist.experiments.hiranandani2019.rating_panels import (
    FEWER,
    NORM,
    PEOPLE,
    attracted_claim,
    attracted_pairs,
    draw_grid,
    kl_ucb_is_worst,
    less_than_greedy,
    ours_is_lowest,
    worlds,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOPICS, POSITIONS = (10, 20, 40), 8
SIZES = [(topics, POSITIONS) for topics in TOPICS]
RUNS = 18


def jobs(size: Size, data: DataSet | None) -> list[Play | Measure]:
    """Three panels, each with both alphas."""
    return [attracted_pairs(data), *plays_with_both(size, worlds(data, SIZES, size.seed), Cascade(), fewer=FEWER)]


def judge(found: Findings) -> list[Claim]:
    """The claims of section 8.6."""
    return [
        attracted_claim(found, 0.03),
        ask(
            found,
            f"{OURS} has the lowest regret for all d",
            ours_is_lowest,
            theorem2_text(TOPICS[0], POSITIONS, found.size.steps),
        ),
        ask(found, f"About 15% lower regret than LSBGreedy for d = {TOPICS[-1]}", less_than_greedy(TOPICS[-1], 0.15)),
        ask(found, "CascadeKL-UCB performs the worst for all d", kl_ucb_is_worst),
    ]


def draw(found: Findings, figure: Figure) -> None:
    """Draw a panel per number of topics."""
    draw_grid(found, figure, 1, len(TOPICS))


EXPERIMENT = Experiment(
    title="Figure 3: regret for single people, songs",
    setting="The 1,000 most popular songs, or artists, and the 1,000 most active people; 5 plays or more count as "
    "attracted. Otherwise as in figure 2, with d in {10, 20, 40}, K = 8, n = 20,000.",
    full=Size(STEPS, RUNS),
    quick=Size(STEPS // 4, 2, quick=True),  # decides little, but shows all curves
    jobs=jobs,
    judge=judge,
    draw=draw,
    inches=(11.0, 4.4),
    data="songs",
    deviations=(
        ALPHA,
        PEOPLE.format(RUNS),
        NORM,
        "Last.fm replaces the Million Song data if these are missing, with artists as songs and tags as genres.",
    ),
    seconds=530,
)
