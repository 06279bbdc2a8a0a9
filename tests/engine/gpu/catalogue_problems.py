"""A small problem for every policy of the catalogue, with features where it needs them."""

from __future__ import annotations

from typing import Any

import numpy as np

from toplist import make
from toplist.clicks import DCM
from toplist.support.catalogue import POLICIES
from toplist.worlds import Fixed, TopicCoverage

USERS = DCM(0.5)


def policies() -> list[str]:
    """All names of the catalogue."""
    return sorted(POLICIES.entries())


def world_for(policy: str, items: int = 16, positions: int = 4, topics: int = 6) -> Any:
    """A world on which the policy can be played."""
    random = np.random.default_rng(1)
    if not make(policy).capabilities().needs_features:
        return Fixed(random.uniform(0.05, 0.4, items), positions)
    degrees = random.uniform(0.1, 0.9, (items, topics)) * (random.random((items, topics)) < 0.4)
    return TopicCoverage(degrees, np.full(topics, 0.9 / topics), positions)
