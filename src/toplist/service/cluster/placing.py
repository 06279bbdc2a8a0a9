"""Where things belong: the partition of a ranking, and the server of a partition."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from toplist.service.store.divisions import text_hash

REMEMBERED_NAMES = 10_000


@lru_cache(REMEMBERED_NAMES)
def partition_of(ranking: str, partitions: int) -> int:
    """The partition of a ranking, which has everything that belongs to it, or to division 0 where it is divided.

    >>> partition_of("front-page", 16), partition_of("front-page", 1)
    (8, 0)
    """
    return text_hash(ranking) % partitions


def preferred_server(partition: int, addresses: Iterable[str]) -> str | None:
    """The address of the server that a partition belongs to, by rendezvous hashing; None if there is no server.

    A server that comes takes its share from all others, and one that goes leaves its share to all others.

    >>> preferred_server(0, ["10.0.0.1:8700", "10.0.0.2:8700", "10.0.0.3:8700"])
    '10.0.0.1:8700'
    """
    return max(addresses, key=lambda address: text_hash(f"{partition} {address}"), default=None)
