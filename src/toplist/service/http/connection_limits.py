"""Limits of connections: in total and per address, with the longest idle one closed for a new one."""

from __future__ import annotations

import resource
from collections import Counter
from typing import Literal, Protocol

from toplist.service.config import Limits
from toplist.service.http.addresses import TrustedProxies, address_group

RESERVED_FILES = 128  # open files that are no connections: the store, listeners, logs, health checks

Refusal = Literal["address", "total"]


class Closable(Protocol):
    """A connection that can be closed."""

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
        self._total, self._per_address, self._proxies = limits.connections, limits.address_connections, proxies
        self._open = 0
        self._by_address: Counter[str] = Counter()
        self._idle: dict[Closable, None] = {}  # by the time since which they wait for a request
        self.refused: Counter[Refusal] = Counter()

    def __len__(self) -> int:
        return self._open

    def admit(self, address: str) -> Refusal | None:
        """Count a new connection, or say why it is refused."""
        group = address_group(address)
        if self._by_address[group] >= self._per_address and not self._proxies.trusts(address):
            self.refused["address"] += 1
            return "address"
        if self._open >= self._total:
            if not self._idle:
                self.refused["total"] += 1
                return "total"
            longest = next(iter(self._idle))
            del self._idle[longest]
            longest.close_idle()
        self._open += 1
        self._by_address[group] += 1
        return None

    def remove(self, connection: Closable, address: str) -> None:
        """Count an admitted connection as closed."""
        self._open -= 1
        self._idle.pop(connection, None)
        group = address_group(address)
        self._by_address[group] -= 1
        if not self._by_address[group]:
            del self._by_address[group]

    def begin_idle(self, connection: Closable) -> None:
        """A connection waits for a request."""
        self._idle[connection] = None

    def end_idle(self, connection: Closable) -> None:
        """A connection does not wait any more."""
        self._idle.pop(connection, None)


def allow_files(connections: int) -> int:
    """Let the process open enough files for so many connections; the number that it may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + RESERVED_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections if soft == resource.RLIM_INFINITY else max(1, min(connections, soft - RESERVED_FILES))
