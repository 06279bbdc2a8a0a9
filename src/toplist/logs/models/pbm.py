"""The position-based model: whether a position is examined depends on the position alone."""

from __future__ import annotations

from typing import Any, NamedTuple

from toplist.clicks import PBM
from toplist.core.slate import Floats
from toplist.logs.models.protocol import Coins, CoinSums, Derivatives, ListWorkspace, Row
from toplist.logs.models.separate import curve_separate, expect_separate


class PBMModel(NamedTuple):
    """Visitors examine each position with its own probability, and click what attracts them there.

    Examination is relative to the first position, whose probability is 1 by convention.

    Parameters
    ----------
    positions : int, default 0
        Length of the longest list; the fit sets it.

    Notes
    -----
    Richardson, Dominowska and Ragno, Predicting Clicks: Estimating the Click-Through Rate for New Ads, WWW 2007.
    """

    positions: int = 0

    @property
    def name(self) -> str:
        """Name of the model."""
        return "pbm"

    def coins(self) -> Coins:
        """The attraction of each pair, and the examination of each position."""
        shared = tuple(("examination", str(place + 1)) for place in range(self.positions))
        return Coins(("attraction",), shared, fixed=(0,))

    def iterates(self) -> bool:
        """True: EM."""
        return True

    def users(self, own: Floats, shared: Floats, positions: int) -> Any:
        """PBM users."""
        return PBM(shared[:positions])

    def examination_coin(self, place: int, last: int) -> int:
        """The coin of the position."""
        return place

    def predict_clicks(self, theta: Floats, row: Row, given: Floats, marginal: Floats, work: ListWorkspace) -> None:
        """Positions are independent."""
        for place in range(len(row.clicks)):
            given[place] = marginal[place] = theta[row.shared + place] * theta[row.pairs[place]]

    def expect_coins(self, theta: Floats, row: Row, sums: CoinSums, work: ListWorkspace) -> float:
        """Expected coins."""
        return expect_separate(self, theta, row, sums)

    def fill_derivatives(self, theta: Floats, row: Row, found: Derivatives, work: ListWorkspace) -> int:
        """Derivatives of the likelihood."""
        return curve_separate(self, theta, row, found)
