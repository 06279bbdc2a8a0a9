"""Limits of connections: in total and per address, with one that waits for its client closed for a new one."""

from __future__ import annotations

import math
import resource
from collections import Counter, defaultdict
from time import monotonic
from typing import Literal, Protocol
from weakref import ref

from toplist.service.http.addresses import TrustedProxies, address_group
from toplist.service.settings import Limits

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

    At the limit of the total, one that waits for its client is closed for a new one. As long as half of all are idle,
    it is the one that is idle for longest. Otherwise clients hold them with unfinished requests, or with responses that
    they do not take: then it is the one that waits for longest of the address that has most, but only if that has more
    connections than the address of the new one then would. So a few addresses that hold all connections give way to
    others, and have nothing from opening more.

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
        self._idle: list[Waiting] = []  # none if less than half of all are
        self._held: list[tuple[int, Waiting]] = []  # with the connections that its address has without older ones
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
            if self._close(self._idle.pop()):
                return True
        while self._held and self._held[-1][0] > own:
            if self._close(self._held.pop()[1]):
                return True
        return False

    def _look(self, now: float) -> None:
        """Look for connections that wait for their clients."""
        idle: list[Waiting] = []
        by_group: defaultdict[str, list[Waiting]] = defaultdict(list)
        for each, address in self._open.items():
            since = _waits_since(each)
            if since is None:
                continue
            if now - since >= NEW_FOR and each.idle_since is not None:
                idle.append((since, ref(each)))
            if not self.proxies.trusts(address):
                by_group[address_group(address)].append((since, ref(each)))
        self._idle = sorted(idle, key=_since, reverse=True) if len(idle) * 2 >= len(self._open) else []
        held = [
            (self.by_address[group] - older, one)
            for group, waiting in by_group.items()
            for older, one in enumerate(sorted(waiting, key=_since))
        ]
        self._held = sorted(held, key=lambda each: (each[0], -each[1][0]))

    def _close(self, waiting: Waiting) -> bool:
        """Close a connection, which gives its place away at once; False if it does not wait any more."""
        since, connection = waiting[0], waiting[1]()
        if connection is None or _waits_since(connection) != since or self._open.pop(connection, None) is None:
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
