"""Limits of connections: in total and per address, with one that waits for its client closed for a new one."""

from __future__ import annotations

import math
import resource
from collections import Counter, defaultdict
from time import monotonic
from typing import Literal, Protocol
from weakref import ref

from toplist.service.config import Limits
from toplist.service.http.addresses import TrustedProxies, address_group

RESERVED_FILES = 128  # open files that are no connections: the store, listeners, logs, health checks
LOOK_EVERY = 0.1  # seconds between two searches for connections to close, which a flood would repeat
NEW_FOR = 1.0  # seconds in which a new connection is not taken for an idle one: its first request is on the way

Refusal = Literal["address", "total", "files", "handshake"]


class Closable(Protocol):
    """A connection that can be closed."""

    @property
    def idle_since(self) -> float | None:
        """Since when it waits for a request; None if it does not."""

    @property
    def unfinished_since(self) -> float | None:
        """Since when it waits for the rest of a request, or for its client to take a response; None if it does not."""

    def give_way(self) -> None:
        """Close the connection, which waits for its client."""


Waiting = tuple[float, ref[Closable]]  # since when a connection waits; one that ended is not kept in memory


class ConnectionLimits:
    """Counts open connections, and says which new ones are refused.

    At the limit of the total, the longest idle connection is closed for a new one. If none is idle, the oldest one that
    waits for the rest of a request, or for its client to take a response, is closed, of the address that has most: but
    only if that has more connections than the address of the new one would have. So a few addresses that hold all
    connections give way to others, and have nothing from opening more.

    Parameters
    ----------
    limits : Limits
        Most connections in total, and from one address or one /64 of IPv6.
    proxies : TrustedProxies
        Proxies, which have many callers: only the total holds for them.
    """

    def __init__(self, limits: Limits, proxies: TrustedProxies) -> None:
        self._total, self._per_address, self.proxies = limits.connections, limits.address_connections, proxies
        self._open: dict[Closable, str] = {}  # with their addresses
        self.by_address: Counter[str] = Counter()
        # Those that waited when last looked for, the next to close last.
        self._idle: list[Waiting] = []
        self._unfinished: list[tuple[int, Waiting]] = []  # with the connections of their address, up to this one
        self._looked_at = -math.inf
        self.refused: Counter[Refusal] = Counter()
        self.gave_way = 0  # connections that were closed for new ones

    def __len__(self) -> int:
        return len(self._open)

    def refusal(self, address: str) -> Refusal | None:
        """Why a new connection is refused, or None: then `add` it."""
        group = address_group(address)
        if self.by_address[group] >= self._per_address and not self.proxies.trusts(address):
            self.refused["address"] += 1
            return "address"
        if len(self._open) >= self._total:
            if not self._make_room(0 if self.proxies.trusts(address) else self.by_address[group] + 1):
                self.refused["total"] += 1
                return "total"
            self.gave_way += 1
        return None

    def add(self, connection: Closable, address: str) -> None:
        """Count a connection."""
        self._open[connection] = address
        self.by_address[address_group(address)] += 1

    def _make_room(self, own: int) -> bool:
        """Close a connection for one of an address that then has so many, if one may be closed."""
        now = monotonic()
        if now - self._looked_at > LOOK_EVERY:
            self._looked_at = now
            self._look(now)
        while self._idle:
            since, longest = self._idle.pop()
            if (found := longest()) is not None and found.idle_since == since and self._close(found):
                return True
        while self._unfinished and self._unfinished[-1][0] > own:
            _, (since, oldest) = self._unfinished.pop()
            if (found := oldest()) is not None and _waits_since(found) == since and self._close(found):
                return True
        return False

    def _look(self, now: float) -> None:
        """Look for connections that wait for their clients."""
        waiting: defaultdict[str, list[Waiting]] = defaultdict(list)
        self._idle = []
        for each, address in self._open.items():
            idle = each.idle_since
            if idle is not None and (now - idle > NEW_FOR or self.proxies.trusts(address)):
                self._idle.append((idle, ref(each)))
            elif (since := _waits_since(each)) is not None and not self.proxies.trusts(address):
                waiting[address_group(address)].append((since, ref(each)))
        self._idle.sort(key=_since, reverse=True)
        unfinished = [
            (self.by_address[group] - place, one)
            for group, held in waiting.items()
            for place, one in enumerate(sorted(held, key=_since))
        ]
        self._unfinished = sorted(unfinished, key=lambda each: (each[0], -each[1][0]))

    def _close(self, connection: Closable) -> bool:
        """Close a connection, which gives its place away at once; False if it has gone already."""
        if self._open.pop(connection, None) is None:
            return False
        connection.give_way()
        return True

    def remove(self, connection: Closable, address: str) -> None:
        """Count a connection as closed."""
        self._open.pop(connection, None)
        group = address_group(address)
        self.by_address[group] -= 1
        if not self.by_address[group]:
            del self.by_address[group]


def _waits_since(connection: Closable) -> float | None:
    """Since when a connection waits for its client; None if it does not."""
    idle = connection.idle_since
    return connection.unfinished_since if idle is None else idle


def _since(waiting: Waiting) -> float:
    return waiting[0]


def allow_files(connections: int) -> int:
    """Let the process open enough files for so many connections; the number that it may have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + RESERVED_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections if soft == resource.RLIM_INFINITY else max(1, min(connections, soft - RESERVED_FILES))
