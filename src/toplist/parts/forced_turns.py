"""An arrangement that explores by force: in a share of the lists, the items take turns at the first position."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.core.compiling import helper
from toplist.core.problem import Problem, number, refuse
from toplist.core.randomness import branch, uniform
from toplist.core.slate import Floats, Ints, Request, Slate
from toplist.parts.arrange import ComposedCache, TopK, copy_rows, lay_out
from toplist.parts.index.gaps import is_eligible, leave_out
from toplist.parts.index.select import select
from toplist.parts.index.sort import ranked_value

THEORY = -1.0  # in compiled code, the share that the horizon gives
FORCED = -(1 << 44)  # the branch of a list's key for forced lists; no index draws from it
TURNS = -3  # the key by which the items are ordered for their turns, the same for all lists
FIRST = 2.0  # above every draw


class ForcedScratch(NamedTuple):
    """Scratch space of `ForcedTurns`: that of `TopK`, and a draw per candidate."""

    items: Ints
    scores: Floats
    drawn: Floats


class ForcedTurns(NamedTuple):
    """In a share of the lists, each item in turn stands first, above others at random; the other lists are `TopK`'s.

    So every item is examined now and then, and a change of any of them can be detected.

    Parameters
    ----------
    share : float or "theory", default "theory"
        p, the share of forced lists; "theory" is `sqrt(N L log(n) / n)`, at most 1, for L items and N = changes + 1
        stretches without a change. Where the number of steps n is unknown, it is the next power of 2 above the number
        of lists that the memory counts.
    changes : float, default 1.0
        Expected number of changes of the users' preferences, for "theory".
    base : TopK, default TopK()
        Arrangement of all other lists.
    steps : float, default 0.0
        n, or 0 if it is unknown; filled by `prepare`.

    Notes
    -----
    List t since the last restart is forced if `a = 1 + (t - 1) mod floor(L / p)` is at most L: item a stands first, and
    the others are drawn. The items are numbered by a hash, so that it does not matter where they are stored. Wang,
    Zhou, Li, Varshney and Zhao, Nearly Optimal Algorithms for Piecewise-Stationary Cascading Bandits, ICASSP 2021.

    Examples
    --------
    >>> ForcedTurns(changes=3.0).prepare(Problem(items=10, positions=2, steps=1000)).steps
    1000.0
    """

    share: Any = "theory"
    changes: float = 1.0
    base: Any = TopK()
    steps: float = 0.0

    def prepare(self, problem: Problem) -> Self:
        """Check the parameters, and resolve the order of positions."""
        share = self.share
        if isinstance(share, str):
            if share != "theory":
                raise refuse("ForcedTurns' share", share, "a number between 0 and 1, or 'theory'", "as 0.05")
            share = THEORY
        elif share != THEORY:
            share = number("ForcedTurns' share", share, 0.0, 1.0, "or 'theory'")
        if not isinstance(self.base, TopK):
            raise refuse("ForcedTurns' base", self.base, "TopK()", "give the order of positions, as TopK('first')")
        return self._replace(
            share=float(share),
            changes=number("ForcedTurns' changes", self.changes, 0.0, 1e12, "give the expected number, as 1"),
            base=self.base.prepare(problem),
            steps=float(problem.steps or 0),
        )

    @property
    def places(self) -> Ints:
        """The order of positions of lists that are not forced."""
        order: Ints = self.base.places
        return order

    def scratch(self, problem: Problem) -> ForcedScratch:
        """Scratch space for one list."""
        base = self.base.scratch(problem)
        return ForcedScratch(base.items, base.scores, np.zeros(problem.items))

    def asks(self) -> str:
        """The best items."""
        return "top"

    def forced(self, belief: Any, request: Request) -> int:
        """The item that has the first position of the next list by force; -1 if none has."""
        turn = turn_of(belief, self, request, np.zeros(len(request.candidates)))
        return -1 if turn < 0 else int(request.candidates[turn])

    def arrange(self, scoring: Any, belief: Any, cache: ComposedCache, request: Request, slate: Slate) -> None:
        """Show the item whose turn it is with others at random, or let the index choose."""
        turn = turn_of(belief, self, request, cache.arrangement.drawn)
        if turn < 0:
            self.base.arrange(scoring, belief, cache, request, slate)
            return
        candidates, drawn, key = request.candidates, cache.arrangement.drawn, branch(request.key, FORCED)
        for i in range(len(candidates)):
            drawn[i] = uniform(key, request.labels[candidates[i]])
        leave_out(request, drawn, -1.0)
        drawn[turn] = FIRST
        select(drawn, candidates, len(candidates), request.labels, key, slate.items, cache.arrangement.scores)
        slate.size[0] = min(request.positions, len(candidates))
        if len(request.pins) > 0:
            lay_out(cache.arrangement.items, request.order[:0], request.pins, slate)
        copy_rows(request, slate)


@helper
def forced_share(belief: Any, turns: ForcedTurns, items: int) -> float:
    """p for the next list."""
    if turns.share >= 0.0:
        return float(turns.share)
    n = turns.steps
    if n <= 0.0:
        n = 2.0
        while n <= belief.clock[0]:
            n *= 2.0
    return min(1.0, math.sqrt((turns.changes + 1.0) * items * math.log(n) / n))


@helper
def turn_of(belief: Any, turns: ForcedTurns, request: Request, numbers: Floats) -> int:
    """The place among the candidates of the item whose turn it is; -1 if the next list is not forced."""
    items = len(request.candidates)
    share = forced_share(belief, turns, items)
    if items == 0 or share * 1e15 < items:
        return -1
    turn = int(belief.clock[0]) % int(items / share)
    if turn >= items:
        return -1
    for i in range(items):
        numbers[i] = uniform(TURNS, request.labels[request.candidates[i]])
    wanted, _ = ranked_value(numbers[:items], turn + 1)
    for i in range(items):
        if numbers[i] == wanted and is_eligible(request, request.candidates[i], 0):
            return i
    return -1
