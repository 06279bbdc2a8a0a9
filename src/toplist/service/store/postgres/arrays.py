"""Columns of rows as arrays in the binary form of PostgreSQL, without a call for each value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from struct import Struct
from typing import Any

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

_HEAD_FORM = "iiIii"  # dimensions, whether values may be missing, type, length, first index
_HEAD = Struct(">" + _HEAD_FORM).pack
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
        return EncodedArray(_whole_numbers(*_WHOLE[kind], code, values))
    parts = [_HEAD(1, 1, code, count, 1)]
    for value in values:
        if value is None:
            parts.append(_MISSING)
        else:
            encoded = value.encode() if kind == "text" else value
            length = len(encoded)
            parts += (_SHORT[length] if length < len(_SHORT) else _LENGTH(length)), encoded
    return EncodedArray(b"".join(parts))


def _whole_numbers(size: int, form: str, code: int, values: Sequence[int]) -> bytes:
    """An array of numbers, each after its length."""
    count = len(values)
    fields = [size] * (2 * count)
    fields[1::2] = values
    if count <= _AT_ONCE:  # with what comes before them, by one call: most commits are small
        return _packing(_HEAD_FORM, form, count)(1, 0, code, count, 1, *fields)
    packed = [_HEAD(1, 0, code, count, 1)]
    for at in range(0, 2 * count, 2 * _AT_ONCE):
        some = fields[at : at + 2 * _AT_ONCE]
        packed.append(_packing("", form, len(some) // 2)(*some))
    return b"".join(packed)


@lru_cache(4 * _AT_ONCE)
def _packing(head: str, form: str, count: int) -> Callable[..., bytes]:
    return Struct(">" + head + form * count).pack
