"""Fits UBM and DBN with clax-models, in an environment of its own: prints CPU seconds per list and epoch as JSON.

Run by `make bench-peers` on a file with the arrays `item` and `click`, (lists, positions).
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import clax  # type: ignore[import-not-found]
import numpy as np
import optax  # type: ignore[import-not-found]
from flax import nnx  # type: ignore[import-not-found]

BATCH, EPOCHS = 4096, 3


def main(path: str) -> None:
    """Train each model for some epochs; the first compiles."""
    arrays = np.load(path)
    item, click = arrays["item"], arrays["click"].astype(np.float32)
    lists, positions = item.shape
    pairs = int(item.max()) + 1
    models = {
        "ubm": clax.UserBrowsingModel(positions=positions, query_doc_pairs=pairs, rngs=nnx.Rngs(0)),
        "dbn": clax.DynamicBayesianNetwork(query_doc_pairs=pairs, rngs=nnx.Rngs(0)),
    }
    found = {}
    for name, model in models.items():
        optimizer = nnx.ModelAndOptimizer(model, optax.adam(0.003))
        seconds = []
        for _ in range(EPOCHS):
            begun = time.process_time()
            for first in range(0, lists - BATCH + 1, BATCH):
                here = slice(first, first + BATCH)
                batch = {
                    "positions": np.tile(np.arange(1, positions + 1), (BATCH, 1)),
                    "query_doc_ids": item[here],
                    "clicks": click[here],
                    "mask": np.ones((BATCH, positions), dtype=bool),
                }
                loss = step(model, optimizer, batch)
            float(loss)
            seconds.append(time.process_time() - begun)
        found[name] = min(seconds[1:]) / (lists // BATCH * BATCH)
    print(json.dumps(found))


@nnx.jit  # type: ignore[untyped-decorator]
def step(model: Any, optimizer: Any, batch: Any) -> Any:
    """One step of gradient descent."""
    loss, gradient = nnx.value_and_grad(lambda own: own.compute_loss(batch).mean())(model)
    optimizer.update(gradient)
    return loss


if __name__ == "__main__":
    main(sys.argv[1])
