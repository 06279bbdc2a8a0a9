"""A log of uniformly random lists for offline evaluation, as arrays: 20 items, 10 positions."""

from __future__ import annotations

import numpy as np

from toplist.logs import ClickLog, IdTable

ITEMS, POSITIONS = 20, 10


def random_slates(lists: int, seed: int = 0) -> ClickLog:
    """Lists of random items, with clicks by item and position, and a target that shows every list as often."""
    rng = np.random.default_rng(seed)
    item = np.argsort(rng.random((lists, ITEMS), dtype=np.float32), axis=1)[:, :POSITIONS].astype(np.int32)
    rate = np.linspace(0.3, 0.05, ITEMS)[item] * np.linspace(1.0, 0.4, POSITIONS)
    click = (rng.random(rate.shape) < rate).astype(np.uint8)
    given = np.tile(1.0 / (ITEMS - np.arange(POSITIONS)), lists)
    marginal = np.full(lists * POSITIONS, 1.0 / ITEMS)
    return ClickLog(
        IdTable(["all"]), IdTable(range(ITEMS)), np.zeros(lists, dtype=np.int32),
        np.arange(0, lists * POSITIONS + 1, POSITIONS), item.ravel(), click.ravel(), propensity=given,
        marginal=marginal, target_propensity=given, target_marginal=marginal,
    )  # fmt: skip
