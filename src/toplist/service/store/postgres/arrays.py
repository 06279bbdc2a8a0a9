"""Columns of rows as arrays in the binary form of PostgreSQL, without a call for each value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from struct import Struct
from typing import Any

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

_HEAD = Struct(">iiIii").pack  # dimensions, whether values may be missing, type, length, first index
_EMPTY = Struct(">iiI").pack
_LENGTH = Struct(">i").pack
_SHORT = [_LENGTH(length) for length in range(1024)]
_MISSING = _LENGTH(-1)
_AT_ONCE = 256  # whole numbers that are packed by one call
_CODES = {"bigint": 20, "smallint": 21, "text": 25, "bytea": 17}  # of types of PostgreSQL
_WHOLE = {"bigint": (8, "iq"), "smallint": (2, "ih")}  # bytes of a number, and its format after its length


class EncodedArray:
    """An array as bytes, for a place that says of which type it is, such as `%b::bigint[]`."""

    __slots__ = ("encoded",)

    def __init__(self, encoded: bytes) -> None:
        self.encoded = encoded


class _EncodedArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: EncodedArray) -> bytes:
        return obj.encoded


psycopg.adapters.register_dumper(EncodedArray, _EncodedArrayDumper)


def encode_array(kind: str, values: Sequence[Any]) -> EncodedArray:
    """An array of a type of PostgreSQL: bigint, smallint, text or bytea; the last two may have None.

    >>> encode_array("smallint", [258]).encoded.hex(" ", 4)
    '0000 00010000 00000000 00150000 00010000 00010000 00020102'
    """
    code, count = _CODES[kind], len(values)
    if not count:
        return EncodedArray(_EMPTY(0, 0, code))
    if kind in _WHOLE:
        numbers = [_whole_numbers(kind, values[at : at + _AT_ONCE]) for at in range(0, count, _AT_ONCE)]
        return EncodedArray(b"".join([_HEAD(1, 0, code, count, 1), *numbers]))
    parts = [_HEAD(1, 1, code, count, 1)]
    for value in values:
        if value is None:
            parts.append(_MISSING)
        else:
            encoded = value.encode() if kind == "text" else value
            length = len(encoded)
            parts += (_SHORT[length] if length < len(_SHORT) else _LENGTH(length)), encoded
    return EncodedArray(b"".join(parts))


def _whole_numbers(kind: str, values: Sequence[int]) -> bytes:
    """Each number after its length."""
    size, form = _WHOLE[kind]
    fields = [size] * (2 * len(values))
    fields[1::2] = values
    return _packing(form, len(values))(*fields)


@lru_cache(2 * _AT_ONCE)
def _packing(form: str, count: int) -> Callable[..., bytes]:
    return Struct(">" + form * count).pack
