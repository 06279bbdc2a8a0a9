"""Fits a click model, and draws parameters that the log allows as well: from the joint normal, or from refits."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import checked_seed, whole
from toplist.core.slate import Bools, Floats
from toplist.logs.click_log import ClickLog
from toplist.logs.fit_model import PairPriors, collect, fit_coins
from toplist.logs.fitted import FittedModel
from toplist.logs.fitting.fit_data import prepare_log
from toplist.logs.fitting.maximise import FitSettings, Iteration
from toplist.logs.fitting.prior import Prior
from toplist.logs.fitting.sandwich import slices
from toplist.logs.id_table import Codes
from toplist.logs.models import ClickModel
from toplist.logs.parameters import Parameters


class DrawnFits(NamedTuple):
    """A fitted model, and models with other parameters that the log allows as well.

    Parameters
    ----------
    fitted : FittedModel
        The fit.
    draws : tuple of FittedModel
        Drawn models, of the chosen queries only; their errors are those of the fit.
    """

    fitted: FittedModel
    draws: tuple[FittedModel, ...]


def draw_fits(
    log: ClickLog,
    model: str | ClickModel,
    draws: int,
    seed: int,
    queries: Codes | None = None,
    *,
    refit: bool = False,
    priors: Mapping[str, Prior] | None = None,
    pair_priors: PairPriors | None = None,
    settings: FitSettings = FitSettings(),  # noqa: B008 - immutable
    progress: Callable[[Iteration], object] | None = None,
) -> DrawnFits:
    """Fit a click model, and draw models from the uncertainty of the fit.

    Parameters
    ----------
    log : ClickLog
        The log, in memory.
    model : str or ClickModel
        A name of `toplist.logs.models.MODELS`, or a model of your own.
    draws : int
        Number of models to draw.
    seed : int
        Seed of the draws.
    queries : ndarray of int, optional
        Codes of the queries whose parameters are drawn; by default all.
    refit : bool, default False
        Refit to resampled lists, or visitors if the log has them, instead of drawing from the joint normal
        distribution of the logits: right for a wrong model too, and slow.
    priors : mapping of str to Prior, optional
        As for `fit_model`.
    pair_priors : callable, optional
        Given the codes of the query and the item of every pair, the imagined heads and tails of its parameters, each
        of shape (pairs, kinds), instead of `priors` for these.
    settings : FitSettings, optional
        How long to iterate.
    progress : callable, optional
        Receives each iteration.

    Returns
    -------
    DrawnFits
        The fit and the draws.

    Examples
    --------
    >>> log = ClickLog.from_lists(["q"] * 4, [["a", "b"]] * 4, clicked=[[1], [2], [2], []])
    >>> found = draw_fits(log, "cascade", 2, seed=1)
    >>> len(found.draws), found.draws[0].attraction("q") != found.fitted.attraction("q")
    (2, True)
    """
    count, key = whole("The number of draws", draws, 0, "give the number of models to draw"), checked_seed(seed)
    data = prepare_log(log)
    maximiser, chosen, given = fit_coins(data, model, priors, False, settings, progress, pair_priors=pair_priors)
    fitted = collect(maximiser, data, chosen, given, False, "information")
    codes = fitted.query_codes if queries is None else queries
    kept: Bools = np.isin(fitted.pair_query, codes)
    random = np.random.default_rng([key, zlib.crc32(fitted.name.encode())])
    if refit:
        others = (refit_once(log, chosen, given, pair_priors, settings, random) for _ in range(count))
        return DrawnFits(fitted, tuple(part_of(each, np.isin(each.pair_query, codes)) for each in others))
    (part,) = maximiser.workers.partitions  # type: ignore[attr-defined]  # of a log in memory
    width, kinds = fitted.shared.value.shape[1], fitted.own.value.shape[1]
    covariance = np.zeros((width, width)) if fitted.shared_covariance is None else fitted.shared_covariance
    moved = random.standard_normal((count, width)) @ square_roots(covariance[None])[0]
    shift, variance = np.zeros((count, part.own)), np.zeros(part.own)
    for piece in slices(maximiser, part) if kinds else ():
        wanted = kept[piece.coins[:, 0] // kinds]
        coins, inverse, pull = piece.coins[wanted], piece.inverse[wanted], piece.pull[wanted]
        alone = np.einsum("qij,dqj->dqi", square_roots(inverse), random.standard_normal((count, *coins.shape)))
        shift[:, coins] = alone - np.einsum("qis,ds->dqi", pull, moved)
        through_shared = np.einsum("qis,st,qit->qi", pull, covariance, pull)
        variance[coins] = np.diagonal(inverse, axis1=1, axis2=2) + through_shared
    smaller = part_of(fitted, kept)
    drawn, spread = [], variance.reshape(-1, kinds)[kept] if kinds else np.zeros(smaller.own.value.shape)
    for draw in range(count):
        own = shift[draw].reshape(-1, kinds)[kept] if kinds else np.zeros(smaller.own.value.shape)
        shared = moved_by(fitted.shared, moved[draw], np.diagonal(covariance))
        drawn.append(replace(smaller, own=moved_by(smaller.own, own, spread), shared=shared))
    return DrawnFits(fitted, tuple(drawn))


def square_roots(matrices: Floats) -> Floats:
    """Symmetric square roots of positive semi-definite matrices.

    >>> square_roots(np.array([[[4.0, 0.0], [0.0, 9.0]]]))[0].tolist()
    [[2.0, 0.0], [0.0, 3.0]]
    """
    values, vectors = np.linalg.eigh(matrices)
    roots = np.sqrt(np.maximum(values, 0.0))
    found: Floats = (vectors * roots[:, None, :]) @ vectors.transpose(0, 2, 1)
    return found


def moved_by(parameters: Parameters, shift: Floats, variance: Floats) -> Parameters:
    """Parameters whose logits are moved; those at 0 and 1 stay.

    The mean of a probability whose logit is normal lies nearer to 1/2 than that of the logit: by a factor of about
    sqrt(1 + pi variance / 8). So logits are spread by this factor first, and the probabilities of an item that was
    rarely shown are right on average.
    """
    with np.errstate(divide="ignore"):
        logit = np.log(parameters.value) - np.log1p(-parameters.value)
    centre = logit * np.sqrt(1.0 + np.pi * variance / 8.0)
    return parameters._replace(value=1.0 / (1.0 + np.exp(-(centre + shift))))


def part_of(fitted: FittedModel, kept: Bools) -> FittedModel:
    """The model of some of its (query, item) pairs."""
    value, error, status, tosses = fitted.own
    own = Parameters(value[kept], error[kept], status[kept], tosses[kept])
    return replace(fitted, pair_query=fitted.pair_query[kept], pair_item=fitted.pair_item[kept], own=own)


def refit_once(
    log: ClickLog,
    model: Any,
    priors: Mapping[str, Prior],
    pair_priors: PairPriors | None,
    settings: FitSettings,
    random: Any,
) -> FittedModel:
    """A fit to the log with visitors, or lists, drawn again; all pairs of the log are known to it."""
    units = np.arange(len(log)) if log.visitor is None else np.unique(log.visitor, return_inverse=True)[1]
    times = random.poisson(1.0, size=int(units.max(initial=-1)) + 1)[units]
    again = prepare_log(replace(log, weight=log.weights * times))
    maximiser, chosen, given = fit_coins(again, model, priors, False, settings, None, pair_priors=pair_priors)
    return collect(maximiser, again, chosen, given, False, "none")
