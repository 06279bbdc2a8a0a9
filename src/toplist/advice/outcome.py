"""What the policies earned on the fitted visitors: means and intervals over time, when a switch pays, and its risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from toplist.advice.playing import Played
from toplist.advice.query_worlds import FRACTIONS
from toplist.core.slate import Floats
from toplist.engine.statistics import t_quantile

CONFIDENCE = 0.95
TINY = 1e-300  # clicks


class CurveInterval(NamedTuple):
    """A mean with its 95% interval; arrays for a curve over time.

    Parameters
    ----------
    mean, low, high : ndarray of float
        The mean and the ends of the interval.
    """

    mean: Floats
    low: Floats
    high: Floats

    def last(self) -> tuple[float, float, float]:
        """The values at the end of the horizon."""
        return float(self.mean[-1]), float(self.low[-1]), float(self.high[-1])


@dataclass(frozen=True, eq=False)
class AdviceOutcome:
    """Clicks of policies in draws of the fit and in queries, and what follows from them.

    Parameters
    ----------
    policies : tuple of str
        Names of the policies.
    played : Played
        Their clicks.
    weight : ndarray of float
        Share of all traffic that each query stands for.
    is_sample : bool
        Whether the queries are a sample of others.
    models : tuple of str
        The click model of each draw.
    horizon : float
        Number of lists.
    """

    policies: tuple[str, ...]
    played: Played
    weight: Floats
    is_sample: bool
    models: tuple[str, ...]
    horizon: float

    def interval(self, values: Floats) -> CurveInterval:
        """The mean of clicks over draws and queries, and the interval of what will be.

        The draws differ by the uncertainty of the fit, by the doubt between models and by chance in the policy; that a
        query stands for others adds its own error. The interval is that of the logarithm, since clicks are positive,
        and its two sides have deviations of their own: where visitors may change, much more may be gained than is
        expected, but not much less.

        Parameters
        ----------
        values : ndarray of float, shape (draws, queries, fractions)
            Clicks.

        Returns
        -------
        CurveInterval
            A curve.
        """
        mean = self._totals(values).mean(axis=0)
        below, above = self._log_spread(values, np.ones_like(values))
        return CurveInterval(mean, mean * np.exp(-below), mean * np.exp(above))

    def _totals(self, values: Floats) -> Floats:
        """Per draw the mean over queries, by their weight."""
        found: Floats = np.einsum("dqf,q->df", values, self.weight)
        return found

    def _log_spread(self, values: Floats, base: Floats) -> tuple[Floats, Floats]:
        """How far the interval of the logarithm of a ratio goes below and above it."""
        above, below = (np.maximum(self._totals(each), TINY) for each in (values, base))
        count = len(above)
        if count < 2:
            return np.full(values.shape[-1], np.inf), np.full(values.shape[-1], np.inf)
        ratio = np.log(above / below)
        off = ratio - ratio.mean(axis=0)
        more: Floats = np.zeros(values.shape[-1])
        if self.is_sample:
            above, below = above.mean(axis=0), below.mean(axis=0)
            apart = (values.mean(axis=0) - above / below * base.mean(axis=0)) / above
            more = (self.weight[:, None] * apart**2).sum(axis=0) * (self.weight**2).sum()
        quantile = t_quantile(count - 1, CONFIDENCE)
        low, high = (
            quantile * np.sqrt(2.0 * (side**2).sum(axis=0) / (count - 1) + more)
            for side in (np.minimum(off, 0.0), np.maximum(off, 0.0))
        )
        return low, high

    def clicks(self, policy: str) -> CurveInterval:
        """Clicks of a policy up to each fraction, per list of the horizon."""
        return self.interval(self.played.clicks[self.policies.index(policy)])

    def logged(self) -> CurveInterval:
        """Clicks of the ranking in the log."""
        return self.interval(self.played.logged)

    def best(self) -> CurveInterval:
        """Clicks of the best list."""
        return self.interval(self.played.best)

    def gain(self, policy: str) -> CurveInterval:
        """Clicks of a policy beyond those of the logged ranking; the interval is that of their ratio, draw by draw."""
        values, logged = self.played.clicks[self.policies.index(policy)], self.played.logged
        above, base = self._totals(values).mean(axis=0), self._totals(logged).mean(axis=0)
        less, more = self._log_spread(values, logged)
        with np.errstate(over="ignore"):
            return CurveInterval(above - base, above * np.exp(-less) - base, above * np.exp(more) - base)

    def relative_gain(self, policy: str) -> tuple[float, float, float]:
        """The gain at the end as a share of the clicks of the logged ranking, with its interval."""
        base = float(self._totals(self.played.logged).mean(axis=0)[-1])
        mean, low, high = (each / base if base > 0 else 0.0 for each in self.gain(policy).last())
        return mean, low, high

    def ranking(self, upto: int = -1, model: str | None = None) -> list[str]:
        """The policies by mean clicks up to a fraction, the best first; in the draws of one model if named."""
        chosen = [draw for draw, each in enumerate(self.models) if model in (None, each)]
        totals = np.einsum("pdq,q->p", self.played.clicks[..., upto][:, chosen], self.weight)
        return [self.policies[number] for number in np.argsort(-totals, kind="stable")]

    def pays_after(self, policy: str, cautious: bool = False) -> float | None:
        """After how many lists the switch has paid, and stays so; None if not within the horizon.

        Parameters
        ----------
        policy : str
            The policy.
        cautious : bool, default False
            Whether to ask for the lower end of the interval instead of the mean.

        Returns
        -------
        float or None
            A number of lists.
        """
        gain = self.gain(policy)
        return crossing(gain.low if cautious else gain.mean, FRACTIONS * self.horizon)

    def worst_loss(self, policy: str) -> tuple[float, float]:
        """The most clicks that a switch is behind the logged ranking on its way: expected, and by the interval."""
        gain = self.gain(policy)
        return tuple(self.horizon * max(0.0, -float(each.min())) for each in (gain.mean, gain.low))  # type: ignore[return-value]


def crossing(curve: Floats, at: Floats) -> float | None:
    """Where a cumulative curve that begins at 0 becomes positive for good; 0 if it always is.

    >>> crossing(np.array([-1.0, 1.0, 3.0]), np.array([10.0, 20.0, 40.0]))
    15.0
    """
    below = np.flatnonzero(curve <= 0.0)
    if not len(below):
        return 0.0
    last = int(below[-1])
    if last == len(curve) - 1:
        return None
    rise = curve[last + 1] - curve[last]
    return float(at[last] - curve[last] / rise * (at[last + 1] - at[last]))
