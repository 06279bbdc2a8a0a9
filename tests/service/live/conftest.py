"""Tests of the live service run on two stores: reads of one return at once, and those of the other suspend."""

from collections.abc import Iterator

import pytest
from running import STORES, open_store


@pytest.fixture(autouse=True, params=list(STORES))
def store_kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """Which store `running.at_work` opens."""
    kind: str = request.param
    token = open_store.set(STORES[kind])
    yield kind
    open_store.reset(token)
