"""Garbage collection of a service: new objects in small portions, and all of them hardly ever."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# See gc.set_threshold. All wait for a collection: one of a thousand new objects takes half a millisecond, and so few
# make each of the next generation short as well. Those of all objects are as rare as millions of requests make them.
THRESHOLD = (1000, 5, 40_000)
EVERY = 512  # requests between two collections; thousands of new objects, besides those of requests in flight


@contextmanager
def rare_garbage_collection() -> Iterator[None]:
    """Collect all garbage less often, and new garbage in small portions: requests leave hardly any cycles."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()  # objects that exist now live until the end
    gc.set_threshold(*THRESHOLD)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


class NewGarbage:
    """Collects new garbage after every few requests.

    Python counts new objects less those that are freed, of whatever age. A service that forgets an old list for every
    new one keeps that count near zero, while hundreds of thousands of new objects gather: the collection that comes at
    last takes 50 ms. A collection every few requests looks at few objects, and at each of them once.
    """

    def __init__(self) -> None:
        self._requests = 0

    def count_request(self) -> None:
        """Count a request that was answered."""
        self._requests += 1
        if self._requests >= EVERY:
            self._requests = 0
            gc.collect(1)
