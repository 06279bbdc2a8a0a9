"""What is known of the weights of features from all segments together, as a prior for a new segment.

The weights of a segment are a draw around those of all segments. As for items, how much segments differ is one number,
the strength, in looks: so many looks at an item are worth as much as the weights of all segments. The prior of a new
segment is what it would have learned from the observations of all, had they counted so much less.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from toplist.core.slate import Floats
from toplist.ranker.own_sums import OwnSums
from toplist.ranker.pool import SMALLEST_STRENGTH, USUAL_WEIGHT, Pool

# Of segments that are alike, and until they say otherwise. All items share few weights, so that looks at an item count
# less here than where each item is known by itself: with 10,000, a segment would lose a good part of what everybody
# told.
ALIKE = 100_000.0
MORE_LOOKS, LARGEST_VARIANCE = 100.0, 0.25  # of the variance of a value that begins the estimate of it
DOUBT = 2.0  # standard errors: segments are taken as alike as long as their difference may be chance
MOST_NUMBERS = 2_000_000  # of the segments that are compared, those with the most looks


class SegmentSums(NamedTuple):
    """The sums of one segment, in two halves."""

    gram: Floats
    total: Floats
    looks: float
    squares: float  # of the values


class WeightsPool:
    """Sums of observations over segments, and what a new segment begins with.

    Parameters
    ----------
    gram : array_like of float, shape (d, d), optional
        Sum of x x' over all observations of an earlier pool, x as the caller gives features.
    total : array_like of float, optional
        Their sum of value x.
    looks : pair of float, optional
        Number of all looks, and the sum over segments of squared numbers of looks.
    """

    def __init__(self, gram: Any = None, total: Any = None, looks: tuple[float, float] = (0.0, 0.0)) -> None:
        self.gram: Floats | None = None if gram is None else np.array(gram, dtype=np.float64)
        self.total: Floats | None = None if total is None else np.array(total, dtype=np.float64)
        self.looks, self.squared_looks = looks
        self._segments: list[SegmentSums] = []

    def add(self, own: OwnSums, divisors: Floats, is_segment: bool = True) -> None:
        """Add what one segment has seen, or what was seen without a segment.

        Parameters
        ----------
        own : OwnSums
            Its sums.
        divisors : ndarray of float
            Per feature, by what it was divided before the policy saw it.
        is_segment : bool, default True
            Whether they are of one segment; else they tell of everybody.
        """
        if not own.looks:
            return
        sums = SegmentSums(
            own.gram * np.outer(divisors, divisors), own.total * divisors, own.looks, float(own.counts[:, 2].sum())
        )
        both, values = sums.gram.sum(axis=0), sums.total.sum(axis=0)
        self.gram = both if self.gram is None else self.gram + both
        self.total = values if self.total is None else self.total + values
        self.looks += own.looks
        if is_segment:
            self.squared_looks += own.looks**2
            self._compare(sums)

    def _compare(self, sums: SegmentSums) -> None:
        """Keep a segment for the comparison, if it is not one of the least seen."""
        self._segments.append(sums)
        if len(self._segments) > max(2, MOST_NUMBERS // sums.gram.size):
            del self._segments[min(range(len(self._segments)), key=lambda number: self._segments[number].looks)]

    def strength(self) -> float:
        """How alike segments are: the strength of the prior of a segment, learned from the segments so far.

        Returns
        -------
        float
            Looks at an item that the common weights are worth in a new segment, between 1 and 100,000; the latter
            before there are segments to compare.

        Notes
        -----
        Let u be the sum of x (value - x'm) over half of a segment's observations, with m the weights of everybody, from
        N looks, and G_i the sum of x x' over that half. With W the inverse of the mean of x x', v the variance of a
        value, d the number of directions in which features differ and weights that differ by a covariance of
        v rho W / d, the expectation of u_1' W u_2 is v rho tr(W G_1 W G_2) / d: the noise of two halves is independent,
        whatever it is like. Both know m from the same N looks, which takes v tr(W G_1 W G_2) / N away, and a share of
        the difference itself, as for items. Summed over segments, that is solved for rho = 1 / (1 + strength); a weight
        of 10,000 squared looks holds it to the usual 1 / 100,001. If segments are alike, u_1' W u_2 / v has the
        variance tr(W G_1 W G_2): within two standard errors of the sum, segments are taken as alike. m and W are those
        of all lists, not of the segments alone: segments that have hardly begun would make them up. For the same reason
        v is that of the segments with 100 looks more, of the largest variance that clicks can have.
        """
        if len(self._segments) < 2 or self.gram is None or self.total is None:
            return ALIKE
        inverse = np.linalg.pinv(self.gram, rcond=1e-9, hermitian=True)
        known, mean, looks = known_directions(self.gram), inverse @ self.total, self.looks
        if known < 0.5:
            return ALIKE
        shared = self.squared_looks / looks**2
        apart, seen = MORE_LOOKS * LARGEST_VARIANCE, MORE_LOOKS
        found = correction = chance = information = 0.0
        for segment in self._segments:
            one, other = segment.total - segment.gram @ mean
            product = looks**2 * float(np.sum((inverse @ segment.gram[0]) * (inverse @ segment.gram[1]).T))
            found += looks * float(one @ inverse @ other)
            correction += product / looks
            chance += product
            information += (1.0 - 2.0 * segment.looks / looks + shared) * product / known
            both, gram = segment.total.sum(axis=0), segment.gram.sum(axis=0)
            apart += max(segment.squares - 2.0 * float(mean @ both) + float(mean @ gram @ mean), 0.0)
            seen += segment.looks
        found = found * seen / apart + correction
        if found < DOUBT * math.sqrt(chance):
            return ALIKE
        usual = 1.0 / (1.0 + ALIKE)
        rho = (found + USUAL_WEIGHT * usual) / (information + USUAL_WEIGHT)
        return 1.0 / min(max(rho, usual), 1.0 / (1.0 + SMALLEST_STRENGTH)) - 1.0

    def sums_for_new_segment(self, strength: float, divisors: Floats) -> tuple[Floats, Floats]:
        """What a new segment begins with: the sums of all observations, scaled down to what they are worth.

        Parameters
        ----------
        strength : float
            How alike segments are, stated or learned.
        divisors : ndarray of float
            Per feature, by what the new segment divides it.

        Returns
        -------
        tuple of ndarray of float
            The sum of x x', and that of value x. They count less where the weights of all segments are uncertain, too.
        """
        assert self.gram is not None  # the caller asks for looks before
        assert self.total is not None
        rho, directions = 1.0 / (1.0 + strength), known_directions(self.gram)
        doubt = directions / self.looks + rho * self.squared_looks / self.looks**2
        worth = directions * max(1.0 / (rho + doubt) - 1.0, 0.0)
        share = min(worth / self.looks, 1.0)
        return share * self.gram / np.outer(divisors, divisors), share * self.total / divisors


def known_directions(gram: Floats) -> float:
    """The number of directions in which features differ: the rank of a sum of x x'."""
    return float(np.sum(np.linalg.pinv(gram, rcond=1e-9, hermitian=True) * gram))


AnyPool = Pool | WeightsPool


def empty_pool(needs_features: bool) -> AnyPool:
    """A pool for policies over features, or for others."""
    return WeightsPool() if needs_features else Pool()
