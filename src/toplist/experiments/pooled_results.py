"""Several simulations as one, where an experiment averages over queries or people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from toplist.engine.result import Result


def together(results: Sequence[Result]) -> Result:
    """All as one result, whose runs are the runs of all.

    >>> one = Result([10], {"a": [[1.0], [2.0]]}, {"a": [[0.0], [0.0]]})
    >>> together([one, one]).runs
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
