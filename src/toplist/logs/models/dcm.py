"""The dependent click model: after each click the visitor leaves with a probability of the position."""

from __future__ import annotations

from typing import Any, NamedTuple

from toplist.clicks import DCM
from toplist.core.slate import Floats
from toplist.logs.models.chain import count_chain, curve_chain, expect_chain, predict_chain
from toplist.logs.models.protocol import Coins, CoinSums, Derivatives, ListWorkspace, Row


class DCMModel(NamedTuple):
    """Visitors examine positions from the top, click what attracts them, and may leave after each click.

    The termination of the last position is not identified: nothing follows it.

    Parameters
    ----------
    exact : bool, default True
        Fit by EM, which maximises the likelihood. False for the published counts: everything up to the last click, and
        nothing below, is taken as examined. They are not consistent: attraction and termination are too high.
    positions : int, default 0
        Length of the longest list; the fit sets it.

    Notes
    -----
    Guo, Liu and Wang, Efficient Multiple-Click Models in Web Search, WSDM 2009.
    """

    exact: bool = True
    positions: int = 0

    @property
    def name(self) -> str:
        """Name of the model."""
        return "dcm" if self.exact else "dcm-counts"

    def coins(self) -> Coins:
        """The attraction of each pair, and the termination by position."""
        return Coins(("attraction",), tuple(("termination", str(place + 1)) for place in range(self.positions)))

    def iterates(self) -> bool:
        """Whether the fit is exact."""
        return self.exact

    def users(self, own: Floats, shared: Floats, positions: int) -> Any:
        """DCM users."""
        return DCM(shared[:positions])

    def chain_chances(self, theta: Floats, row: Row, place: int) -> tuple[float, float, float]:
        """Only a click can end the visit."""
        return theta[row.pairs[place]], 1.0 - theta[row.shared + place], 1.0

    def attraction_coin(self, row: Row, place: int) -> int:
        """The attraction of the pair."""
        return int(row.pairs[place])

    def credit_coins(self, theta: Floats, row: Row, place: int, examined: float, onward: float, sums: CoinSums) -> None:
        """Toss the termination of the position after a click, unless it is the last of all lists."""
        if row.clicks[place] and place < self.positions - 1:
            sums.tosses[row.shared + place] += examined
            sums.heads[row.shared + place] += examined - onward

    def fill_levers(self, theta: Floats, row: Row, place: int, work: ListWorkspace) -> int:
        """Attraction and termination."""
        work.coin[place, 0], work.coin[place, 1] = row.pairs[place], row.shared + place
        work.by_click[place, 1] = -1.0
        return 2

    def expect_coins(self, theta: Floats, row: Row, sums: CoinSums, work: ListWorkspace) -> float:
        """Expected coins, or the published counts."""
        if self.exact:
            return expect_chain(self, theta, row, sums, work)
        return count_chain(self, theta, row, sums, work)

    def fill_derivatives(self, theta: Floats, row: Row, found: Derivatives, work: ListWorkspace) -> int:
        """Derivatives of the likelihood."""
        return curve_chain(self, theta, row, found, work)

    def predict_clicks(self, theta: Floats, row: Row, given: Floats, marginal: Floats, work: ListWorkspace) -> None:
        """Probabilities of clicks."""
        predict_chain(self, theta, row, given, marginal, work)
