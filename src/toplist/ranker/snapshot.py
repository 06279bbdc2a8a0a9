"""The state of a `LoggedRanker` as plain values and arrays, and as bytes."""

from __future__ import annotations

import json
import zlib
from typing import Any, NamedTuple

import numpy as np

FORMAT = b"toplist1"


class State(NamedTuple):
    """A snapshot of a `LoggedRanker`: everything it has learned, and its open lists.

    Parameters
    ----------
    header : dict
        Plain values, which JSON can hold.
    arrays : dict of str to ndarray
        Arrays by name.
    """

    header: dict[str, Any]
    arrays: dict[str, Any]

    def packed(self) -> bytes:
        """Compress the snapshot; equal snapshots give equal bytes.

        Returns
        -------
        bytes
            The bytes of `LoggedRanker.to_bytes`.
        """
        shapes = [(name, str(array.dtype), array.shape) for name, array in self.arrays.items()]
        text = json.dumps(self.header | {"arrays": shapes}, separators=(",", ":")).encode()
        press = zlib.compressobj(1)
        parts = [FORMAT, press.compress(len(text).to_bytes(4, "little") + text)]
        parts += [press.compress(array.tobytes()) for array in self.arrays.values()]
        return b"".join([*parts, press.flush()])

    @classmethod
    def unpacked(cls, packed: bytes) -> State:
        """Restore a snapshot from the bytes of `packed`.

        Parameters
        ----------
        packed : bytes
            The result of `packed`.

        Returns
        -------
        State
            The snapshot; its arrays cannot be written to.

        Raises
        ------
        ValueError, KeyError, zlib.error
            If the bytes are damaged.
        """
        content = memoryview(zlib.decompress(packed[len(FORMAT) :]))
        length = 4 + int.from_bytes(content[:4], "little")
        header = json.loads(bytes(content[4:length]))
        arrays: dict[str, Any] = {}
        for name, dtype, shape in header.pop("arrays"):
            size = int(np.prod(shape)) * np.dtype(dtype).itemsize
            arrays[name] = np.frombuffer(content[length : length + size], dtype).reshape(shape)
            length += size
        if length != len(content):
            raise ValueError("its length is wrong")
        return cls(header, arrays)
