"""Tests of claims and printed numbers: all thresholds are here.

A test returns True or False if the confidence interval lies on one side of the threshold, and None, undecided, if the
threshold lies within the interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from toplist.core.slate import Floats, Ints
from toplist.engine.result import Result
from toplist.engine.statistics import Difference, Ratio, paired_difference, paired_ratio, standard_error, t_quantile

CONFIDENCE = 0.99  # of all intervals here

FLAT = 0.04  # a curve is flat if the last tenth of the steps adds less than this share of the regret
LINEAR = 0.45  # a curve is linear if the last half of the steps adds at least this share
CONVERGED = 0.5  # a policy converges in an epoch if its second half adds less than this share of its first half
MUCH_WORSE = 1.5  # ratio of regrets from which a policy is much worse, or does not follow the changes
ABOUT_THREE = (2.0, 4.0)  # range of "about three times"
DOUBLES = (1.8, 3.2)  # range of "doubles" with L: the bounds, which grow with L - K, give 2.1, 2.3 and 3 times
ALIKE = (3 / 4, 4 / 3)  # range of the ratio of two similar regrets
MAGNITUDE = 10.0  # least ratio of "an order of magnitude"
OFTEN = (0.25, 0.75)  # shares of the last half's steps with one list, for a policy that oscillates between two lists
ALWAYS = 0.95  # least share of the last tenth's steps with one list, for a policy that converges to it
STRAIGHT = 0.95  # points lie on a line if it explains at least this share of their variance
CLOSE = 0.1  # relative difference up to which a printed mean is met
FEWEST_RUNS = 20  # to decide whether a printed number is met
NEAR = 0.01  # a checkpoint stands for a step at most this share of all steps away

# The same in words, for readers of a report: first the general rules, then the meaning of single words.
RULES = (
    f"Claims are decided by confidence intervals of {CONFIDENCE:.0%}, paired by visitors when policies are compared; a "
    "claim is undecided if the limit lies within the interval.",
    f"A printed number is met if, with {FEWEST_RUNS} runs or more, the means differ by at most 4 combined standard "
    f"errors, or by at most {CLOSE:.0%}; a number printed without its error, if it differs by at most {CLOSE:.0%}.",
    f"Flat: the last tenth of the steps adds less than {FLAT:.0%} of the regret, or, if theory gives log n, a + b log "
    f"n fits better than a + b n. Linear: the last half adds at least {LINEAR:.0%}.",
    f"Converges after each break: in each later epoch the second half adds less than {CONVERGED:g} times the regret of "
    f"the first half. Does not converge, or is much worse: at least {MUCH_WORSE:g} times the regret.",
    "About three times: {:g} to {:g} times. Doubles: {:g} to {:g} times.".format(*ABOUT_THREE, *DOUBLES)
    + " Similar: {:.2f} to {:.2f} times.".format(*ALIKE)
    + f" An order of magnitude: {MAGNITUDE:g} times or more.",
    f"In a straight line: a line explains {STRAIGHT:.0%} of the variance. Oscillates between two lists: each is "
    f"shown in {OFTEN[0]:.0%} of the last half or more. Converges to a list: {ALWAYS:.0%} of the last tenth.",
)

FIVE_PAPERS_RULES = (  # and how exact their numbers are; no command of toplist computes that
    *RULES,
    "Accuracy of the print: 72 regrets of kveton2015, Tables 1 and 2, and of katariya2016, from 4,096 runs each of an "
    "independent simulator outside this project, agree with ours within 2.7 standard errors, 0.9 in the root mean "
    "square. The printed numbers are 2.5% above them on average.",
)


class MeanWithError(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.error:.1f}"


class PrintComparison(NamedTuple):
    """Whether a printed number is met, and the two distances that decide."""

    met: bool
    errors: float  # ours minus the print, in combined standard errors
    share: float  # the same as a share of the print


def half_epochs(curves: Floats, checkpoints: Ints, epoch: int) -> Floats:
    """The regret of the first and the second half of each complete epoch, per run: (runs, epochs, 2).

    The curves are cumulative, (runs, checkpoints), and the checkpoints include the ends of all halves.

    >>> half_epochs(np.array([[3.0, 4.0, 8.0, 10.0, 99.0]]), np.array([5, 10, 15, 20, 25]), 10).tolist()
    [[[3.0, 1.0], [4.0, 2.0]]]
    """
    epochs = int(checkpoints[-1]) // epoch
    ends = np.arange(1, 2 * epochs + 1) * (epoch // 2)
    kept = curves[:, np.searchsorted(checkpoints, ends)]
    return np.asarray(np.diff(kept, axis=1, prepend=0.0).reshape(len(curves), epochs, 2), dtype=np.float64)


def converges(halves: Floats, among: int = 1) -> bool | None:
    """Whether the second half of each epoch after the first break adds less than half of what its first half adds.

    None without a break. The answer False is corrected for multiple tests: for all epochs, and for `among` queries
    tested alike.

    >>> converges(np.array([[[1.0, 9.0], [4.0, 1.0]]] * 2)), converges(np.array([[[9.0, 1.0], [4.0, 3.0]]] * 2))
    (True, False)
    """
    late = [(epoch[:, 1], CONVERGED * epoch[:, 0]) for epoch in np.moveaxis(halves[:, 1:], 1, 0)]
    if not late:
        return None
    if all(is_below(difference(*epoch), 0.0) for epoch in late):
        return True
    sure = 1.0 - (1.0 - CONFIDENCE) / (len(late) * among)
    return False if any(paired_difference(*epoch, sure).low >= 0.0 for epoch in late) else None


def is_much_worse(regret: Floats, better: Floats) -> bool | None:
    """Whether a policy has at least 1.5 times the regret of a better one; both per run.

    >>> is_much_worse(np.full(2, 151.0), np.full(2, 100.0)), is_much_worse(np.ones(2), np.ones(2))
    (True, False)
    """
    return is_below(difference(MUCH_WORSE * better, regret), 0.0)


def compare_with_print(ours: MeanWithError, printed: MeanWithError) -> PrintComparison:
    """Compare a mean with a printed one: met if they differ by at most 4 combined standard errors, or at most 10%.

    >>> compare_with_print(MeanWithError(350.0, 5.0), MeanWithError(357.9, 5.5)).met
    True
    >>> compare_with_print(MeanWithError(450.0, 5.0), MeanWithError(357.9, 5.5)).met
    False
    """
    distance = ours.mean - printed.mean
    errors = distance / math.hypot(ours.error, printed.error)
    share = distance / printed.mean
    return PrintComparison(abs(errors) <= 4.0 or abs(share) <= CLOSE, errors, share)


def is_close_to_print(ours: Ratio, printed: float) -> bool | None:
    """Whether a ratio printed without its error is met: they differ by at most 10%.

    >>> is_close_to_print(Ratio(0.75, 0.73, 0.77), 0.8), is_close_to_print(Ratio(0.6, 0.5, 0.65), 0.8)
    (True, False)
    """
    return is_between(ours, (1.0 - CLOSE) * printed, (1.0 + CLOSE) * printed)


def mean_with_error(values: Floats) -> MeanWithError:
    """The mean of one value per run, and its standard error.

    >>> print(mean_with_error(np.array([9.0, 10.0, 11.0])))
    10.0 ± 0.6
    """
    return MeanWithError(float(values.mean()), float(standard_error(values)))


def is_met(comparison: PrintComparison, runs: int) -> bool | None:
    """Whether a printed number is met; None with fewer than 20 runs.

    >>> is_met(PrintComparison(True, 0.5, 0.01), 20), is_met(PrintComparison(True, 0.5, 0.01), 19)
    (True, None)
    """
    return comparison.met if runs >= FEWEST_RUNS else None


def undecided_if_short(holds: bool | None, steps: int, claimed: int) -> bool | None:
    """The answer of a test; None if fewer steps were played than the claim is about.

    >>> undecided_if_short(True, 100_000, 100_000), undecided_if_short(True, 500, 100_000)
    (True, None)
    """
    return holds if steps >= claimed else None


def all_of(tests: Iterable[bool | None]) -> bool | None:
    """Whether all hold: False if one does not, else None if one is undecided.

    >>> all_of([True, None]), all_of([None, False]), all_of([True, True])
    (None, False, True)
    """
    found = list(tests)
    if False in found:
        return False
    return None if None in found else True


def most_of(tests: Iterable[bool | None]) -> bool | None:
    """Whether more than half hold, whatever the undecided ones turn out to be.

    >>> most_of([True, True, None]), most_of([True, None, False]), most_of([None, False, False])
    (True, None, False)
    """
    found = list(tests)
    if 2 * found.count(True) > len(found):
        return True
    return False if 2 * (len(found) - found.count(False)) <= len(found) else None


def negation(holds: bool | None) -> bool | None:
    """The opposite answer; None stays None.

    >>> negation(True), negation(None)
    (False, None)
    """
    return None if holds is None else not holds


def is_below(found: Difference | Ratio, limit: float) -> bool | None:
    """Whether an interval lies below a limit.

    >>> is_below(Ratio(0.03, 0.02, 0.035), 0.04), is_below(Ratio(0.03, 0.01, 0.05), 0.04)
    (True, None)
    >>> is_below(Ratio(0.2, 0.1, 0.3), 0.04)
    False
    """
    if found.high < limit:
        return True
    return False if found.low >= limit else None


def is_below_unpaired(a: Ratio, b: Ratio) -> bool | None:
    """Whether one interval lies below another from other runs, without overlap.

    >>> is_below_unpaired(Ratio(1.0, 0.9, 1.1), Ratio(1.3, 1.2, 1.4))
    True
    >>> is_below_unpaired(Ratio(1.0, 0.9, 1.1), Ratio(1.1, 1.0, 1.2)) is None
    True
    """
    if a.high < b.low:
        return True
    return False if a.low > b.high else None


def is_between(found: Difference | Ratio, low: float, high: float) -> bool | None:
    """Whether an interval lies between two limits.

    >>> is_between(Ratio(3.0, 2.8, 3.2), 2.0, 4.0), is_between(Ratio(3.9, 3.7, 4.1), 2.0, 4.0)
    (True, None)
    """
    return all_of([negation(is_below(found, low)), is_below(found, high)])


def difference(a: Floats, b: Floats) -> Difference:
    """The mean of (a - b), paired by run, with its interval."""
    return paired_difference(a, b, CONFIDENCE)


def regret_ratio(a: Floats, b: Floats) -> Ratio:
    """Mean a over mean b, paired by run, with its interval."""
    return paired_ratio(a, b, CONFIDENCE)


def is_about_three_times(found: Ratio) -> bool | None:
    """Whether a ratio lies between 2 and 4.

    >>> is_about_three_times(Ratio(3.0, 2.8, 3.2)), is_about_three_times(Ratio(4.5, 4.2, 4.8))
    (True, False)
    """
    return is_between(found, *ABOUT_THREE)


def final_regret(result: Result, policy: str) -> Floats:
    """The regret of every run after the last step."""
    return result.regret[policy][:, -1]


def late_share(result: Result, policy: str, share: float) -> Ratio:
    """The share of the regret that the last `share` of the steps adds; nan without a checkpoint at its beginning.

    >>> line = Result([50, 100], {"a": [[1, 2], [3, 6]]}, {"a": [[0, 0]] * 2})
    >>> late_share(line, "a", 0.5).value
    0.5
    """
    begins = (1.0 - share) * result.steps
    place = int(np.abs(result.checkpoints - begins).argmin())
    if abs(result.checkpoints[place] - begins) > NEAR * result.steps:
        return Ratio(math.nan, math.nan, math.nan)
    regret = result.regret[policy]
    return regret_ratio(regret[:, -1] - regret[:, place], regret[:, -1])


def is_flat(result: Result, policy: str, logarithmic: bool = False) -> bool | None:
    """Whether a curve is flat: the last tenth of the steps adds less than 4% of the regret.

    With `logarithmic`, for regret of order log n in theory, a better fit of a + b log n than of a + b n is enough.

    >>> steps = np.arange(1, 101)
    >>> curves = {"log": [3 * np.log(steps), 4 * np.log(steps)], "line": [0.1 * steps, 0.1 * steps]}
    >>> some = Result(steps, curves, curves)
    >>> is_flat(some, "log"), is_flat(some, "line", logarithmic=True)
    (True, False)
    """
    test = is_below(late_share(result, policy, 0.1), FLAT)
    if test or not logarithmic:
        return test
    return negation(all_of([negation(test), negation(is_below(log_fit_excess(result, policy), 0.0))]))


def log_fit_excess(result: Result, policy: str) -> Difference:
    """Mean squared error of the fit a + b log n to each run's regret, minus that of a + b n."""
    steps, regret = result.checkpoints.astype(np.float64), result.regret[policy]
    return difference(_misfit(np.log(steps), regret), _misfit(steps, regret))


