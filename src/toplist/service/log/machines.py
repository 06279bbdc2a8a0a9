"""On which kinds of machines a belief was computed: kept at the end of a snapshot, since others may round otherwise."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

from toplist.core.compiling import arithmetic

MARK = b"machines"  # at the end; a reader that does not know it reads the belief up to its own end
LENGTH = 8  # bytes of a fingerprint
MOST = 255

Machines = frozenset[bytes]  # fingerprints


@cache
def this_machine() -> bytes:
    """The fingerprint of all that the last bits of a belief depend on here: the CPU, libm, numba and NumPy."""
    return blake2b(repr(arithmetic()).encode(), digest_size=LENGTH).digest()


def with_machines(belief: bytes, machines: Machines | None) -> bytes:
    """The body of a snapshot; without machines where they are not known.

    >>> len(with_machines(b"belief", frozenset([b"12345678"]))), with_machines(b"belief", None)
    (23, b'belief')
    """
    if machines is None:
        return belief
    kept = sorted(machines)[:MOST]
    return b"".join([belief, *kept, bytes([len(kept)]), MARK])


def split_machines(body: bytes) -> tuple[bytes, Machines | None]:
    """The belief of a snapshot, and the machines on which it was computed; None if they are not known.

    >>> split_machines(with_machines(b"belief", frozenset([b"12345678"])))
    (b'belief', frozenset({b'12345678'}))
    >>> split_machines(b"belief")
    (b'belief', None)
    """
    if not body.endswith(MARK) or len(body) == len(MARK):
        return body, None
    end = len(body) - len(MARK) - 1
    start = end - LENGTH * body[end]
    if start < 0:
        return body, None
    return body[:start], frozenset(body[n : n + LENGTH] for n in range(start, end, LENGTH))


def with_this_machine(machines: Machines | None) -> Machines | None:
    """The machines of a belief that is computed further here."""
    return None if machines is None else machines | {this_machine()}


def are_comparable(machines: Machines | None) -> bool:
    """Whether a belief has the same bytes when it is computed here; also where its machines are not known."""
    return machines is None or machines <= {this_machine()}
