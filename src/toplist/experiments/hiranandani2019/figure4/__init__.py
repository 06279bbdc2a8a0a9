"""Figure 4 of hiranandani2019: as figure 2, on restaurants, each of which covers little of its topics."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from toplist.engine.result import Result
from toplist.experiments.claims import Answer, doubt_text, range_text
from toplist.experiments.experiment import Claim, Findings
from toplist.experiments.hiranandani2019.both_alphas import GREEDY, LINEAR_UCB, OURS, ask, theorem2_text
from toplist.experiments.hiranandani2019.rating_panels import (
    attracted_claim,
    kl_ucb_is_worst,
    panel_experiment,
    panel_jobs,
)
from toplist.experiments.verdicts import ALIKE, all_of, final_regret, is_between, regret_ratio

TOPICS, POSITIONS = 10, (4, 8, 12)


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
    each = {
        f"{one} and {other}, {panel}": regret_ratio(final_regret(own, one), final_regret(own, other))
        for panel, own in results.items()
        for one, other in couples
    }
    held = all_of(is_between(found, *ALIKE) for found in each.values())
    found = range_text(one.value for one in each.values())
    number = "{} times another's regret, {:.2f} to {:.2f} required".format(found, *ALIKE)
    return Answer(held, number, doubt_text(each, *ALIKE))


EXPERIMENT = panel_experiment(
    title="Figure 4: regret for single people, Yelp",
    setting="The 1,000 most reviewed restaurants and the 1,000 people with the most reviews; 4 stars or more count as "
    "attracted. Otherwise as in figure 2, with d = 10 categories, K in {4, 8, 12}, n = 20,000.",
    data="yelp",
    runs=24,
    jobs=panel_jobs([(TOPICS, positions) for positions in POSITIONS]),
    judge=judge,
    grid=(1, len(POSITIONS)),
    seconds=180,
)
