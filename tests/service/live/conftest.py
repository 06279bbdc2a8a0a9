"""Every test of the live service runs on both stores: one whose reads return at once, and one whose reads suspend."""

from collections.abc import Iterator

import pytest
from running import STORES, open_store


@pytest.fixture(params=STORES, autouse=True)
def store_kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """Which store `at_work` opens."""
    token = open_store.set(STORES[request.param])
    yield request.param
    open_store.reset(token)
