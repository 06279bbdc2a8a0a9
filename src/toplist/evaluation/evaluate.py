"""Estimates from a log what another ranking would have earned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from toplist.core.problem import InvalidInput, checked_seed, nearest, number, refuse, several, true_or_false, whole
from toplist.core.slate import Floats
from toplist.evaluation.estimate import MeanEstimate
from toplist.evaluation.intervals import IntervalSettings, interval_of
from toplist.evaluation.logged_lists import LoggedLists
from toplist.evaluation.named_estimators import ESTIMATORS
from toplist.evaluation.question import MODEL, EstimatorAnswer, EstimatorSettings, Question
from toplist.evaluation.ranker_target import DRAWS, load, make_target
from toplist.evaluation.refusals import CannotEstimate
from toplist.evaluation.replay import check_uniform, replay_learning
from toplist.evaluation.result import PolicyEstimate, PolicyEvaluation
from toplist.evaluation.targets import BATCHES, SampledTarget, TargetPolicy
from toplist.evaluation.units import IndependentUnits, units_of
from toplist.evaluation.weights import SMALL_SAMPLE, described
from toplist.logs import ClickLog, read_log
from toplist.logs.repeated_items import check_items_once
from toplist.ranker import Ranker

REPLAYS = {"replay": False, "replay-prefix": True}
LEARNS = "a policy that goes on learning can be judged by replay only"
LARGEST = 1e300  # of a weight
NOTHING: Mapping[str, Any] = {}


def evaluate(
    log: Any,
    policy: Any,
    estimators: str | Sequence[str] = "all",
    *,
    interval: str = "normal",
    level: float = 0.95,
    logged_by: Any = None,
    by: str = "auto",
    clip: float | None = None,
    model: str = MODEL,
    folds: int = 3,
    learning: bool = False,
    uniform: bool = False,
    draws: int = DRAWS,
    resamples: int = 1000,
    seed: int = 0,
    reading: Mapping[str, Any] = NOTHING,
) -> PolicyEvaluation:
    """Estimate from a log what another ranking would have earned, in clicks per list.

    Parameters
    ----------
    log : ClickLog, or path or table of one
        The log; most estimators need its propensities.
    policy : Ranker, path, mapping, callable, TargetPolicy or "log"
        The policy to judge: a ranker as it is now, the file of a saved one, rankers by query; a function that takes the
        log and gives the probability of each shown item given those above, or a pair of these and the marginal ones; an
        object with the methods of `toplist.evaluation.TargetPolicy`; or "log", for the columns `target_propensity` and
        `target_marginal` of the log.
    estimators : str or sequence of str, default "all"
        Names of `toplist.evaluation.ESTIMATORS`.
    interval : {"normal", "bootstrap", "bernstein"}, default "normal"
        Sort of the confidence intervals; "bernstein" also holds for small samples and is wide.
    level : float, default 0.95
        Their level.
    logged_by : Ranker, path, mapping, callable or TargetPolicy, optional
        The policy that made the log, frozen, if it is known as a whole: propensities and marginals that the log lacks
        come from it, and the pseudoinverse works for any policy that shows some lists.
    by : {"auto", "list", "visitor"}, default "auto"
        What is independent; by default visitors if the log has them.
    clip : float, optional
        Largest weight of the clipped estimators; by default the root of the number of lists.
    model : str, default "dcm"
        Click model of the direct and the doubly robust estimator.
    folds : int, default 3
        Parts of the log for the doubly robust estimator: each part is predicted by a fit to the others.
    learning : bool, default False
        Whether the ranker goes on learning from the lists that match, which replay alone can judge.
    uniform : bool, default False
        Whether a log without propensities has uniformly random lists, for replay.
    draws : int, default 2000
        Lists to make of a ranker whose probabilities have no closed form; the error of their number is part of the
        intervals.
    resamples : int, default 1000
        Of the bootstrap.
    seed : int, default 0
        Of the bootstrap and of the parts.
    reading : mapping, optional
        Arguments of `read_log`, if `log` is a path or a table.

    Returns
    -------
    PolicyEvaluation
        Estimates with intervals beside the logged ranking, and the reason of each estimator that the log cannot answer.

    Raises
    ------
    InvalidInput
        If an argument cannot be used.

    Examples
    --------
    >>> from toplist import Ranker
    >>> log = ClickLog.from_lists(
    ...     ["q"] * 4, [["a", "b"], ["b", "a"]] * 2, clicked=[[1], [1], [], [1, 2]], propensities=[[0.5, 1.0]] * 4
    ... )
    >>> ranker = Ranker(["a", "b"], positions=2, policy="cascade-ucb1", compiled=False)
    >>> for _ in range(20):
    ...     ranker.learn(ranker.adopt(["a", "b"]), clicks=["b"])
    >>> evaluate(log, ranker, "ips")["ips"].value
    1.5
    """
    is_uniform = true_or_false("uniform", uniform, "True says that the lists were uniformly random")
    goes_on = true_or_false("learning", learning, "True lets the ranker go on learning")
    shown = log if isinstance(log, ClickLog) else read_log(log, **reading)
    check_items_once(shown)
    names = chosen_estimators(estimators)
    settings = IntervalSettings(interval, level, resamples, checked_seed(seed)).checked()
    own = EstimatorSettings(
        checked_clip(clip), model, whole("The number of folds", folds, 2, "give at least 2"), settings.seed, is_uniform
    )
    lists, units = LoggedLists.of(shown), units_of(shown, by)
    clicks = lists.click.sum(axis=1)
    logged = MeanEstimate.plain(clicks, lists.weight, (0.0, float(lists.positions)))
    if goes_on:
        answers = learned_answers(policy, lists, units, names, is_uniform)
        errors = dict.fromkeys(answers, 0.0)
    else:
        maker = None if logged_by is None else make_target(logged_by, shown, draws)
        question = Question(with_propensities(lists, maker), units, make_target(policy, shown, draws), own, maker)
        answers = {name: ask(question, name) for name in names}
        errors = {
            name: sampling_error(question, name)
            for name, found in answers.items()
            if isinstance(found, EstimatorAnswer)
        }
    estimates, refused = {}, {}
    for name, found in answers.items():
        try:
            if isinstance(found, str):
                raise CannotEstimate(found)
            estimates[name] = described_estimate(name, found, clicks, units, settings, errors[name])
        except CannotEstimate as error:
            refused[name] = str(error)
    return PolicyEvaluation(
        policy_text(policy), units.lists, units.name, units.independent, interval, level, logged.value,
        interval_of(logged, units, settings), estimates, refused,
    )  # fmt: skip


def with_propensities(lists: LoggedLists, maker: TargetPolicy | None) -> LoggedLists:
    """The lists, with the probabilities that they lack from the policy that made them."""
    if maker is None:
        return lists
    if lists.propensity is None:
        lists = replace(lists, propensity=possible(maker.given(lists)))
    if lists.marginal is None:
        lists = replace(lists, marginal=possible(maker.at_place(lists)))
    return lists


def possible(probability: Floats) -> Floats:
    """Probabilities under the policy of the log, which must be above 0."""
    wrong = int((probability == 0).any(axis=1).sum())
    if wrong:
        raise InvalidInput(
            f"logged_by would not show {wrong:,} of {len(probability):,} lists of the log; give the policy that made "
            f"them."
        )
    return probability


def chosen_estimators(names: str | Sequence[str]) -> list[str]:
    """Names of estimators, checked."""
    if isinstance(names, str):
        names = list(ESTIMATORS) if names == "all" else [names]
    found = several("estimators", names, "names")
    for name in found:
        if name not in ESTIMATORS:
            advice = nearest(str(name), ESTIMATORS, "choose one")
            raise refuse("The estimator", name, f"one of {', '.join(ESTIMATORS)}", advice)
    return list(dict.fromkeys(found))


def checked_clip(clip: float | None) -> float | None:
    """A bound of weights above 0, or none."""
    if clip is None:
        return None
    if number("clip", clip, 0.0, LARGEST, "or leave it out") == 0.0:
        raise refuse("clip", clip, "a number above 0", "or leave it out")
    return float(clip)


def ask(question: Question, name: str) -> EstimatorAnswer | str:
    """The answer of an estimator, or the reason why there is none."""
    try:
        return ESTIMATORS[name](question)
    except CannotEstimate as error:
        return str(error)


def sampling_error(question: Question, name: str) -> float:
    """The standard error of an estimate that comes from sampling the target's probabilities."""
    target = question.target
    batches = target.batches() if isinstance(target, SampledTarget) else ()
    if not batches:
        return 0.0
    found = [ask(question.of_target(batch), name) for batch in batches]
    values = np.array([each.estimate.value for each in found if isinstance(each, EstimatorAnswer)])
    if len(values) == BATCHES and np.all(values == values[0]):  # it asks nothing that was sampled
        return 0.0
    return float(values.std(ddof=1) / math.sqrt(BATCHES)) if len(values) > 1 else math.nan


