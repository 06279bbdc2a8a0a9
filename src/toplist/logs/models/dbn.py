"""The dynamic Bayesian network model: attraction, satisfaction with a clicked item, and persistence."""

from __future__ import annotations

from typing import Any, NamedTuple

from toplist.clicks import DBN
from toplist.core.slate import Floats
from toplist.logs.models.chain import TINY, curve_chain, expect_chain, predict_chain
from toplist.logs.models.protocol import Coins, CoinSums, Derivatives, ListWorkspace, Row


class DBNModel(NamedTuple):
    """Visitors leave when a clicked item satisfies them, and otherwise go on with a probability, clicked or not.

    Parameters
    ----------
    positions : int, default 0
        Length of the longest list; the fit sets it.

    Notes
    -----
    Chapelle and Zhang, A Dynamic Bayesian Network Click Model for Web Search Ranking, WWW 2009.
    """

    positions: int = 0

    @property
    def name(self) -> str:
        """Name of the model."""
        return "dbn"

    def coins(self) -> Coins:
        """Attraction and satisfaction of each pair, and the persistence."""
        return Coins(("attraction", "satisfaction"), (("persistence", ""),))

    def iterates(self) -> bool:
        """True: EM."""
        return True

    def users(self, own: Floats, shared: Floats, positions: int) -> Any:
        """DBN users."""
        return DBN(own[:, 1], float(shared[0]))

    def chain_chances(self, theta: Floats, row: Row, place: int) -> tuple[float, float, float]:
        """Persistence ends the visit of the unsatisfied."""
        attraction, satisfaction = theta[2 * row.pairs[place]], theta[2 * row.pairs[place] + 1]
        persistence = theta[row.shared]
        return attraction, (1.0 - satisfaction) * persistence, persistence

    def attraction_coin(self, row: Row, place: int) -> int:
        """The attraction of the pair."""
        return 2 * int(row.pairs[place])

    def credit_coins(self, theta: Floats, row: Row, place: int, examined: float, onward: float, sums: CoinSums) -> None:
        """Toss the satisfaction after a click, and the persistence of the unsatisfied."""
        unsatisfied = examined
        if row.clicks[place]:
            coin = 2 * row.pairs[place] + 1
            satisfaction, persistence = theta[coin], theta[row.shared]
            sums.tosses[coin] += examined
            if onward < examined:  # of those who left, some were satisfied
                left = 1.0 - (1.0 - satisfaction) * persistence
                satisfied = (examined - onward) * satisfaction / max(left, TINY)
                sums.heads[coin] += satisfied
                unsatisfied -= satisfied
        sums.tosses[row.shared] += unsatisfied
        sums.heads[row.shared] += onward

    def fill_levers(self, theta: Floats, row: Row, place: int, work: ListWorkspace) -> int:
        """Attraction, satisfaction and persistence."""
        coin = 2 * row.pairs[place]
        satisfaction, persistence = theta[coin + 1], theta[row.shared]
        work.coin[place, 0], work.coin[place, 1], work.coin[place, 2] = coin, coin + 1, row.shared
        work.by_click[place, 1], work.by_click[place, 2] = -persistence, 1.0 - satisfaction
        work.by_skip[place, 2] = 1.0
        work.twist[place, 2, 1] = -1.0
        return 3

    def expect_coins(self, theta: Floats, row: Row, sums: CoinSums, work: ListWorkspace) -> float:
        """Expected coins."""
        return expect_chain(self, theta, row, sums, work)

    def fill_derivatives(self, theta: Floats, row: Row, found: Derivatives, work: ListWorkspace) -> int:
        """Derivatives of the likelihood."""
        return curve_chain(self, theta, row, found, work)

    def predict_clicks(self, theta: Floats, row: Row, given: Floats, marginal: Floats, work: ListWorkspace) -> None:
        """Probabilities of clicks."""
        predict_chain(self, theta, row, given, marginal, work)
