"""The panels of figures 2 to 5 of hiranandani2019: problems made of ratings with d topics and K positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from toplist.clicks import Cascade
from toplist.engine.result import Result
from toplist.experiments import drawing
from toplist.experiments.claims import Answer, claim, count_text, doubt_text, range_text
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Measure, Play, Size
from toplist.experiments.hiranandani2019 import ratings
from toplist.experiments.hiranandani2019.both_alphas import (
    ALL,
    ALPHA,
    GREEDY,
    KL_UCB,
    OURS,
    SCALED,
    SIGNED,
    STEPS,
    Question,
    draw_panel,
    plays_with_both,
    results_by_panel,
)
from toplist.experiments.verdicts import (
    CLOSE,
    all_of,
    difference,
    final_regret,
    is_below,
    is_close_to_print,
    ratio_text,
    regret_ratio,
)
from toplist.worlds import TopicCoverage

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 1000  # items with the most ratings, and people with the most ratings
PAIRS = "pairs"  # label of the measured share of pairs that attract
FEWER = 3  # times fewer people with the printed alpha, which clearly gives other figures
PEOPLE = (
    "The paper has 100 people per panel. The command plays {}, and a third as many with the printed alpha, which "
    "decide most claims in minutes; --runs gives all panels the same number."
)
PanelJobs = Callable[[Size, DataSet | None], list[Play | Measure]]
NORM = "alpha uses 1 as the length of theta*, which differs from person to person and is at most 1."


def panel_name(topics: int, positions: int) -> str:
    """The name of a panel.

    >>> panel_name(18, 8)
    'd = 18, K = 8'
    """
    return f"d = {topics}, K = {positions}"


def count_topics(data: DataSet | None) -> int:
    """The number of topics in the data."""
    assert data is not None
    return len({topic for several in data.content.topics.values() for topic in several})


def feedback(data: DataSet | None, topics: int) -> ratings.Feedback:
    """The feedback of the data with a number of topics."""
    assert data is not None
    found = data.content
    items, people = (min(MOST, len(np.unique(numbers))) for numbers in (found.item, found.person))
    return ratings.feedback(found, items, people, topics)


def worlds(data: DataSet | None, sizes: Iterable[tuple[int, int]], seed: int) -> dict[str, TopicCoverage]:
    """A world per panel; panels with more topics than the data have are left out."""
    wanted = [(topics, positions) for topics, positions in sizes if topics <= count_topics(data)]
    made = {topics: feedback(data, topics) for topics, _ in wanted}
    return {panel_name(topics, positions): ratings.world(made[topics], positions, seed) for topics, positions in wanted}


def panel_jobs(sizes: Iterable[tuple[int, int]]) -> PanelJobs:
    """The jobs of a figure with a panel per number of topics and positions, each with both alphas."""

    def jobs(size: Size, data: DataSet | None) -> list[Play | Measure]:
        return [attracted_pairs(data), *plays_with_both(size, worlds(data, sizes, size.seed), Cascade(), fewer=FEWER)]

    return jobs


def attracted_pairs(data: DataSet | None) -> Measure:
    """The measurement of the share of pairs of person and item that attract."""
    assert data is not None
    return Measure(PAIRS, lambda: {"share": np.array([feedback(data, 1).attracted.mean()])}, data.name)


def attracted_claim(found: Findings, printed: float) -> Claim:
    """The claim of the paper on that share."""
    share = float(found.measures[PAIRS]["share"][0])
    text = f"About {printed:.0%} of pairs of person and item attract"
    answer = Answer(abs(share - printed) <= CLOSE * printed, f"{share:.2%}, within a tenth of {printed:.0%} required")
    return claim(found, text, answer, steps=0)


def ours_is_lowest(results: Mapping[str, Result]) -> Answer:
    """Whether CascadeLSB has the least regret in all panels."""
    return _compared(results, [(OURS, name) for name in ALL if name != OURS], "below {}; {} of the best rival's")


def kl_ucb_is_worst(results: Mapping[str, Result]) -> Answer:
    """Whether CascadeKL-UCB has the most regret in all panels."""
    pairs = [(name, KL_UCB) for name in ALL if name != KL_UCB]
    return _compared(results, pairs, "above {}; the next has {} of its regret")


def _compared(results: Mapping[str, Result], pairs: list[tuple[str, str]], number: str) -> Answer:
    """Whether the first of each pair has less regret in all panels; `number` takes counts and shares."""
    each = {
        panel: {pair: difference(*(final_regret(own, name) for name in pair)) for pair in pairs}
        for panel, own in results.items()
    }
    flat = {f"{' and '.join(pair)}, {panel}": one for panel, own in each.items() for pair, one in own.items()}
    answers = [is_below(one, 0.0) for one in flat.values()]
    shares = range_text(max(one.ratio for one in own.values()) for own in each.values())
    text = number.format(count_text(answers, "comparisons"), shares)
    return Answer(all_of(answers), text, doubt_text(flat, 0.0, form=SIGNED))


def less_than_greedy(topics: int, printed: float) -> Question:
    """Whether CascadeLSB has the printed share less regret than LSBGreedy, over all panels with `topics` topics."""

    def question(results: Mapping[str, Result]) -> Answer:
        chosen = [own for name, own in results.items() if name.startswith(f"d = {topics},")]
        if not chosen:
            return Answer(None, f"not played: the data have fewer than {topics} topics")
        ours, greedy = (np.sum([final_regret(own, name) for own in chosen], axis=0) for name in (OURS, GREEDY))
        found, share = regret_ratio(ours, greedy), 1.0 - printed
        number = f"{ratio_text(found)} of its regret, within a tenth of {share:g} required"
        doubt = doubt_text({"": found}, (1.0 - CLOSE) * share, (1.0 + CLOSE) * share)
        return Answer(is_close_to_print(found, share), number, doubt)

    return question


def draw_grid(found: Findings, figure: Figure, rows: int, columns: int) -> None:
    """Draw a panel per problem, row by row, with both alphas."""
    names = list(results_by_panel(found, SCALED))
    grid = drawing.panels(figure, rows, columns)
    for axes, name in zip(grid, names, strict=False):
        draw_panel(axes, found, name)
    for axes in grid[len(names) :]:
        axes.set_visible(False)
    drawing.legend(figure, 4 if columns > 1 else 2)


def panel_experiment(
    title: str,
    setting: str,
    data: str,
    runs: int,
    jobs: PanelJobs,
    judge: Callable[[Findings], list[Claim]],
    grid: tuple[int, int],
    seconds: float,
    people: str = "",
    deviations: tuple[str, ...] = (),
) -> Experiment:
    """A figure with a panel per problem, in `grid` rows and columns; `people` says how many, if not `runs` each."""
    return Experiment(
        title=title,
        setting=setting,
        full=Size(STEPS, runs),
        quick=Size(STEPS // 4, 2, quick=True),  # decides little, but shows all curves
        jobs=jobs,
        judge=judge,
        draw=lambda found, figure: draw_grid(found, figure, *grid),
        inches=(11.0, 4.4 if grid[0] == 1 else 9.5),
        data=data,
        deviations=(ALPHA, PEOPLE.format(people or runs), NORM, *deviations),
        seconds=seconds,
    )
