"""The future of a log that breaks: when visitors change again, and what items become then.

Nobody knows what comes, but the log shows how often it breaks and how far items move. So each draw has a future of its
own: epochs as long as in the log on average, between which as large a share of the items moves, about as far. The
visitors of the log do not come back: a ranking that suited them would look better than it will be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toplist.advice.drift import Drift, logit
from toplist.advice.query_worlds import QueryPlan
from toplist.core.slate import Floats

MOST_STATES = 40  # different ones of the items of a query; a longer future goes through them again


class Futures(NamedTuple):
    """Draws the future of queries.

    Parameters
    ----------
    drift : Drift
        How the log moved.
    lists : float
        Number of lists of the log.
    horizon : float
        Number of lists of the future, of all queries together.
    seed : int
        Seed of the draws.

    Examples
    --------
    >>> still = Futures(Drift((), {}, 0), 1000.0, 1000.0, 0)
    >>> still.breaks(draw=0)
    array([], dtype=float64)
    """

    drift: Drift
    lists: float
    horizon: float
    seed: int

    def expected_breaks(self) -> float:
        """How often visitors change within the horizon on average: epochs are as long as in the log."""
        return (len(self.drift.breaks) + 1) * self.horizon / self.lists if self.drift.breaks else 0.0

    def breaks(self, draw: int) -> Floats:
        """When visitors change in a draw, as shares of the horizon: for all queries at the same time."""
        if not self.drift.breaks:
            return np.zeros(0)
        random = np.random.default_rng([self.seed, 3, draw])
        rate = random.gamma(len(self.drift.breaks) + 1.0) / self.lists
        return np.sort(random.random(random.poisson(rate * self.horizon)))

    def plan(self, plan: QueryPlan, draw: int) -> QueryPlan:
        """The plan of a query with its future in a draw; the same plan for a log without breaks.

        Parameters
        ----------
        plan : QueryPlan
            The query as it is now.
        draw : int
            Number of the draw.

        Returns
        -------
        QueryPlan
            Its epochs, and the attraction of its items in each.
        """
        if not self.drift.breaks:
            return plan
        random = np.random.default_rng([self.seed, 4, draw, plan.query])
        breaks = self.breaks(draw)
        states = [plan.shifts[0] + plan.doubt * random.standard_normal(len(plan.doubt))]
        level = logit(plan.mean) - plan.shifts[0]
        for _ in range(min(len(breaks), MOST_STATES - 1)):
            states.append(states[-1] + self._steps(level + states[-1], random))
        sizes = np.diff([0.0, *breaks, 1.0]) * plan.horizon
        epochs = tuple((place % len(states), max(float(size), 1e-6)) for place, size in enumerate(sizes))
        return plan._replace(epochs=epochs, shifts=np.array(states))

    def _steps(self, level: Floats, random: np.random.Generator) -> Floats:
        """A step for each item: 0, or to a level that depends on its own as far as that of the items that moved did."""
        before, after = self.drift.steps[:, 0], self.drift.steps.sum(axis=1)
        has_moved = self.drift.steps[:, 1] != 0.0
        steps: Floats = np.zeros(len(level))
        moves = random.random(len(level)) < has_moved.mean()
        if not moves.any():
            return steps
        # Steps are in both directions, so that both sides have the same mean and variance.
        before, after = before[has_moved], after[has_moved]
        middle, spread = before.mean(), before.var()
        kept = float(np.clip(np.mean((before - middle) * (after - middle)) / spread, 0.0, 1.0)) if spread > 0.0 else 1.0
        rest = after - middle - kept * (before - middle)
        drawn = middle + kept * (level[moves] - middle) + random.choice(rest, int(moves.sum()))
        steps[moves] = drawn - level[moves]
        return steps
