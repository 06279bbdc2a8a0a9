"""Messages about the servers of a database."""

from __future__ import annotations

from msgspec import Struct


class ClusterServer(Struct, frozen=True, kw_only=True):
    """A server that was seen within a lease."""

    name: str
    address: str  # at which other servers reach it
    seen: float  # seconds ago
    leaving: bool  # whether it hands its partitions over
    here: bool  # whether it has answered this request


class ClusterPartition(Struct, frozen=True, kw_only=True):
    """A partition of the database."""

    partition: int
    owner: str | None  # name of a server
    epoch: int  # grows with every owner
    last: int  # number of its last event
    lease: float | None  # seconds until another server may take it, unless it is renewed
    lag: float | None  # seconds since the first click window ended that is still open; null: the database is away


class ClusterView(Struct, frozen=True, kw_only=True):
    """Servers and partitions, as the database said some moments ago."""

    age: float  # seconds since the database was asked
    servers: list[ClusterServer]
    partitions: list[ClusterPartition]
