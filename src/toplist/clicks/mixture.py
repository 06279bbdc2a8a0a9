"""Several kinds of people in one crowd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.clicks.best_list import RISE, exchange
from toplist.core.problem import Problem, expect, number, probabilities, refuse, several
from toplist.core.randomness import KINDS, branch, toss
from toplist.core.slate import Floats, Ints, Page
from toplist.support.catalogue import USERS, entry

ROUNDING = 1e-9  # by how much shares may miss 1


@entry("Mixture of two kinds", hides=("level", "shown", "other"))
class Mixture(NamedTuple):
    """Each visitor is of the `first` kind with probability `share`, and else of the `second`.

    A kind is a click model or its name, like "dcm(termination=0.8)"; it may be a mixture, and so there may be many, as
    `mix` makes them. The reward is the first kind's times the share and the second's times the rest, each in its own
    measure: a click of those whose reward is clicks weighs as much as a visitor satisfied of the others.
    """

    first: Any
    second: Any
    share: float = 0.5
    level: int = 0  # 1 above the mixtures that it mixes; filled by `prepare`
    shown: Any = ()  # per place, to work in; filled by `prepare`
    other: Any = ()  # per place, to work in; filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """Both kinds with their parameters resolved, and room to work in."""
        first, second = (self._kind(which, getattr(self, which), problem) for which in ("first", "second"))
        below = [kind.level for kind in (first, second) if isinstance(kind, Mixture)]
        return self._replace(
            first=first,
            second=second,
            share=number("Mixture's share", self.share, 0.0, 1.0, "give how many visitors are of the first kind"),
            level=1 + max(below, default=0),
            shown=np.zeros(problem.positions),
            other=np.zeros(problem.positions, dtype=np.int64),
        )

    @staticmethod
    def _kind(which: str, given: Any, problem: Problem) -> Any:
        kind = USERS.make(given) if isinstance(given, str) else given
        accepted = "a click model or its name, like DCM(0.5) or 'dcm(termination=0.5)'"
        expect(f"Mixture's {which}", kind, ("prepare", "click", "reward", "best"), accepted)
        return kind.prepare(problem)

    def click(self, moment: Any, items: Ints, attraction: Floats, labels: Ints, visitor: int, page: Page) -> int:
        """Draw the clicks of one visitor; their number."""
        # This coin has a key of its own, and the kind gets the visitor's: people click as they would among their like.
        if toss(branch(visitor, KINDS), self.level, self.share):
            return int(self.first.click(moment, items, attraction, labels, visitor, page))
        return int(self.second.click(moment, items, attraction, labels, visitor, page))

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """The mean of both kinds' rewards, by their shares."""
        expected = 0.0
        if self.share > 0.0:
            expected += self.share * self.first.reward(moment, items, attraction)
        if self.share < 1.0:
            expected += (1.0 - self.share) * self.second.reward(moment, items, attraction)
        return expected

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """The best list of a kind that is alone; else one that no exchange of two improves: an approximation.

        The search exchanges places, or an item with one outside, from each kind's best list; the better end counts.
        """
        if self.share == 0.0:
            self.second.best(moment, attraction, items)
            return
        self.first.best(moment, attraction, items)
        if self.share == 1.0:
            return
        other, shown = self.other[: len(items)], self.shown[: len(items)]
        self.second.best(moment, attraction, other)
        reward = exchange(self, moment, attraction, items, shown)
        if exchange(self, moment, attraction, other, shown) > reward + RISE:
            for place in range(len(items)):
                items[place] = other[place]


def mix(kinds: Sequence[Any], shares: Sequence[float]) -> Any:
    """People of two kinds or more, a share of each, which add up to 1: mixtures within a mixture.

    >>> crowd = mix(["cascade", "dcm", "pbm"], [0.5, 0.3, 0.2])
    >>> crowd.first, crowd.share, crowd.second.first, round(crowd.second.share, 9)
    ('cascade', 0.5, 'dcm', 0.6)
    """
    crowd, *others = reversed(several("mix's kinds", kinds, "click models") or [None])
    every = probabilities("mix's shares", shares, None, "kind")
    if not others or len(every) != 1 + len(others) or abs(every.sum() - 1.0) > ROUNDING:
        accepted = f"{1 + max(len(others), 1)} numbers that add up to 1"
        raise refuse("mix's shares", shares, accepted, "give one for each of two kinds or more")
    total = float(every[-1])
    for kind, share in zip(others, every[-2::-1].tolist(), strict=True):
        total += share
        crowd = Mixture(kind, crowd, share / total if total > 0.0 else 1.0)
    return crowd
