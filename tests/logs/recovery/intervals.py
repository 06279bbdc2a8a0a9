"""Coverage of the 95% intervals of fits to simulated logs, pooled by kind of parameter."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from toplist.logs import ClickLog, FittedModel, Prior, fit_model
from toplist.logs.fitting.errors import ESTIMATED, STATUS
from toplist.logs.fitting.fit_data import prepare_log

from .simulated import expected_examinations, simulate, sized

FIT_LISTS = 5000
SHRUNK_LISTS = 400  # few, so that priors matter
EXAMINATIONS = 200  # expected, at least; parameters with fewer are left out
LOW, HIGH = 0.93, 0.97
# Posterior intervals are normal ones on the logit scale. Of a beta prior alone with 4 heads and 4 tails, that of
# satisfaction here, they hold 93.3%, and so they do if a log says little; with 40,000 lists they hold 94.7%.
PRIORS = {"attraction": Prior(0.4, 10.0), "satisfaction": Prior(0.5, 8.0), "rate": Prior(0.4, 10.0)}


class Coverage(NamedTuple):
    """How many intervals of one kind of parameter contain the truth."""

    model: str
    kind: str
    intervals: int
    covered: int
    left_out: Mapping[str, int]  # by reason

    @property
    def share(self) -> float:
        """The coverage."""
        return self.covered / self.intervals if self.intervals else float("nan")


def coverage(
    name: str, fits: int, shrunk: bool = False, fit: Callable[..., Any] = fit_model, seed: int = 0
) -> list[Coverage]:
    """The coverage by kind of parameter over some fits of a model."""
    intervals: Counter[str] = Counter()
    covered: Counter[str] = Counter()
    left_out: dict[str, Counter[str]] = defaultdict(Counter)
    kinds = {kind.partition(" at ")[0] for kind in sized(name).coins().own}
    priors = {kind: PRIORS[kind] for kind in sorted(kinds)} if shrunk else {}
    for number in range(fits):
        true = simulate(name, SHRUNK_LISTS if shrunk else FIT_LISTS, seed + number, priors)
        fitted = fit(true.log, name, priors=priors)
        own_counts, shared_counts = expected_examinations(name, true)
        coins = fitted.model.coins()
        pairs = fitted.pair_query, fitted.pair_item
        columns = [
            (kind.partition(" at ")[0], fitted.own, (slice(None), at), true.own[(*pairs, at)], own_counts[(*pairs, at)])
            for at, kind in enumerate(coins.own)
        ]
        if not shrunk:  # shared parameters have no prior
            columns += [
                (kind, fitted.shared, (slice(None), at), true.shared[at : at + 1], shared_counts[at : at + 1])
                for at, (kind, _) in enumerate(coins.shared)
                if at not in coins.fixed
            ]
        for kind, parameters, at, truth, counts in columns:
            with np.errstate(invalid="ignore"):  # at 0 and 1
                low, high = (limit[at] for limit in parameters.interval())
            usable = parameters.status[at] == ESTIMATED
            enough = np.full(len(truth), True) if shrunk else counts >= EXAMINATIONS
            kept = usable & enough
            intervals[kind] += int(kept.sum())
            covered[kind] += int((kept & (low <= truth) & (truth <= high)).sum())
            left_out[kind]["few examinations"] += int((~enough).sum())
            for status in parameters.status[at][~usable & enough]:
                left_out[kind][STATUS[status]] += 1
    return [Coverage(name, kind, intervals[kind], covered[kind], +left_out[kind]) for kind in intervals]


def fit_with_diagonal_errors(log: ClickLog, name: str, priors: Any) -> FittedModel:
    """A fit with errors that are too small: those of each parameter if all others were known."""
    fitted = fit_model(log, name, priors=priors)
    workers: Any = prepare_log(log).workers(fitted.model, priors, False)
    part = workers.partitions[0]
    part.theta[:] = np.concatenate([fitted.own.value.ravel(), fitted.shared.value.ravel()])
    found = part.information()
    blocks = [
        found.blocks[begin : begin + size**2].reshape(size, size).diagonal()
        for begin, size in zip(found.block_start[:-1], np.diff(found.first_coin), strict=True)
    ]
    error = np.maximum(np.concatenate([*blocks, found.corner.diagonal()]), 1e-9) ** -0.5  # 0 on the boundary
    own, shared = np.split(error, [fitted.own.value.size])
    return replace(
        fitted,
        own=fitted.own._replace(error=own.reshape(fitted.own.value.shape)),
        shared=fitted.shared._replace(error=shared[None]),
    )
