"""Scores a fitted click model on the lists of a log: likelihood, perplexity, calibration and click-through rates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.core.slate import Floats
from toplist.logs.click_log import ClickLog
from toplist.logs.comparison.calibration import Rates, calibration, grouped_rates, ratios, sums
from toplist.logs.fitted import FittedModel

CHUNK = 200_000  # lists predicted at a time, which bounds the memory


class Scores(NamedTuple):
    """How well a model predicts some positions of a log's lists; everything is weighted by the weights of the lists.

    q is the probability that the model gave to what happened at a position, a click or none.

    Parameters
    ----------
    lists : float
        Number of lists.
    impossible : float
        Number of lists to which the model gives probability 0.
    shown : ndarray of float
        Number of lists by position; those that are too short for a position are left out.
    log_given : ndarray of float
        Sum of log q by position, q given the clicks above.
    log_marginal : ndarray of float
        Sum of log q by position, q without knowing any click.
    """

    lists: float
    impossible: float
    shown: Floats
    log_given: Floats
    log_marginal: Floats

    @property
    def log_likelihood(self) -> float:
        """Logarithm of the probability of all clicks; minus infinity with impossible lists."""
        return float(self.log_given.sum())

    @property
    def per_list(self) -> float:
        """Log-likelihood per list."""
        return self.log_likelihood / self.lists if self.lists else float("nan")

    @property
    def perplexity_by_position(self) -> Floats:
        """2^(-mean log2 q) by position, q given the clicks above: 1 is certainty, 2 a fair coin."""
        return _perplexity(self.log_given, self.shown)

    @property
    def marginal_perplexity_by_position(self) -> Floats:
        """2^(-mean log2 q) by position, q without knowing any click."""
        return _perplexity(self.log_marginal, self.shown)

    @property
    def perplexity(self) -> float:
        """Mean of the perplexities by position, given the clicks above."""
        return _mean(self.perplexity_by_position)

    @property
    def marginal_perplexity(self) -> float:
        """Mean of the perplexities by position, without knowing any click."""
        return _mean(self.marginal_perplexity_by_position)

    def plus(self, other: Scores) -> Scores:
        """The scores of two logs together."""
        pairs: Iterable[tuple[Any, Any]] = zip(self, other, strict=True)
        return Scores(*(one + another for one, another in pairs))


@dataclass(frozen=True, eq=False)
class ModelScores:
    """The scores of a model on a log; `toplist.logs.score_model` makes one.

    Parameters
    ----------
    model : str
        Name of the model.
    every : Scores
        All positions; (query, item) pairs that the fit has never seen have the prior mean.
    seen_pairs : Scores
        Positions with pairs that the fit has seen.
    to_first_click : Scores
        Every list cut after its first click, which also the cascade model can explain.
    unseen : float
        Number of positions with pairs that the fit has never seen, weighted.
    too_long : float
        Number of lists left out because they are longer than any list of the fit, weighted.
    by_position : Rates
        Predicted (marginal) and observed click-through by position.
    by_probability : Rates
        Predicted (given the clicks above) and observed click-through by predicted probability, in the bins of
        `toplist.logs.comparison.calibration.EDGES`.
    per_list : ndarray of float
        Log-likelihood of each list; NaN if it is too long.
    per_list_to_first_click : ndarray of float
        Log-likelihood of each list cut after its first click; NaN if it is too long.
    """

    model: str
    every: Scores
    seen_pairs: Scores
    to_first_click: Scores
    unseen: float
    too_long: float
    by_position: Rates
    by_probability: Rates
    per_list: Floats
    per_list_to_first_click: Floats

    def plus(self, other: ModelScores) -> ModelScores:
        """The scores of two logs together."""
        return ModelScores(
            self.model, self.every.plus(other.every), self.seen_pairs.plus(other.seen_pairs),
            self.to_first_click.plus(other.to_first_click), self.unseen + other.unseen, self.too_long + other.too_long,
            self.by_position.plus(other.by_position), self.by_probability.plus(other.by_probability),
            np.concatenate([self.per_list, other.per_list]),
            np.concatenate([self.per_list_to_first_click, other.per_list_to_first_click]),
        )  # fmt: skip


def score_model(fitted: FittedModel, log: ClickLog) -> ModelScores:
    """Score a fitted click model on the lists of a log.

    Parameters
    ----------
    fitted : FittedModel
        The model.
    log : ClickLog
        Any log, best one that the fit has not seen. Lists longer than any of the fit are left out.

    Returns
    -------
    ModelScores
        Likelihood, perplexity, click-through rates and calibration.

    Raises
    ------
    InvalidInput
        If the log has no lists that can be scored.

    Examples
    --------
    >>> from toplist.logs import fit_model
    >>> log = ClickLog.from_lists(["q"] * 4, [["a", "b"]] * 4, clicked=[[1], [2], [2], []])
    >>> found = score_model(fit_model(log, "position-ctr"), log)
    >>> found.every.perplexity_by_position.round(3), round(found.every.log_likelihood, 3)
    (array([1.755, 2.   ]), -5.022)
    """
    parts = [score_lists(fitted, part) for part in _chunks(log)]
    if not parts or not sum(part.every.lists for part in parts):
        raise InvalidInput(
            f"The log has no lists of 1 to {fitted.positions} positions, which {fitted.name} was fitted to; score "
            "it on other lists."
        )
    return reduce(ModelScores.plus, parts)


def _chunks(log: ClickLog) -> Iterator[ClickLog]:
    """The log in parts of bounded size."""
    if len(log) <= CHUNK:
        yield log
        return
    for begin in range(0, len(log), CHUNK):
        yield log.take(np.arange(begin, min(begin + CHUNK, len(log))))


def score_lists(fitted: FittedModel, log: ClickLog) -> ModelScores:
    """The scores of a log that fits into memory several times."""
    fits = log.lengths <= fitted.positions
    too_long = float(log.weights[~fits].sum())
    if not fits.all():
        whole, log = len(log), log.take(fits)
    predictions = fitted.predict(log)
    given, marginal = np.clip(predictions.given, 0.0, 1.0), np.clip(predictions.marginal, 0.0, 1.0)
    row, place = np.repeat(np.arange(len(log)), log.lengths), log.places()
    clicked, weight = log.click > 0, log.weights[row]
    with np.errstate(divide="ignore"):  # log 0 is minus infinity
        log_given = np.log(np.where(clicked, given, 1.0 - given))
        log_marginal = np.log(np.where(clicked, marginal, 1.0 - marginal))
    clicks_before = np.concatenate([[0], np.cumsum(clicked)])
    until_click = clicks_before[:-1] == clicks_before[log.start[:-1]][row]  # no click above, on this list
    known = predictions.known

    def per_list(counted: Any) -> Floats:
        return sums(row, np.where(counted, log_given, 0.0), len(log))

    def scores(counted: Any) -> Scores:
        total = per_list(counted)
        kept = counted & (weight > 0)  # 0 times minus infinity is not a number

        def by_position(values: Floats) -> Floats:
            return sums(place[kept], weight[kept] * values[kept], fitted.positions)

        lists = float(log.weights[sums(row, counted, len(log)) > 0].sum())
        impossible = float(log.weights[np.isneginf(total)].sum())
        shown = by_position(np.ones(len(row)))
        return Scores(lists, impossible, shown, by_position(log_given), by_position(log_marginal))

    everything = np.ones(len(row), dtype=np.bool_)
    found = [per_list(everything), per_list(until_click)]
    if not fits.all():
        spread = np.full((2, whole), np.nan)
        spread[:, fits] = found
        found = list(spread)
    return ModelScores(
        fitted.name, scores(everything), scores(known), scores(until_click), float(weight[~known].sum()), too_long,
        grouped_rates(place, fitted.positions, weight, marginal, clicked), calibration(weight, given, clicked), *found,
    )  # fmt: skip


def _perplexity(log_chance: Floats, shown: Floats) -> Floats:
    """2^(-mean log2 q), NaN without lists."""
    found: Floats = np.exp(-ratios(log_chance, shown))
    return found


def _mean(values: Floats) -> float:
    """Mean of the values that are numbers."""
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")
