"""Figure 2 of hiranandani2019: learning the preferences of single people, on problems made of MovieLens 1M."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from toplist.clicks import Cascade
from toplist.engine.result import Result
from toplist.experiments.claims import Answer, count_text
from toplist.experiments.experiment import Claim, DataSet, Findings, Measure, Play, Size
from toplist.experiments.hiranandani2019.both_alphas import (
    LINEAR_UCB,
    OURS,
    ask,
    linear_in,
    plays_with_both,
    sublinear_in,
    theorem2_text,
)
from toplist.experiments.hiranandani2019.rating_panels import (
    FEWER,
    attracted_claim,
    kl_ucb_is_worst,
    less_than_greedy,
    ours_is_lowest,
    panel_experiment,
    panel_jobs,
    panel_name,
    worlds,
)
from toplist.experiments.verdicts import all_of, difference, final_regret, is_below

TOPICS, POSITIONS = (5, 10, 18), (4, 8, 12)
SIZES = [(topics, positions) for topics in TOPICS for positions in POSITIONS]
RUNS = 24
MORE = 3  # times as many people with all topics, up to the paper's: the printed share needs narrow intervals
PRINTED_PEOPLE = 100


def jobs(size: Size, data: DataSet | None) -> list[Play | Measure]:
    """Nine panels, each with both alphas."""
    most = worlds(data, [each for each in SIZES if each[0] == TOPICS[-1]], size.seed)
    more = size if size.runs_given else size._replace(runs=max(size.runs, min(MORE * size.runs, PRINTED_PEOPLE)))
    return [
        *panel_jobs([each for each in SIZES if each[0] < TOPICS[-1]])(size, data),
        *plays_with_both(more, most, Cascade(), fewer=FEWER * (more.runs // size.runs)),
    ]


def judge(found: Findings) -> list[Claim]:
    """The claims of section 8.5."""
    return [
        attracted_claim(found, 0.08),
        ask(
            found,
            f"{OURS} has the lowest regret for all d and K",
            ours_is_lowest,
            theorem2_text(5, 4, found.size.steps),
        ),
        ask(found, f"{OURS} is sublinear for all d and K", sublinear_in(OURS)),
        ask(found, f"Almost 20% lower regret than LSBGreedy for d = {TOPICS[-1]}", less_than_greedy(TOPICS[-1], 0.2)),
        ask(found, "CascadeKL-UCB performs the worst", kl_ucb_is_worst),
        ask(found, f"{LINEAR_UCB} is linear", linear_in(LINEAR_UCB)),
        ask(found, f"{OURS}'s regret grows with the number of topics", _grows),
    ]


def _grows(results: Mapping[str, Result]) -> Answer:
    """Whether more topics mean more regret, for every length of the list; run r draws the same person."""
    answers, means = [], []
    for positions in POSITIONS:
        names = [panel_name(topics, positions) for topics in TOPICS]
        row = [final_regret(results[name], OURS) for name in names if name in results]
        runs = min(map(len, row), default=0)  # the common runs, with the same people
        answers += [is_below(difference(few[:runs], more[:runs]), 0.0) for few, more in pairwise(row)]
        means.append(", ".join(f"{own.mean():,.0f}" for own in row) + f" for K = {positions}")
    return Answer(all_of(answers) if answers else None, f"{count_text(answers, 'steps up')}: {'; '.join(means)}")


EXPERIMENT = panel_experiment(
    title="Figure 2: regret for single people, MovieLens",
    setting="The 1,000 most rated movies and the 1,000 people with the most ratings; 5 stars count as attracted. The "
    "true model comes from one half of the people, the features of movies from the other. d in {5, 10, 18} genres, K "
    "in {4, 8, 12}, n = 20,000, a person drawn for each run.",
    data="movielens",
    runs=RUNS,
    jobs=jobs,
    judge=judge,
    grid=(len(TOPICS), len(POSITIONS)),  # as in the paper
    seconds=840,
    people=f"{RUNS}, and {MORE * RUNS} with d = {TOPICS[-1]}",
)