def is_linear(result: Result, policy: str) -> bool | None:
    """Whether a curve is linear: the last half of the steps adds at least 45% of the regret.

    >>> steps = np.arange(1, 101)
    >>> curves = {"log": [3 * np.log(steps), 4 * np.log(steps)], "line": [0.1 * steps, 0.1 * steps]}
    >>> some = Result(steps, curves, curves)
    >>> is_linear(some, "log"), is_linear(some, "line")
    (False, True)
    """
    return negation(is_below(late_share(result, policy, 0.5), LINEAR))


def straightness(x: Floats, values: Floats) -> Ratio:
    """The share of the variance over x of the mean over runs that a straight line explains; values are (runs, points).

    >>> lines = np.array([[1.0, 2.0, 3.1], [1.1, 2.0, 3.0]])
    >>> round(straightness(np.array([1.0, 2.0, 3.0]), lines).value, 3)
    0.999
    """

    def explained(mean: Floats) -> float:
        varies = float(mean.var())
        return 1.0 - float(_misfit(x, mean[None])[0]) / varies if varies > 0 else math.nan

    return jackknife(values, explained)


def jackknife(values: Floats, statistic: Callable[[Floats], float]) -> Ratio:
    """A statistic of the mean over runs, with its jackknife interval; values are (runs, ...).

    >>> found = jackknife(np.array([[1.0], [2.0], [3.0]]), lambda mean: float(mean[0]))
    >>> found == paired_difference(np.array([1.0, 2.0, 3.0]), np.zeros(3), CONFIDENCE)[:3]
    True
    """
    runs, whole = len(values), statistic(values.mean(axis=0))
    half = math.inf
    if runs > 1:
        without = np.array([statistic(np.delete(values, run, axis=0).mean(axis=0)) for run in range(runs)])
        half = float(without.std()) * math.sqrt(runs - 1) * t_quantile(runs - 1, CONFIDENCE)
    return Ratio(whole, whole - half, whole + half)


def percent_text(found: Ratio) -> str:
    """A share and its interval, as text.

    >>> percent_text(Ratio(0.031, 0.029, 0.033))
    '3.1% [2.9%, 3.3%]'
    """
    return "{:.1%} [{:.1%}, {:.1%}]".format(*found)


def ratio_text(found: Ratio) -> str:
    """A ratio and its interval, as text.

    >>> ratio_text(Ratio(3.0, 2.9, 3.125))
    '3.00 [2.90, 3.12]'
    """
    return "{:.2f} [{:.2f}, {:.2f}]".format(*found)


def _misfit(x: Floats, curves: Floats) -> Floats:
    """The mean squared error of the best straight line over x, per curve."""
    centred, heights = x - x.mean(), curves - curves.mean(axis=1, keepdims=True)
    spread = float(centred @ centred)
    slopes = heights @ centred / spread if spread > 0 else np.zeros(len(curves))
    errors = heights - slopes[:, None] * centred
    return np.asarray((errors**2).mean(axis=1), dtype=np.float64)
