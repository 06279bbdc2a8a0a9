"""What cascade-like models share: visitors examine positions from the top, and go on or leave after each.

A model gives three probabilities per position: of a click if it is examined, of going on after a click, and of going on
without one. Everything up to the last click was examined. Below it, the visitor left at some position, or saw the rest
and clicked nothing.
"""

from __future__ import annotations

from math import log
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from toplist.core.compiling import helper, protocol
from toplist.core.slate import Floats
from toplist.logs.models.protocol import CoinSums, Derivatives, ListWorkspace, Row

TINY = 1e-300  # below every probability that occurs; keeps logarithms finite
SMALL = 1e-150  # of a product of probabilities: a product of two is not yet 0


@protocol
class HotChain(Protocol):
    """The coins of a cascade-like model (hot)."""

    def chain_chances(self, theta: Floats, row: Row, place: int) -> tuple[float, float, float]:
        """Probability of a click if examined, and of going on after a click and without one."""
        ...

    def credit_coins(self, theta: Floats, row: Row, place: int, examined: float, onward: float, sums: CoinSums) -> None:
        """Add the coins that decide about going on from a position, of the visitors who examined it and went on."""

    def attraction_coin(self, row: Row, place: int) -> int:
        """The coin that decides about a click."""
        ...

    def fill_levers(self, theta: Floats, row: Row, place: int, work: ListWorkspace) -> int:
        """Fill the coins of a position, the attraction first, and the derivatives of going on; returns their number."""
        ...


@helper
def last_click(clicks: NDArray[np.uint8]) -> int:
    """The lowest clicked position, from 0; -1 without clicks."""
    last = -1
    for place in range(len(clicks)):
        if clicks[place]:
            last = place
    return last


@helper
def fill_chain(self: Any, theta: Floats, row: Row, work: ListWorkspace) -> None:
    """Fill the three probabilities per position; after the last position nothing is decided."""
    end = len(row.pairs) - 1
    for place in range(len(row.pairs)):
        attracted, clicked_on, skipped_on = self.chain_chances(theta, row, place)
        work.attracted[place] = attracted
        work.clicked_on[place] = clicked_on if place < end else 0.0
        work.skipped_on[place] = skipped_on if place < end else 0.0


@helper
def fill_silence(last: int, size: int, work: ListWorkspace) -> None:
    """Fill the probability of no click from each position below the last click on, if it is examined."""
    work.silence[size] = 1.0
    for place in range(size - 1, last, -1):
        onward = work.skipped_on[place]
        below = (1.0 - onward) + onward * work.silence[place + 1]
        work.silence[place] = (1.0 - work.attracted[place]) * below


@helper
def log_chance(clicks: NDArray[np.uint8], last: int, work: ListWorkspace) -> float:
    """Logarithm of the probability of the clicks, after `fill_chain` and `fill_silence`."""
    total, chance = 0.0, 1.0
    for place in range(last + 1):
        if clicks[place]:
            chance *= work.attracted[place] * (work.clicked_on[place] if place < last else 1.0)
        else:
            chance *= (1.0 - work.attracted[place]) * work.skipped_on[place]
        if chance < SMALL:  # one logarithm for many factors
            total += log(max(chance, TINY))
            chance = 1.0
    if last < 0:
        chance = work.silence[0]
    elif last < len(clicks) - 1:
        going = work.clicked_on[last]
        chance *= max((1.0 - going) + going * work.silence[last + 1], TINY)
    return total + log(max(chance, TINY))


@helper
def expect_chain(self: Any, theta: Floats, row: Row, sums: CoinSums, work: ListWorkspace) -> float:
    """`expect_coins` of a cascade-like model."""
    clicks, weight = row.clicks, row.weight
    heads, tosses = sums
    size, last = len(clicks), last_click(clicks)
    fill_chain(self, theta, row, work)
    fill_silence(last, size, work)
    for place in range(last + 1):
        coin = self.attraction_coin(row, place)
        tosses[coin] += weight
        if clicks[place]:
            heads[coin] += weight
        if place < last:
            self.credit_coins(theta, row, place, weight, weight, sums)
    if last < size - 1:
        # The probability of a position and of silence from it on, over that of all silence: one division for all.
        reach = work.clicked_on[last] if last >= 0 else 1.0
        silent = max((1.0 - reach) + reach * work.silence[last + 1], TINY)
        scale = weight / silent
        examined = scale * reach * work.silence[last + 1]
        if last >= 0:
            self.credit_coins(theta, row, last, weight, examined, sums)
        for place in range(last + 1, size):
            tosses[self.attraction_coin(row, place)] += examined
            if place < size - 1:
                reach *= (1.0 - work.attracted[place]) * work.skipped_on[place]
                onward = scale * reach * work.silence[place + 1]
                self.credit_coins(theta, row, place, examined, onward, sums)
                examined = onward
    return log_chance(clicks, last, work) * weight


