"""Maximises the penalised likelihood: EM, then Newton's method with the own coins of each query eliminated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from toplist.core.slate import Floats
from toplist.logs.fitting import edges
from toplist.logs.fitting.partition import (
    Eliminated,
    Expected,
    log_prior,
    move_coins,
    steepest,
)
from toplist.logs.fitting.prior import CoinPrior

EM_FIRST = 15  # iterations before the first Newton step; Newton's method needs a start near the maximum
DAMPINGS = (0.0, 0.01, 0.1, 1.0, 10.0)
SMALL_GAIN = 1e-9  # of the log-likelihood: Newton's method has arrived


class Workers(Protocol):
    """The partitions of a fit, wherever they are."""

    def each(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every `Partition`; the results are in the order of the partitions."""
        ...


class LocalWorkers:
    """Partitions in this process."""

    def __init__(self, partitions: Sequence[Any]) -> None:
        self.partitions = list(partitions)

    def each(self, method: str, *arguments: Any) -> list[Any]:
        """Call a method of every partition, one after the other."""
        return [getattr(each, method)(*arguments) for each in self.partitions]


class Iteration(NamedTuple):
    """One iteration of a fit.

    Parameters
    ----------
    kind : str
        "EM", "Newton", or "resample" for a fit to a resampled log.
    objective : float
        Log-likelihood plus logarithm of the prior, before the iteration.
    slope : float
        Largest derivative by a probability, per list.
    """

    kind: str
    objective: float
    slope: float


@dataclass
class Maximum:
    """Where the iterations ended.

    Parameters
    ----------
    shared : ndarray of float
        The shared coins.
    log_likelihood : float
        Logarithm of the probability of all clicks.
    objective : float
        The same with the prior.
    slope : float
        Largest derivative by a probability, per list.
    converged : bool
        Whether it is below the tolerance.
    history : list of Iteration
        All iterations.
    heads, tosses : ndarray of float
        Expected coins of the shared parameters at the end.
    """

    shared: Floats
    log_likelihood: float = 0.0
    objective: float = -np.inf
    slope: float = np.inf
    converged: bool = False
    history: list[Iteration] = field(default_factory=list)
    heads: Floats = field(default_factory=lambda: np.zeros(0))
    tosses: Floats = field(default_factory=lambda: np.zeros(0))


class FitSettings(NamedTuple):
    """How long to iterate.

    Parameters
    ----------
    iterations : int, default 500
        Largest number of iterations.
    tolerance : float, default 1e-7
        Largest derivative by a probability, per list, at which a fit has converged.
    newton : bool, default True
        Use Newton's method after some iterations of EM.
    """

    iterations: int = 500
    tolerance: float = 1e-7
    newton: bool = True


