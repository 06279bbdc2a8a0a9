"""Figure 2c of katariya2016: termination probabilities of DCMs for the most frequent queries of a search log."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from toplist.core.slate import Floats
from toplist.datasets.search_log import SearchLog, terminations
from toplist.engine.statistics import MANY, t_quantile
from toplist.experiments import drawing
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Measure, Size
from toplist.experiments.verdicts import CONFIDENCE, all_of, most_of, negation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUERIES = 5
LABEL = "terminations"
DOUBT = 4.0  # pages added to each position, half of them with the last click there: few clicks are never certain


def termination_counts(log: SearchLog) -> dict[str, Floats]:
    """Per query two rows: the termination of each position, and the number of pages clicked there."""
    found = {}
    for query, shares in terminations(log, QUERIES).items():
        clicks = np.zeros(len(shares))
        for page in log.queries[query]:
            clicks[[place - 1 for place in set(page.clicked)]] += 1
        found[query] = np.vstack([shares, clicks])
    return found


def jobs(_: Size, data: DataSet | None) -> Sequence[Measure]:
    """The measurement; nothing is played."""
    if data is None:
        return []
    log: SearchLog = data.content
    return [Measure(LABEL, lambda: termination_counts(log), f"{data.name}; the {QUERIES} most frequent queries")]


def estimates(counts: Floats) -> tuple[Floats, Floats]:
    """The terminations of a query and their standard errors, without the last position, where every click is the last.

    >>> shares, errors = estimates(np.array([[0.5, 0.75, 1.0], [96.0, 0.0, 10.0]]))
    >>> shares.tolist(), errors.round(3).tolist()
    ([0.5, 0.5], [0.05, 0.25])
    """
    shares, clicks = counts[:, :-1]
    last = np.where(clicks > 0, np.nan_to_num(shares) * clicks, 0.0)
    doubted = (last + DOUBT / 2) / (clicks + DOUBT)
    return doubted, np.sqrt(doubted * (1.0 - doubted) / (clicks + DOUBT))


def terminates_more(counts: Floats, one: int, other: int, sure: float) -> bool | None:
    """Whether a position is more terminating than another; None if the clicks do not decide."""
    shares, errors = estimates(counts)
    difference, half = float(shares[one] - shares[other]), sure * math.hypot(errors[one], errors[other])
    return None if abs(difference) <= half else difference > 0


def first_is_highest(counts: Floats, sure: float) -> bool | None:
    """Whether the first position is the most terminating of a query."""
    return all_of(terminates_more(counts, 0, other, sure) for other in range(1, counts.shape[1] - 1))


def decreases(counts: Floats, sure: float) -> bool | None:
    """Whether the terminations of a query fall from each position to the next."""
    return all_of(terminates_more(counts, place, place + 1, sure) for place in range(counts.shape[1] - 2))


def judge(found: Findings) -> Sequence[Claim]:
    """The claims: the first position is the most terminating in most queries; terminations do not always fall."""
    queries: Mapping[str, Floats] = found.measures[LABEL]
    compared = sum(counts.shape[1] - 2 for counts in queries.values())
    sure = t_quantile(MANY + 1, 1.0 - (1.0 - CONFIDENCE) / compared)  # for all comparisons together
    highest = [first_is_highest(counts, sure) for counts in queries.values()]
    falling = [decreases(counts, sure) for counts in queries.values()]
    bias = (
        "These counts rise towards the bottom for any behaviour, because few items are left to click below; the last "
        "position, always 1, is left out."
    )
    return [
        Claim(
            "the first position is the most terminating in most DCMs",
            found.outcome(most_of(highest)),
            f"in {highest.count(True)} of {len(highest)} queries, and clearly not in {highest.count(False)}",
            bias,
        ),
        Claim(
            "higher positions are not always more terminating",
            found.outcome(negation(all_of(falling))),
            f"clearly not in {falling.count(False)} of {len(falling)} queries",
            bias,
        ),
    ]


def draw(found: Findings, figure: Figure) -> None:
    """Draw a curve per query."""
    (axes,) = drawing.panels(figure)
    for place, (query, counts) in enumerate(found.measures[LABEL].items()):
        shares, clicks = counts
        errors = np.append(estimates(counts)[1], 0.0)
        drawing.band(axes, np.arange(1.0, len(shares) + 1), shares, errors, f"query {query}", place)
    drawing.frame(axes, x_label="position", y_label="termination probability")
    axes.set_xlim(1, len(shares))
    axes.set_ylim(0, 1.02)
    axes.set_xticks(range(1, len(clicks) + 1))
    drawing.legend(figure)


EXPERIMENT = Experiment(
    title="Figure 2c: termination probabilities of the five most frequent queries",
    setting=(
        "For each position, the share of pages clicked there on which nothing below was clicked (Guo et al. 2009), of "
        "the 5 most frequent queries of a search log."
    ),
    full=Size(steps=1, runs=1),
    quick=Size(steps=1, runs=1, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw,
    data="search log",
    deviations=("The band is one standard error, from the number of clicks.",),
    seconds=1.0,
)
