"""Click-through rates as click models: the same for all, by position, by item, or by item and position."""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple, Protocol

from toplist.clicks import PBM
from toplist.core.compiling import helper, protocol
from toplist.core.problem import InvalidInput
from toplist.core.slate import Floats
from toplist.logs.models.chain import TINY
from toplist.logs.models.protocol import Coins, CoinSums, Derivatives, ListWorkspace, Row


@protocol
class HotRate(Protocol):
    """The only coin of a click-through rate (hot)."""

    def rate_coin(self, row: Row, place: int) -> int:
        """The coin that decides about a click at a position."""
        ...


@helper
def expect_rate(self: Any, theta: Floats, row: Row, sums: CoinSums) -> float:
    """`expect_coins` of a click-through rate."""
    total = 0.0
    for place in range(len(row.clicks)):
        coin = self.rate_coin(row, place)
        sums.tosses[coin] += row.weight
        sums.heads[coin] += row.weight * row.clicks[place]
        total += log(max(theta[coin] if row.clicks[place] else 1.0 - theta[coin], TINY))
    return total * row.weight


@helper
def curve_rate(self: Any, theta: Floats, row: Row, found: Derivatives) -> int:
    """`fill_derivatives` of a click-through rate."""
    for place in range(len(row.clicks)):
        coin = self.rate_coin(row, place)
        chance = theta[coin] if row.clicks[place] else theta[coin] - 1.0
        found.coins[place] = coin
        found.slope[place] = 1.0 / chance
        for other in range(place):
            found.bend[place, other] = 0.0
        found.bend[place, place] = -1.0 / chance**2
    return len(row.clicks)


@helper
def predict_rate(self: Any, theta: Floats, row: Row, given: Floats, marginal: Floats) -> None:
    """`predict_clicks` of a click-through rate."""
    for place in range(len(row.clicks)):
        given[place] = marginal[place] = theta[self.rate_coin(row, place)]


class GlobalRate(NamedTuple):
    """One click-through rate for everything.

    Parameters
    ----------
    positions : int, default 0
        Length of the longest list; the fit sets it.
    """

    positions: int = 0

    @property
    def name(self) -> str:
        """Name of the model."""
        return "global-ctr"

    def coins(self) -> Coins:
        """One rate."""
        return Coins((), (("rate", ""),))

    def iterates(self) -> bool:
        """False: closed form."""
        return False

    def users(self, own: Floats, shared: Floats, positions: int) -> Any:
        """PBM users of items that always attract."""
        return PBM(float(shared[0]))

    def rate_coin(self, row: Row, place: int) -> int:
        """The only coin."""
        return row.shared

    def expect_coins(self, theta: Floats, row: Row, sums: CoinSums, work: ListWorkspace) -> float:
        """Expected coins."""
        return expect_rate(self, theta, row, sums)

    def fill_derivatives(self, theta: Floats, row: Row, found: Derivatives, work: ListWorkspace) -> int:
        """Derivatives of the likelihood."""
        return curve_rate(self, theta, row, found)

    def predict_clicks(self, theta: Floats, row: Row, given: Floats, marginal: Floats, work: ListWorkspace) -> None:
        """Probabilities of clicks."""
        predict_rate(self, theta, row, given, marginal)


class PositionRate(NamedTuple):
    """A click-through rate for each position.

    Parameters
    ----------
    positions : int, default 0
        Length of the longest list; the fit sets it.
    """

    positions: int = 0

    @property
    def name(self) -> str:
        """Name of the model."""
        return "position-ctr"

    def coins(self) -> Coins:
        """A rate by position."""
        return Coins((), tuple(("rate", str(place + 1)) for place in range(self.positions)))

    def iterates(self) -> bool:
        """False: closed form."""
        return False

    def users(self, own: Floats, shared: Floats, positions: int) -> Any:
        """PBM users of items that always attract."""
        return PBM(shared[:positions])

    def rate_coin(self, row: Row, place: int) -> int:
        """The coin of the position."""
        return row.shared + place

    def expect_coins(self, theta: Floats, row: Row, sums: CoinSums, work: ListWorkspace) -> float:
        """Expected coins."""
        return expect_rate(self, theta, row, sums)

    def fill_derivatives(self, theta: Floats, row: Row, found: Derivatives, work: ListWorkspace) -> int:
        """Derivatives of the likelihood."""
        return curve_rate(self, theta, row, found)

    def predict_clicks(self, theta: Floats, row: Row, given: Floats, marginal: Floats, work: ListWorkspace) -> None:
        """Probabilities of clicks."""
        predict_rate(self, theta, row, given, marginal)


class ItemRate(NamedTuple):
    """A click-through rate for each item of a query.

    Parameters
    ----------
    positions : int, default 0
        Length of the longest list; the fit sets it.
    """

    positions: int = 0

    @property
    def name(self) -> str:
        """Name of the model."""
        return "item-ctr"

    def coins(self) -> Coins:
        """A rate of each pair."""
        return Coins(("rate",))

    def iterates(self) -> bool:
        """False: closed form."""
        return False

    def users(self, own: Floats, shared: Floats, positions: int) -> Any:
        """PBM users who examine everything."""
        return PBM(1.0)

    def rate_coin(self, row: Row, place: int) -> int:
        """The coin of the pair."""
        return int(row.pairs[place])

    def expect_coins(self, theta: Floats, row: Row, sums: CoinSums, work: ListWorkspace) -> float:
        """Expected coins."""
        return expect_rate(self, theta, row, sums)

    def fill_derivatives(self, theta: Floats, row: Row, found: Derivatives, work: ListWorkspace) -> int:
        """Derivatives of the likelihood."""
        return curve_rate(self, theta, row, found)

    def predict_clicks(self, theta: Floats, row: Row, given: Floats, marginal: Floats, work: ListWorkspace) -> None:
        """Probabilities of clicks."""
        predict_rate(self, theta, row, given, marginal)


class ItemPositionRate(NamedTuple):
    """A click-through rate for each item of a query at each position.

    Parameters
    ----------
    positions : int, default 0
        Length of the longest list; the fit sets it.
    """

    positions: int = 0

    @property
    def name(self) -> str:
        """Name of the model."""
        return "item-position-ctr"

    def coins(self) -> Coins:
        """A rate of each pair by position."""
        return Coins(tuple(f"rate at {place + 1}" for place in range(self.positions)))

    def iterates(self) -> bool:
        """False: closed form."""
        return False

    def users(self, own: Floats, shared: Floats, positions: int) -> Any:
        """None: no users of the simulator have a rate of their own for each item at each position."""
        raise InvalidInput(
            "item-position-ctr has no users: its rate of an item at a position is not examination times attraction; "
            "fit a model that has them, such as 'pbm' or 'item-ctr'."
        )

    def rate_coin(self, row: Row, place: int) -> int:
        """The coin of the pair and position."""
        return int(row.pairs[place]) * self.positions + place

    def expect_coins(self, theta: Floats, row: Row, sums: CoinSums, work: ListWorkspace) -> float:
        """Expected coins."""
        return expect_rate(self, theta, row, sums)

    def fill_derivatives(self, theta: Floats, row: Row, found: Derivatives, work: ListWorkspace) -> int:
        """Derivatives of the likelihood."""
        return curve_rate(self, theta, row, found)

    def predict_clicks(self, theta: Floats, row: Row, given: Floats, marginal: Floats, work: ListWorkspace) -> None:
        """Probabilities of clicks."""
        predict_rate(self, theta, row, given, marginal)
