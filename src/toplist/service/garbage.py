"""Garbage collection of a service: new objects in small portions, and all of them hardly ever."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# See gc.set_threshold. All wait for a collection. Requests in flight have thousands of objects, which a collection of
# every thousand new ones would look at again and again, for 4% of the processor time: new garbage is collected after
# every few requests instead, and the first number is for what makes many objects at once. Collections of all objects
# are as rare as millions of requests make them.
THRESHOLD = (10_000, 5, 40_000)
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
