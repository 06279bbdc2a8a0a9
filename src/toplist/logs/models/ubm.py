"""The user browsing model: examination depends on the position and on that of the last click above."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.clicks import UBM
from toplist.core.slate import Floats
from toplist.logs.models.protocol import Coins, CoinSums, Derivatives, ListWorkspace, Row
from toplist.logs.models.separate import curve_separate, expect_separate


class UBMModel(NamedTuple):
    """Visitors examine a position depending on where they clicked last, and click what attracts them.

    Examination is relative to the first position, whose probability is 1 by convention.

    Parameters
    ----------
    positions : int, default 0
        Length of the longest list; the fit sets it.

    Notes
    -----
    Dupret and Piwowarski, A User Browsing Model to Predict Search Engine Click Data from Past Observations, SIGIR 2008.
    """

    positions: int = 0

    @property
    def name(self) -> str:
        """Name of the model."""
        return "ubm"

    def coins(self) -> Coins:
        """The attraction of each pair, and an examination for each position and last click above it."""
        shared = tuple(
            ("examination", f"{place + 1} after {last}" if last else f"{place + 1} without clicks")
            for place in range(self.positions)
            for last in range(place + 1)
        )
        return Coins(("attraction",), shared, fixed=(0,))

    def iterates(self) -> bool:
        """True: EM."""
        return True

    def users(self, own: Floats, shared: Floats, positions: int) -> Any:
        """UBM users; their table has no click above in the last column."""
        table = np.zeros((positions, positions))
        for place in range(positions):
            for last in range(place):
                table[place, last] = shared[self.examination_coin(place, last)]
            table[place, -1] = shared[self.examination_coin(place, -1)]
        return UBM(table)

    def examination_coin(self, place: int, last: int) -> int:
        """The coin of the position and the last click: a triangle, row by row, no click first."""
        return place * (place + 1) // 2 + last + 1

    def predict_clicks(self, theta: Floats, row: Row, given: Floats, marginal: Floats, work: ListWorkspace) -> None:
        """The marginal probability follows from the distribution of the last click above."""
        last = -1
        work.reach[0] = 1.0  # per place of the last click, from none on
        for place in range(len(row.clicks)):
            attracted = theta[row.pairs[place]]
            given[place] = theta[row.shared + self.examination_coin(place, last)] * attracted
            clicked = 0.0
            for above in range(place + 1):
                here = work.reach[above] * theta[row.shared + self.examination_coin(place, above - 1)] * attracted
                work.reach[above] -= here
                clicked += here
            work.reach[place + 1] = clicked
            marginal[place] = clicked
            if row.clicks[place]:
                last = place

    def expect_coins(self, theta: Floats, row: Row, sums: CoinSums, work: ListWorkspace) -> float:
        """Expected coins."""
        return expect_separate(self, theta, row, sums)

    def fill_derivatives(self, theta: Floats, row: Row, found: Derivatives, work: ListWorkspace) -> int:
        """Derivatives of the likelihood."""
        return curve_separate(self, theta, row, found)
