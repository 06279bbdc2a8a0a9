"""Figure 3 of hiranandani2019: the same as figure 2 on songs, for many topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toplist.clicks import Cascade
from toplist.experiments.experiment import Claim, Data, Experiment, Found, Measure, Play, Size
from toplist.experiments.hiranandani2019.both_alphas import ALPHA, OURS, STEPS, ask, plays, theorem
from toplist.experiments.hiranandani2019.rating_panels import (
    FEWER,
    NORM,
    PEOPLE,
    attracted,
    draw_grid,
    less,
    lowest,
    pairs,
    worlds,
    worst,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOPICS, POSITIONS = (10, 20, 40), 8
SIZES = [(topics, POSITIONS) for topics in TOPICS]
RUNS = 18


def jobs(size: Size, data: Data | None) -> list[Play | Measure]:
    """Three panels, each with both alphas."""
    return [pairs(data), *plays(size, worlds(data, SIZES, size.seed), Cascade(), fewer=FEWER)]


def judge(found: Found) -> list[Claim]:
    """What section 8.6 says."""
    return [
        attracted(found, 0.03),
        ask(found, f"{OURS} has the lowest regret for all d", lowest, theorem(TOPICS[0], POSITIONS, found.size.steps)),
        ask(found, f"About 15% lower regret than LSBGreedy for d = {TOPICS[-1]}", less(TOPICS[-1], 0.15)),
        ask(found, "CascadeKL-UCB performs the worst for all d", worst),
    ]


def draw(found: Found, figure: Figure) -> None:
    """A panel per number of topics."""
    draw_grid(found, figure, 1, len(TOPICS))


EXPERIMENT = Experiment(
    title="Figure 3: regret for single people, songs",
    setting="The 1,000 most popular songs, or artists, and the 1,000 most active people; 5 plays or more count as "
    "attracted. Else as in figure 2, with d in {10, 20, 40}, K = 8, n = 20,000.",
    full=Size(STEPS, RUNS),
    quick=Size(STEPS // 4, 2, quick=True),  # which decides little, but shows all curves
    jobs=jobs,
    judge=judge,
    draw=draw,
    inches=(11.0, 4.4),
    data="songs",
    deviations=(
        ALPHA,
        PEOPLE.format(RUNS),
        NORM,
        "Last.fm stands in for the Million Song data where these are not found, with artists for songs and tags for "
        "genres.",
    ),
    seconds=530,
)