@helper
def count_chain(self: Any, theta: Floats, row: Row, sums: CoinSums, work: ListWorkspace) -> float:
    """`expect_coins` by the published counts: everything up to the last click was examined, and nothing below."""
    last, weight = last_click(row.clicks), row.weight
    for place in range(last + 1 if last >= 0 else len(row.clicks)):
        coin = self.attraction_coin(row, place)
        sums.tosses[coin] += weight
        if row.clicks[place]:
            sums.heads[coin] += weight
            self.credit_coins(theta, row, place, weight, weight if place < last else 0.0, sums)
    fill_chain(self, theta, row, work)
    fill_silence(last, len(row.clicks), work)
    return log_chance(row.clicks, last, work) * weight


@helper
def predict_chain(self: Any, theta: Floats, row: Row, given: Floats, marginal: Floats, work: ListWorkspace) -> None:
    """`predict_clicks` of a cascade-like model."""
    fill_chain(self, theta, row, work)
    examined, examined_anyhow = 1.0, 1.0
    for place in range(len(row.clicks)):
        attracted = work.attracted[place]
        given[place], marginal[place] = examined * attracted, examined_anyhow * attracted
        if row.clicks[place]:
            examined = work.clicked_on[place]
        else:
            examined *= (1.0 - attracted) * work.skipped_on[place] / max(1.0 - given[place], TINY)
        examined_anyhow *= attracted * work.clicked_on[place] + (1.0 - attracted) * work.skipped_on[place]


@helper
def ratio(part: float, whole: float) -> float:
    """A derivative of a probability divided by it; at 0 only coins at 0 or 1 have one, and those are left out."""
    return part / whole if whole > 0 else 0.0


@helper
def curve_chain(self: Any, theta: Floats, row: Row, found: Derivatives, work: ListWorkspace) -> int:
    """`fill_derivatives` of a cascade-like model.

    Up to the last click the probability is a product over positions. Below, it is the probability Q of silence, which
    is linear in every coin, so that its derivatives follow from the probability of reaching each position: for coins i
    above j, d2Q/didj = dQ/dj * d(log reach)/di.
    """
    coins, slope, bend = found
    clicks = row.clicks
    size, last = len(clicks), last_click(clicks)
    fill_chain(self, theta, row, work)
    fill_silence(last, size, work)
    count = 0
    for place in range(size):
        used = self.fill_levers(theta, row, place, work)
        work.used[place] = used if place < size - 1 else 1  # after the last position nothing is decided
        for i in range(work.used[place]):
            coins[count] = work.coin[place, i]
            slope[count] = 0.0
            for other in range(count + 1):
                bend[count, other] = 0.0
            count += 1
    # Positions whose examination and continuation are certain: separate terms.
    first = 0
    for place in range(last + 1):
        used, attracted = work.used[place], work.attracted[place]
        onward = work.clicked_on[place] if clicks[place] else work.skipped_on[place]
        if clicks[place]:
            slope[first] += 1.0 / attracted
            bend[first, first] -= 1.0 / attracted**2
        else:
            slope[first] -= 1.0 / (1.0 - attracted)
            bend[first, first] -= 1.0 / (1.0 - attracted) ** 2
        if place < last:
            by_coin = work.by_click[place] if clicks[place] else work.by_skip[place]
            for i in range(used):
                slope[first + i] += by_coin[i] / onward
                for j in range(i + 1):
                    twist = work.twist[place, i, j] if clicks[place] else 0.0
                    bend[first + i, first + j] += twist / onward - by_coin[i] * by_coin[j] / onward**2
            first += used
    if last == size - 1:
        return count
    # From the last click on: the silence.
    top = max(last, 0)
    going = work.clicked_on[last] if last >= 0 else 1.0
    silent = (1.0 - going) + going * work.silence[last + 1] if last >= 0 else work.silence[0]
    reach = 1.0
    for place in range(top, size):
        attracted, onward = work.attracted[place], work.skipped_on[place]
        gain = work.silence[place + 1] - 1.0
        work.reach[place] = reach
        for i in range(work.used[place]):
            if place == last:
                work.tail[place, i] = work.by_click[place, i] * gain
                work.pull[place, i] = ratio(work.by_click[place, i], going)
            else:
                leaving = 1.0 + onward * gain if i == 0 else 0.0
                by_skip = work.by_skip[place, i] if place < size - 1 else 0.0
                work.tail[place, i] = reach * ((1.0 - attracted) * by_skip * gain - leaving)
                if place < size - 1:
                    work.pull[place, i] = ratio(by_skip, onward) - (ratio(1.0, 1.0 - attracted) if i == 0 else 0.0)
        reach *= going if place == last else (1.0 - attracted) * onward
    line = first
    for place in range(top, size):
        gain = work.silence[place + 1] - 1.0
        column = first
        for above in range(top, place + 1):
            for i in range(work.used[place]):
                for j in range(i + 1 if above == place else work.used[above]):
                    second = 0.0
                    if above < place:
                        second = work.tail[place, i] * work.pull[above, j]
                    elif place == last:
                        second = work.twist[place, i, j] * gain
                    elif j == 0 and i > 0:
                        second = -work.reach[place] * work.by_skip[place, i] * gain
                    product = work.tail[place, i] * work.tail[above, j]
                    bend[line + i, column + j] += second / silent - product / silent**2
            column += work.used[above]
        for i in range(work.used[place]):
            slope[line + i] += work.tail[place, i] / silent
        line += work.used[place]
    return count
