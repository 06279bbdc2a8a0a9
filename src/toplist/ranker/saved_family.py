"""A family of rankers in one file: what all segments share, and the content of each ranker's own file."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import toplist
from toplist.core.item_id import ItemId, plain_id
from toplist.core.problem import InvalidInput
from toplist.support.files import AnyPath, read_arrays, write_arrays

FORMAT, FORMAT_VERSION = "toplist.Rankers", 1
WHAT = "The rankers' file"

Packed = tuple[dict[str, Any], dict[str, Any]]  # header and arrays of one ranker


class SavedFamily(NamedTuple):
    """The complete state of a family."""

    shared: dict[str, Any]  # arguments of all segments, as JSON holds them
    rows: list[tuple[ItemId, Any]]  # the features of each item, as they were given, or None
    priors: list[tuple[ItemId, float, float]]
    segments: list[ItemId | None]
    template: Packed
    rankers: list[Packed]  # by segment


def pack_family(family: SavedFamily) -> Packed:
    """A header of plain values, and arrays by name."""
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "version": toplist.__version__,
        "shared": family.shared,
        "rows": [[item, None if row is None else np.asarray(row).tolist()] for item, row in family.rows],
        "priors": [list(prior) for prior in family.priors],
        "keys": family.segments,  # files keep the former name
        "rankers": [header for header, _ in (family.template, *family.rankers)],
    }
    arrays = {
        f"{n}/{name}": array
        for n, (_, several) in enumerate((family.template, *family.rankers))
        for name, array in several.items()
    }
    return header, arrays


def unpack_family(path: AnyPath, header: dict[str, Any], arrays: dict[str, Any]) -> SavedFamily:
    """Check the result of `pack_family`; `path` names its origin in errors."""
    if header.get("format") != FORMAT:
        raise InvalidInput(f"{path} holds {header.get('format')!r}, not rankers; give a file that Rankers.save wrote.")
    if header.get("format_version") != FORMAT_VERSION:
        raise InvalidInput(
            f"{path} was saved by toplist {header.get('version')} in format {header.get('format_version')}, but "
            f"toplist {toplist.__version__} reads format {FORMAT_VERSION}; use the version that saved it, or later."
        )
    try:
        segments, headers = list(header["keys"]), list(header["rankers"])
        several: list[dict[str, Any]] = [{} for _ in headers]
        for name, array in arrays.items():
            n, _, field = name.partition("/")
            several[int(n)][field] = array
        if len(headers) != len(segments) + 1 or any(plain_id(one) is None for one in segments if one is not None):
            raise ValueError("its parts do not fit together")
        return SavedFamily(
            dict(header["shared"]),
            [(item, row) for item, row in header["rows"]],
            [(item, float(mean), float(strength)) for item, mean, strength in header["priors"]],
            segments,
            (headers[0], several[0]),
            list(zip(headers[1:], several[1:], strict=True)),
        )
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as problem:
        raise InvalidInput(f"{path} is damaged: {problem!r}; use an older copy.") from problem


def write_family(path: AnyPath, family: SavedFamily) -> None:
    """Write the file, readable by its owner only: it holds the secrets that sign lists."""
    write_arrays(path, WHAT, *pack_family(family), private=True)


def read_family(path: AnyPath) -> SavedFamily:
    """Read the file."""
    return unpack_family(path, *read_arrays(path, WHAT, "Rankers.save"))
