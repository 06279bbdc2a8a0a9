"""Duels between items: the one clicked while the other, equally likely to stand in its position, is not, wins."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from toplist.core.compiling import helper
from toplist.core.problem import InvalidInput, Problem, known_steps, number
from toplist.core.protocols import Assessment
from toplist.core.slate import Ints, Page, Request, Slate

Flags = NDArray[np.int8]


@helper
def record_win(wins: Ints, winner: int, loser: int, scale: float, spread: float) -> bool:
    """Count a duel; return whether the winner is by now the better item with certainty.

    The lead S in N duels must satisfy S^2 >= N (scale + spread log N).
    """
    wins[winner, loser] += 1
    won = wins[winner, loser]
    if won < scale:  # the lead is at most the number of duels, so `scale` wins are needed at least
        return False
    lead = won - wins[loser, winner]
    duels = float(won + wins[loser, winner])
    return bool(lead > 0 and lead * lead >= duels * (scale + spread * math.log(duels)))


@helper
def note_unplaced(block: Ints, request: Request, slate: Slate, first: int) -> None:
    """Note in the memo the block of each position, and which items of the last one have no position.

    Column 0 has the blocks, -1 where an item is pinned; a flag per item follows from column `first` on.
    """
    size, last = slate.size[0], -1
    for place in range(size):
        pinned = len(request.pins) > 0 and request.pins[place] >= 0
        own = -1 if pinned else block[slate.items[place]]
        slate.memo[place, 0] = own
        last = max(last, own)
    slate.memo[:, first:] = 0.0
    width = slate.memo.shape[1] - first
    for item in request.candidates:
        if block[item] == last:
            slate.memo[item // width, first + item % width] = 1.0
    for place in range(size):
        item = slate.items[place]
        slate.memo[item // width, first + item % width] = 0.0


@helper
def is_unplaced(slate: Slate, item: int, first: int) -> bool:
    """Whether the memo notes an item of the last block without a position."""
    width = slate.memo.shape[1] - first
    return bool(slate.memo[item // width, first + item % width] == 1.0)


@helper
def last_block(slate: Slate) -> float:
    """The block of the last position, of which some items may have no position; -1 if all items are pinned."""
    last = -1.0
    for place in range(slate.size[0]):
        last = max(last, slate.memo[place, 0])
    return last


@helper
def rivals(slate: Slate, page: Page, place: int, last: float, items: int) -> int:
    """How many numbers `loser` is to be asked for after the click at a position; 0 where it wins no duel."""
    block = slate.memo[place, 0]
    if page.clicks[place] == 0 or block < 0.0:
        return 0
    return slate.size[0] + items if block == last else slate.size[0]  # type: ignore[no-any-return]


@helper
def loser(slate: Slate, page: Page, place: int, number: int, first: int) -> int:
    """The item that loses a duel against the clicked item of a position, or -1.

    The first numbers are the positions: an item of the same block that was not clicked loses. The others are the items:
    one of the last block without a position loses; `first` is the first column of flags in the memo.
    """
    size = slate.size[0]
    if number >= size:
        return number - size if is_unplaced(slate, number - size, first) else -1
    same = slate.memo[number, 0] == slate.memo[place, 0] and page.clicks[number] == 0
    return int(slate.items[number]) if same else -1


def checked_delta(part: str, given: Any, problem: Problem, power: float) -> float:
    """The probability of ever being wrong, checked; "theory" is n to the power of minus `power`."""
    if given != "theory":
        delta = number(f"{part}'s delta", given, 0.0, 1.0, "give the probability of a wrong order, as 0.05")
        if 0.0 < delta < 1.0:
            return delta
        raise InvalidInput(f"{part}'s delta is {delta:g}, but must be above 0 and below 1; give one like 0.05.")
    steps = known_steps(f"{part}'s delta", problem, "give a number, like 0.001")
    return math.pow(max(steps, 2), -power)  # at one step it would be 1, which is not a probability of error


def assess_duels(wins: Ints, request: Request, why: str) -> Assessment:
    """The number of duels of each candidate, and the share that it won."""
    items = request.candidates
    won, fought = wins.sum(axis=1)[items], (wins + wins.T).sum(axis=1)[items]
    mean = np.full(len(items), np.nan)
    np.divide(won, fought, out=mean, where=fought > 0)
    return Assessment(fought.astype(np.float64), mean, np.full(len(items), np.nan), why=why)
