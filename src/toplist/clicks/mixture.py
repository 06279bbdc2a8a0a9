"""Mixtures of click models: several kinds of users in one crowd."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from toplist.clicks.best_list import RISE, improve_by_exchange
from toplist.core.problem import Problem, expect, number, probabilities, refuse, several
from toplist.core.randomness import KINDS, branch, toss
from toplist.core.slate import Floats, Ints, Page
from toplist.support.catalogue import USERS, entry

ROUNDING = 1e-9  # tolerance of the sum of shares


@entry("Mixture of two kinds", hides=("level", "shown", "other"))
class Mixture(NamedTuple):
    """Users of two kinds: each visitor is of the `first` kind with probability `share`, and otherwise of the `second`.

    Parameters
    ----------
    first : click model or str
        The first kind, or its name, like "dcm(termination=0.8)"; it may itself be a mixture, as `mix` makes them.
    second : click model or str
        The second kind; likewise.
    share : float, default 0.5
        Probability of the first kind.

    Notes
    -----
    The reward is the first kind's times `share` plus the second's times `1 - share`, each in its own measure: a click
    counts for users whose reward is clicks as much as a satisfied visitor for the others.
    """

    first: Any
    second: Any
    share: float = 0.5
    level: int = 0  # depth of nesting: 1 above the mixtures inside it; filled by `prepare`
    shown: Any = ()  # per position, scratch; filled by `prepare`
    other: Any = ()  # per position, scratch; filled by `prepare`

    def prepare(self, problem: Problem) -> Self:
        """Prepare both kinds, and make the scratch arrays."""
        first, second = (self._kind(which, getattr(self, which), problem) for which in ("first", "second"))
        below = [kind.level for kind in (first, second) if isinstance(kind, Mixture)]
        return self._replace(
            first=first,
            second=second,
            share=number("Mixture's share", self.share, 0.0, 1.0, "give the share of visitors of the first kind"),
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
        """Draw the clicks of one visitor; return their number."""
        # This coin has its own key and the kind gets the visitor's, so a visitor clicks as without the mixture.
        if toss(branch(visitor, KINDS), self.level, self.share):
            return int(self.first.click(moment, items, attraction, labels, visitor, page))
        return int(self.second.click(moment, items, attraction, labels, visitor, page))

    def reward(self, moment: Any, items: Ints, attraction: Floats) -> float:
        """The mean of both kinds' rewards, weighted by their shares."""
        expected = 0.0
        if self.share > 0.0:
            expected += self.share * self.first.reward(moment, items, attraction)
        if self.share < 1.0:
            expected += (1.0 - self.share) * self.second.reward(moment, items, attraction)
        return expected

    def best(self, moment: Any, attraction: Floats, items: Ints) -> None:
        """The best list where only one kind has a share; otherwise one that no exchange improves: an approximation.

        The search exchanges two positions, or an item with one outside, from each kind's best list; the better result
        counts.
        """
        if self.share == 0.0:
            self.second.best(moment, attraction, items)
            return
        self.first.best(moment, attraction, items)
        if self.share == 1.0:
            return
        other, shown = self.other[: len(items)], self.shown[: len(items)]
        self.second.best(moment, attraction, other)
        reward = improve_by_exchange(self, moment, attraction, items, shown)
        if improve_by_exchange(self, moment, attraction, other, shown) > reward + RISE:
            for place in range(len(items)):
                items[place] = other[place]


def mix(kinds: Sequence[Any], shares: Sequence[float]) -> Any:
    """Mix two or more kinds of users, as nested mixtures.

    Parameters
    ----------
    kinds : sequence of click model or str
        The kinds, or their names.
    shares : sequence of float
        One share per kind; they add up to 1.

    Returns
    -------
    Mixture
        The first kind against a mixture of the others.

    Raises
    ------
    InvalidInput
        If there are fewer than two kinds, or the shares are not one per kind or do not add up to 1.

    Examples
    --------
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
