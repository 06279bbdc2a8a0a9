"""The cascade model: one click, on the first attractive item."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

from toplist.clicks import Cascade
from toplist.core.slate import Floats
from toplist.logs.models.chain import TINY
from toplist.logs.models.protocol import Coins, CoinSums, Derivatives, ListWorkspace, Row


class CascadeModel(NamedTuple):
    """Visitors examine positions from the top, click the first item that attracts them, and leave.

    Lists with several clicks have probability 0; the fit uses every list up to its first click, in closed form.

    Parameters
    ----------
    positions : int, default 0
        Length of the longest list; the fit sets it.

    Notes
    -----
    Craswell, Zoeter, Taylor and Ramsey, An Experimental Comparison of Click Position-Bias Models, WSDM 2008.
    """

    positions: int = 0

    @property
    def name(self) -> str:
        """Name of the model."""
        return "cascade"

    def coins(self) -> Coins:
        """The attraction of each pair."""
        return Coins(("attraction",))

    def iterates(self) -> bool:
        """False: closed form."""
        return False

    def users(self, own: Floats, shared: Floats, positions: int) -> Any:
        """Cascade users."""
        return Cascade()

    def expect_coins(self, theta: Floats, row: Row, sums: CoinSums, work: ListWorkspace) -> float:
        """Everything up to the first click was examined."""
        total = 0.0
        for place in range(len(row.pairs)):
            coin = row.pairs[place]
            sums.tosses[coin] += row.weight
            if row.clicks[place]:
                sums.heads[coin] += row.weight
                return row.weight * (total + log(max(theta[coin], TINY)))
            total += log(max(1.0 - theta[coin], TINY))
        return row.weight * total

    def fill_derivatives(self, theta: Floats, row: Row, found: Derivatives, work: ListWorkspace) -> int:
        """Separate terms, up to the first click."""
        for place in range(len(row.pairs)):
            coin = row.pairs[place]
            chance = theta[coin] if row.clicks[place] else theta[coin] - 1.0
            found.coins[place] = coin
            found.slope[place] = 1.0 / chance
            for other in range(place):
                found.bend[place, other] = 0.0
            found.bend[place, place] = -1.0 / chance**2
            if row.clicks[place]:
                return place + 1
        return len(row.pairs)

    def predict_clicks(self, theta: Floats, row: Row, given: Floats, marginal: Floats, work: ListWorkspace) -> None:
        """After a click, no other."""
        here, here_anyhow = 1.0, 1.0
        for place in range(len(row.pairs)):
            attracted = theta[row.pairs[place]]
            given[place], marginal[place] = here * attracted, here_anyhow * attracted
            here_anyhow *= 1.0 - attracted
            if row.clicks[place]:
                here = 0.0
