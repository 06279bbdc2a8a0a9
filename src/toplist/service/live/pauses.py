"""Pauses of work in another thread, so that requests hardly wait for the interpreter."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter, sleep

SLICE = 0.0005  # seconds of work between two pauses
REST = 2.0  # times as long: requests let go of the interpreter many times each, and wait for it again
LOOK_EVERY = 0.02  # seconds after which it is looked again whether requests come


class Pauses:
    """Called between steps of long work: lets it rest while requests change something; alone, it works all the time.

    Parameters
    ----------
    stops : callable
        Raises an error if the work is to end.
    last_seq : callable
        A number that changes with every request that changes something.
    """

    def __init__(self, stops: Callable[[], None], last_seq: Callable[[], int]) -> None:
        self._stops, self._last_seq = stops, last_seq
        self._until = perf_counter() + SLICE
        self._seen, self._look_at, self._rests = last_seq(), 0.0, True

    def __call__(self) -> None:
        """Rest, if it is time and others work."""
        if (now := perf_counter()) < self._until:
            return
        self._stops()
        if now > self._look_at:
            last = self._last_seq()
            self._rests, self._seen, self._look_at = last != self._seen, last, now + LOOK_EVERY
        if self._rests:
            sleep(REST * SLICE)
        self._until = perf_counter() + SLICE
