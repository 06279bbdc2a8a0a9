"""Rate limits: a token bucket per caller, identified by API key or address."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from time import monotonic

from toplist.service.http.problems import HttpProblem

MAX_CALLERS = 10_000  # in memory; the bucket of an idle caller is full anyway


class TokenBuckets:
    """One token bucket per caller: capacity `burst`, refilled with `rate` tokens per second. Rate 0: no limit.

    `closes` says whether the connection of a caller without a token is closed, with the requests that it sent ahead.

    >>> now = [0.0]
    >>> buckets = TokenBuckets(rate=2.0, burst=1, clock=lambda: now[0])
    >>> buckets.wait("a"), buckets.wait("a"), buckets.wait("b")
    (0.0, 0.5, 0.0)
    """

    def __init__(
        self, rate: float, burst: int, clock: Callable[[], float] = monotonic, *, closes: bool = False
    ) -> None:
        self.rate, self.burst = rate, float(burst)
        self._headers = {"connection": "close"} if closes else {}
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and the time of their count

    def __len__(self) -> int:
        return len(self._buckets)

    def take_over(self, before: TokenBuckets) -> None:
        """Go on with the tokens of other buckets, if the rate is the same."""
        if (before.rate, before.burst) == (self.rate, self.burst):
            self._buckets = before._buckets

    def wait(self, caller: str) -> float:
        """Take a token and return 0, or return the seconds until the next token."""
        if self.rate <= 0.0:
            return 0.0
        now = self._clock()
        tokens, then = self._buckets.pop(caller, (self.burst, now))
        tokens = min(self.burst, tokens + (now - then) * self.rate)
        enough = tokens >= 1.0
        self._buckets[caller] = (tokens - 1.0 if enough else tokens, now)
        if len(self._buckets) > MAX_CALLERS:
            self._buckets.popitem(last=False)
        return 0.0 if enough else (1.0 - tokens) / self.rate

    def admit(self, caller: str) -> None:
        """Take a token, or raise the problem of too many requests."""
        wait = self.wait(caller)
        if wait > 0.0:
            seconds = max(1, math.ceil(wait))
            raise HttpProblem(
                "too-many-requests",
                f"More than {self.rate:g} requests per second; try again in {seconds} s.",
                headers={"retry-after": str(seconds), **self._headers},
            )
