"""Assigns visitors to the holdout by a salted hash: each stays where it is, and a larger share keeps its members."""

from __future__ import annotations

from hashlib import blake2b

HASH_BYTES = 16
_BITS = 64  # of the hash, that decide


def visitor_hash(salt: bytes, visitor: str, kind: str = "visitor") -> bytes:
    """The hash by which a visitor is known.

    Parameters
    ----------
    salt : bytes
        Salt of the ranking, at most 64 bytes: the same visitor has unrelated hashes in two rankings.
    visitor : str
        Id of the visitor.
    kind : str, default "visitor"
        What the id names; equal ids of two kinds have unrelated hashes.

    Returns
    -------
    bytes
        Sixteen bytes.

    Examples
    --------
    >>> visitor_hash(b"salt of a ranking", "Ada").hex()[:8]
    '05ca0e42'
    """
    return blake2b(visitor.encode(), digest_size=HASH_BYTES, key=salt, person=kind.encode()).digest()


def is_held_out(hashed: bytes, share: float) -> bool:
    """Whether a visitor belongs to the holdout.

    Parameters
    ----------
    hashed : bytes
        Hash of the visitor.
    share : float
        Share of visitors in the holdout, in [0, 1]. Whoever belongs to a share belongs to every larger one.

    Returns
    -------
    bool

    Examples
    --------
    >>> some = [visitor_hash(b"salt of a ranking", str(n)) for n in range(1000)]
    >>> sum(is_held_out(hashed, 0.1) for hashed in some)
    97
    >>> all(is_held_out(hashed, 0.2) for hashed in some if is_held_out(hashed, 0.1))
    True
    """
    return int.from_bytes(hashed[: _BITS // 8]) < int(share * (1 << _BITS))