def learned_answers(
    policy: Any, lists: LoggedLists, units: IndependentUnits, names: Sequence[str], uniform: bool
) -> dict[str, EstimatorAnswer | str]:
    """The answers of replay for a ranker that goes on learning."""
    if not isinstance(policy, Ranker | str) and not hasattr(policy, "__fspath__"):
        raise refuse("The policy", policy, "a Ranker or the file of a saved one, to go on learning", "give one")
    ranker = policy if isinstance(policy, Ranker) else load(policy)
    found: dict[str, EstimatorAnswer | str] = {}
    for name in names:
        if name not in REPLAYS:
            found[name] = LEARNS
            continue
        try:
            check_uniform(lists, uniform)
            played = replay_learning(copy(ranker), lists, REPLAYS[name])
        except CannotEstimate as error:
            found[name] = str(error)
            continue
        weights = described(played.match, units, played.match[:, -1] == 0)
        note = f"over the first {played.learned:,} lists that it learned from"
        found[name] = EstimatorAnswer(played.estimate, weights.effective, weights.unsupported, notes=(note,))
    return found


def described_estimate(
    name: str, found: EstimatorAnswer, clicks: Floats, units: IndependentUnits, settings: IntervalSettings, error: float
) -> PolicyEstimate:
    """An answer with its intervals and warnings."""
    estimate, notes = found.estimate, list(found.notes)
    if math.isnan(error):
        raise CannotEstimate("the policy's probabilities were sampled, and too few draws agree with the log; make more")
    if found.effective < SMALL_SAMPLE:
        notes.append(f"an effective sample below {SMALL_SAMPLE:.0f} lists: the interval may be too short")
    if error > 0:
        notes.append("the policy's probabilities were sampled; the error of that is part of the interval")
    if settings.kind == "bernstein" and estimate.bounds is not None and not name.startswith("clipped"):
        notes.append("the interval takes the smallest logged propensity as the smallest possible one")
    both = minus_logged(estimate, clicks, units)
    return PolicyEstimate(
        name, estimate.value, interval_of(estimate, units, settings, error), both.value,
        interval_of(both, units, settings, error), found.effective, found.unsupported, found.mean_weight, error,
        tuple(notes),
    )  # fmt: skip


def minus_logged(estimate: MeanEstimate, clicks: Floats, units: IndependentUnits) -> MeanEstimate:
    """The difference of an estimate from the clicks of the logged lists."""
    combine = estimate.combine

    def difference(means: Floats) -> Floats:
        return np.asarray(combine(means[..., :-1]) - means[..., -1])

    bounds = None
    if estimate.bounds is not None:
        bounds = estimate.bounds[0] - float(clicks.max(initial=0.0)), estimate.bounds[1]
    return MeanEstimate(
        estimate.value - units.mean(clicks), estimate.per_list - clicks,
        np.concatenate([estimate.columns, clicks[:, None]], axis=1), difference, bounds,
    )  # fmt: skip


def policy_text(policy: Any) -> str:
    """A policy in a few words."""
    if isinstance(policy, str):
        return "the target of the log" if policy == "log" else policy
    if isinstance(policy, Ranker):
        return repr(policy).strip("<>")
    return f"{len(policy):,} rankers" if isinstance(policy, Mapping) else type(policy).__name__
