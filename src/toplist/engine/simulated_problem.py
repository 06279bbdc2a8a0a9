"""World, users and start of a simulation, made from parts or from names of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from toplist.core.problem import Problem
from toplist.support.catalogue import STARTS, USERS, WORLDS, Catalogue, Entry, call_text, part_text

Find = Callable[[Catalogue, str], tuple[Entry, dict[str, Any]]]

DEFAULT_USERS = "cascade"  # if neither the world nor the caller names users
MOST_VALUES = 8  # a longer sequence is abridged in a title


class NamedWorld(NamedTuple):
    """A world, the users that it comes with, and the text that names it."""

    world: Any
    users: Any  # None if it comes without
    text: str  # "" if it was not given by name

    @classmethod
    def of(cls, given: Any, find: Find = Catalogue.find) -> NamedWorld:
        """The world that is given, or that a text names."""
        world, text = named_part(WORLDS, given, find)
        if text and isinstance(world, tuple) and not hasattr(world, "problem"):  # a world with its users
            alone, users = world
            return cls(alone, users, text)
        return cls(world, None, text)


class SimulatedProblem(NamedTuple):
    """World, users and start of a simulation, with the texts of those that were given by name."""

    world: Any
    users: Any
    start: Any
    names: dict[str, str]

    @classmethod
    def of(cls, world: Any, users: Any, start: Any, find: Find = Catalogue.find) -> SimulatedProblem:
        """Make what is given by name; without `users`, those of the world or else the default ones."""
        named = NamedWorld.of(world, find)
        if users is None and named.users is not None:
            users, users_text = named.users, users_name(named.users)
        else:
            users, users_text = named_part(USERS, DEFAULT_USERS if users is None else users, find)
        start, start_text = named_part(STARTS, start, find)
        names = {"world": named.text, "users": users_text, "start": start_text}
        return cls(named.world, users, start, {part: text for part, text in names.items() if text})

    def texts(self, size: Problem) -> dict[str, str]:
        """World, users and start in words: the name if one was given, else the class."""
        classes = {part: type(getattr(self, part)).__name__ for part in ("world", "users", "start")}
        classes["world"] += f", L = {size.items}, K = {size.positions}"
        return classes | self.names


def named_part(catalogue: Catalogue, given: Any, find: Find) -> tuple[Any, str]:
    """A part and the text that names it with all its parameters; "" if it is no name but the part itself."""
    if not isinstance(given, str):
        return given, ""
    entry, parameters = find(catalogue, given)
    return entry.make(**parameters), call_text(entry.name, entry.parameters | parameters)


def users_name(users: Any) -> str:
    """The text that names these users on the command line, or Python code if the catalogue does not have them."""
    for entry in USERS.entries().values():
        if entry.build is type(users):
            return call_text(entry.name, {name: getattr(users, name) for name in entry.parameters})
    return part_text(users)


def abridge(text: str) -> str:
    """A text for a title: of a long sequence, the first values and their number.

    >>> abridge("fixed(attraction=[0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1], positions=2)")
    'fixed(attraction=[0.9, 0.8, 0.7, ... 9 values], positions=2)'
    """

    def shorter(sequence: re.Match[str]) -> str:
        values = sequence[1].split(", ")
        if len(values) <= MOST_VALUES:
            return sequence[0]
        return f"[{', '.join(values[:3])}, ... {len(values)} values]"

    return re.sub(r"\[([^\[\]]*)\]", shorter, text)
