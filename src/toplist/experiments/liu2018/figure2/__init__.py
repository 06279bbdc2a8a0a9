"""Figure 2 of liu2018: regret on a search log, with features of pages, and of pages and visitors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from toplist.core.randomness import branch
from toplist.engine.result import Result
from toplist.engine.starts import NeverSeenFirst
from toplist.experiments import drawing
from toplist.experiments.claims import Answer, claim, doubt_text, interval_text
from toplist.experiments.experiment import Claim, DataSet, Experiment, Findings, Outcome, Play, Size
from toplist.experiments.liu2018.logged_pages import LoggedPages, click_features
from toplist.experiments.logged_queries import frequent_queries, kept_priors, lists_of
from toplist.experiments.pooled_results import pool_results
from toplist.experiments.verdicts import difference, final_regret, is_below
from toplist.logs import ClickLog, fit_model

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STEPS, RUNS, QUERIES, POSITIONS, GROUND, FEATURES, STAGES = 5000, 20, 3, 10, 100, 200, 5
VISITORS = 10_000  # whose features are kept, at most
OURS, PLAIN, SGD, BLIND, PLAIN_SGD = "GL-CDCM", "LR", "GL-CDCM (SGD)", "KL-DCM", "LR (SGD)"
POLICIES = {OURS: "gl-cdcm", PLAIN: "lr", SGD: "gl-cdcm-sgd", BLIND: "dcm-kl-ucb", PLAIN_SGD: "lr-sgd"}
PAGES, BOTH = "features of pages", "features of pages and visitors"
# Printed regret after 5,000 steps.
PRINTED = {
    PAGES: {OURS: 32.28, PLAIN: 59.08, SGD: 81.71, BLIND: 99.09, PLAIN_SGD: 114.96},
    BOTH: {OURS: 28.51, PLAIN: 46.00},
}
WHY = "the features need the visitors of the log, which no sample of it has"


def jobs(size: Size, data: DataSet | None) -> list[Play]:
    """A play per query and sort of features."""
    if data is None:
        return []
    log: ClickLog = data.content
    queries = frequent_queries(log, QUERIES)
    lists = lists_of(log, queries)
    # The numbers of clicks of visitors on pages come from the whole log in the paper; these pages are what matters.
    found = click_features(lists, FEATURES)
    fitted = fit_model(lists, "dcm-counts", priors=kept_priors("dcm-counts"), per_query=True, errors="none")
    no_visitors = np.zeros((0, found.visitors.shape[1]))
    several = {PAGES: no_visitors, BOTH: found.visitors[:VISITORS]}
    plays = []
    for number, query in enumerate(queries):
        world = fitted.world(query, min(POSITIONS, fitted.positions))
        pages = found.items[[log.items.code(item) for item in fitted.items_of(query)]]
        ground = min(GROUND, max(world.positions, len(pages) // 2))
        for sort, visitors in several.items():
            part = LoggedPages(world.attraction, world.positions, pages, visitors, ground, max(size.steps // STAGES, 1))
            plays.append(
                Play(
                    f"{sort}, query {query}", {name: POLICIES[name] for name in PRINTED[sort]}, part,
                    fitted.users(query, world.positions), size.steps, size.runs,
                    int(branch(size.seed, number)) % 2**63, start=NeverSeenFirst(),
                )
            )  # fmt: skip
    return plays


def pooled(found: Findings, sort: str) -> Result:
    """The results of all queries with a sort of features."""
    return pool_results([result for label, result in found.results.items() if label.startswith(f"{sort}, query")])


def judge(found: Findings) -> list[Claim]:
    """The orders that the paper prints, with its numbers; without data, the numbers alone."""
    if not found.results:
        return [
            Claim(f"{name} with {sort}", Outcome.NEEDS_DATA, f"printed {regret:.2f}", WHY)
            for sort, several in PRINTED.items()
            for name, regret in several.items()
        ]
    pages, both = pooled(found, PAGES), pooled(found, BOTH)
    orders = [(pages, PAGES, pages, PAGES, low, high) for low, high in ((OURS, PLAIN), (OURS, SGD), (PLAIN, PLAIN_SGD))]
    orders += [(pages, PAGES, pages, PAGES, SGD, PLAIN_SGD), (pages, PAGES, pages, PAGES, OURS, BLIND)]
    orders += [(both, BOTH, both, BOTH, OURS, PLAIN)]
    orders += [(both, BOTH, pages, PAGES, name, name) for name in (OURS, PLAIN)]
    return [
        claim(
            found,
            f"{low} has less regret than {high}, both with {sort}"
            if sort == other
            else f"{low} has less regret with {sort} than with {other}",
            _less(one, low, two, high), STEPS,
            f"means {_mean(one, low)} and {_mean(two, high)}, printed {PRINTED[sort][low]} and {PRINTED[other][high]}",
        )
        for one, sort, two, other, low, high in orders
    ]  # fmt: skip


def _less(one: Result, low: str, two: Result, high: str) -> Answer:
    change = difference(final_regret(one, low), final_regret(two, high))
    doubt = doubt_text({"": change}, 0.0, form="+z,.1f")
    return Answer(is_below(change, 0.0), f"{interval_text(change, 1)}, below 0 required", doubt)


def _mean(result: Result, name: str) -> str:
    return f"{final_regret(result, name).mean():,.2f}"


def draw(found: Findings, figure: Figure) -> None:
    """Draw the mean over queries and runs; without data, the printed numbers as bars."""
    panels = drawing.panels(figure, 1, 2, share_x=False, share_y=True)
    for axes, (sort, printed) in zip(panels, PRINTED.items(), strict=True):
        if found.results:
            drawing.curves(axes, pooled(found, sort), title=sort, places={name: i for i, name in enumerate(POLICIES)})
            continue
        axes.bar(range(len(printed)), list(printed.values()), color="0.8", edgecolor="0.35", hatch="//", linewidth=0.8)
        drawing.frame(axes, f"As printed, nothing played: {sort}", "", "regret")
        axes.set_xticks(range(len(printed)), list(printed), rotation=20)
        axes.set_xlim(-0.6, len(POLICIES) - 0.4)
    if found.results:
        drawing.legend(figure)


EXPERIMENT = Experiment(
    title="Figure 2: regret on a search log, with features of pages and of users",
    setting="The three most frequent queries of the Yandex log, a DCM for each; features of pages and users from an "
    "SVD of the clicks of users on pages, d = 200, K = 10, L = 100, 5,000 steps.",
    full=Size(STEPS, RUNS),
    quick=Size(STEPS, 2, quick=True),
    jobs=jobs,
    judge=judge,
    draw=draw,
    inches=(9.0, 4.0),
    data="full search log",
    deviations=(
        "The paper does not say how the pages that can be shown change; a new 100 of a query's pages, or half of them "
        "if there are fewer than 200, are drawn every 1,000 steps.",
        "Clicks are counted on the lists of the three queries, and d is at most the rank of their matrix.",
        "The outer product of features, which the paper calls worse than their concatenation, is not played: it has "
        "40,000 features.",
        "DCMs are fitted by the published counts, as in PyClick, which the paper uses.",
    ),
    seconds=600,
)