class Maximiser:
    """A fit in progress."""

    def __init__(
        self, workers: Workers, shared: Floats, fixed: Sequence[int], prior: CoinPrior, lists: float, per_query: bool
    ) -> None:
        self.workers, self.lists = workers, max(lists, 1.0)
        self.prior_heads, self.prior_tails = prior.shared_heads, prior.shared_tails
        if per_query:  # all coins belong to the partitions
            shared, fixed = np.zeros(0), ()
            self.prior_heads = self.prior_tails = np.zeros(0)
        self.found = Maximum(shared.copy())
        self.fixed = np.zeros(len(shared), dtype=np.bool_)
        self.fixed[list(fixed)] = True
        self.found.shared[self.fixed] = 1.0

    def expect(self) -> None:
        """An E-step everywhere."""
        found = self.found
        parts: list[Expected] = self.workers.each("expect", found.shared)
        found.log_likelihood = float(sum(each.log_likelihood for each in parts))
        found.heads = np.sum([each.heads for each in parts], axis=0)
        found.tosses = np.sum([each.tosses for each in parts], axis=0)
        penalty = sum(each.penalty for each in parts) + log_prior(found.shared, self.prior_heads, self.prior_tails)
        found.objective = found.log_likelihood + float(penalty)
        own = max(each.slope for each in parts)
        found.slope = max(own, steepest(found.shared, np.where(self.fixed, 0.0, self._gradient()))) / self.lists

    def _gradient(self) -> Floats:
        """Derivatives by the shared coins on the logit scale."""
        strength = self.prior_heads + self.prior_tails
        gradient: Floats = self.found.heads + self.prior_heads - (self.found.tosses + strength) * self.found.shared
        return gradient

    def maximise(self) -> None:
        """An M-step everywhere."""
        self.workers.each("maximise")
        tosses = self.found.tosses + self.prior_heads + self.prior_tails
        free = ~self.fixed & (tosses > 0)
        self.found.shared[free] = np.clip((self.found.heads + self.prior_heads)[free] / tosses[free], 0.0, 1.0)

    def newton(self) -> float | None:
        """A Newton step that does not lower the objective, and an E-step there; returns the gain it promised.

        None if no damping helps: then the point is no maximum of a direction, and EM goes on.
        """
        before = self.found.objective
        shared, free = self.found.shared.copy(), self.free()
        for damping in DAMPINGS:
            parts: list[Eliminated | None] = self.workers.each("eliminate", damping)
            solved = self._solve([each for each in parts if each is not None], damping, free)
            if solved is None or any(each is None for each in parts):
                continue
            step, promise = solved
            self.workers.each("move", step)
            move_coins(self.found.shared, step, free, 4.0)
            self.expect()
            if self.is_no_lower(before):
                return promise
            self.workers.each("undo")
            self.found.shared[:] = shared
        self.expect()
        return None

    def free(self) -> Any:
        """Shared coins that can move."""
        shared, tosses = self.found.shared, self.found.tosses + self.prior_heads + self.prior_tails
        return ~self.fixed & (tosses > 0) & (shared > 0) & (shared < 1)

    def _solve(self, parts: Sequence[Eliminated], damping: float, free: Any) -> tuple[Floats, float] | None:
        """The step of the shared coins and twice the gain that the quadratic promises."""
        shared = self.found.shared
        strength = self.prior_heads + self.prior_tails
        gradient = np.where(free, self._gradient() + sum(each.right for each in parts), 0.0)
        corner = np.sum([each.corner for each in parts], axis=0) if parts else np.zeros((len(shared), len(shared)))
        extra = (strength + damping * (self.found.tosses + strength)) * shared * (1.0 - shared)
        corner[~free, :] = 0.0
        corner[:, ~free] = 0.0
        diagonal = np.arange(len(shared))
        corner[diagonal, diagonal] += np.where(free, extra, 1.0)
        try:
            np.linalg.cholesky(corner)
        except np.linalg.LinAlgError:
            return None
        step = np.linalg.solve(corner, gradient)
        return step, float(gradient @ step) + sum(each.decrement for each in parts)

    def settle(self) -> None:
        """Set coins that go to 0 or 1 to it, unless that lowers the objective; after an E-step, and with one."""
        before, shared = self.found.objective, self.found.shared.copy()
        tried = any(self.workers.each("lean"))
        trial = edges.lean(self.found.shared, self._gradient(), self.free())
        if not tried and not trial.any():
            return
        self.expect()
        self.workers.each("settle")
        edges.settle(self.found.shared, self._gradient(), trial)
        self.expect()
        if not self.is_no_lower(before):
            self.workers.each("undo")
            self.found.shared[:] = shared
            self.expect()

    def release(self, least: float) -> bool:
        """Release coins at 0 or 1 that want back, with a derivative of at least `least` per list; and an E-step."""
        nudged = any(self.workers.each("nudge"))
        trial = edges.nudge(self.found.shared, ~self.fixed & (self.found.tosses > 0))
        if not nudged and not trial.any():
            return False
        self.expect()
        count = int(sum(self.workers.each("release", least * self.lists)))
        count += edges.release(self.found.shared, self._gradient(), trial, least * self.lists)
        self.expect()
        return count > 0

    def is_no_lower(self, before: float) -> bool:
        """Whether the objective has not fallen, up to rounding."""
        return self.found.objective >= before - 1e-12 * abs(before)


def maximise(
    maximiser: Maximiser, settings: FitSettings, tell: Callable[[Iteration], object], em_first: int = EM_FIRST
) -> Maximum:
    """Iterate until the derivatives vanish.

    Parameters
    ----------
    maximiser : Maximiser
        The fit.
    settings : FitSettings
        How long.
    tell : callable
        Receives each iteration.
    em_first : int, default 15
        Iterations of EM before the first Newton step; few if the start is near the maximum.

    Returns
    -------
    Maximum
        Where it ended.
    """
    found = maximiser.found
    maximiser.expect()
    em_left = em_first
    for _ in range(settings.iterations):
        use_newton = settings.newton and em_left == 0
        found.history.append(Iteration("Newton" if use_newton else "EM", found.objective, found.slope))
        tell(found.history[-1])
        if use_newton:
            gain = maximiser.newton()
            maximiser.settle()
            if gain is None:
                em_left = EM_FIRST
                continue
            arrived = gain < SMALL_GAIN and found.slope < settings.tolerance
        else:
            maximiser.maximise()
            maximiser.expect()
            em_left = max(em_left - 1, 0)
            arrived = not settings.newton and found.slope < settings.tolerance
        if arrived and not maximiser.release(settings.tolerance):
            found.converged = True
            break
    return found
