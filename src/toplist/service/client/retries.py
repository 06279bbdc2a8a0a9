"""When to send a request again: what both clients share."""

from __future__ import annotations

import random
from typing import Any

import httpx

from toplist.service.client.client_request import ClientRequest

FIRST_WAIT, LONGEST_WAIT = 0.05, 5.0  # seconds; the limit of a wait doubles with each attempt
LONGEST_RETRY_AFTER = 60.0  # seconds; give up where the service asks for more
_NOT_DONE = frozenset({429, 503})  # from the service: the request had no effect
_UNKNOWN = frozenset({502, 504})  # from a proxy: it is unknown whether the request took effect


class Retries:
    """When to send a request again, and how long to wait before.

    A wait is uniform between 0 and a limit that doubles with each attempt (exponential backoff with full jitter), so
    that clients that failed together do not come back together. A longer `Retry-After` is respected.

    Parameters
    ----------
    most : int, default 6
        Retries at most.
    chance : random.Random or None, default None
        Generator of the waits; None: a new one.

    Examples
    --------
    >>> from toplist.service.client import requests
    >>> busy = httpx.Response(503, headers={"retry-after": "7"})
    >>> Retries().wait(0, requests.rankings(), busy)
    7.0
    """

    def __init__(self, most: int = 6, chance: random.Random | None = None) -> None:
        self.most = most
        self._chance = chance or random.Random()

    def wait(
        self, attempt: int, request: ClientRequest[Any], outcome: httpx.Response | httpx.TransportError
    ) -> float | None:
        """Seconds to wait before the next attempt.

        Parameters
        ----------
        attempt : int
            Index of the failed attempt, from 0.
        request : ClientRequest
            The request that failed.
        outcome : httpx.Response or httpx.TransportError
            What came instead of a reply.

        Returns
        -------
        float or None
            None: do not try again.
        """
        if attempt >= self.most:
            return None
        limit: float = min(LONGEST_WAIT, FIRST_WAIT * 2**attempt)
        wait = self._chance.uniform(0.0, limit)
        if isinstance(outcome, httpx.TransportError):
            never_sent = isinstance(outcome, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
            return wait if request.repeatable or never_sent else None
        if outcome.status_code in _NOT_DONE or (outcome.status_code in _UNKNOWN and request.repeatable):
            header = outcome.headers.get("retry-after", "")
            retry_after = float(header) if header.isdigit() else 0.0
            return max(wait, retry_after) if retry_after <= LONGEST_RETRY_AFTER else None
        return None
