"""Keeps what policies have earned so far in a file, so that an interrupted advice goes on where it was."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from toplist import __version__
from toplist.core.problem import InvalidInput
from toplist.core.slate import Bools, Floats
from toplist.support.files import AnyPath, read_arrays, write_arrays

FILE, WHAT = "played.npz", "The file of what was played"


class KeptPlays:
    """A file of what was played, for as long as it is asked for the same.

    Parameters
    ----------
    folder : str or path-like
        An existing folder.
    asked : tuple
        All that the result depends on, the code included: arrays, text, numbers, and tuples, lists and mappings of
        these.
    """

    def __init__(self, folder: AnyPath, asked: tuple[Any, ...]) -> None:
        self._path = Path(folder) / FILE
        digest = hashlib.blake2b(__version__.encode(), digest_size=16)
        _feed(digest, asked)
        self._digest = digest.hexdigest()

    def fill(self, arrays: Sequence[Floats]) -> Bools:
        """Fill arrays with what was played before.

        Parameters
        ----------
        arrays : sequence of ndarray of float
            Clicks; the last one has draws and queries as its first two axes.

        Returns
        -------
        ndarray of bool, shape (draws, queries)
            Which were played.
        """
        done = np.zeros(arrays[-1].shape[:2], dtype=np.bool_)
        with suppress(InvalidInput):  # there is none, or it cannot be read: all is played again
            header, kept = read_arrays(self._path, WHAT, "toplist advise")
            if header.get("digest") == self._digest:
                done[:] = kept["done"]
                for number, array in enumerate(arrays):
                    array[...] = kept[f"clicks {number}"]
        return done

    def save(self, arrays: Sequence[Floats], done: Bools) -> None:
        """Write what was played so far."""
        clicks = {f"clicks {number}": array for number, array in enumerate(arrays)}
        write_arrays(self._path, WHAT, {"digest": self._digest}, clicks | {"done": done})


def _feed(digest: Any, value: Any) -> None:
    """Add a value to a digest, with its kind and size, so that different ones differ."""
    if isinstance(value, np.ndarray):
        digest.update(f"array {value.dtype} {value.shape} ".encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Mapping):
        _feed(digest, list(value.items()))
    elif isinstance(value, tuple | list):
        digest.update(f"{len(value)} of ".encode())
        for each in value:
            _feed(digest, each)
    else:
        digest.update(f"{value!r} ".encode())
