"""A part of a fit: some queries with all their lists, their own coins, and sums for the shared ones.

A fit needs nothing of a partition but sums over its lists: expected heads and tosses, the log-likelihood, and the part
of the second derivatives that remains for the shared coins when the own ones are eliminated. So partitions may be on
disk or on other machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from toplist.core.slate import Bools, Floats, Ints
from toplist.logs.fitting import edges
from toplist.logs.fitting.loops import FitRows, Information, curve_rows, expect_rows
from toplist.logs.fitting.prior import CoinPrior
from toplist.logs.models.protocol import CoinSums, empty_derivatives, workspace
from toplist.logs.patterns import Patterns, speed
from toplist.logs.stored_patterns import StoredPatterns

STACK = 1 << 22  # numbers in the blocks that are factorised at once


class Expected(NamedTuple):
    """The sums of an E-step over the lists of one partition, or of all.

    Parameters
    ----------
    log_likelihood : float
        Logarithm of the probability of all clicks.
    penalty : float
        Logarithm of the prior of the own coins, up to a constant.
    heads, tosses : ndarray of float
        Expected heads and tosses of the shared coins.
    slope : float
        Largest derivative by an own coin, on the scale of probabilities, where it can still be followed.
    """

    log_likelihood: float
    penalty: float
    heads: Floats
    tosses: Floats
    slope: float


class Eliminated(NamedTuple):
    """What the own coins of a partition leave to the shared ones: a matrix and a right-hand side."""

    corner: Floats
    right: Floats
    decrement: float  # of the own coins: gradient times step


def log_prior(theta: Floats, heads: Floats, tails: Floats) -> float:
    """Logarithm of the prior up to a constant; coins without one may be 0 or 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(heads > 0, heads * np.log(theta), 0.0) + np.where(tails > 0, tails * np.log1p(-theta), 0.0)
    return float(terms.sum())


def steepest(theta: Floats, gradient: Floats) -> float:
    """Largest derivative on the scale of probabilities, from the gradient on the logit scale.

    At 0 and 1 there is none: the expected heads of such a coin follow it, and the coin stays.
    """
    inside = (theta > 0) & (theta < 1)
    spread = theta[inside] * (1.0 - theta[inside])
    return float(np.abs(gradient[inside] / spread).max(initial=0.0))


