"""A ranker in a file: arrays and plain values, no code, replaced as a whole."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import toplist
from toplist.beliefs import named_arrays
from toplist.files import AnyPath, read_arrays, write_arrays
from toplist.parts import as_plain, from_plain
from toplist.policies.entries import make
from toplist.problem import InvalidInput, Problem
from toplist.ranker.book import BookState
from toplist.ranker.options import Options
from toplist.ranker.roster import RosterState
from toplist.ranker.shown import Identity

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
    roster: RosterState
    book: BookState
    learned: int


def write(path: AnyPath, state: State) -> None:
    """Write the file."""
    header = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "version": toplist.__version__,
        "identity": list(state.identity),
        "policy": as_plain(state.policy),
        "title": state.title,
        "options": state.options._asdict(),
        "problem": list(state.problem),
        "names": list(state.roster.names),
        "left": list(state.roster.left),
        "used": state.roster.used,
        "made": state.book.made,
        "learned": state.learned,
    }
    numbers = {
        "examined": state.roster.examined,
        "opened": np.array(state.book.opened, dtype=np.int64),
        "given_up": np.array(state.book.given_up, dtype=np.int64),
    }
    write_arrays(path, WHAT, header, numbers | named_arrays("belief", state.belief))


def read(path: AnyPath, policy: Any = None) -> State:
    """Read the file; `policy`, where given, must be the one that was saved."""
    header, arrays = read_arrays(path, WHAT, "Ranker.save")
    if header.get("format") != FORMAT:
        raise InvalidInput(f"{path} holds {header.get('format')!r}, not a ranker; name a file of Ranker.save.")
    if header.get("format_version") != FORMAT_VERSION:
        raise InvalidInput(
            f"{path} was saved by toplist {header.get('version')} in format {header.get('format_version')}, but "
            f"toplist {toplist.__version__} reads format {FORMAT_VERSION}; upgrade toplist."
        )
    try:
        saved_policy = header["policy"]
        return State(
            Identity(*header["identity"]),
            _policy(path, saved_policy, policy),
            header["title"],
            Options(**header["options"]).checked(),
            Problem(*header["problem"]),
            {name.removeprefix("belief."): array for name, array in arrays.items() if name.startswith("belief.")},
            RosterState(
                tuple(header["names"]),
                tuple((slot, made) for slot, made in header["left"]),
                arrays["examined"],
                header["used"],
            ),
            BookState(header["made"], tuple(arrays["opened"].tolist()), tuple(arrays["given_up"].tolist())),
            header["learned"],
        )
    except (KeyError, TypeError, AttributeError, IndexError) as problem:
        raise InvalidInput(f"{path} is damaged: {problem!r}; take an older copy of it.") from problem


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
    for name, array in belief._asdict().items():
        found = kept.get(name)
        if found is None or found.shape != array.shape or found.dtype != array.dtype:
            raise InvalidInput(
                f"{path} does not hold the belief of its policy: {name} is missing or of another shape; "
                f"take an older copy of it."
            )
        array[...] = found
