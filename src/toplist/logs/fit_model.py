"""Fits one click model to a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from toplist.core.problem import InvalidInput, checked_seed, nearest, refuse, whole
from toplist.core.slate import Floats
from toplist.logs.click_log import ClickLog
from toplist.logs.fitted import FittedModel
from toplist.logs.fitting.bootstrap import bootstrap_errors
from toplist.logs.fitting.errors import ESTIMATED, NEVER_SHOWN, UNIDENTIFIED, shared_errors, shared_status
from toplist.logs.fitting.fit_data import ClickCounts, FitData, prepare_log, start_values
from toplist.logs.fitting.maximise import EM_FIRST, FitSettings, Iteration, Maximiser, Maximum, Workers, maximise
from toplist.logs.fitting.prior import STRENGTH, Prior, coin_prior
from toplist.logs.fitting.sample_start import begin_from_sample
from toplist.logs.fitting.sandwich import RobustErrors, independent_units, robust_errors
from toplist.logs.id_table import Codes
from toplist.logs.models import MODELS, ClickModel
from toplist.logs.models.protocol import Coins
from toplist.logs.parameters import Parameters, result_parameters

ERRORS = ("information", "sandwich", "bootstrap", "none")
ROBUST = ("sandwich", "bootstrap")
EM_AFTER_SAMPLE = 3  # iterations of EM over all lists, after a fit to a sample of them
# From the codes of queries and items of pairs to imagined heads and tails, each (pairs, kinds).
PairPriors = Callable[[Codes, Codes], tuple[Floats, Floats]]
ERROR_LIMIT = 1e-6  # largest derivative per list at which a fit may have errors


def fit_model(
    log: ClickLog | FitData,
    model: str | ClickModel,
    *,
    priors: Mapping[str, Prior] | None = None,
    per_query: bool = False,
    errors: str = "information",
    resamples: int = 200,
    seed: int = 0,
    settings: FitSettings = FitSettings(),  # noqa: B008 - immutable
    progress: Callable[[Iteration], object] | None = None,
) -> FittedModel:
    """Fit a click model to a log.

    Parameters
    ----------
    log : ClickLog or FitData
        The log, or one prepared by `prepare_log`, `prepare_parts` or `toplist.logs.fitting.ray_data.prepare_on_ray`.
    model : str or ClickModel
        A name of `toplist.logs.models.MODELS`, or a model of your own.
    priors : mapping of str to Prior, optional
        Prior by kind of parameter, as "attraction"; by default, parameters of (query, item) pairs are shrunk to the
        mean of the log by two imagined lists, and shared ones are not. An empty mapping is for no priors.
    per_query : bool, default False
        Fit examination, termination and continuation for each query separately.
    errors : str, default "information"
        Where standard errors come from. "information": from the observed information, right if the model is true and
        lists are independent. "sandwich": also if the model is wrong or, in a log with visitors, if visitors repeat
        themselves; it needs some hundred visitors, or lists in a log without. "bootstrap": the same by resampling.
        "none": there are none.
    resamples : int, default 200
        Number of fits to resampled logs, for "bootstrap".
    seed : int, default 0
        Seed of the resampling.
    settings : FitSettings, optional
        How long to iterate.
    progress : callable, optional
        Receives each iteration, and each resample.

    Returns
    -------
    FittedModel
        The model with its parameters.

    Raises
    ------
    InvalidInput
        If the log is empty, the model, a prior or the sort of errors is unknown, or errors by visitor are wanted for a
        log that is not in memory.

    Examples
    --------
    >>> log = ClickLog.from_lists(["q"] * 4, [["a", "b"]] * 4, clicked=[[1], [2], [2], []])
    >>> fitted = fit_model(log, "cascade", priors={})
    >>> fitted.attraction("q")
    {'b': 0.6666666666666666, 'a': 0.25}
    """
    check_errors(errors, log)
    data = prepare_log(log) if isinstance(log, ClickLog) else log
    maximiser, chosen, given = fit_coins(data, model, priors, per_query, settings, progress)
    fitted = collect(maximiser, data, chosen, given, per_query, errors)
    if not isinstance(log, ClickLog) or errors not in ROBUST or not is_maximum(maximiser.found):
        return fitted
    (part,) = maximiser.workers.partitions  # type: ignore[attr-defined]  # of a log in memory
    if errors == "sandwich":
        return replace_errors(fitted, robust_errors(maximiser, part, independent_units(log)), errors)
    prior, count = coin_prior(chosen.coins(), given), whole("The number of resamples", resamples, 2, "give more")
    tell = progress or (lambda _: None)
    found = bootstrap_errors(log, part, prior, chosen.coins().fixed, count, checked_seed(seed), settings, tell)
    return replace_errors(fitted, found, errors)


def fit_coins(
    data: FitData,
    model: str | ClickModel,
    priors: Mapping[str, Prior] | None,
    per_query: bool,
    settings: FitSettings,
    progress: Callable[[Iteration], object] | None = None,
    sample: int = 0,
    pair_priors: PairPriors | None = None,
) -> tuple[Maximiser, Any, dict[str, Prior]]:
    """The maximum of a model's likelihood on a prepared log; the model with its positions, and its priors.

    With a `sample`, the iterations begin where those over so many lists have ended. `pair_priors` gives the
    (query, item) pairs of a log in memory priors of their own.
    """
    summaries = data.summaries()
    counts = ClickCounts(*np.sum([each.counts for each in summaries], axis=0))
    if not counts.shown:
        raise InvalidInput("The log has no lists with items, but a fit needs some; read a log that has.")
    chosen = find_model(model)._replace(positions=max(each.positions for each in summaries))
    given = default_priors(chosen.coins(), counts) if priors is None else checked_priors(chosen.coins(), priors)
    lists = sum(each.lists for each in summaries)
    workers = data.workers(chosen, given, per_query)
    if pair_priors is not None:
        (part,) = workers.partitions  # type: ignore[attr-defined]  # of a log in memory
        part.set_pair_priors(*pair_priors(summaries[0].pair_query, summaries[0].pair_item))
    return run_fit(workers, chosen, given, lists, per_query, settings, progress, sample), chosen, given


def check_errors(errors: str, log: ClickLog | FitData) -> None:
    """Refuse an unknown sort of errors, and those by visitor where the lists are not in memory."""
    if errors not in ERRORS:
        advice = nearest(str(errors), ERRORS, "choose one")
        raise refuse("The sort of errors", errors, f"one of {', '.join(ERRORS)}", advice)
    if errors in ROBUST and not isinstance(log, ClickLog):
        advice = "read the log into memory, perhaps a sample of its visitors"
        raise refuse("The sort of errors", errors, "information or none for a log that is not in memory", advice)


def replace_errors(fitted: FittedModel, found: RobustErrors, errors: str) -> FittedModel:
    """A fit with other errors of the parameters that are estimated."""
    width, pairs = fitted.shared.value.shape[1], fitted.own.value.size
    own, shared = found.own[:pairs].reshape(fitted.own.value.shape), found.shared[None]
    if fitted.per_query:
        shared = found.own[pairs:].reshape(-1, width)

    def with_errors(parameters: Parameters, variance: Floats) -> Parameters:
        known = (parameters.status == ESTIMATED) & (variance > 0)
        return parameters._replace(error=np.sqrt(np.where(known, variance, np.nan)))

    return replace(
        fitted, own=with_errors(fitted.own, own), shared=with_errors(fitted.shared, shared), errors=errors,
        no_errors="", shared_covariance=None if fitted.per_query else found.covariance,
    )  # fmt: skip


def find_model(model: str | ClickModel) -> Any:
    """The model of a name, or the model itself."""
    if isinstance(model, str):
        if model not in MODELS:
            raise refuse("The click model", model, f"one of {', '.join(MODELS)}", nearest(model, MODELS, "choose one"))
        return MODELS[model]
    return model


def run_fit(
    workers: Workers,
    model: Any,
    priors: Mapping[str, Prior],
    lists: float,
    per_query: bool,
    settings: FitSettings,
    progress: Callable[[Iteration], object] | None,
    sample: int = 0,
) -> Maximiser:
    """Iterate until the fit has converged."""
    coins = model.coins()
    prior = coin_prior(coins, priors)
    maximiser = Maximiser(workers, start_values(coins), coins.fixed, prior, lists, per_query)
    if model.iterates():
        em_first = EM_FIRST
        if begin_from_sample(maximiser, prior, sample, settings):
            em_first = EM_AFTER_SAMPLE
            if not settings.newton:
                settings = settings._replace(iterations=min(settings.iterations, EM_AFTER_SAMPLE))
        maximise(maximiser, settings, progress or (lambda _: None), em_first)
    else:
        maximiser.expect()
        maximiser.maximise()
        maximiser.expect()
        maximiser.found.converged = True
    return maximiser


def collect(
    maximiser: Maximiser,
    data: FitData,
    model: Any,
    priors: Mapping[str, Prior],
    per_query: bool,
    errors: str,
) -> FittedModel:
    """The result of a fit."""
    coins, found = model.coins(), maximiser.found
    kinds, width = len(coins.own), len(coins.shared)
    refusal = "none were wanted" if errors == "none" else no_errors(found, model)
    thetas, tosses = maximiser.workers.each("own_theta"), maximiser.workers.each("own_tosses")
    own_errors = [(np.full(len(each), np.nan), each) for each in maximiser.workers.each("own_status")]
    shared_result, covariance = (np.full(len(found.shared), np.nan), shared_status(maximiser)), None
    if not refusal:
        shared_found, shared_part = shared_errors(maximiser)
        covariance = shared_part.covariance
        shared_result = np.sqrt(shared_found.variance), shared_found.status
        own_errors = [
            (np.sqrt(each.variance), each.status) for each in maximiser.workers.each("own_errors", shared_part)
        ]
    parts = data.summaries()
    codes = np.concatenate([each.query_codes for each in parts])
    pairs = [len(each.pair_item) * kinds for each in parts]
    rows = sum(len(each.pair_item) for each in parts)  # also of a model whose pairs have no coins
    own = [
        np.concatenate([part[: pairs[i]] for i, part in enumerate(several)]).reshape(rows, kinds)
        for several in (thetas, [each[0] for each in own_errors], [each[1] for each in own_errors], tosses)
    ]
    by_position = [" at " in kind for kind in coins.own]
    own[2][:, by_position] = np.where(own[2][:, by_position] == UNIDENTIFIED, NEVER_SHOWN, own[2][:, by_position])
    shared: list[Any] = [found.shared[None], shared_result[0][None], shared_result[1][None], found.tosses[None]]
    if per_query:
        shared = [
            np.concatenate([part[pairs[i] :] for i, part in enumerate(several)]).reshape(len(codes), width)
            for several in (thetas, [each[0] for each in own_errors], [each[1] for each in own_errors], tosses)
        ]
    return FittedModel(
        model=model, queries=data.queries, items=data.items,
        pair_query=np.concatenate([each.pair_query for each in parts]),
        pair_item=np.concatenate([each.pair_item for each in parts]),
        own=result_parameters(*own), shared=result_parameters(*shared),
        query_codes=codes,
        priors=dict(priors), lists=maximiser.lists, log_likelihood=found.log_likelihood, history=tuple(found.history),
        converged=found.converged, slope=found.slope, errors="none" if refusal else "information",
        no_errors=refusal, shared_covariance=covariance,
    )  # fmt: skip


def is_maximum(found: Maximum) -> bool:
    """Whether a fit may have errors."""
    return found.converged and found.slope < ERROR_LIMIT


def no_errors(found: Maximum, model: Any) -> str:
    """Why a fit cannot have standard errors; empty if it can."""
    if not getattr(model, "exact", True):
        return f"{model.name} does not maximise the likelihood; fit {model._replace(exact=True).name}"
    if is_maximum(found):
        return ""
    return (
        f"the fit stopped after {len(found.history)} iterations with a derivative of {found.slope:.2g} per list, not "
        f"below {ERROR_LIMIT:g}; allow more iterations"
    )


def default_priors(coins: Coins, counts: ClickCounts) -> dict[str, Prior]:
    """Shrink the coins of pairs to the mean of the log: clicks per examined position, and last clicks per click."""
    means = {
        "attraction": counts.clicks / max(counts.examined, 1.0),
        "satisfaction": counts.clicked_lists / max(counts.clicks, 1.0),
        "rate": counts.clicks / max(counts.shown, 1.0),
    }
    own = {kind.partition(" at ")[0] for kind in coins.own}
    return {kind: Prior(min(max(means[kind], 0.001), 0.999), STRENGTH) for kind in sorted(own)}


def checked_priors(coins: Coins, priors: Mapping[str, Prior]) -> dict[str, Prior]:
    """The priors, if all their kinds are known."""
    kinds = sorted({kind.partition(" at ")[0] for kind in coins.own} | {kind for kind, _ in coins.shared})
    for kind in priors:
        if kind not in kinds:
            raise refuse("The kind of a prior", kind, f"one of {', '.join(kinds)}", nearest(kind, kinds, "correct it"))
    return {kind: Prior(*prior).checked(kind) for kind, prior in priors.items()}
