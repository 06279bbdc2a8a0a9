"""Limits of connections: in total and per address, with the longest idle one closed for a new one."""

from __future__ import annotations

import math
import resource
from collections import Counter
from time import monotonic
from typing import Literal, Protocol

from toplist.service.config import Limits
from toplist.service.http.addresses import TrustedProxies, address_group

RESERVED_FILES = 128  # open files that are no connections: the store, listeners, logs, health checks
LOOK_EVERY = 0.1  # seconds between two searches for idle connections, which a flood would repeat

Refusal = Literal["address", "total", "files", "handshake"]


class Closable(Protocol):
    """A connection that can be closed."""

    @property
    def idle_since(self) -> float | None:
        """Since when it waits for a request; None if it does not."""

    def close_idle(self) -> None:
        """Close the connection, which waits for a request."""


class ConnectionLimits:
    """Counts open connections, and says which new ones are refused.

    Parameters
    ----------
    limits : Limits
        Most connections in total, and from one address or one /64 of IPv6.
    proxies : TrustedProxies
        Proxies, which have many callers: only the total holds for them.
    """

    def __init__(self, limits: Limits, proxies: TrustedProxies) -> None:
        self._total, self._per_address, self.proxies = limits.connections, limits.address_connections, proxies
        self._open: set[Closable] = set()
        self._by_address: Counter[str] = Counter()
        self._idle: list[Closable] = []  # those that were idle when last looked for, the longest last
        self._looked_at = -math.inf
        self.refused: Counter[Refusal] = Counter()

    def __len__(self) -> int:
        return len(self._open)

    def refusal(self, address: str) -> Refusal | None:
        """Why a new connection is refused, or None: then `add` it."""
        group = address_group(address)
        if self._by_address[group] >= self._per_address and not self.proxies.trusts(address):
            self.refused["address"] += 1
            return "address"
        if len(self._open) >= self._total and not self._close_idle():
            self.refused["total"] += 1
            return "total"
        return None

    def add(self, connection: Closable, address: str) -> None:
        """Count a connection."""
        self._open.add(connection)
        self._by_address[address_group(address)] += 1

    def _close_idle(self) -> bool:
        """Close the connection that is idle for longest, if there is one."""
        if not self._idle and monotonic() - self._looked_at > LOOK_EVERY:
            self._looked_at = monotonic()
            times = {each: since for each in self._open if (since := each.idle_since) is not None}
            self._idle = sorted(times, key=lambda each: -times[each])
        while self._idle:
            longest = self._idle.pop()
            if longest.idle_since is not None:
                self._open.discard(longest)  # it gives its place away at once
                longest.close_idle()
                return True
        return False

    def remove(self, connection: Closable, address: str) -> None:
        """Count a connection as closed."""
        self._open.discard(connection)
        group = address_group(address)
        self._by_address[group] -= 1
        if not self._by_address[group]:
            del self._by_address[group]


def allow_files(connections: int) -> int:
    """Let the process open enough files for so many connections; the number that it may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + RESERVED_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections if soft == resource.RLIM_INFINITY else max(1, min(connections, soft - RESERVED_FILES))
