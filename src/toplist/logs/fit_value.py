"""Fits a click model to learn the expected clicks of other lists, with the influence of every logged list on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from toplist.core.problem import InvalidInput
from toplist.core.slate import Floats
from toplist.logs.click_log import ClickLog
from toplist.logs.fit_model import collect, fit_coins, is_maximum, no_errors
from toplist.logs.fitted import FittedModel
from toplist.logs.fitting.fit_data import prepare_log
from toplist.logs.fitting.influence import click_slopes, list_influence
from toplist.logs.fitting.maximise import FitSettings
from toplist.logs.fitting.prior import Prior
from toplist.logs.models import ClickModel

SAMPLE = 20_000  # lists with which the fit to a long log begins


class FittedValue(NamedTuple):
    """Expected clicks of lists by a model that was fitted to a log.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    clicks : ndarray of float
        Expected clicks of each of the lists.
    influence : ndarray of float
        Per list of the log, by how much it moves the sum of the clicks, weighted by the weights of the lists.
    unknown : float
        Weighted share of the lists' positions whose (query, item) pair is not in the log.
    """

    fitted: FittedModel
    clicks: Floats
    influence: Floats
    unknown: float


def fit_value(
    log: ClickLog,
    model: str | ClickModel,
    lists: ClickLog,
    *,
    priors: Mapping[str, Prior] | None = None,
    settings: FitSettings = FitSettings(),  # noqa: B008 - immutable
) -> FittedValue:
    """Fit a click model to a log, and predict the clicks of other lists.

    Parameters
    ----------
    log : ClickLog
        The log.
    model : str or ClickModel
        A name of `toplist.logs.models.MODELS`, or a model of your own.
    lists : ClickLog
        The lists, with weights; their clicks do not matter.
    priors : mapping of str to Prior, optional
        As for `fit_model`.
    settings : FitSettings, optional
        How long to iterate.

    Returns
    -------
    FittedValue
        The clicks, and the influence of the log's lists.

    Raises
    ------
    InvalidInput
        If the log is empty, or the fit has not converged.
    """
    data = prepare_log(log)
    maximiser, chosen, given = fit_coins(data, model, priors, False, settings, sample=SAMPLE)
    if not is_maximum(maximiser.found):
        raise InvalidInput(f"The fit of {chosen.name} has no errors: {no_errors(maximiser.found, chosen)}.")
    fitted = collect(maximiser, data, chosen, given, False, "none")
    slopes = click_slopes(fitted, lists)
    (part,) = maximiser.workers.partitions  # type: ignore[attr-defined]  # of a log in memory
    return FittedValue(fitted, slopes.clicks, list_influence(maximiser, part, log, slopes), slopes.unknown)


def fit_predictor(log: ClickLog, model: str | ClickModel, settings: FitSettings) -> FittedModel:
    """Fit a click model that is to predict, without errors; of a long log, the first iterations are over a sample.

    Parameters
    ----------
    log : ClickLog
        The log.
    model : str or ClickModel
        A name of `toplist.logs.models.MODELS`, or a model of your own.
    settings : FitSettings
        How long to iterate.

    Returns
    -------
    FittedModel
        The model.

    Raises
    ------
    InvalidInput
        If the log is empty.
    """
    data = prepare_log(log)
    maximiser, chosen, given = fit_coins(data, model, None, False, settings, sample=SAMPLE)
    return collect(maximiser, data, chosen, given, False, "none")
