"""A clock of tests that goes by itself, for services that wait for a real database."""

from time import time

from running import Clock


class WallClock(Clock):
    """The wall clock."""

    def __call__(self) -> int:
        return round(time() * 1000)
