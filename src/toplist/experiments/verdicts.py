"""When a printed number or a claim counts as met: the one place where closeness is decided.

A test of several runs says True or False where the interval of what is tested lies on one side of the threshold, and
None where the threshold lies within: then the runs do not tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from toplist.core.slate import Floats, Ints
from toplist.engine.result import Result
from toplist.engine.statistics import Difference, Ratio, paired_difference, paired_ratio, standard_error, t_quantile

CONFIDENCE = 0.99  # of the intervals that decide

FLAT = 0.04  # a curve is flat where the last tenth of the steps adds less than this share of the regret
LINEAR = 0.45  # and linear where the last half adds more than this
CONVERGED = 0.5  # an epoch converges where its second half adds less than this share of what its first half adds
BEHIND = 1.5  # who does not follow the changes, or is much worse, loses at least so many times as much
ABOUT_THREE = (2.0, 4.0)  # what "about three times" may be
DOUBLES = (1.8, 3.2)  # what "doubles" with L may be: by the bounds, which grow with L - K, it is 2.1, 2.3 and 3 times
ALIKE = (3 / 4, 4 / 3)  # how many times another's regret that of a policy is that performs similarly
MAGNITUDE = 10.0  # what "an order of magnitude" is at least
OFTEN = (0.25, 0.75)  # who oscillates between two lists shows each in at least a quarter of the last half's steps
ALWAYS = 0.95  # who converges to a list shows it in at least so many of the last tenth's steps
STRAIGHT = 0.95  # points are on a line where it explains at least this share of how they vary
CLOSE = 0.1  # how far a mean may be from a printed one, as a share of it
FEWEST_RUNS = 20  # that tell whether a printed number is met
NEAR = 0.01  # a checkpoint stands for a step that is at most this share of all steps away

# The same in words, for readers of a report: first what experiments in general go by, then what single words mean.
RULES = (
    f"What runs tell is decided by an interval of {CONFIDENCE:.0%}, paired by visitors where policies are compared; "
    "where the limit lies within, they do not tell.",
    f"A printed number is met where, with {FEWEST_RUNS} runs or more, the means differ by at most 4 combined standard "
    f"errors, or by at most {CLOSE:.0%}; a number printed without its error, where it differs by at most {CLOSE:.0%}.",
    f"Flat: the last tenth of the steps adds under {FLAT:.0%} of the regret, or, where theory says log n, a + b log n "
    f"fits better than a + b n. Linear: the last half adds at least {LINEAR:.0%}.",
    f"Converges after each break: in each later epoch the second half adds under {CONVERGED:g} of what the first half "
    f"adds. Does not, or much worse: at least {BEHIND:g} times the regret.",
    "About three times: {:g} to {:g} times. Doubles: {:g} to {:g} times.".format(*ABOUT_THREE, *DOUBLES)
    + " Similar: {:.2f} to {:.2f} times.".format(*ALIKE)
    + f" An order of magnitude: {MAGNITUDE:g} times or more.",
    f"In a straight line: a line explains {STRAIGHT:.0%} of how the points vary. Oscillates between two lists: each is "
    f"shown in {OFTEN[0]:.0%} of the last half or more. Converges to a list: {ALWAYS:.0%} of the last tenth.",
)


class Measured(NamedTuple):
    """A mean and its standard error."""

    mean: float
    error: float

    def __str__(self) -> str:
        return f"{self.mean:.1f} ± {self.error:.1f}"


class Verdict(NamedTuple):
    """Whether a printed number is met, and the two distances that decide it."""

    met: bool
    errors: float  # distance in combined standard errors, ours less the print
    share: float  # distance as a share of the print


def halves(curves: Floats, checkpoints: Ints, epoch: int) -> Floats:
    """What the first and the second half of each whole epoch add, per run, (runs, epochs, 2).

    The curves are cumulative, (runs, checkpoints), and the checkpoints have the ends of all halves.

    >>> halves(np.array([[3.0, 4.0, 8.0, 10.0, 99.0]]), np.array([5, 10, 15, 20, 25]), 10).tolist()
    [[[3.0, 1.0], [4.0, 2.0]]]
    """
    epochs = int(checkpoints[-1]) // epoch
    ends = np.arange(1, 2 * epochs + 1) * (epoch // 2)
    kept = curves[:, np.searchsorted(checkpoints, ends)]
    return np.asarray(np.diff(kept, axis=1, prepend=0.0).reshape(len(curves), epochs, 2), dtype=np.float64)


def converges(halves: Floats, among: int = 1) -> bool | None:
    """Whether, in each epoch after the first break, the second half adds less than half of what the first half adds.

    Open where there was no break. That one epoch does not is said only where it is more than the chance of so many
    tests, for all epochs and `among` others that are asked the same.

    >>> converges(np.array([[[1.0, 9.0], [4.0, 1.0]]] * 2)), converges(np.array([[[9.0, 1.0], [4.0, 3.0]]] * 2))
    (True, False)
    """
    late = [(epoch[:, 1], CONVERGED * epoch[:, 0]) for epoch in np.moveaxis(halves[:, 1:], 1, 0)]
    if not late:
        return None
    if all(under(difference(*epoch), 0.0) for epoch in late):
        return True
    sure = 1.0 - (1.0 - CONFIDENCE) / (len(late) * among)
    return False if any(paired_difference(*epoch, sure).low >= 0.0 for epoch in late) else None


def left_behind(regret: Floats, better: Floats) -> bool | None:
    """Whether somebody loses at least 1.5 times as much as one who follows the changes, or is better; per run.

    >>> left_behind(np.full(2, 151.0), np.full(2, 100.0)), left_behind(np.ones(2), np.ones(2))
    (True, False)
    """
    return under(difference(BEHIND * better, regret), 0.0)


def printed_number(ours: Measured, printed: Measured) -> Verdict:
    """Met where the means differ by at most 4 combined standard errors, or by at most 10%; ours needs 20 runs or more.

    >>> printed_number(Measured(350.0, 5.0), Measured(357.9, 5.5)).met
    True
    >>> printed_number(Measured(450.0, 5.0), Measured(357.9, 5.5)).met
    False
    """
    distance = ours.mean - printed.mean
    errors = distance / math.hypot(ours.error, printed.error)
    share = distance / printed.mean
    return Verdict(abs(errors) <= 4.0 or abs(share) <= CLOSE, errors, share)


def printed_ratio(ours: Ratio, printed: float) -> bool | None:
    """Whether a ratio that is printed without its error is met: they differ by at most 10%.

    >>> printed_ratio(Ratio(0.75, 0.73, 0.77), 0.8), printed_ratio(Ratio(0.6, 0.5, 0.65), 0.8)
    (True, False)
    """
    return within(ours, (1.0 - CLOSE) * printed, (1.0 + CLOSE) * printed)


def measured(values: Floats) -> Measured:
    """The mean of a value per run, and its standard error.

    >>> print(measured(np.array([9.0, 10.0, 11.0])))
    10.0 ± 0.6
    """
    return Measured(float(values.mean()), float(standard_error(values)))


def met_by(verdict: Verdict, runs: int) -> bool | None:
    """Whether a printed number is met, where there are runs enough to tell.

    >>> met_by(Verdict(True, 0.5, 0.01), 20), met_by(Verdict(True, 0.5, 0.01), 19)
    (True, None)
    """
    return verdict.met if runs >= FEWEST_RUNS else None


def settled(holds: bool | None, steps: int, claimed: int) -> bool | None:
    """What a test says, or nothing where fewer steps were played than the claim is about.

    >>> settled(True, 100_000, 100_000), settled(True, 500, 100_000)
    (True, None)
    """
    return holds if steps >= claimed else None


def all_of(tests: Iterable[bool | None]) -> bool | None:
    """Whether all hold: one that does not decides, and else one that nobody can tell leaves it open.

    >>> all_of([True, None]), all_of([None, False]), all_of([True, True])
    (None, False, True)
    """
    found = list(tests)
    if False in found:
        return False
    return None if None in found else True


def most_of(tests: Iterable[bool | None]) -> bool | None:
    """Whether more than half hold, whatever those of which nobody can tell would say.

    >>> most_of([True, True, None]), most_of([True, None, False]), most_of([None, False, False])
    (True, None, False)
    """
    found = list(tests)
    if 2 * found.count(True) > len(found):
        return True
    return False if 2 * (len(found) - found.count(False)) <= len(found) else None


def opposite(holds: bool | None) -> bool | None:
    """The other way round, and open where it was open.

    >>> opposite(True), opposite(None)
    (False, None)
    """
    return None if holds is None else not holds


def under(found: Difference | Ratio, limit: float) -> bool | None:
    """Whether something lies under a limit, going by its interval.

    >>> under(Ratio(0.03, 0.02, 0.035), 0.04), under(Ratio(0.03, 0.01, 0.05), 0.04), under(Ratio(0.2, 0.1, 0.3), 0.04)
    (True, None, False)
    """
    if found.high < limit:
        return True
    return False if found.low >= limit else None


def apart(a: Ratio, b: Ratio) -> bool | None:
    """Whether one lies under another that was found in other runs: their intervals do not meet.

    >>> apart(Ratio(1.0, 0.9, 1.1), Ratio(1.3, 1.2, 1.4)), apart(Ratio(1.0, 0.9, 1.1), Ratio(1.1, 1.0, 1.2))
    (True, None)
    """
    if a.high < b.low:
        return True
    return False if a.low > b.high else None


def within(found: Difference | Ratio, low: float, high: float) -> bool | None:
    """Whether something lies between two limits, going by its interval.

    >>> within(Ratio(3.0, 2.8, 3.2), 2.0, 4.0), within(Ratio(3.9, 3.7, 4.1), 2.0, 4.0)
    (True, None)
    """
    return all_of([opposite(under(found, low)), under(found, high)])


def difference(a: Floats, b: Floats) -> Difference:
    """The mean of (a - b), where run r of both had the same seed, with the interval that decides."""
    return paired_difference(a, b, CONFIDENCE)


def times(a: Floats, b: Floats) -> Ratio:
    """Mean a over mean b, where run r of both had the same seed, with the interval that decides."""
    return paired_ratio(a, b, CONFIDENCE)


def about_three_times(found: Ratio) -> bool | None:
    """Between 2 and 4.

    >>> about_three_times(Ratio(3.0, 2.8, 3.2)), about_three_times(Ratio(4.5, 4.2, 4.8))
    (True, False)
    """
    return within(found, *ABOUT_THREE)


def final(result: Result, policy: str) -> Floats:
    """The regret of every run after all steps."""
    return result.regret[policy][:, -1]


def last_adds(result: Result, policy: str, share: float) -> Ratio:
    """What the last share of the steps adds to the regret, as a share of it; nan without a checkpoint where it begins.

    >>> line = Result([50, 100], {"a": [[1, 2], [3, 6]]}, {"a": [[0, 0]] * 2})
    >>> last_adds(line, "a", 0.5).value
    0.5
    """
    begins = (1.0 - share) * result.steps
    place = int(np.abs(result.checkpoints - begins).argmin())
    if abs(result.checkpoints[place] - begins) > NEAR * result.steps:
        return Ratio(math.nan, math.nan, math.nan)
    regret = result.regret[policy]
    return times(regret[:, -1] - regret[:, place], regret[:, -1])


def flat(result: Result, policy: str, logarithmic: bool = False) -> bool | None:
    """Whether a curve is flat: the last tenth of the steps adds under 4% of the regret.

    Regret that is log n by theory (`logarithmic`) may instead fit a + b log n better than a + b n.

    >>> steps = np.arange(1, 101)
    >>> curves = {"log": [3 * np.log(steps), 4 * np.log(steps)], "line": [0.1 * steps, 0.1 * steps]}
    >>> some = Result(steps, curves, curves)
    >>> flat(some, "log"), flat(some, "line", logarithmic=True)
    (True, False)
    """
    test = under(last_adds(result, policy, 0.1), FLAT)
    if test or not logarithmic:
        return test
    return opposite(all_of([opposite(test), opposite(under(logarithm_or_line(result, policy), 0.0))]))


def logarithm_or_line(result: Result, policy: str) -> Difference:
    """How much worse a + b log n fits each run's regret than a + b n: the difference of their mean squared errors."""
    steps, regret = result.checkpoints.astype(np.float64), result.regret[policy]
    return difference(_misfit(np.log(steps), regret), _misfit(steps, regret))


