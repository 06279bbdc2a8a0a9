"""A proof: the whole loop on known visitors, from the log of an old ranking to an estimate of the deployed policy."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from toplist.advice.advise import AdviceProgress, Tell, advise
from toplist.advice.answer import Advice
from toplist.advice.browsing import browsing_users, list_values
from toplist.advice.drift import NO_DRIFT
from toplist.advice.known_visitors import clicked_by, known_visitors, old_lists
from toplist.advice.page import write_proof_page
from toplist.advice.pictures import Estimated
from toplist.advice.playing import play_policies
from toplist.advice.priors import scale_of
from toplist.advice.query_worlds import QueryPlan, plan_queries
from toplist.advice.ready import ReadyRanking
from toplist.advice.situation import sample_queries
from toplist.core.problem import Problem, checked_seed, number, whole
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints, empty_page
from toplist.engine.simulate import checked_threads
from toplist.evaluation import evaluate
from toplist.logs import ClickLog, FittedModel, fit_model
from toplist.logs.id_table import Id
from toplist.logs.parameters import Parameters
from toplist.policies import make
from toplist.ranker import Ranker
from toplist.support.catalogue import call_text
from toplist.support.files import AnyPath, write_text
from toplist.support.tables import Table

ESTIMATORS = ("ips", "snips", "rips", "doubly-robust", "direct")
TRUE_LISTS = 500  # lists of a frozen ranker that give its true value


@dataclass(frozen=True, eq=False)
class Proof:
    """The loop from a log to a deployed policy on known visitors; `prove` makes one.

    Parameters
    ----------
    advice : Advice
        The advice from the log of the old ranking.
    advised : list of Estimated
        What the advice expects of policies, of the logged ranking and of the best list, with the truth.
    offline : list of Estimated
        What the log of the deployed policy says about it, by estimator, with the truth.
    refused : dict of str to str
        Why an estimator did not answer.
    story : tuple of str
        What was done, in three sentences.
    """

    advice: Advice
    advised: list[Estimated]
    offline: list[Estimated]
    refused: dict[str, str]
    story: tuple[str, ...] = field(repr=False)

    @property
    def estimates(self) -> list[Estimated]:
        """All estimates."""
        return self.advised + self.offline

    @property
    def held(self) -> int:
        """The number of intervals that hold the truth."""
        return sum(each.truth is not None and each.low <= each.truth <= each.high for each in self.estimates)

    def table(self, rows: Sequence[Estimated], title: str) -> Table:
        """Estimates beside the truth."""
        cells = [
            (
                row.label,
                row.value,
                row.low,
                row.high,
                row.truth,
                "yes" if row.low <= (row.truth or 0.0) <= row.high else "no",
            )
            for row in rows
        ]
        return Table(title, ("what", "estimate", "low", "high", "truth", "held"), cells, 4)

    def __str__(self) -> str:
        parts = [
            self.story[0], f"Advice: {self.advice.headline()}", "", self.story[1],
            str(self.table(self.advised, "Expected by the advice, in clicks per list")), "", self.story[2],
            str(self.table(self.offline, "Estimated offline, in clicks per list")),
            *(f"refused {name}: {reason}" for name, reason in self.refused.items()), "",
            f"{self.held} of {len(self.estimates)} intervals hold the truth.",
        ]  # fmt: skip
        return "\n".join(parts)

    def as_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {
            "advice": self.advice.as_json(), "advised": [each._asdict() for each in self.advised],
            "offline": [each._asdict() for each in self.offline], "refused": dict(self.refused),
            "held": self.held, "story": list(self.story),
        }  # fmt: skip

    def to_json(self, path: AnyPath) -> None:
        """Write everything as JSON.

        Parameters
        ----------
        path : str or path-like
            The file.
        """
        write_text(path, "The json file", json.dumps(self.as_json(), indent=1) + "\n")

    def to_html(self, path: AnyPath, command: str = "") -> None:
        """Write everything as one HTML page (needs the extras `report` and `plots`).

        Parameters
        ----------
        path : str or path-like
            The file.
        command : str, optional
            The command that made it, to be shown.
        """
        write_proof_page(self, path, command)


def prove(
    visitors: str = "dcm",
    *,
    queries: int = 4,
    items: int = 12,
    positions: int = 4,
    lists: int = 20_000,
    live: int = 4_000,
    share: float = 0.2,
    draws: int = 20,
    runs: int = 20,
    seed: int = 0,
    threads: int | None = None,
    compiled: bool | None = None,
    progress: Tell | None = None,
) -> Proof:
    """Play the whole loop on known visitors: a log, the advice, the deployed policy, its offline estimate, the truth.

    Parameters
    ----------
    visitors : str, default "dcm"
        Click model of the visitors.
    queries, items, positions : int
        Size of the page: queries, items of each, and positions.
    lists : int, default 20,000
        Lists in the log of the old ranking, and horizon of the advice.
    live : int, default 4,000
        Lists that the deployed policy shows; the second half of them is evaluated.
    share : float, default 0.2
        Share of lists at which the deployed policy explores, so that its log can be evaluated.
    draws : int, default 20
        Draws of the advice.
    runs : int, default 20
        Runs of each policy on the known visitors, for the truth.
    seed : int, default 0
        Seed of everything.
    threads : int, optional
        Number of threads.
    compiled : bool, optional
        Whether to compile the policies; by default if there is enough to play.
    progress : callable, optional
        Receives an `AdviceProgress`.

    Returns
    -------
    Proof
        Estimates and truth.
    """
    tell: Tell = progress or (lambda _: None)
    key = checked_seed(seed)
    shown_lists = whole("The number of live lists", live, 4, "give at least 4")
    explored = number("The share of exploring", share, 0.0, 1.0, "0.2 changes one list in five")
    random = np.random.default_rng([key, 9])
    attraction = random.beta(1.2, 5.0, (queries, items))
    truth = known_visitors(visitors, attraction, positions, key)
    spread = np.std(attraction, axis=1, keepdims=True)
    scores = attraction + spread * random.standard_normal(attraction.shape)  # the old ranking knows half
    log = clicked_by([truth], old_lists(scores, positions, lists, 1.0, key), key)
    advice = advise(
        log, positions, draws=draws, queries=queries, seed=key, threads=threads, compiled=compiled, progress=tell
    )
    advised = advised_against_truth(advice, truth, log, runs, key, checked_threads(threads), compiled, tell)
    ready = advice.ready._replace(policy=call_text("exploring", {"policy": advice.best, "share": explored}))
    deployed, frozen = deploy(ready, truth, log, shown_lists, key, tell)
    for ranker in frozen.values():  # it must not draw the lists again that it showed after that
        for _ in range(shown_lists):
            ranker.rank()
    tell(AdviceProgress("evaluate", 0, 1))
    second = deployed.take(np.arange(len(deployed) // 2, len(deployed)))
    found = evaluate(second, frozen, ESTIMATORS, model=visitors if visitors != "sdbn" else "dbn", seed=key)
    value = true_value(frozen, truth, second)
    offline = [
        Estimated(name, each.value, each.interval[0], each.interval[1], value) for name, each in found.estimates.items()
    ]
    story = (
        f"{visitors} visitors of {queries} queries with {items} items each saw {lists:,} lists of {positions} by an "
        "old ranking, which knows the attraction of the items only roughly.",
        f"The advice was given without knowing the visitors. On them, each policy was then played {runs} times "
        f"over {advice.situation.horizon:,} lists: the truth.",
        f"{ready.policy} was deployed for {shown_lists:,} lists with their propensities. Its state after the first "
        "half, frozen, is estimated from the lists of the second half.",
    )
    return Proof(advice, advised, offline, dict(found.refused), story)


def advised_against_truth(
    advice: Advice,
    truth: FittedModel,
    log: ClickLog,
    runs: int,
    seed: int,
    threads: int,
    compiled: bool | None,
    tell: Tell,
) -> list[Estimated]:
    """What an advice expects, beside what the policies earn from the known visitors."""
    true = true_curves(advice, truth, log, advice.three_best, runs, seed, threads, compiled, tell=tell)
    outcome = advice.outcome
    expected = {name: outcome.clicks(name) for name in advice.three_best}
    expected |= {"logged ranking": outcome.logged(), "best list": outcome.best()}
    return [Estimated(name, *each.last(), float(true[name][-1])) for name, each in expected.items()]


def true_curves(
    advice: Advice,
    truth: FittedModel,
    log: ClickLog,
    policies: Sequence[str],
    runs: int,
    seed: int,
    threads: int,
    compiled: bool | None,
    features: dict[Any, Floats] | None = None,
    moves: Callable[[QueryPlan], QueryPlan] | None = None,
    tell: Tell = lambda _: None,
) -> dict[str, Floats]:
    """Mean clicks over time on known visitors: of policies that start as advised, of the old ranking, of the best list.

    Parameters
    ----------
    advice : Advice
        The advice, whose priors the policies start with.
    truth : FittedModel
        The known visitors.
    log : ClickLog
        The log of the advice.
    policies : sequence of str
        The policies.
    runs : int
        Number of runs.
    seed : int
        Seed of the runs.
    threads : int
        Number of threads.
    compiled : bool or None
        Whether to compile.
    features : dict, optional
        Features by item.
    moves : callable, optional
        Makes a plan of a query whose visitors change.
    tell : callable, optional
        Receives the progress.

    Returns
    -------
    dict of str to ndarray of float
        Clicks up to each fraction of the horizon, per list of it.
    """
    every = sample_queries(log, len(log.queries), seed)
    known = align(truth, log)
    plans = plan_queries(log, known, every, advice.situation, NO_DRIFT, None, 0.0, seed, advice.scales)
    started = []
    for plan in plans:
        query = log.queries[plan.query]
        priors = advice.ready.priors[query]
        items = np.array([log.items.code(item) for item in priors], dtype=np.int32)
        number_of = {int(item): place for place, item in enumerate(plan.items)}
        place_of = {number_of[int(item)]: place for place, item in enumerate(items)}
        lists = np.vectorize(lambda item, place_of=place_of: place_of[item] if item >= 0 else -1)(plan.lists)
        means = np.array([prior.mean for prior in priors.values()]) / scale_of(make(advice.best), advice.scales)
        strengths = np.array([prior.strength for prior in priors.values()])
        rows = np.array([[] if features is None else features[item] for item in priors], dtype=np.float64)
        warm = plan._replace(items=items, mean=means, strength=strengths, lists=lists, features=rows)
        started.append(warm if moves is None else moves(warm))
    played = play_policies(
        {name: make(name) for name in policies}, [known] * runs, started, seed + 1, threads, compiled,
        lambda done, total: tell(AdviceProgress("play on the known visitors", done, total)),
    )  # fmt: skip
    found = {
        name: np.einsum("dqf,q->f", played.clicks[place], every.weight) / runs for place, name in enumerate(policies)
    }
    for name, values in (("logged ranking", played.logged), ("best list", played.best)):
        found[name] = np.einsum("dqf,q->f", values, every.weight) / runs
    return found


def align(truth: FittedModel, log: ClickLog) -> FittedModel:
    """Known visitors with the codes of a log, of the pairs that the log shows."""
    logged = fit_model(log, "item-ctr", errors="none")
    own, coins = {}, truth.model.coins()
    for code in logged.query_codes.tolist():
        query = logged.queries[code]
        rows = truth.own.value[truth.pair_query == truth.queries.code(query)]
        of_item = dict(zip(truth.items_of(query), rows, strict=True))
        for pair in np.flatnonzero(logged.pair_query == code):
            own[int(pair)] = of_item[logged.items[logged.pair_item[pair]]]
    values = np.array([own[pair] for pair in range(len(logged.pair_item))]).reshape(-1, len(coins.own))
    unknown = np.full(values.shape, np.nan)
    return replace(
        logged, model=truth.model, shared=truth.shared, priors={},
        own=Parameters(values, unknown, np.zeros(values.shape, dtype=np.int8), unknown),
    )  # fmt: skip


def deploy(
    ready: ReadyRanking, truth: FittedModel, log: ClickLog, lists: int, seed: int, tell: Tell
) -> tuple[ClickLog, dict[Id, Ranker]]:
    """Let rankers work on the known visitors: their log with propensities, and the rankers after the first half."""
    rankers = ready.rankers(seed)
    traffic = np.bincount(log.query, minlength=len(log.queries))
    random = np.random.default_rng([seed, 10])
    drawn = random.choice(len(traffic), lists, p=traffic / traffic.sum())
    frozen: dict[Id, Ranker] = {}
    shown, clicked, given, marginal = [], [], [], []
    users = {query: KnownVisitors(truth, query, ready.positions) for query in rankers}
    for number_of, code in enumerate(drawn.tolist()):
        if number_of % 100 == 0:
            tell(AdviceProgress("deploy", number_of, lists))
        if number_of == lists // 2:
            frozen = {query: copy(ranker) for query, ranker in rankers.items()}
        query = log.queries[code]
        slate = rankers[query].rank(propensities=True)
        clicks = users[query].click(slate.items, branch(branch(seed, 11), number_of))
        rankers[query].learn(slate, clicks)
        shown.append(slate.items)
        clicked.append(clicks)
        chances = slate.propensities
        assert chances is not None  # they were asked for
        given.append(chances.conditional.tolist())
        marginal.append(chances.marginal.tolist())
    queries = [log.queries[code] for code in drawn.tolist()]
    return ClickLog.from_lists(queries, shown, clicked, propensities=given, marginals=marginal), frozen


class KnownVisitors:
    """The known visitors of one query, who click on lists of item ids.

    Parameters
    ----------
    truth : FittedModel
        The visitors of all queries.
    query : str or int
        The query.
    positions : int
        Number of positions of the page.
    """

    def __init__(self, truth: FittedModel, query: Id, positions: int) -> None:
        self._number = {item: place for place, item in enumerate(truth.items_of(query))}
        self._attraction = np.asarray(truth.world(query, positions).attraction)
        made = browsing_users(truth.users(query, positions), self._attraction, positions)
        self._users = made.prepare(Problem(len(self._number), positions))
        self._page, self._labels = empty_page(positions), np.arange(len(self._number))

    def codes(self, items: Sequence[Id]) -> Ints:
        """The numbers of items."""
        return np.array([self._number[item] for item in items], dtype=np.int64)

    def click(self, items: Sequence[Id], visitor: int) -> list[int]:
        """The clicked positions of one visitor, from 1."""
        codes = self.codes(items)
        self._users.click(None, codes, self._attraction[codes], self._labels, visitor, self._page)
        return [place + 1 for place in range(len(items)) if self._page.clicks[place]]

    def value(self, lists: Sequence[Sequence[Id]]) -> float:
        """Mean expected clicks of lists."""
        codes = np.array([self.codes(items) for items in lists])
        return float(list_values(self._users, self._attraction, codes).lists.mean())


def true_value(rankers: dict[Id, Ranker], truth: FittedModel, log: ClickLog) -> float:
    """Expected clicks per list of frozen rankers, on the queries of a log."""
    total = 0.0
    for query, ranker in rankers.items():
        share = float((log.query == log.queries.code(query)).mean()) if query in log.queries else 0.0
        if share > 0.0:
            frozen = copy(ranker)
            lists = [frozen.rank().items for _ in range(TRUE_LISTS)]
            total += share * KnownVisitors(truth, query, len(lists[0])).value(lists)
    return total
