"""Standard errors by resampling: the model is fitted again to visitors, or lists, drawn with replacement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from toplist.core.slate import Floats
from toplist.logs.click_log import ClickLog
from toplist.logs.fitting.errors import InformationPart
from toplist.logs.fitting.maximise import FitSettings, Iteration, LocalWorkers, Maximiser, maximise
from toplist.logs.fitting.prior import CoinPrior
from toplist.logs.fitting.sandwich import RobustErrors, independent_units
from toplist.logs.patterns import Patterns

MOST_ITERATIONS, TOLERANCE = 30, 1e-5  # of a resample: errors need no more, and coins near 0 or 1 would take long
KIND = "resample"  # kind of the iterations that are reported


def take_patterns(patterns: Patterns, weight: Floats) -> Patterns:
    """The rows with a new weight above 0."""
    kept = weight > 0
    sizes = np.diff(patterns.start)
    at = np.repeat(kept, sizes)
    start = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(sizes[kept])])
    return patterns._replace(
        start=start, pair=patterns.pair[at], click=patterns.click[at], weight=weight[kept], query=patterns.query[kept]
    )


def bootstrap_errors(
    log: ClickLog,
    part: InformationPart,
    prior: CoinPrior,
    fixed: tuple[int, ...],
    resamples: int,
    seed: int,
    settings: FitSettings,
    tell: Callable[[Iteration], object],
) -> RobustErrors:
    """Variances over fits to resampled logs, each from the maximum on.

    Draw i depends on the seed and i alone, so that more resamples keep the first ones.
    """
    units = independent_units(log)
    found = np.zeros((resamples, len(part.theta)), dtype=np.float32)
    for number in range(resamples):
        rng = np.random.Generator(np.random.Philox(key=[seed, number]))
        if log.visitor is None:
            total = round(units.patterns.weight.sum())
            weight = rng.multinomial(total, units.patterns.weight / units.patterns.weight.sum()).astype(np.float64)
        else:
            people = int(units.independent)
            times = np.bincount(rng.integers(people, size=people), minlength=people)
            weight = units.patterns.weight * times[units.unit]
        again = resampled_fit(take_patterns(units.patterns, weight), part, prior, fixed, settings)
        theta = np.concatenate([again.workers.each("own_theta")[0], again.found.shared])
        with np.errstate(divide="ignore"):
            found[number] = np.log(theta) - np.log1p(-theta)
        tell(Iteration(KIND, again.found.objective, again.found.slope))
    variance = np.array([spread(column) ** 2 for column in found.T.astype(np.float64)])
    shared = found[:, part.own :].astype(np.float64)
    inside = np.isfinite(shared)
    finite = np.where(inside, shared, 0.0)
    off = np.where(inside, finite - finite.sum(axis=0) / np.maximum(inside.sum(axis=0), 1), 0.0)
    covariance = off.T @ off / (resamples - 1)
    return RobustErrors(variance[: part.own], variance[part.own :], covariance)


def resampled_fit(
    patterns: Patterns,
    part: InformationPart,
    prior: CoinPrior,
    fixed: tuple[int, ...],
    settings: FitSettings,
) -> Maximiser:
    """A fit that begins at the maximum of the whole log."""
    shared: Any = part.theta[part.pair_coins : part.pair_coins + part.shared_coins]
    own = InformationPart(patterns, part.model, prior, part.per_query, shared)
    own.theta[:] = part.theta
    lists = float(patterns.weight.sum())
    enough = settings._replace(iterations=min(settings.iterations, MOST_ITERATIONS), tolerance=TOLERANCE)
    maximiser = Maximiser(LocalWorkers([own]), shared, fixed, prior, lists, part.per_query)
    if part.model.iterates():
        maximise(maximiser, enough, lambda _: None, em_first=1)
    else:
        maximiser.expect()
        maximiser.maximise()
        maximiser.expect()
    return maximiser


def spread(logits: Floats) -> float:
    """Standard deviation; if some are infinite, half the distance between the quantiles that a normal has one off."""
    if np.isfinite(logits).all():
        return float(logits.std(ddof=1)) if len(logits) > 1 else np.nan
    low, high = np.quantile(logits, [0.15865525, 0.84134475], method="lower")
    return float(high - low) / 2.0 if np.isfinite([low, high]).all() else np.nan
