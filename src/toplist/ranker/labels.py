"""The label of an item: the number that identifies it to the random numbers, wherever and whenever it is added.

A label is a BLAKE2b digest of 8 bytes (RFC 7693). Very many labels are computed in machine code; both ways give the
same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from toplist.core.compiling import compiled, helper
from toplist.core.item_id import ItemId
from toplist.core.randomness import wrap
from toplist.core.slate import Ints

MACHINE_CODE = 100_000  # names; to compile takes longer than to hash fewer of them
CHUNK = 128  # bytes of text that are hashed at once; longer names are left to hashlib
LANES = 16  # texts that are hashed together
PERSON = b"integer"  # distinguishes 7 from "7"

# The first bits of the square roots of the first eight primes, and the order in which words are mixed in.
START = np.array(
    [
        0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
        0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
    ],
    dtype=np.uint64,
).view(np.int64)  # fmt: skip
ORDER = np.array([
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
])  # fmt: skip
PARAMETERS = 0x01010008  # a digest of 8 bytes, without a key, not a tree


@lru_cache(maxsize=1 << 18)  # the learners of many segments have the same items
def label(name: ItemId) -> int:
    """The label of an item.

    >>> label("a") == label("a") != label("b")
    True
    >>> label("7") == label(7)
    False
    """
    kind = b"" if isinstance(name, str) else PERSON
    digest = hashlib.blake2b(_encoded(name), digest_size=8, person=kind).digest()
    return int.from_bytes(digest, "little", signed=True)


def labels_of(names: Sequence[ItemId], all_texts: bool = False) -> Ints:
    """The labels of several items; `all_texts` says that all are known to be texts.

    >>> labels_of(["a", 7]).tolist() == [label("a"), label(7)]
    True
    """
    found = np.zeros(len(names), dtype=np.int64)
    if len(names) < MACHINE_CODE or not hasattr(digest_compiled, "compile"):  # NUMBA_DISABLE_JIT
        found[:] = [label(name) for name in names]
        return found
    is_text = all_texts or set(map(type, names)) == {str}
    texts = cast(Sequence[str], names) if is_text else [str(name) for name in names]
    persons = np.zeros(len(names), dtype=bool) if is_text else np.array([not isinstance(name, str) for name in names])
    content = np.frombuffer(bytearray(("\0".join(texts) + "\0").encode("utf-8", "surrogatepass")), np.uint8)
    ends = np.flatnonzero(content == 0)
    if len(ends) == len(names):
        lengths = np.diff(ends, prepend=-1) - 1
    else:  # a name contains the separator
        lengths = np.fromiter(map(len, map(_encoded, texts)), np.int64)
    digest_compiled(content, lengths, persons, digest_scratch(), found)
    for n in np.flatnonzero(lengths > CHUNK).tolist():
        found[n] = label(names[n])
    return found


def _encoded(name: ItemId) -> bytes:
    return str(name).encode("utf-8", "surrogatepass")


class DigestScratch(NamedTuple):
    """Scratch space for LANES texts."""

    words: Ints  # (16, LANES): eight bytes each, the lowest first
    state: Ints  # (16, LANES)


def digest_scratch() -> DigestScratch:
    """Scratch space for the texts that are hashed together."""
    return DigestScratch(np.zeros((16, LANES), dtype=np.int64), np.zeros((16, LANES), dtype=np.int64))


@helper
def turned(x: int, right: int) -> int:
    """The bits of a number, turned to the right."""
    return ((x >> right) & ((1 << (64 - right)) - 1)) | wrap(x << (64 - right))


@helper
def mix(a: Ints, b: Ints, c: Ints, d: Ints, first: Ints, second: Ints) -> None:
    """Mix two words into four numbers, for all lanes: the function G."""
    for i in range(len(a)):  # vectorised
        p = wrap(int(a[i]) + int(b[i]) + int(first[i]))
        s = turned(int(d[i]) ^ p, 32)
        r = wrap(int(c[i]) + s)
        q = turned(int(b[i]) ^ r, 24)
        p = wrap(p + q + int(second[i]))
        s = turned(s ^ p, 16)
        r = wrap(r + s)
        a[i], b[i], c[i], d[i] = p, turned(q ^ r, 63), r, s


@helper
def digest(
    content: NDArray[np.uint8], lengths: Ints, persons: NDArray[np.bool_], scratch: DigestScratch, found: Ints
) -> None:
    """Fill the digests of texts of at most CHUNK bytes, one byte apart in `content`; 0 for longer ones."""
    words, v, at = scratch.words, scratch.state, 0
    for begin in range(0, len(lengths), LANES):
        count = min(LANES, len(lengths) - begin)
        words[:] = 0
        for row in range(8):
            v[row] = START[row]
            v[row + 8] = START[row]
        v[14] = ~START[6]
        for lane in range(count):
            length = lengths[begin + lane]
            v[0, lane] ^= PARAMETERS
            v[12, lane] ^= length
            if persons[begin + lane]:
                v[6, lane] ^= PERSON_WORD
            if length <= CHUNK:
                for i in range(length):
                    words[i >> 3, lane] |= wrap(int(content[at + i]) << (8 * (i & 7)))
            at += length + 1
        for turn in range(12):
            s = ORDER[turn]
            for column in range(4):
                first, second = words[s[2 * column]], words[s[2 * column + 1]]
                mix(v[column], v[column + 4], v[column + 8], v[column + 12], first, second)
            for column in range(4):
                first, second = words[s[2 * column + 8]], words[s[2 * column + 9]]
                e, f, g = 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4  # a diagonal
                mix(v[column], v[e], v[f], v[g], first, second)
        for lane in range(count):
            fits = lengths[begin + lane] <= CHUNK
            found[begin + lane] = START[0] ^ PARAMETERS ^ v[0, lane] ^ v[8, lane] if fits else 0


PERSON_WORD = int.from_bytes(PERSON.ljust(8, b"\0"), "little")
digest_compiled = compiled(digest)
