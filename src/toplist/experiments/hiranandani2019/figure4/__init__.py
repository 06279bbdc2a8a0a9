"""Figure 4 of hiranandani2019: as figure 2, on restaurants, each of which covers little of its topics."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from toplist.clicks import Cascade
from toplist.engine.result import Result
from toplist.experiments.claims import Answer, range_text
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Measure, Play, Size
from toplist.experiments.hiranandani2019.both_alphas import (
    ALPHA,
    GREEDY,
    LINEAR_UCB,
    OURS,
    STEPS,
    ask,
    plays_with_both,
    theorem2_text,
)
from toplist.experiments.hiranandani2019.rating_panels import (
    FEWER,
    NORM,
    PEOPLE,
    attracted_claim,
    attracted_pairs,
    draw_grid,
    kl_ucb_is_worst,
    worlds,
)
from toplist.experiments.verdicts import ALIKE, all_of, final_regret, is_between, regret_ratio

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TOPICS, POSITIONS = 10, (4, 8, 12)
SIZES = [(TOPICS, positions) for positions in POSITIONS]
RUNS = 24


def jobs(size: Size, data: DataSet | None) -> list[Play | Measure]:
    """Three panels, each with both alphas."""
    return [attracted_pairs(data), *plays_with_both(size, worlds(data, SIZES, size.seed), Cascade(), fewer=FEWER)]


def judge(found: Findings) -> list[Claim]:
    """The claims of section 8.7."""
    promised = theorem2_text(TOPICS, POSITIONS[0], found.size.steps)
    return [
        attracted_claim(found, 0.03),
        ask(found, f"{OURS}, {GREEDY} and {LINEAR_UCB} perform similarly", _alike, promised),
        ask(found, "CascadeKL-UCB performs the worst", kl_ucb_is_worst),
    ]


def _alike(results: Mapping[str, Result]) -> Answer:
    """Whether none of the three has a third more regret than another."""
    couples = list(combinations((OURS, GREEDY, LINEAR_UCB), 2))
    each = [
        regret_ratio(final_regret(own, one), final_regret(own, other))
        for own in results.values()
        for one, other in couples
    ]
    held = all_of(is_between(found, *ALIKE) for found in each)
    return Answer(
        held, "{} times another's regret, {:.2f} to {:.2f} required".format(range_text(x.value for x in each), *ALIKE)
    )


def draw(found: Findings, figure: Figure) -> None:
    """Draw a panel per length of the list."""
    draw_grid(found, figure, 1, len(POSITIONS))


EXPERIMENT = Experiment(
    title="Figure 4: regret for single people, Yelp",
    setting="The 1,000 most reviewed restaurants and the 1,000 people with the most reviews; 4 stars or more count as "
    "attracted. Otherwise as in figure 2, with d = 10 categories, K in {4, 8, 12}, n = 20,000.",
    full=Size(STEPS, RUNS),
    quick=Size(STEPS // 4, 2, quick=True),  # decides little, but shows all curves
    jobs=jobs,
    judge=judge,
    draw=draw,
    inches=(11.0, 4.4),
    data="yelp",
    deviations=(ALPHA, PEOPLE.format(RUNS), NORM),
    seconds=180,
)
