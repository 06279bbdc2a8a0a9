"""Services to ask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from asking import ADMIN, SERVE, Make, Service, stocked

from toplist.service.api.keys import hashed
from toplist.service.config import KeySetting, Limits, Settings


@pytest.fixture
def make_service() -> Iterator[Make]:
    """Services with any settings."""
    made: list[Service] = []

    def make(**settings: Any) -> Service:
        made.append(Service(Settings(**settings)))
        return made[-1]

    yield make
    for service in made:
        service.close()


@pytest.fixture
def service(make_service: Make) -> Service:
    """A service without keys, with a ranking of three items."""
    made = make_service()
    stocked(made)
    return made


@pytest.fixture
def keyed(make_service: Make) -> Service:
    """A service with a key of each scope."""
    return make_service(
        keys=[
            KeySetting(name="page", scope="serve", sha256=hashed(SERVE)),
            KeySetting(name="editor", scope="admin", sha256=hashed(ADMIN)),
        ],
        limits=Limits(rate=1000.0, burst=1000),
    )
