"""How much one caller may ask for: token buckets, by key or by address."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

from toplist.service.http.problems import Problem

REMEMBERED = 10_000  # callers; who has not called for long has a full bucket anyway


class Buckets:
    """A bucket of tokens per caller: it holds `burst`, and `rate` drop into it per second. Rate 0 is no limit.

    >>> now = [0.0]
    >>> buckets = Buckets(rate=2.0, burst=1, clock=lambda: now[0])
    >>> buckets.wait("a"), buckets.wait("a"), buckets.wait("b")
    (0.0, 0.5, 0.0)
    """

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = monotonic) -> None:
        self.rate, self.burst = rate, float(burst)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and when they were counted

    def wait(self, caller: str) -> float:
        """Take a token: 0, or the seconds until there is one."""
        if self.rate <= 0.0:
            return 0.0
        now = self._clock()
        tokens, then = self._buckets.pop(caller, (self.burst, now))
        tokens = min(self.burst, tokens + (now - then) * self.rate)
        enough = tokens >= 1.0
        self._buckets[caller] = (tokens - 1.0 if enough else tokens, now)
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        return 0.0 if enough else (1.0 - tokens) / self.rate

    def admit(self, caller: str) -> None:
        """The problem of a caller who asks too often."""
        wait = self.wait(caller)
        if wait > 0.0:
            seconds = max(1, math.ceil(wait))
            raise Problem(
                "too-many-requests",
                f"More than {self.rate:g} requests per second; ask again in {seconds} s.",
                headers={"retry-after": str(seconds)},
            )
