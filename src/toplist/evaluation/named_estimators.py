"""The estimators by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from toplist.evaluation.direct import direct_clicks
from toplist.evaluation.doubly_robust import doubly_robust_clicks
from toplist.evaluation.estimators import clipped_clicks, normalised_clicks, weighted_clicks
from toplist.evaluation.pseudoinverse import mixture_weights, pseudoinverse_clicks, uniform_weights
from toplist.evaluation.question import EstimatorAnswer, Question
from toplist.evaluation.refusals import CannotEstimate
from toplist.evaluation.replay import check_uniform, match_of, replayed_clicks
from toplist.evaluation.weights import ImportanceWeights, described

Estimator = Callable[[Question], EstimatorAnswer]
LOWER_BOUND = "of the value with clipped weights, at most the true one"


def _plain(weights: ImportanceWeights, question: Question, largest: float) -> EstimatorAnswer:
    weights.check()
    lists = question.lists
    return EstimatorAnswer.weighted(weighted_clicks(weights.value, lists.click, lists.weight, largest), weights)


def _normalised(weights: ImportanceWeights, question: Question) -> EstimatorAnswer:
    weights.check()
    lists = question.lists
    return EstimatorAnswer.weighted(
        normalised_clicks(weights.value, lists.click, lists.weight, lists.is_shown), weights
    )


def _clipped(weights: ImportanceWeights, question: Question) -> EstimatorAnswer:
    weights.check(lower_bound=True)
    lists = question.lists
    estimate = clipped_clicks(weights.value, lists.click, lists.weight, question.clip)
    is_cut = bool((weights.value > question.clip).any())
    return EstimatorAnswer.weighted(estimate, weights, (LOWER_BOUND,) if is_cut or weights.is_low else ())


def _pseudoinverse(question: Question) -> EstimatorAnswer:
    lists = question.lists
    candidates, shown = lists.uniform_candidates(), lists.is_shown
    at_place = np.where(shown, question.target.at_place(lists), 0.0)
    if candidates is not None:
        included = np.where(shown, question.target.included(lists), 0.0)
        value = uniform_weights(at_place, included, candidates, lists.length)
    elif question.logged_by is not None:
        value = mixture_weights(question.logged_by, question.target, lists)
    else:
        lists.known_propensity()
        raise CannotEstimate(
            "the pseudoinverse needs the probabilities of any two items together under the policy of the log; they "
            "are known for uniformly random lists, or if that policy is given"
        )
    weights = described(value[:, None], question.units, at_place.sum(axis=1) == 0)
    weights.check()
    return EstimatorAnswer.weighted(pseudoinverse_clicks(value, lists.click, lists.weight), weights)


def _doubly_robust(question: Question) -> EstimatorAnswer:
    weights, settings = question.by_prefix, question.settings
    weights.check()
    estimate = doubly_robust_clicks(
        weights.value, question.target, question.lists, question.units, settings.model, settings.folds, settings.seed
    )
    return EstimatorAnswer.weighted(estimate, weights)


def _direct(question: Question) -> EstimatorAnswer:
    found = direct_clicks(question.target, question.lists, question.settings.model)
    if found.unknown == 1.0:
        raise CannotEstimate(
            "the log never shows an item that the policy would, so that nothing is known of them; log such items, or "
            "give the policy those of the log"
        )
    note = f"{found.unknown:.1%} of the policy's positions have items that the log never shows for the query"
    return EstimatorAnswer(found.estimate, unsupported=found.unknown, notes=(note,) if found.unknown > 0 else ())


def _replay(question: Question, prefixes: bool) -> EstimatorAnswer:
    check_uniform(question.lists, question.settings.is_uniform)
    estimate = replayed_clicks(question.given, question.lists, prefixes)
    match = match_of(question.given, prefixes)
    weights = described(match, question.units, match[:, -1] == 0)
    return EstimatorAnswer(estimate, weights.effective, weights.unsupported)


ESTIMATORS: Mapping[str, Estimator] = {
    "ips": lambda question: _plain(question.by_list, question, question.largest_list_weight),
    "snips": lambda question: _normalised(question.by_list, question),
    "clipped-ips": lambda question: _clipped(question.by_list, question),
    "iips": lambda question: _plain(question.by_position, question, question.largest_position_weight),
    "sniips": lambda question: _normalised(question.by_position, question),
    "clipped-iips": lambda question: _clipped(question.by_position, question),
    "rips": lambda question: _plain(question.by_prefix, question, question.largest_list_weight),
    "snrips": lambda question: _normalised(question.by_prefix, question),
    "clipped-rips": lambda question: _clipped(question.by_prefix, question),
    "pseudoinverse": _pseudoinverse,
    "doubly-robust": _doubly_robust,
    "direct": _direct,
    "replay": lambda question: _replay(question, prefixes=False),
    "replay-prefix": lambda question: _replay(question, prefixes=True),
}
