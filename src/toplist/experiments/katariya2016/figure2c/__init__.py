"""Figure 2c of katariya2016: termination probabilities of DCMs for the most frequent queries of a search log."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from toplist.core.slate import Floats
from toplist.engine.statistics import MANY, t_quantile
from toplist.experiments import drawing
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Measure, Size
from toplist.experiments.logged_queries import DOUBT, frequent_queries, kept_priors, lists_of
from toplist.experiments.verdicts import CONFIDENCE, all_of, most_of, negation
from toplist.logs import ClickLog, FittedModel, fit_model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUERIES = 5
LABEL = "terminations"
TOGETHER = "all five queries"
COUNTED, CLICKS, EXACT, ERROR, EXPECTED = range(5)  # rows of a query


class TerminationEstimates(NamedTuple):
    """Terminations by position on the logit scale, with standard errors."""

    logit: Floats
    error: Floats


def termination_fits(log: ClickLog) -> dict[str, Floats]:
    """Per query, and for all together, by position but the last: the counts, their clicks, the exact fit, its error.

    The fifth row is what the counts would be on average if the exact fit were true.
    """
    queries = frequent_queries(log, QUERIES)
    lists = lists_of(log, queries)
    found = {}
    for per_query in (True, False):
        counted = fit_model(lists, "dcm-counts", priors={}, per_query=per_query, errors="none")
        exact = fit_model(lists, "dcm", priors=kept_priors("dcm"), per_query=per_query)
        for row in range(len(exact.shared.value)):
            query = exact.queries[exact.query_codes[row]] if per_query else None
            rows = [
                counted.shared.value[row], counted.shared.tosses[row], exact.shared.value[row], exact.shared.error[row],
                expected_counts(exact, lists if query is None else lists_of(lists, [query])),
            ]  # fmt: skip
            found[TOGETHER if query is None else str(query)] = np.vstack(rows)[:, :-1]
    return {name: found[name] for name in [*map(str, queries), TOGETHER]}


def expected_counts(fitted: FittedModel, log: ClickLog) -> Floats:
    """By position, the share of last clicks among all clicks that a DCM expects on the lists of a log.

    >>> from toplist.logs.models import DCMModel
    >>> fitted = FittedModel.from_values(DCMModel(positions=2), {"q": {"a": [0.5], "b": [0.2]}}, [0.25, 0.5])
    >>> expected_counts(fitted, ClickLog.from_lists(["q"], [["a", "b"]], [[]])).round(3).tolist()
    [0.85, 1.0]
    """
    chance, pairs, places = fitted.predict(log).marginal, fitted.pair_numbers(log), log.places()
    query = np.repeat(log.query, log.lengths)
    rows = np.zeros(len(fitted.queries), dtype=np.int64)
    rows[fitted.query_codes] = np.arange(len(fitted.query_codes)) if fitted.per_query else 0
    stop = fitted.shared.value[rows[query], places]
    attraction = fitted.own.value[pairs, 0]
    silence, last = np.ones(len(log)), np.zeros(len(attraction))
    for place in range(fitted.positions - 1, -1, -1):
        has = log.lengths > place
        at = log.start[:-1][has] + place
        last[at] = chance[at] * (stop[at] + (1.0 - stop[at]) * silence[has])
        silence[has] *= 1.0 - attraction[at]
    weight = np.repeat(log.weights, log.lengths)
    clicks = np.bincount(places, weights=weight * chance, minlength=fitted.positions)
    total = np.bincount(places, weights=weight * last, minlength=fitted.positions)
    shares: Floats = np.divide(total, clicks, out=np.full(fitted.positions, np.nan), where=clicks > 0)
    return shares


def jobs(_: Size, data: DataSet | None) -> Sequence[Measure]:
    """The measurement; nothing is played."""
    if data is None:
        return []
    log: ClickLog = data.content
    return [Measure(LABEL, lambda: termination_fits(log), f"{data.name}; the {QUERIES} most frequent queries")]


def by_counts(rows: Floats) -> TerminationEstimates:
    """The published counts of a query, with four imagined clicks at each position, half of them the last.

    >>> found = by_counts(np.array([[0.5, 0.75], [96.0, 0.0]]))
    >>> found.logit.tolist(), found.error.round(3).tolist()
    ([0.0, 0.0], [0.2, 1.0])
    """
    shares, clicks = rows[COUNTED], rows[CLICKS]
    doubted = (np.where(clicks > 0, shares * clicks, 0.0) + DOUBT / 2) / (clicks + DOUBT)
    error = 1.0 / np.sqrt((clicks + DOUBT) * doubted * (1.0 - doubted))
    return TerminationEstimates(np.log(doubted / (1.0 - doubted)), error)


def by_exact_fit(rows: Floats) -> TerminationEstimates:
    """The exact fit of a query."""
    return TerminationEstimates(np.log(rows[EXACT] / (1.0 - rows[EXACT])), rows[ERROR])


def terminates_more(found: TerminationEstimates, one: int, other: int, sure: float) -> bool | None:
    """Whether a position is more terminating than another; None if the log does not decide."""
    difference = float(found.logit[one] - found.logit[other])
    half = sure * math.hypot(found.error[one], found.error[other])
    return difference > 0 if abs(difference) > half else None  # also without errors, which are NaN


def first_is_highest(found: TerminationEstimates, sure: float) -> bool | None:
    """Whether the first position is the most terminating of a query."""
    return all_of(terminates_more(found, 0, other, sure) for other in range(1, len(found.logit)))


def decreases(found: TerminationEstimates, sure: float) -> bool | None:
    """Whether the terminations of a query fall from each position to the next."""
    return all_of(terminates_more(found, place, place + 1, sure) for place in range(len(found.logit) - 1))


def judge(found: Findings) -> Sequence[Claim]:
    """The claims: the first position is the most terminating in most queries; terminations do not always fall."""
    everything: Mapping[str, Floats] = found.measures[LABEL]
    queries = {name: rows for name, rows in everything.items() if name != TOGETHER}
    compared = sum(rows.shape[1] - 1 for rows in queries.values())
    sure = t_quantile(MANY + 1, 1.0 - (1.0 - CONFIDENCE) / compared)  # for all comparisons together
    claims = []
    for how, estimate, row in (("the published counts", by_counts, COUNTED), ("the exact fit", by_exact_fit, EXACT)):
        several = [estimate(rows) for rows in queries.values()]
        highest = [first_is_highest(each, sure) for each in several]
        falling = [decreases(each, sure) for each in several]
        values = ", ".join(f"{value:.2f}" for value in everything[TOGETHER][row])
        together = f"all five queries together, from the top: {values}"
        claims += [
            Claim(
                f"by {how}, the first position is the most terminating in most DCMs",
                found.outcome(most_of(highest)),
                f"in {highest.count(True)} of {len(highest)} queries, and clearly not in {highest.count(False)}; "
                f"{together}",
                "; ".join(
                    text for text in (remark(everything[TOGETHER]) if row == COUNTED else "", doubt(highest)) if text
                ),
            ),
            Claim(
                f"by {how}, higher positions are not always more terminating",
                found.outcome(negation(all_of(falling))),
                f"clearly not in {falling.count(False)} of {len(falling)} queries",
            ),
        ]
    return claims


def doubt(highest: list[bool | None]) -> str:
    """Why it cannot be said whether most hold; empty if it can.

    >>> doubt([True, None, None, None, False])
    'neither met nor not met can be said, because 0 lies within the interval of a difference between the first \
position and another for 3 of 5 queries'
    """
    if most_of(highest) is not None:
        return ""
    return (
        "neither met nor not met can be said, because 0 lies within the interval of a difference between the first "
        f"position and another for {highest.count(None)} of {len(highest)} queries"
    )


def remark(rows: Floats) -> str:
    """What the counts would be if the exact fit were true."""
    values = ", ".join(f"{value:.2f}" for value in rows[EXPECTED])
    return (
        "These counts are not consistent: a visitor who stays and finds nothing more to click counts as one who left, "
        f"the more often the fewer items follow. If the exact fit were true, they would be {values}. The last "
        "position, whose termination no log shows, is left out."
    )


def draw(found: Findings, figure: Figure) -> None:
    """Draw a panel for the counts and one for the exact fit, a curve per query."""
    everything: Mapping[str, Floats] = found.measures[LABEL]
    panels = drawing.panels(figure, 1, 2, share_y=True)
    for axes, title, estimate in zip(panels, ("published counts", "exact fit"), (by_counts, by_exact_fit), strict=True):
        for place, (query, rows) in enumerate(everything.items()):
            logit, error = estimate(rows)
            value = 1.0 / (1.0 + np.exp(-logit))
            band = np.nan_to_num(error) * value * (1.0 - value)
            name = query if query == TOGETHER else f"query {query}"
            drawing.band(axes, np.arange(1.0, len(value) + 1), value, band, name, place)
        drawing.frame(axes, title, x_label="position", y_label="termination probability")
        axes.set_xlim(1, len(value))
        axes.set_ylim(0, 1.02)
        axes.set_xticks(range(1, len(value) + 1))
    drawing.legend(figure)


EXPERIMENT = Experiment(
    title="Figure 2c: termination probabilities of the five most frequent queries",
    setting=(
        "DCMs of the 5 most frequent queries of a search log. By the published counts (Guo et al. 2009), the "
        "termination of a position is the share of lists clicked there on which nothing below was clicked; by the "
        "exact fit, it maximises the likelihood."
    ),
    full=Size(steps=1, runs=1),
    quick=Size(steps=1, runs=1, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw,
    inches=(9.0, 4.5),
    data="search log",
    deviations=(
        "The paper has the counts only; the exact fit is ours, with four imagined clicks at each position, half of "
        "them the last.",
        "The band is one standard error: from the number of clicks, and from the information of the exact fit.",
    ),
    seconds=10.0,
)
