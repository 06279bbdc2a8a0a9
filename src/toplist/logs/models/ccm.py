"""The click chain model: going on depends on whether the visitor clicked, and on the relevance of the item."""

from __future__ import annotations

from typing import Any, NamedTuple

from toplist.clicks import CCM
from toplist.core.slate import Floats
from toplist.logs.models.chain import TINY, curve_chain, expect_chain, predict_chain
from toplist.logs.models.protocol import Coins, CoinSums, Derivatives, ListWorkspace, Row


class CCMModel(NamedTuple):
    """Visitors click what attracts them, and go on or leave depending on the relevance of what they clicked.

    The relevance of an item is its attraction: after a click, a second coin of the same probability says whether the
    item was relevant to this visitor.

    Parameters
    ----------
    positions : int, default 0
        Length of the longest list; the fit sets it.

    Notes
    -----
    Guo, Liu, Kannan, Minka, Taylor, Wang and Faloutsos, Click Chain Model in Web Search, WWW 2009.
    """

    positions: int = 0

    @property
    def name(self) -> str:
        """Name of the model."""
        return "ccm"

    def coins(self) -> Coins:
        """The attraction of each pair, and three probabilities of going on."""
        after = ("nothing", "an irrelevant item", "a relevant item")
        return Coins(("attraction",), tuple(("continuation", f"after {what}") for what in after))

    def iterates(self) -> bool:
        """True: EM."""
        return True

    def users(self, own: Floats, shared: Floats, positions: int) -> Any:
        """CCM users."""
        return CCM(*(float(each) for each in shared))

    def chain_chances(self, theta: Floats, row: Row, place: int) -> tuple[float, float, float]:
        """Three continuations."""
        relevance, shared = theta[row.pairs[place]], row.shared
        after_click = theta[shared + 1] * (1.0 - relevance) + theta[shared + 2] * relevance
        return relevance, after_click, theta[shared]

    def attraction_coin(self, row: Row, place: int) -> int:
        """The attraction of the pair."""
        return int(row.pairs[place])

    def credit_coins(self, theta: Floats, row: Row, place: int, examined: float, onward: float, sums: CoinSums) -> None:
        """Toss a continuation, after a click the relevance first."""
        heads, tosses = sums
        coin, shared = row.pairs[place], row.shared
        if row.clicks[place]:
            relevance, irrelevant_on, relevant_on = theta[coin], theta[shared + 1], theta[shared + 2]
            on = irrelevant_on * (1.0 - relevance) + relevant_on * relevance
            left = examined - onward
            relevant_onward = onward * relevant_on * relevance / max(on, TINY)
            relevant = relevant_onward + left * (1.0 - relevant_on) * relevance / max(1.0 - on, TINY)
            tosses[coin] += examined
            heads[coin] += relevant
            tosses[shared + 1] += examined - relevant
            heads[shared + 1] += onward - relevant_onward
            tosses[shared + 2] += relevant
            heads[shared + 2] += relevant_onward
        else:
            tosses[shared] += examined
            heads[shared] += onward

    def fill_levers(self, theta: Floats, row: Row, place: int, work: ListWorkspace) -> int:
        """Attraction and the three continuations."""
        shared = row.shared
        relevance = theta[row.pairs[place]]
        work.coin[place, 0] = row.pairs[place]
        for after in range(3):
            work.coin[place, 1 + after] = shared + after
        work.by_skip[place, 1] = 1.0
        work.by_click[place, 0] = theta[shared + 2] - theta[shared + 1]
        work.by_click[place, 2], work.by_click[place, 3] = 1.0 - relevance, relevance
        work.twist[place, 2, 0], work.twist[place, 3, 0] = -1.0, 1.0
        return 4

    def expect_coins(self, theta: Floats, row: Row, sums: CoinSums, work: ListWorkspace) -> float:
        """Expected coins."""
        return expect_chain(self, theta, row, sums, work)

    def fill_derivatives(self, theta: Floats, row: Row, found: Derivatives, work: ListWorkspace) -> int:
        """Derivatives of the likelihood."""
        return curve_chain(self, theta, row, found, work)

    def predict_clicks(self, theta: Floats, row: Row, given: Floats, marginal: Floats, work: ListWorkspace) -> None:
        """Probabilities of clicks."""
        predict_chain(self, theta, row, given, marginal, work)
