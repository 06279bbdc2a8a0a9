"""Standard errors from the full observed information, on the logit scale.

The information is a block per query, bordered by the shared coins. Eliminating the blocks leaves the information of the
shared coins (the Schur complement); its inverse gives their variances, and the blocks those of the own coins.
A direction without information makes the coins that it involves unidentified, and no others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from toplist.core.slate import Bools, Floats
from toplist.logs.fitting.maximise import Maximiser
from toplist.logs.fitting.partition import Partition

NO_INFORMATION = 1e-9  # eigenvalues of the information, scaled to a diagonal of 1, below this count as 0
INVOLVED = 1e-4  # a coin is involved in a direction from this component on, scaled

STATUS = ("estimated", "on the boundary", "not identified", "fixed", "never shown")
ESTIMATED, BOUNDARY, UNIDENTIFIED, FIXED, NEVER_SHOWN = range(5)


class Inverse(NamedTuple):
    """Pseudo-inverses of positive semi-definite matrices, and their directions without information.

    Parameters
    ----------
    inverse : ndarray of float, shape (matrices, size, size)
        The pseudo-inverses.
    lost : ndarray of bool, shape (matrices, size)
        Coins involved in a direction without information.
    null : ndarray of float, shape (matrices, size, size)
        Projections on the directions without information.
    """

    inverse: Floats
    lost: Bools
    null: Floats


def invert(matrices: Floats, diagonal: Floats | None = None) -> Inverse:
    """Pseudo-inverses by eigenvalues of the matrices scaled to a diagonal of 1.

    A matrix that elimination has left is scaled by the diagonal that it had before: against its own, what rounding left
    of nothing would look like information.
    """
    own = np.diagonal(matrices, axis1=1, axis2=2) if diagonal is None else diagonal[None]
    scale = np.sqrt(np.maximum(own, 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    scaled = matrices / scale[:, :, None] / scale[:, None, :]
    alone = np.eye(matrices.shape[1])
    weakest = NO_INFORMATION * matrices.shape[1]
    if not scaled[:, alone == 0].any():  # every coin is alone, as in click-through rates: nothing to decompose
        values = np.diagonal(scaled, axis1=1, axis2=2)
        weak = values < weakest
        inverse = alone * np.where(weak, 0.0, 1.0 / np.where(weak, 1.0, values))[:, None, :]
        null = alone * weak[:, None, :]
    else:
        values, vectors = np.linalg.eigh(scaled)
        weak = values < weakest
        flipped = np.where(weak, 0.0, 1.0 / np.where(weak, 1.0, values))
        inverse = (vectors * flipped[:, None, :]) @ vectors.transpose(0, 2, 1)
        null = (vectors * weak[:, None, :]) @ vectors.transpose(0, 2, 1)
    lost = np.diagonal(null, axis1=1, axis2=2) > INVOLVED**2
    return Inverse(inverse / scale[:, :, None] / scale[:, None, :], lost, null / scale[:, :, None])


class SharedErrors(NamedTuple):
    """The errors of the shared coins, which those of the own coins depend on.

    Parameters
    ----------
    covariance : ndarray of float
        Covariance matrix on the logit scale.
    lost : ndarray of bool
        Coins that are not identified.
    null : ndarray of float
        Directions without information, as columns.
    """

    covariance: Floats
    lost: Bools
    null: Floats


class CoinErrors(NamedTuple):
    """Variances on the logit scale and status of some coins.

    Parameters
    ----------
    variance : ndarray of float
        Variance of the logit; NaN unless estimated.
    status : ndarray of int
        Index into STATUS.
    """

    variance: Floats
    status: Any


class SharedInformation(NamedTuple):
    """What the lists of a partition tell about the shared coins.

    Parameters
    ----------
    corner : ndarray of float
        Information with the own coins eliminated.
    diagonal : ndarray of float
        Diagonal of the information if the own coins were known.
    """

    corner: Floats
    diagonal: Floats


class InformationPart(Partition):
    """A partition that also gives its part of the information; call after an E-step at the maximum."""

    def shared_information(self) -> SharedInformation:
        """What its lists tell about the shared coins."""
        self._information = self.last_information()
        corner = self._information.corner.copy()
        before = np.diagonal(corner).copy()
        self._solved = []
        free = self.free()
        own = self.theta[: self.own]
        extra = (self.prior_heads + self.prior_tails) * own * (1.0 - own)
        shared = corner.shape[0]
        for coins, blocks in self.stacks(self._information, extra, free):
            found = invert(blocks)
            border = np.zeros((*coins.shape, shared))
            if shared:
                border = np.where(free[coins][:, :, None], self._information.border[coins], 0.0)
            pull = found.inverse @ border
            corner -= np.einsum("qis,qit->st", border, pull)
            variance = np.diagonal(found.inverse, axis1=1, axis2=2)
            self._solved.append((coins, variance, found.lost, pull))
        del self._information
        return SharedInformation(corner, before)

    def own_errors(self, shared: SharedErrors) -> CoinErrors:
        """Variances of the own coins, given those of the shared ones."""
        variance, status = np.full(self.own, np.nan), np.zeros(self.own, dtype=np.int8)
        for coins, alone, lost, pull in self._solved:
            through_shared = np.einsum("qis,st,qit->qi", pull, shared.covariance, pull)
            variance[coins] = alone + through_shared
            moved = np.abs(pull @ shared.null).max(axis=2, initial=0.0)
            status[coins[lost | (moved > INVOLVED)]] = UNIDENTIFIED
        status = np.maximum(status, self.own_status())
        variance[status != ESTIMATED] = np.nan
        return CoinErrors(variance, status)

    def own_status(self) -> Any:
        """What is known about the own coins without the information."""
        return known_status(self.theta[: self.own], self.sums.tosses[: self.own], self.fixed[: self.own])


def known_status(theta: Floats, tosses: Floats, fixed: Bools) -> Any:
    """The status of coins as far as it is known without the information: at 0 or 1, never tossed, or fixed.

    A coin that the log never tossed is not identified, even if a prior gives it a value.
    """
    status = np.zeros(len(theta), dtype=np.int8)
    status[(theta <= 0) | (theta >= 1)] = BOUNDARY
    status[tosses <= 0] = UNIDENTIFIED
    status[fixed] = FIXED
    return status


def shared_status(maximiser: Maximiser) -> Any:
    """What is known about the shared coins without the information."""
    return known_status(maximiser.found.shared, maximiser.found.tosses, maximiser.fixed)


def shared_errors(maximiser: Maximiser) -> tuple[CoinErrors, SharedErrors]:
    """The errors of the shared coins, from the information of all partitions."""
    parts: list[SharedInformation] = maximiser.workers.each("shared_information")
    corner, before = (np.sum(several, axis=0) for several in zip(*parts, strict=True))
    free = maximiser.free()
    shared = maximiser.found.shared
    strength = maximiser.prior_heads + maximiser.prior_tails
    corner[~free, :] = 0.0
    corner[:, ~free] = 0.0
    extra = np.where(free, strength * shared * (1.0 - shared), 1.0)
    diagonal = np.arange(len(shared))
    corner[diagonal, diagonal] += extra
    found = invert(corner[None], np.where(free, before, 0.0) + extra)
    covariance, lost = found.inverse[0], found.lost[0]
    covariance[~free, :] = 0.0
    covariance[:, ~free] = 0.0
    status = np.maximum(np.where(lost, UNIDENTIFIED, ESTIMATED), shared_status(maximiser)).astype(np.int8)
    variance = np.where(status == ESTIMATED, np.diagonal(covariance), np.nan)
    return CoinErrors(variance, status), SharedErrors(covariance, lost, found.null[0])
