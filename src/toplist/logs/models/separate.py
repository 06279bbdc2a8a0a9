"""What position-based models share: given the clicks above, a click is an examination and an attraction."""

from __future__ import annotations

from math import log
from typing import Any, Protocol

from toplist.core.compiling import helper, protocol
from toplist.core.slate import Floats
from toplist.logs.models.chain import SMALL, TINY
from toplist.logs.models.protocol import CoinSums, Derivatives, Row


@protocol
class HotExamination(Protocol):
    """The examination coin of a position-based model (hot)."""

    def examination_coin(self, place: int, last: int) -> int:
        """The shared coin that decides whether a position is examined, given the last click above it, -1 for none."""
        ...


@helper
def expect_separate(self: Any, theta: Floats, row: Row, sums: CoinSums) -> float:
    """`expect_coins` of a position-based model."""
    heads, tosses = sums
    weight, last = row.weight, -1
    total, chance = 0.0, 1.0
    for place in range(len(row.clicks)):
        look, own = row.shared + self.examination_coin(place, last), row.pairs[place]
        examined, attracted = theta[look], theta[own]
        both = examined * attracted
        silent = max(1.0 - both, TINY)
        scale = weight / silent
        # Without branches: clicks are hard to predict.
        is_clicked = row.clicks[place] > 0
        tosses[look] += weight
        tosses[own] += weight
        heads[look] += weight if is_clicked else scale * (examined - both)
        heads[own] += weight if is_clicked else scale * (attracted - both)
        chance *= both if is_clicked else silent
        last = place if is_clicked else last
        if chance < SMALL:  # one logarithm for many factors
            total += log(max(chance, TINY))
            chance = 1.0
    return (total + log(chance)) * weight


@helper
def curve_separate(self: Any, theta: Floats, row: Row, found: Derivatives) -> int:
    """`fill_derivatives` of a position-based model: a block of two coins per position."""
    coins, slope, bend = found
    count, last = 0, -1
    for place in range(len(row.clicks)):
        look, own = row.shared + self.examination_coin(place, last), row.pairs[place]
        examined, attracted = theta[look], theta[own]
        coins[count], coins[count + 1] = own, look
        for i in range(2):
            for other in range(count + i + 1):
                bend[count + i, other] = 0.0
        if row.clicks[place]:
            slope[count], slope[count + 1] = 1.0 / attracted, 1.0 / examined
            bend[count, count], bend[count + 1, count + 1] = -1.0 / attracted**2, -1.0 / examined**2
            last = place
        else:
            silent = 1.0 - examined * attracted
            slope[count], slope[count + 1] = -examined / silent, -attracted / silent
            bend[count, count], bend[count + 1, count + 1] = -((examined / silent) ** 2), -((attracted / silent) ** 2)
            bend[count + 1, count] = -1.0 / silent**2
        count += 2
    return count
