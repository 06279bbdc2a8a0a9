"""A ranker in a file: arrays and plain values, no code, replaced atomically."""

from __future__ import annotations

from types import NoneType
from typing import Any, NamedTuple

import numpy as np

import toplist
from toplist.core.beliefs import named_arrays, saved_arrays
from toplist.core.item_id import plain_id
from toplist.core.problem import InvalidInput, Problem
from toplist.policies.by_name import make
from toplist.ranker.change_log import ChangeLog
from toplist.ranker.features import Features
from toplist.ranker.item_slots import ItemSlots, ItemSlotsState
from toplist.ranker.open_lists import OpenLists, OpenListsState
from toplist.ranker.options import Options
from toplist.ranker.own_sums import Own, own_of
from toplist.ranker.shown import Identity
from toplist.support.files import AnyPath, read_arrays, write_arrays
from toplist.support.part_json import as_plain, from_plain

FORMAT, FORMAT_VERSION = "toplist.Ranker", 1
WHAT = "The ranker's file"


class SavedRanker(NamedTuple):
    """The complete state of a ranker."""

    identity: Identity
    policy: Any
    title: str
    options: Options
    problem: Problem  # the policy was prepared for it
    belief: Any  # a NamedTuple of arrays; read from a file, arrays by name
    items: ItemSlots
    open_lists: OpenLists
    learned: int
    features: Features
    changes: ChangeLog
    own: Own | None = None


def pack(state: SavedRanker) -> tuple[dict[str, Any], dict[str, Any]]:
    """A header of plain values, and arrays by name."""
    items, lists, features = state.items.state(), state.open_lists.state(), state.features
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "version": toplist.__version__,
        "identity": list(state.identity),
        "policy": as_plain(state.policy),
        "title": state.title,
        "options": state.options._asdict(),
        "problem": list(state.problem[:4]),  # without `grows`: a ranker may always grow
        "names": list(items.names),
        "left": list(items.freed),
        "used": items.used,
        "hidden": list(items.hidden),
        "made": lists.made,
        "lives": list(lists.lives),
        "learned": state.learned,
        "changes": list(state.changes.rows),
        "changes_noted": state.changes.total,
        "features": {
            "person": features.person,
            "join": features.join,
            "degrees": features.degrees,
            "scale": features.scale,
        },
    }
    numbers = {
        "examined": items.examined,
        "features": features.rows.copy(),
        "opened": np.array(lists.opened, dtype=np.int64),
        "given_up": np.array(lists.given_up, dtype=np.int64),
    }
    own = {} if state.own is None else {name: array.copy() for name, array in state.own.arrays().items()}
    return header, numbers | named_arrays("belief", state.belief) | own


def write(path: AnyPath, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write the file, readable by its owner only: it holds the secret that signs lists."""
    write_arrays(path, WHAT, header, arrays, private=True)


def read(path: AnyPath, policy: Any = None) -> SavedRanker:
    """Read the file; `policy`, if given, must be the saved one."""
    header, arrays = read_arrays(path, WHAT, "Ranker.save")
    return unpack(path, header, arrays, policy)


def unpack(path: AnyPath, header: dict[str, Any], arrays: dict[str, Any], policy: Any = None) -> SavedRanker:
    """Check the result of `pack`; `path` names its origin in errors, and `policy`, if given, must be the saved one."""
    if header.get("format") != FORMAT:
        raise InvalidInput(f"{path} holds {header.get('format')!r}, not a ranker; give a file that Ranker.save wrote.")
    if header.get("format_version") != FORMAT_VERSION:
        raise InvalidInput(
            f"{path} was saved by toplist {header.get('version')} in format {header.get('format_version')}, but "
            f"toplist {toplist.__version__} reads format {FORMAT_VERSION}; use the version that saved it, or later."
        )
    try:
        return _checked_content(path, header, arrays, policy)
    except InvalidInput:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as problem:
        raise InvalidInput(f"{path} is damaged: {problem!r}; use an older copy.") from problem


def _checked_content(path: AnyPath, header: dict[str, Any], arrays: dict[str, Any], policy: Any) -> SavedRanker:
    """Check the content of a file."""
    options, problem = Options(**header["options"]).checked(), Problem(*header["problem"])
    names: Any = header["names"]
    if not isinstance(names, list | tuple):  # a tuple if it was never written
        raise TypeError("its items are not a list")
    freed = tuple((slot, made) for slot, made in header["left"])
    hidden = tuple(header.get("hidden", ()))  # older files lack it
    items = ItemSlotsState(names, freed, arrays["examined"], header["used"], hidden)
    opened, given_up = (tuple(arrays[name].tolist()) for name in ("opened", "given_up"))
    lists = OpenListsState(header["made"], opened, given_up, header["lives"])
    kinds = set(map(type, names))
    in_range = [*(slot for slot, _ in freed), *hidden]
    if (
        problem.positions != options.positions
        or (not kinds <= {str, NoneType} and any(plain_id(name) is None for name in names if name is not None))
        or not all(0 <= slot < len(names) for slot in in_range)
        or not ((arrays["examined"] >= 0) & (arrays["examined"] < len(names))).all()
        or any(names[slot] is None for slot in hidden)
        or not all(0 <= number < lists.made for number in (*opened, *given_up))
    ):
        raise ValueError("its parts do not fit together")
    features = _unpack_features(header["features"], arrays["features"], len(names))
    own = own_of(arrays)
    if own is not None and not own.fits(len(names), features.total):
        raise ValueError("its own counts are not one per item, or not one per feature")
    return SavedRanker(
        Identity(*header["identity"]),
        _checked_policy(path, header["policy"], policy),
        header["title"],
        options,
        problem,
        {name.removeprefix("belief."): array for name, array in arrays.items() if name.startswith("belief.")},
        ItemSlots.from_state(items),
        OpenLists.from_state(options.open_slates, lists),
        header["learned"],
        features,
        ChangeLog(header["changes"], header["changes_noted"]),
        own,
    )


def _unpack_features(described: dict[str, Any], rows: Any, capacity: int) -> Features:
    features = Features(capacity, rows.shape[1], described["person"], described["join"], described["degrees"])
    if rows.shape != features.rows.shape or rows.dtype != features.rows.dtype:
        raise ValueError("its features are not one row per item")
    features.rows, features.scale = rows, float(described["scale"])
    return features


def _checked_policy(path: AnyPath, saved_policy: Any, given: Any) -> Any:
    """The given policy if it equals the saved one; without one, the saved policy."""
    if given is None:
        return from_plain(saved_policy)
    policy = make(given)
    if as_plain(policy) != saved_policy:
        raise InvalidInput(
            f"{path} was saved with another policy than the given {given!r}; give the same policy, or none if all its "
            f"parts come with toplist."
        )
    return policy


def restore(belief: Any, saved: dict[str, Any], path: AnyPath) -> None:
    """Fill a belief with its saved arrays."""
    for name, array in saved_arrays(belief).items():
        found = saved.get(name)
        if found is None or found.shape != array.shape or found.dtype != array.dtype:
            raise InvalidInput(
                f"{path} does not hold the belief of its policy: {name} is missing or of another shape; "
                f"use an older copy."
            )
        array[...] = found
