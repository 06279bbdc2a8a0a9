"""`toplist.advise`: from a click log to a policy, what it would earn, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from toplist.advice.answer import FEW_CLICKS, Advice
from toplist.advice.candidates import candidate_policies, checked_policies
from toplist.advice.drift import find_drift
from toplist.advice.futures import Futures
from toplist.advice.outcome import AdviceOutcome
from toplist.advice.playing import play_policies
from toplist.advice.pooling import PairFacts, pooled_priors
from toplist.advice.priors import reading_scales, scale_of
from toplist.advice.query_worlds import plan_queries
from toplist.advice.ready import make_ready
from toplist.advice.situation import Situation, describe_situation, sample_queries
from toplist.advice.stacking import Stacking, allot, stack
from toplist.core.problem import InvalidInput, checked_seed, float_array, number, refuse, true_or_false, whole
from toplist.core.slate import Floats
from toplist.engine.simulate import checked_threads
from toplist.logs import ClickLog, FitProgress, ModelComparison, fit
from toplist.logs.compare_models import open_log
from toplist.logs.fit_draws import DrawnFits, draw_fits
from toplist.logs.fitting.maximise import Iteration
from toplist.logs.report import ReadReport
from toplist.policies import make
from toplist.support.files import AnyPath
from toplist.support.tables import count_text

MODELS = ("cascade", "dcm", "sdbn", "dbn", "ccm", "pbm", "ubm")
COMPARED = (
    250_000  # lists on which models are weighed: whole queries, so that each item has as many clicks as in the log
)
LEAST_LISTS = 40
NO_OPTIONS: Mapping[str, Any] = {}


class AdviceProgress(NamedTuple):
    """Where the work on an advice is.

    Parameters
    ----------
    stage : str
        What is being done, as "weigh dbn", "fit dbn" or "play".
    done, total : int
        Of this stage: fits, or queries played over all draws.
    iteration : int
        Iterations of the current fit.
    per_list : float
        Its log-likelihood per list; NaN if unknown.
    """

    stage: str
    done: int
    total: int
    iteration: int = 0
    per_list: float = float("nan")


Tell = Callable[[AdviceProgress], object]


def advise(
    log: Any,
    positions: int,
    *,
    lists: int | None = None,
    models: Sequence[str] = MODELS,
    policies: Iterable[str] | None = None,
    features: Mapping[Any, Any] | None = None,
    trust: float = 1.0,
    queries: int = 20,
    draws: int = 20,
    refits: bool = False,
    seed: int = 0,
    threads: int | None = None,
    reading: Mapping[str, Any] = NO_OPTIONS,
    folder: AnyPath | None = None,
    compiled: bool | None = None,
    progress: Tell | None = None,
) -> Advice:
    """Say which policy to use on the page of a click log, and what it would earn.

    Click models are fitted to the log and weighed by held-out lists; policies that fit the situation are played on the
    fitted visitors of a sample of queries, in draws from the uncertainty of the fits.

    Parameters
    ----------
    log : ClickLog, str, path-like or table
        The log, or what `toplist.logs.read_log` reads: a file, a folder of files or a frame.
    positions : int
        Number of positions of the page, at most that of the longest list of the log.
    lists : int, optional
        The horizon: number of lists that the policy will show, of all queries; by default as many as the log has.
    models : sequence of str, optional
        The click models; by default all that have visitors and parameters of items.
    policies : iterable of str, optional
        The policies to play, by name; by default those that fit the situation.
    features : mapping, optional
        A row of numbers per item, for policies that learn from features.
    trust : float, default 1.0
        How much the policies trust the fit at their start, from 0 (they start cold) to 1.
    queries : int, default 20
        Number of queries to play, drawn by their traffic.
    draws : int, default 20
        Number of draws from the fits, divided among the models by their weights.
    refits : bool, default False
        Draw by refitting to resampled lists, or visitors if the log has them, instead of from the joint normal.
    seed : int, default 0
        Seed of all random numbers.
    threads : int, optional
        Number of threads; by default all cores.
    reading : mapping, optional
        Options of `toplist.logs.read_log`.
    folder : str or path-like, optional
        Keep the fits of the comparison and what was played here; an interrupted call that is made again does not
        repeat them.
    compiled : bool, optional
        Whether to compile the policies; by default if there is enough to play.
    progress : callable, optional
        Receives an `AdviceProgress`.

    Returns
    -------
    Advice
        The three best policies, what they earn over time with intervals, and a ready ranking. Equal calls give equal
        advice, for any number of threads.

    Raises
    ------
    InvalidInput
        If an argument cannot be used, or the log is too small to fit anything.
    """
    tell: Tell = progress or (lambda _: None)
    key, workers = checked_seed(seed), checked_threads(threads)
    share = number("The trust", trust, 0.0, 1.0, "give how much to trust the fit, as 0.5")
    most = whole("The number of queries", queries, 1, "give the number of queries to play")
    count = whole("The number of draws", draws, 2, "an interval needs two")
    again = true_or_false("refits", refits, "True refits to resampled lists, which is slow")
    records = open_log(log, reading)
    situation = describe_situation(records, positions, lists)
    if situation.lists < LEAST_LISTS:
        raise InvalidInput(
            f"The log has {count_text(round(situation.lists), 'list')}, but an advice needs at least {LEAST_LISTS}; "
            f"log more of them."
        )
    if not situation.clicks:
        raise InvalidInput(
            f"None of the {situation.lists:,.0f} lists of the log has a click on its first {situation.positions} "
            f"positions, but an advice needs some; name the column of clicks if the log has any, or log more."
        )
    rows = None if features is None else checked_features(features, records)
    named = None if policies is None else checked_policies(policies, rows is not None)
    compared = compare_models(records, models, key, folder, tell)
    weights = weigh(compared)
    sampled = sample_queries(records, most, key)
    facts = PairFacts(records, rows)
    drawn = fit_weighed(records, compared, facts, weights, count, key, sampled.codes, again, tell)
    leading = next(iter(drawn.values())).fitted
    tell(AdviceProgress("look for drift", 0, 1))
    drift = find_drift(leading, records, sampled.codes)
    futures = Futures(drift, situation.lists, situation.horizon, key)
    reasons = named or candidate_policies(situation, examination(compared), futures.expected_breaks(), rows is not None)
    scales = reading_scales(leading, records)
    plans = plan_queries(records, leading, sampled, situation, drift, rows, share, key, scales)
    players = [(name, each) for name, found in drawn.items() for each in found.draws]
    played = play_policies(
        {name: make(name) for name in reasons}, [each for _, each in players], plans, key, workers, compiled,
        lambda done, total: tell(AdviceProgress("play", done, total)),
        futures, folder,
    )  # fmt: skip
    outcome = AdviceOutcome(
        tuple(reasons), played, sampled.weight, sampled.is_sample, tuple(name for name, _ in players),
        float(situation.horizon),
    )  # fmt: skip
    best = outcome.ranking()[0]
    scale = scale_of(make(best), scales)
    ready = make_ready(records, leading, best, situation.positions, situation.horizon, share, scale, rows, drift)
    settings = {
        "trust": share, "queries": len(plans), "draws": count, "refits": again, "seed": key,
        "models": list(models),
    }  # fmt: skip
    notes = tuple(cautions(drawn, situation, records.report))
    return Advice(str(records), situation, weights, drift, outcome, reasons, ready, settings, notes, scales)


def compare_models(
    log: ClickLog, models: Sequence[str], seed: int, folder: AnyPath | None, tell: Tell
) -> ModelComparison:
    """Fit the models to some lists of whole queries, and score them on others."""

    def show(now: FitProgress) -> None:
        tell(AdviceProgress(f"weigh {now.model}", now.done, now.total, now.iteration, now.per_list))

    return fit(some_queries(log, seed), models, drift=False, seed=seed, errors="none", folder=folder, progress=show)


def some_queries(log: ClickLog, seed: int) -> ClickLog:
    """All lists of some queries, drawn at random: about as many as are worth the time."""
    if len(log) <= COMPARED:
        return log
    sizes = np.bincount(log.query, minlength=len(log.queries))
    order = np.random.default_rng([seed, 1]).permutation(len(sizes))
    taken = np.cumsum(sizes[order]) <= COMPARED
    taken[0] = True
    chosen = np.zeros(len(sizes), dtype=np.bool_)
    chosen[order[taken]] = True
    found = log.take(chosen[log.query])
    if len(found) > 2 * COMPARED:  # the first query is a large one
        found = found.take(np.sort(np.random.default_rng([seed, 2]).permutation(len(found))[:COMPARED]))
    return found


def weigh(compared: ModelComparison) -> Stacking:
    """The weights of the models by stacking."""
    main = compared.main
    return stack({name: main.per_list(name) for name in main.models}, main.weight)


def examination(compared: ModelComparison) -> Floats | None:
    """How often each position is examined, by the position-based model if it was fitted."""
    fitted = compared.models.get("pbm")
    return None if fitted is None else fitted.shared.value[0]


def fit_weighed(
    log: ClickLog,
    compared: ModelComparison,
    facts: PairFacts,
    weights: Stacking,
    draws: int,
    seed: int,
    queries: Any,
    refits: bool,
    tell: Tell,
) -> dict[str, DrawnFits]:
    """The models with weight, fitted to the whole log, with draws by weight; the heaviest first."""
    allotted = allot(weights.weights, draws)
    order = sorted(allotted, key=lambda name: -weights.weights[name])
    found: dict[str, DrawnFits] = {}
    lists = max(float(log.weights.sum()), 1.0)
    for name in order:
        number_of = 0

        def show(now: Iteration, name: str = name) -> None:
            nonlocal number_of
            number_of += 1
            tell(AdviceProgress(f"fit {name}", len(found), len(order), number_of, now.objective / lists))

        tell(AdviceProgress(f"fit {name}", len(found), len(order)))
        pooled = pooled_priors(compared.models[name], facts)
        found[name] = draw_fits(
            log, name, allotted[name], seed, queries, refit=refits, pair_priors=pooled, progress=show
        )  # fmt: skip
    return found


def cautions(drawn: Mapping[str, DrawnFits], situation: Situation, report: ReadReport | None) -> list[str]:
    """What else to keep in mind."""
    found = [] if report is None else [f"Of the log, {each}." for each in report.reasons()]
    if situation.clicks < FEW_CLICKS:
        found.append("So few clicks tell nothing for sure: the intervals are too short.")
    found += [
        f"{name}: {each.fitted.no_errors}; the intervals are too short."
        for name, each in drawn.items()
        if each.fitted.no_errors
    ]
    if situation.days is None:
        found.append("The log has no times, so that breaks could not be looked for.")
    return found


def checked_features(features: Any, log: ClickLog) -> dict[Any, Floats]:
    """Features of all items of a log."""
    if not isinstance(features, Mapping):
        raise refuse("The features", type(features).__name__, "a mapping from items to rows", "write {item: [...]}")
    found, width = {}, -1
    for code in np.unique(log.item).tolist():
        item = log.items[code]
        if item not in features:
            raise InvalidInput(f"The item {item!r} of the log has no features; give a row of numbers for every item.")
        row = float_array(features[item], 1)
        width = len(row) if width < 0 else width
        if len(row) != width or not len(row):
            raise refuse(
                f"The number of features of {item!r}", len(row), f"{max(width, 1)}", "give as many for every item"
            )
        if not np.isfinite(row).all():
            raise refuse(f"A feature of {item!r}", float(row[~np.isfinite(row)][0]), "a finite number", "correct it")
        found[item] = row
    return found
