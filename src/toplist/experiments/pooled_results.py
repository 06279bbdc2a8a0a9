"""Pools several simulations, for experiments that average over queries or users."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toplist.engine.result import Result


def pool_results(results: Sequence[Result]) -> Result:
    """One result with the runs of all.

    >>> one = Result([10], {"a": [[1.0], [2.0]]}, {"a": [[0.0], [0.0]]})
    >>> pool_results([one, one]).runs
    4
    """
    first = results[0]
    return Result(
        checkpoints=first.checkpoints,
        regret={name: np.concatenate([result.regret[name] for result in results]) for name in first.policies},
        clicks={name: np.concatenate([result.clicks[name] for result in results]) for name in first.policies},
        breakpoints=[run for result in results for run in result.breakpoints],
        detections={name: [run for result in results for run in result.detections[name]] for name in first.detections},
    )
