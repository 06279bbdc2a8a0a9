"""Where the segments of a divided ranking lie: each of its divisions in a partition of its own."""

from __future__ import annotations

from hashlib import blake2b

PART_BITS = 12  # of a scope, for the partition


def text_hash(text: str) -> int:
    """A hash of a text that is the same on all servers, in 64 bits."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def division_of(segment: str | None, divisions: int) -> int:
    """The division of a segment; lists without a segment are in division 0.

    >>> [division_of(segment, 4) for segment in (None, "de", "fr", "it")]
    [0, 2, 1, 2]
    """
    return 0 if segment is None else text_hash(segment) % divisions


def division_parts(home: int, divisions: int, parts: int) -> list[int]:
    """The partitions of all divisions of a ranking, evenly apart: no two in one. Division 0 is in that of the name.

    >>> division_parts(13, 4, 16)
    [13, 1, 5, 9]
    """
    return [(home + number * parts // divisions) % parts for number in range(divisions)]


def ranking_scope(ranking: int, part: int) -> int:
    """The number by which all partitions know a divided ranking, given its id in its first partition."""
    return ranking << PART_BITS | part
