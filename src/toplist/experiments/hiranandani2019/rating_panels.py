"""Problems made of ratings as the panels of figures 2 to 5: numbers of topics d and positions K, and what is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from toplist.engine.result import Result
from toplist.experiments import drawing
from toplist.experiments.claims import Answer, claim, counts, span
from toplist.experiments.experiment import Claim, Data, Found, Measure
from toplist.experiments.hiranandani2019 import ratings
from toplist.experiments.hiranandani2019.both_alphas import (
    ALL,
    GREEDY,
    KL_UCB,
    OURS,
    SCALED,
    Question,
    draw_panel,
    panels,
)
from toplist.experiments.verdicts import CLOSE, all_of, as_times, difference, final, printed_ratio, times, under
from toplist.worlds import TopicCoverage

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 1000  # items and people: the most rated, and those who rate most
PAIRS = "pairs"  # the measure of how many pairs attract
FEWER = 3  # times fewer people with the alpha as printed, which is soon seen to give other figures
PEOPLE = (
    "The paper has 100 people a panel. {} decide what can be decided, in minutes; with the printed alpha there are a "
    "third of them. --runs takes more."
)
NORM = "alpha has 1 for the length of theta*, which differs from person to person and is never more."


def panel(topics: int, positions: int) -> str:
    """The name of a panel.

    >>> panel(18, 8)
    'd = 18, K = 8'
    """
    return f"d = {topics}, K = {positions}"


def known_topics(data: Data | None) -> int:
    """How many topics the data have."""
    assert data is not None
    return len({topic for several in data.content.topics.values() for topic in several})


def feedback(data: Data | None, topics: int) -> ratings.Feedback:
    """What is made of the data with so many topics."""
    assert data is not None
    found = data.content
    items, people = (min(MOST, len(np.unique(numbers))) for numbers in (found.item, found.person))
    return ratings.feedback(found, items, people, topics)


def worlds(data: Data | None, sizes: Iterable[tuple[int, int]], seed: int) -> dict[str, TopicCoverage]:
    """A world per panel, of those that the data have topics enough for."""
    wanted = [(topics, positions) for topics, positions in sizes if topics <= known_topics(data)]
    made = {topics: feedback(data, topics) for topics, _ in wanted}
    return {panel(topics, positions): ratings.world(made[topics], positions, seed) for topics, positions in wanted}


def pairs(data: Data | None) -> Measure:
    """How many pairs of person and item attract."""
    assert data is not None
    return Measure(PAIRS, lambda: {"share": np.array([feedback(data, 1).attracted.mean()])}, data.name)


def attracted(found: Found, printed: float) -> Claim:
    """What the paper says of that."""
    share = float(found.measures[PAIRS]["share"][0])
    text = f"About {printed:.0%} of pairs of person and item attract"
    answer = Answer(abs(share - printed) <= CLOSE * printed, f"{share:.2%}, within a tenth of {printed:.0%} asked")
    return claim(found, text, answer, steps=0)


def lowest(results: Mapping[str, Result]) -> Answer:
    """Whether CascadeLSB has the least regret in all panels."""
    rivals = [name for name in ALL if name != OURS]
    each = [[difference(final(own, OURS), final(own, name)) for name in rivals] for own in results.values()]
    answers = [under(apart, 0.0) for own in each for apart in own]
    shares = span(max(apart.ratio for apart in own) for own in each)
    return Answer(all_of(answers), f"below {counts(answers, 'comparisons')}; {shares} of the best rival's")


def worst(results: Mapping[str, Result]) -> Answer:
    """Whether CascadeKL-UCB has the most regret in all panels."""
    others = [name for name in ALL if name != KL_UCB]
    each = [[difference(final(own, name), final(own, KL_UCB)) for name in others] for own in results.values()]
    answers = [under(apart, 0.0) for own in each for apart in own]
    shares = span(max(apart.ratio for apart in own) for own in each)
    return Answer(all_of(answers), f"above {counts(answers, 'comparisons')}; the next has {shares} of its regret")


def less(topics: int, printed: float) -> Question:
    """Whether CascadeLSB has so much less regret than LSBGreedy as is printed, over all panels with so many topics."""

    def question(results: Mapping[str, Result]) -> Answer:
        chosen = [own for name, own in results.items() if name.startswith(f"d = {topics},")]
        if not chosen:
            return Answer(None, f"not played: the data have fewer than {topics} topics")
        ours, greedy = (np.sum([final(own, name) for own in chosen], axis=0) for name in (OURS, GREEDY))
        found, share = times(ours, greedy), 1.0 - printed
        number = f"{as_times(found)} of its regret, within a tenth of {share:g} asked"
        return Answer(printed_ratio(found, share), number)

    return question


def draw_grid(found: Found, figure: Figure, rows: int, columns: int) -> None:
    """A panel per problem, row by row, with both alphas."""
    names = list(panels(found, SCALED))
    grid = drawing.panels(figure, rows, columns)
    for axes, name in zip(grid, names, strict=False):
        draw_panel(axes, found, name)
    for axes in grid[len(names) :]:
        axes.set_visible(False)
    drawing.legend(figure, 4 if columns > 1 else 2)
