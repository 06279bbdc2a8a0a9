"""Figure 3 of hiranandani2019: as figure 2, on songs with many topics."""

from __future__ import annotations

from toplist.experiments.experiment import Claim, Findings
from toplist.experiments.hiranandani2019.both_alphas import OURS, ask, theorem2_text
from toplist.experiments.hiranandani2019.rating_panels import (
    attracted_claim,
    kl_ucb_is_worst,
    less_than_greedy,
    ours_is_lowest,
    panel_experiment,
    panel_jobs,
)

TOPICS, POSITIONS = (10, 20, 40), 8


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


EXPERIMENT = panel_experiment(
    title="Figure 3: regret for single people, songs",
    setting="The 1,000 most popular songs, or artists, and the 1,000 most active people; 5 plays or more count as "
    "attracted. Otherwise as in figure 2, with d in {10, 20, 40}, K = 8, n = 20,000.",
    data="songs",
    runs=18,
    jobs=panel_jobs([(topics, POSITIONS) for topics in TOPICS]),
    judge=judge,
    grid=(1, len(TOPICS)),
    seconds=530,
    deviations=(
        "Last.fm replaces the Million Song data if these are missing, with artists as songs and tags as genres.",
    ),
)