class Partition:
    """Some queries of a fit.

    Parameters
    ----------
    patterns : Patterns or StoredPatterns
        Their lists, in memory or on disk.
    model : ClickModel
        The model, with the number of positions of the longest list of the log.
    prior : CoinPrior
        Imagined tosses.
    per_query : bool
        Whether each query has shared coins of its own.
    shared : ndarray of float
        Probabilities of the shared coins at first.
    """

    def __init__(
        self, patterns: Patterns | StoredPatterns, model: Any, prior: CoinPrior, per_query: bool, shared: Floats
    ) -> None:
        coins = model.coins()
        self.patterns, self.model, self.per_query = patterns, model, per_query
        self.kinds, self.shared_coins = len(coins.own), len(coins.shared)
        pairs, queries = len(patterns.item_code), len(patterns.query_code)
        copies = queries if per_query else 1
        self.pair_coins = pairs * self.kinds
        self.own = self.pair_coins + (queries * self.shared_coins if per_query else 0)
        first = np.array([mean_of(h, t) for h, t in zip(prior.own_heads, prior.own_tails, strict=True)])
        self.theta = np.concatenate([np.tile(first, pairs), np.tile(shared, copies)])
        repeat = queries if per_query else 0
        self.prior_heads = np.concatenate([np.tile(prior.own_heads, pairs), np.tile(prior.shared_heads, repeat)])
        self.prior_tails = np.concatenate([np.tile(prior.own_tails, pairs), np.tile(prior.shared_tails, repeat)])
        self.fixed = np.zeros(len(self.theta), dtype=np.bool_)
        for copy in range(copies):
            for each in coins.fixed:
                self.fixed[self.pair_coins + copy * self.shared_coins + each] = True
        self.theta[self.fixed] = 1.0
        self.sums = CoinSums(np.zeros(len(self.theta)), np.zeros(len(self.theta)))
        self.before = self.theta
        self._step = np.zeros(self.own)
        self.curved: Sequence[FitRows] | None = None  # lists that stand for all in the second derivatives of a step
        self._known: tuple[Floats, Information] | None = None

    def set_pair_priors(self, heads: Floats, tails: Floats) -> None:
        """Give every pair imagined tosses of its own, (pairs, kinds), and start from their means."""
        self.prior_heads[: self.pair_coins] = heads.ravel()
        self.prior_tails[: self.pair_coins] = tails.ravel()
        self.theta[: self.pair_coins] = (heads / (heads + tails)).ravel()

    def segments(self) -> Iterator[FitRows]:
        """The lists, as the loops take them."""
        width = self.shared_coins if self.per_query else 0
        for part in self.patterns.segments():
            yield FitRows(part.start, part.pair, part.click, part.weight, part.query, self.pair_coins, width)

    def expect(self, shared: Floats) -> Expected:
        """The E-step at the current own coins and these shared ones."""
        if not self.per_query:
            self.theta[self.own :] = shared
        for each in self.sums:
            each[:] = 0.0
        found, work = 0.0, workspace(self.model.positions)
        for rows in self.segments():
            found += speed(expect_rows, len(rows.pair))(self.model, self.theta, rows, self.sums, work)
        own = self.theta[: self.own]
        return Expected(
            found,
            log_prior(own, self.prior_heads, self.prior_tails),
            self.sums.heads[self.own :].copy(),
            self.sums.tosses[self.own :].copy(),
            steepest(own, np.where(self.fixed[: self.own], 0.0, self.own_gradient())),
        )

    def own_theta(self) -> Floats:
        """The own coins."""
        return self.theta[: self.own]

    def own_tosses(self) -> Floats:
        """Expected tosses of the own coins, after an E-step."""
        return self.sums.tosses[: self.own]

    def own_gradient(self) -> Floats:
        """Derivatives by the own coins on the logit scale, after an E-step."""
        heads, tosses = (each[: self.own] for each in self.sums)
        strength = self.prior_heads + self.prior_tails
        gradient: Floats = heads + self.prior_heads - (tosses + strength) * self.theta[: self.own]
        return gradient

    def maximise(self) -> None:
        """The M-step of the own coins; coins that were never tossed stay."""
        heads = self.sums.heads[: self.own] + self.prior_heads
        tosses = self.sums.tosses[: self.own] + self.prior_heads + self.prior_tails
        free = ~self.fixed[: self.own] & (tosses > 0)
        own = self.theta[: self.own]
        own[free] = np.clip(heads[free] / tosses[free], 0.0, 1.0)  # rounding may lead outside

    def free(self) -> Bools:
        """Own coins that are neither fixed, nor 0 or 1, nor never tossed."""
        own = self.theta[: self.own]
        tossed = self.sums.tosses[: self.own] + self.prior_heads + self.prior_tails > 0
        mask: Bools = ~self.fixed[: self.own] & tossed & (own > 0) & (own < 1)
        return mask

    def no_information(self) -> Information:
        """Second derivatives to add to, all 0."""
        first_pair, shared = self.patterns.first_pair, 0 if self.per_query else self.shared_coins
        first_coin = first_pair * self.kinds
        wide = np.diff(first_coin) + (self.shared_coins if self.per_query else 0)
        block_start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(wide**2)])
        return Information(
            np.zeros(int(block_start[-1])), block_start, first_coin, np.zeros((self.pair_coins, shared)),
            np.zeros((shared, shared)), np.zeros(len(self.theta)),
        )  # fmt: skip

    def information(self, of: Iterable[FitRows] | None = None) -> Information:
        """Minus the second derivatives of the log-likelihood at the current coins, of all lists or of some."""
        into, positions = self.no_information(), self.model.positions
        derivatives, work = empty_derivatives(positions), workspace(positions)
        for rows in self.segments() if of is None else of:
            speed(curve_rows, len(rows.pair))(self.model, self.theta, rows, into, derivatives, work)
        return into

    def last_information(self, keep: bool = False) -> Information:
        """The information of all lists, not to be changed; with `keep`, the next call at the same coins finds it."""
        if self._known is not None and np.array_equal(self._known[0], self.theta):
            return self._known[1]
        found = self.information()
        self._known = (self.theta.copy(), found) if keep else None
        return found

    def stacks(self, into: Information, extra: Floats, free: Bools) -> Iterator[tuple[Ints, Floats]]:
        """Blocks of equal size with the coins of each, `extra` added to their diagonals; coins not free are alone."""
        queries = np.arange(len(self.patterns.query_code))
        sizes = np.diff(into.first_coin)
        width = self.shared_coins if self.per_query else 0
        for size in np.unique(sizes):
            wide = int(size) + width
            same = queries[sizes == size]
            at_once = max(STACK // max(wide * wide, 1), 1)
            for some in np.split(same, range(at_once, len(same), at_once)):
                coins = np.concatenate([
                    into.first_coin[some][:, None] + np.arange(size),
                    self.pair_coins + some[:, None] * width + np.arange(width),
                ], axis=1)  # fmt: skip
                blocks = into.blocks[into.block_start[some][:, None] + np.arange(wide * wide)]
                blocks = blocks.reshape(len(some), wide, wide)
                fixed = ~free[coins]
                blocks[fixed[:, :, None] | fixed[:, None, :]] = 0.0
                diagonal = np.arange(wide)
                blocks[:, diagonal, diagonal] += np.where(fixed, 1.0, extra[coins])
                yield coins, blocks

    def eliminate(self, damping: float) -> Eliminated | None:
        """Solve for the own coins, given the shared ones; None where the damped information is not positive."""
        into, free = self.information(self.curved), self.free()
        own = self.theta[: self.own]
        strength = self.prior_heads + self.prior_tails
        spread = own * (1.0 - own)
        extra = (strength + damping * (self.sums.tosses[: self.own] + strength)) * spread
        gradient = np.where(free, self.own_gradient(), 0.0)
        shared = into.corner.shape[0]
        corner, right, decrement = into.corner.copy(), np.zeros(shared), 0.0
        self._step, self._pull = np.zeros(self.own), np.zeros((self.own, shared))
        for coins, blocks in self.stacks(into, extra, free):
            border = np.zeros((*coins.shape, shared))
            if shared:
                border = np.where(free[coins][:, :, None], into.border[coins], 0.0)
            try:
                np.linalg.cholesky(blocks)
            except np.linalg.LinAlgError:
                return None
            sides = np.concatenate([border, gradient[coins][:, :, None]], axis=2)
            solved = np.linalg.solve(blocks, sides)
            corner -= np.einsum("qis,qit->st", border, solved[:, :, :shared])
            right -= np.einsum("qis,qi->s", border, solved[:, :, shared])
            decrement += float((gradient[coins] * solved[:, :, shared]).sum())
            self._step[coins], self._pull[coins] = solved[:, :, shared], solved[:, :, :shared]
        return Eliminated(corner, right, decrement)

    def move(self, shared_step: Floats, longest: float = 4.0) -> None:
        """Take the Newton step of the own coins that belongs to a step of the shared ones."""
        self.before = self.theta.copy()
        step = self._step if self.per_query else self._step - self._pull @ shared_step
        move_coins(self.theta[: self.own], step, self.free(), longest)

    def undo(self) -> None:
        """Take the last step back."""
        self.theta[:] = self.before

    def lean(self) -> bool:
        """Try own coins right at 0 or 1, after an E-step; returns whether there are any."""
        self.before = self.theta.copy()
        self._trial = edges.lean(self.theta[: self.own], self.own_gradient(), self.free())
        return self._trial.any()

    def settle(self) -> None:
        """Keep the tried coins at 0 or 1, or take them back, after another E-step."""
        edges.settle(self.theta[: self.own], self.own_gradient(), self._trial)

    def nudge(self) -> bool:
        """Move own coins at 0 and 1 a little inside; returns whether there are any."""
        tossed = self.sums.tosses[: self.own] > 0
        self._trial = edges.nudge(self.theta[: self.own], tossed & ~self.fixed[: self.own])
        return self._trial.any()

    def release(self, least: float) -> int:
        """Release those that want back, after an E-step; returns their number."""
        return edges.release(self.theta[: self.own], self.own_gradient(), self._trial, least)


def mean_of(heads: float, tails: float) -> float:
    """The mean of a beta distribution, or an even chance."""
    return heads / (heads + tails) if heads + tails > 0 else 0.5


def move_coins(theta: Floats, step: Floats, free: Bools, longest: float) -> None:
    """Move free coins on the logit scale, none by more than `longest`."""
    moved = np.log(theta[free]) - np.log1p(-theta[free]) + np.clip(step[free], -longest, longest)
    theta[free] = 1.0 / (1.0 + np.exp(-np.clip(moved, -40.0, 36.0)))
