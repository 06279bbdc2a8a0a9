"""Runs Open Bandit Pipeline's slate estimators, in an environment of its own: prints CPU seconds and values as JSON.

Run by `make bench-obp` on a file with the columns of slates, for point estimates, and one for intervals.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from obp.ope import (  # type: ignore[import-not-found]
    SelfNormalizedSlateIndependentIPS,
    SelfNormalizedSlateRewardInteractionIPS,
    SelfNormalizedSlateStandardIPS,
    SlateIndependentIPS,
    SlateRewardInteractionIPS,
    SlateStandardIPS,
)

ESTIMATORS = {
    "ips": SlateStandardIPS,
    "iips": SlateIndependentIPS,
    "rips": SlateRewardInteractionIPS,
    "snips": SelfNormalizedSlateStandardIPS,
    "sniips": SelfNormalizedSlateIndependentIPS,
    "snrips": SelfNormalizedSlateRewardInteractionIPS,
}


def main(points: str, intervals: str, resamples: int) -> None:
    """Time every estimator once."""
    found = {}
    for kind, path in (("value", points), ("interval", intervals)):
        with np.load(path) as arrays:
            columns = {name: arrays[name] for name in arrays.files}
        places = int(columns["position"].max()) + 1
        for name, make in ESTIMATORS.items():
            estimator = make(len_list=places)
            begun = time.process_time()
            if kind == "value":
                value = estimator.estimate_policy_value(**columns)
            else:
                value = estimator.estimate_interval(**columns, n_bootstrap_samples=resamples, random_state=1)["mean"]
            found[f"{name} {kind}"] = {"seconds": time.process_time() - begun, "value": float(value)}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
