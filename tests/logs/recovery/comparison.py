"""Is the model that a log was simulated from found on held-out lists? All pairs of models, paired by list."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from toplist.core.slate import Floats
from toplist.logs import ClickLog, FittedModel, fit_model
from toplist.logs.comparison.paired import PairedDifference, paired_difference
from toplist.logs.models import MODELS

from .simulated import simulate

LISTS, HELD_OUT = 40_000, 40_000  # lists of the fit, and held out
TRUE = [name for name in MODELS if not name.endswith("-counts")]
EXACT = {"dcm", "sdbn", "dbn", "ccm"}
CONTAINED = {
    "global-ctr": {"position-ctr", "item-ctr", "item-position-ctr", "pbm", "ubm"} | EXACT,
    "position-ctr": {"item-position-ctr", "pbm", "ubm"},
    "item-ctr": {"item-position-ctr", "pbm", "ubm"} | EXACT,
    "cascade": EXACT | {"ubm", "dcm-counts", "sdbn-counts"},  # with one click at most, the counts are right
    "sdbn": {"dbn"},
    "pbm": {"ubm", "item-position-ctr"},
}  # by true model the others that can equal it with suitable parameters


class Verdict(NamedTuple):
    """A wrong model against the true one on held-out lists."""

    true: str
    wrong: str
    difference: PairedDifference

    @property
    def contains(self) -> bool:
        """Whether the wrong model can equal the true one."""
        return self.wrong in CONTAINED.get(self.true, set())

    @property
    def is_right(self) -> bool:
        """The wrong model is not significantly better, and significantly worse unless it can equal the true one."""
        return not self.difference.low > 0.0 and (self.contains or self.is_worse)

    @property
    def is_worse(self) -> bool:
        """Whether the wrong model is significantly worse."""
        return self.difference.high < 0.0 or self.difference.mean == -np.inf


def log_likelihoods(fitted: FittedModel, log: ClickLog) -> Floats:
    """Of each list."""
    given = fitted.predict(log).given
    with np.errstate(divide="ignore"):
        terms = np.log(np.where(log.click > 0, given, 1.0 - given))
    return np.add.reduceat(terms, log.start[:-1])


def compare(true: str, fitted_to: ClickLog, held_out: ClickLog, wrong: list[str]) -> list[Verdict]:
    """The true model against others."""
    scores = {
        name: log_likelihoods(fit_model(fitted_to, name, errors="none"), held_out)
        for name in dict.fromkeys([true, *wrong])
    }
    weights = held_out.weights
    return [
        Verdict(true, name, paired_difference(scores[name], scores[true], weights)) for name in wrong if name != true
    ]


def compare_all(true: str, seed: int) -> list[Verdict]:
    """The true model against all others, on a simulated log."""
    log = simulate(true, LISTS + HELD_OUT, seed).log
    return compare(true, log.take(np.arange(LISTS)), log.take(np.arange(LISTS, LISTS + HELD_OUT)), list(MODELS))
