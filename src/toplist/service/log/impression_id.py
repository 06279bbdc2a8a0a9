"""Ids of impressions: UUIDs of version 7."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

MOST_PARTITIONS = 1 << 12
_PARTITION = MOST_PARTITIONS - 1  # the last bits of an id, where a store is divided into partitions
_PACK = struct.Struct(">QQ").pack


class ImpressionIds:
    """Makes increasing ids that cannot be guessed.

    Parameters
    ----------
    partition : int or None, default None
        The partition that ids tell; None: the store is not divided, and those bits are random, too.

    Examples
    --------
    >>> partition_of_id(ImpressionIds(5).next(1_700_000_000_000))
    5
    """

    def __init__(self, partition: int | None = None) -> None:
        self._keep, self._add = (~0, 0) if partition is None else (~_PARTITION, partition)
        self._moment = 0
        self._count = 0
        self._random: Iterator[int] = iter(())

    def next(self, now: int) -> bytes:
        """The id of an impression that is made now."""
        if now > self._moment:
            self._moment, self._count = now, 0
        elif self._count == 0xFFF:  # the counter of this millisecond is full: borrow from the next
            self._moment, self._count = self._moment + 1, 0
        else:
            self._count += 1
        random = next(self._random, None)
        if random is None:
            self._random = iter(struct.unpack("512Q", os.urandom(4096)))
            random = next(self._random)
        return _PACK(self._moment << 16 | 0x7000 | self._count, 0x8 << 60 | (random >> 2) & self._keep | self._add)


def partition_of_id(id: bytes) -> int:
    """The partition that an id tells."""
    return int.from_bytes(id[-2:], "big") & _PARTITION


def id_time(id: bytes) -> int:
    """When an id was made, in milliseconds.

    >>> id_time(ImpressionIds().next(1_700_000_000_000))
    1700000000000
    """
    return int.from_bytes(id[:6], "big")


def id_text(id: bytes) -> str:
    """An id as text.

    >>> id_text(bytes(range(16)))
    '00010203-0405-0607-0809-0a0b0c0d0e0f'
    """
    h = id.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def parse_id(text: str) -> bytes | None:
    """The id that a text spells; None if it is not an id."""
    try:
        id = bytes.fromhex(text.replace("-", ""))
    except ValueError:
        return None
    # 36 characters of which 32 are the digits of sixteen bytes: the others are these four dashes.
    return id if len(id) == 16 and len(text) == 36 and text[8:24:5] == "----" else None
