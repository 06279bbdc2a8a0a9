"""Contests on click models of several queries of a search log, whose runs are judged together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from toplist.core.randomness import branch
from toplist.experiments import drawing
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Play, Size
from toplist.experiments.newer.contests import STEPS, Less
from toplist.experiments.pooled_results import pool_results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

QUERIES, POSITIONS, RUNS = 10, 5, 10
SETTING = (
    f"The click models of the first {QUERIES} queries of a search log, each with 10 documents on {POSITIONS} positions:"
)
NEAREST = (
    f"The size was fixed before anything was played: the first {QUERIES} queries of the data, {POSITIONS} positions, "
    f"{STEPS:,} lists. The papers have other queries of the log."
)


class LearnedContest(NamedTuple):
    """Policies on the click models of all queries.

    Parameters
    ----------
    label : str
        The users, unique in the experiment.
    model : str
        Name of the click model in a file of them.
    policies : tuple of str
        Names of the catalogue.
    """

    label: str
    model: str
    policies: tuple[str, ...]

    def name(self, query: int) -> str:
        """The label of the play of a query, counted from 1."""
        return f"{self.label}, query {query}"


def learned_experiment(
    title: str, setting: str, contests: Sequence[LearnedContest], claims: Sequence[Less], deviations: Sequence[str] = ()
) -> Experiment:
    """An experiment on click models; a claim is about the runs of all queries together."""

    def jobs(size: Size, data: DataSet | None) -> Sequence[Play]:
        assert data is not None
        plays = []
        for contest in contests:
            people = list(data.content.people(contest.model, POSITIONS).values())[:QUERIES]
            for query, (world, users) in enumerate(people, 1):
                seed = int(branch(size.seed, query)) % 2**63
                policies = {name: name for name in contest.policies}
                plays.append(Play(contest.name(query), policies, world, users, size.steps, size.runs, seed))
        return plays

    def pooled(found: Findings) -> Findings:
        together = {
            contest.label: pool_results(
                [result for label, result in found.results.items() if label.startswith(f"{contest.label}, query ")]
            )
            for contest in contests
        }
        return replace(found, results=together)

    def judge(found: Findings) -> Sequence[Claim]:
        together = pooled(found)
        return [each.judged(together, STEPS) for each in claims]

    def draw(found: Findings, figure: Figure) -> None:
        together = pooled(found)
        for axes, each in zip(drawing.panels(figure, columns=len(contests)), contests, strict=True):
            drawing.curves(axes, together.results[each.label])
            drawing.frame(axes, each.label)
        drawing.legend(figure)

    return Experiment(
        title=title, setting=f"{SETTING} {setting}", full=Size(STEPS, RUNS), quick=Size(STEPS // 10, 2, quick=True),
        jobs=jobs, judge=judge, draw=draw, inches=(3.5 + 3.5 * len(contests), 4.5), data="click models",
        deviations=(NEAREST, *deviations), seconds=60.0,
    )  # fmt: skip