def linear(result: Result, policy: str) -> bool | None:
    """Whether a curve is linear: the last half of the steps adds at least 45% of the regret.

    >>> steps = np.arange(1, 101)
    >>> curves = {"log": [3 * np.log(steps), 4 * np.log(steps)], "line": [0.1 * steps, 0.1 * steps]}
    >>> some = Result(steps, curves, curves)
    >>> linear(some, "log"), linear(some, "line")
    (False, True)
    """
    return opposite(under(last_adds(result, policy, 0.5), LINEAR))


def straightness(x: Floats, values: Floats) -> Ratio:
    """The share of how the runs' mean varies with x that a straight line explains; values are (runs, points).

    >>> lines = np.array([[1.0, 2.0, 3.1], [1.1, 2.0, 3.0]])
    >>> round(straightness(np.array([1.0, 2.0, 3.0]), lines).value, 3)
    0.999
    """

    def explained(mean: Floats) -> float:
        varies = float(mean.var())
        return 1.0 - float(_misfit(x, mean[None])[0]) / varies if varies > 0 else math.nan

    return jackknife(values, explained)


def jackknife(values: Floats, statistic: Callable[[Floats], float]) -> Ratio:
    """A number made of the mean over runs, with an interval from leaving out each run; values are (runs, ...).

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


def as_percent(found: Ratio) -> str:
    """A share and its interval.

    >>> as_percent(Ratio(0.031, 0.029, 0.033))
    '3.1% [2.9%, 3.3%]'
    """
    return "{:.1%} [{:.1%}, {:.1%}]".format(*found)


def as_times(found: Ratio) -> str:
    """A ratio and its interval.

    >>> as_times(Ratio(3.0, 2.9, 3.125))
    '3.00 [2.90, 3.12]'
    """
    return "{:.2f} [{:.2f}, {:.2f}]".format(*found)


def _misfit(x: Floats, curves: Floats) -> Floats:
    """The mean squared error of the straight line over x that fits each curve best."""
    centred, heights = x - x.mean(), curves - curves.mean(axis=1, keepdims=True)
    spread = float(centred @ centred)
    slopes = heights @ centred / spread if spread > 0 else np.zeros(len(curves))
    errors = heights - slopes[:, None] * centred
    return np.asarray((errors**2).mean(axis=1), dtype=np.float64)
