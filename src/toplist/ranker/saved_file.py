"""A ranker in a file: arrays and plain values, no code, replaced as a whole."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import toplist
from toplist.core.beliefs import named_arrays, saved_arrays
from toplist.core.problem import InvalidInput, Problem
from toplist.policies.by_name import make
from toplist.ranker.change_log import ChangeLog
from toplist.ranker.features import Features
from toplist.ranker.item_slots import Roster, RosterState
from toplist.ranker.open_lists import Book, BookState
from toplist.ranker.options import Options
from toplist.ranker.shown import Identity
from toplist.support.files import AnyPath, read_arrays, write_arrays
from toplist.support.part_json import as_plain, from_plain

FORMAT, FORMAT_VERSION = "toplist.Ranker", 1
WHAT = "The ranker's file"


class State(NamedTuple):
    """All that a ranker is."""

    identity: Identity
    policy: Any
    title: str
    options: Options
    problem: Problem  # as the policy was prepared for it
    belief: Any  # its arrays; those read from a file, by name
    roster: Roster
    book: Book
    learned: int
    known: Features
    changes: ChangeLog


def packed(state: State) -> tuple[dict[str, Any], dict[str, Any]]:
    """A header of plain values, and arrays by name."""
    roster, book = state.roster.state(), state.book.state()
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "version": toplist.__version__,
        "identity": list(state.identity),
        "policy": as_plain(state.policy),
        "title": state.title,
        "options": state.options._asdict(),
        "problem": list(state.problem),
        "names": list(roster.names),
        "left": list(roster.left),
        "used": roster.used,
        "hidden": list(roster.hidden),
        "made": book.made,
        "lives": list(book.lives),
        "learned": state.learned,
        "changes": list(state.changes.rows),
        "changes_noted": state.changes.noted,
        "features": {
            "person": state.known.person,
            "join": state.known.join,
            "degrees": state.known.degrees,
            "scale": state.known.scale,
        },
    }
    numbers = {
        "examined": roster.examined,
        "features": state.known.rows.copy(),
        "opened": np.array(book.opened, dtype=np.int64),
        "given_up": np.array(book.given_up, dtype=np.int64),
    }
    return header, numbers | named_arrays("belief", state.belief)


def write(path: AnyPath, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write the file, which is the owner's alone: it holds the secret that lists are sealed with."""
    write_arrays(path, WHAT, header, arrays, private=True)


def read(path: AnyPath, policy: Any = None) -> State:
    """Read the file; `policy`, where given, must be the one that was saved."""
    header, arrays = read_arrays(path, WHAT, "Ranker.save")
    if header.get("format") != FORMAT:
        raise InvalidInput(f"{path} holds {header.get('format')!r}, not a ranker; name a file of Ranker.save.")
    if header.get("format_version") != FORMAT_VERSION:
        raise InvalidInput(
            f"{path} was saved by toplist {header.get('version')} in format {header.get('format_version')}, but "
            f"toplist {toplist.__version__} reads format {FORMAT_VERSION}; use the version that saved it, or a later."
        )
    try:
        return _unpacked(path, header, arrays, policy)
    except InvalidInput:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as problem:
        raise InvalidInput(f"{path} is damaged: {problem!r}; take an older copy of it.") from problem


def _unpacked(path: AnyPath, header: dict[str, Any], arrays: dict[str, Any], policy: Any) -> State:
    options, problem = Options(**header["options"]).checked(), Problem(*header["problem"])
    names = tuple(header["names"])
    left = tuple((slot, made) for slot, made in header["left"])
    hidden = tuple(header.get("hidden", ()))  # which older files do not know
    roster = RosterState(names, left, arrays["examined"], header["used"], hidden)
    opened, given_up = (tuple(arrays[name].tolist()) for name in ("opened", "given_up"))
    book = BookState(header["made"], opened, given_up, header["lives"])
    there = [name for name in names if name is not None]
    in_range = [*arrays["examined"].tolist(), *(slot for slot, _ in left), *hidden]
    if (
        problem.positions != options.positions
        or len(set(there)) < len(there)
        or not all(isinstance(name, str) for name in there)
        or not all(0 <= slot < len(names) for slot in in_range)
        or any(names[slot] is None for slot in hidden)
        or not all(0 <= number < book.made for number in (*opened, *given_up))
    ):
        raise ValueError("its parts do not fit together")
    return State(
        Identity(*header["identity"]),
        _policy(path, header["policy"], policy),
        header["title"],
        options,
        problem,
        {name.removeprefix("belief."): array for name, array in arrays.items() if name.startswith("belief.")},
        Roster.of(roster),
        Book.of(options.open_slates, book),
        header["learned"],
        _features(header["features"], arrays["features"], len(names)),
        ChangeLog(header["changes"], header["changes_noted"]),
    )


def _features(described: dict[str, Any], rows: Any, capacity: int) -> Features:
    known = Features(capacity, rows.shape[1], described["person"], described["join"], described["degrees"])
    if rows.shape != known.rows.shape or rows.dtype != known.rows.dtype:
        raise ValueError("its features are not one row per item")
    known.rows, known.scale = rows, float(described["scale"])
    return known


def _policy(path: AnyPath, saved_policy: Any, given: Any) -> Any:
    if given is None:
        return from_plain(saved_policy)
    policy = make(given)
    if as_plain(policy) != saved_policy:
        raise InvalidInput(
            f"{path} was saved with another policy than the one given, {given!r}; give the same, or none at all "
            f"where all its parts come with toplist."
        )
    return policy


def restore(belief: Any, kept: dict[str, Any], path: AnyPath) -> None:
    """Fill a belief with the arrays that were kept of it."""
    for name, array in saved_arrays(belief).items():
        found = kept.get(name)
        if found is None or found.shape != array.shape or found.dtype != array.dtype:
            raise InvalidInput(
                f"{path} does not hold the belief of its policy: {name} is missing or of another shape; "
                f"take an older copy of it."
            )
        array[...] = found
