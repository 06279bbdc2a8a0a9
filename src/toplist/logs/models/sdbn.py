"""The simplified DBN: after each click the visitor leaves if the item satisfied them."""

from __future__ import annotations

from typing import Any, NamedTuple

from toplist.clicks import DBN
from toplist.core.slate import Floats
from toplist.logs.models.chain import count_chain, curve_chain, expect_chain, predict_chain
from toplist.logs.models.protocol import Coins, CoinSums, Derivatives, ListWorkspace, Row


class SimplifiedDBNModel(NamedTuple):
    """Visitors examine positions from the top, click what attracts them, and leave when a clicked item satisfies them.

    Parameters
    ----------
    exact : bool, default True
        Fit by EM, which maximises the likelihood. False for the published counts: everything up to the last click, and
        nothing below, is taken as examined. They are not consistent: attraction and satisfaction are too high.
    positions : int, default 0
        Length of the longest list; the fit sets it.

    Notes
    -----
    The DBN with persistence 1. Chapelle and Zhang, A Dynamic Bayesian Network Click Model for Web Search Ranking, WWW
    2009, section 5.
    """

    exact: bool = True
    positions: int = 0

    @property
    def name(self) -> str:
        """Name of the model."""
        return "sdbn" if self.exact else "sdbn-counts"

    def coins(self) -> Coins:
        """Attraction and satisfaction of each pair."""
        return Coins(("attraction", "satisfaction"))

    def iterates(self) -> bool:
        """Whether the fit is exact."""
        return self.exact

    def users(self, own: Floats, shared: Floats, positions: int) -> Any:
        """DBN users who never leave unsatisfied."""
        return DBN(own[:, 1], 1.0)

    def chain_chances(self, theta: Floats, row: Row, place: int) -> tuple[float, float, float]:
        """Only satisfaction ends the visit."""
        return theta[2 * row.pairs[place]], 1.0 - theta[2 * row.pairs[place] + 1], 1.0

    def attraction_coin(self, row: Row, place: int) -> int:
        """The attraction of the pair."""
        return 2 * int(row.pairs[place])

    def credit_coins(self, theta: Floats, row: Row, place: int, examined: float, onward: float, sums: CoinSums) -> None:
        """Toss the satisfaction of the item after a click."""
        if row.clicks[place]:
            sums.tosses[2 * row.pairs[place] + 1] += examined
            sums.heads[2 * row.pairs[place] + 1] += examined - onward

    def fill_levers(self, theta: Floats, row: Row, place: int, work: ListWorkspace) -> int:
        """Attraction and satisfaction."""
        work.coin[place, 0], work.coin[place, 1] = 2 * row.pairs[place], 2 * row.pairs[place] + 1
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
