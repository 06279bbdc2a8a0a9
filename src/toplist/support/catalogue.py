"""Catalogues: policies, worlds, users and starts by name, made from texts such as `name(parameter=value)`.

No list of them is kept by hand: `entry` marks functions and classes, and a `Catalogue` finds the marks in a folder.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType
from typing import Any, TypeVar

from toplist.core.problem import InvalidInput, nearest
from toplist.support.tables import series

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "_toplist_entry"
REQUIRED = inspect.Parameter.empty  # the default of a parameter that has none


@dataclass(frozen=True)
class Entry:
    """A policy, world, click model or start that has a name.

    Parameters
    ----------
    name : str
        Name in lower case with dashes.
    title : str
        Name as its paper writes it.
    paper : str
        Key of the paper, or "" without one.
    build : callable
        Function or class that makes it.
    hides : tuple of str, default ()
        Parameters of `build` that are internal and cannot be given.
    """

    name: str
    title: str
    paper: str
    build: Callable[..., Any]
    hides: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """First line of its docstring."""
        return (inspect.getdoc(self.build) or "").partition("\n")[0]

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Names and defaults of its parameters; `REQUIRED` stands for no default."""
        return {
            name: field.default
            for name, field in inspect.signature(self.build).parameters.items()
            if name not in self.hides and field.kind not in (field.VAR_POSITIONAL, field.VAR_KEYWORD)
        }

    def make(self, **parameters: Any) -> Any:
        """Make it with these parameters.

        Raises
        ------
        InvalidInput
            If a parameter is unknown, missing or invalid.
        """
        self.check_known(parameters)
        if missing := self.missing(parameters):
            example = f"{self.name}({', '.join(f'{name}=...' for name in self.missing(()))})"
            raise InvalidInput(f"{self.name} needs {series(missing)}; write {example}.")
        return self.build(**parameters)

    def missing(self, parameters: Collection[str]) -> list[str]:
        """The parameters without a default that are not among these."""
        return [name for name, default in self.parameters.items() if default is REQUIRED and name not in parameters]

    def check_known(self, parameters: Iterable[str]) -> None:
        """Refuse unknown names of parameters, with the nearest known one as advice."""
        known = self.parameters
        for given in parameters:
            if given not in known:
                if not known:
                    raise InvalidInput(f"{self.name} has no parameters; leave {given!r} out.")
                advice = nearest(given, known, "leave it out")
                raise InvalidInput(f"{self.name} has no parameter {given!r}, but has {', '.join(known)}; {advice}.")


def entry(title: str, paper: str = "", hides: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Mark a function or class as an entry of its folder's catalogue, under its own name in lower case with dashes.

    Parameters
    ----------
    title : str
        Name as its paper writes it.
    paper : str, default ""
        Key of the paper.
    hides : tuple of str, default ()
        Parameters that are internal, such as a field that `prepare` fills.

    Returns
    -------
    callable
        The decorator, which returns the function or class unchanged.
    """

    def mark(build: F) -> F:
        setattr(build, _MARK, Entry(_dashed(build.__name__), title, paper, build, hides))
        return build

    return mark


def _dashed(name: str) -> str:
    """Name of an entry: one-sample for `OneSample` and `one_sample`, dcm for `DCM`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).replace("_", "-").lower()


@dataclass(frozen=True)
class Catalogue:
    """All entries of one folder or module.

    Parameters
    ----------
    module : str
        Package or module that is searched for marks.
    kind : str
        What an entry is called in messages, such as "policy".
    example : str
        A name with parameters, for messages.

    Examples
    --------
    >>> USERS.make("dcm(termination=0.8)").termination
    0.8
    >>> USERS.make("dcm(term=0.8)")
    Traceback (most recent call last):
    toplist.core.problem.InvalidInput: dcm has no parameter 'term', but has termination; perhaps you mean 'termination'.
    """

    module: str
    kind: str
    example: str

    def entries(self) -> dict[str, Entry]:
        """All entries by name, sorted; those that `add` added come last."""
        added = _added.get(self.module)
        return entries_of(self.module) if added is None else entries_of(self.module) | added

    def add(self, added: Mapping[str, Entry]) -> None:
        """Add entries of one's own to those of the folder, until the process ends.

        Raises
        ------
        InvalidInput
            If there is an entry of the same name already.
        """
        for name in added:
            if name in self.entries():
                raise InvalidInput(f"There is a {self.kind} {name!r} already; rename yours.")
        _added[self.module] = _added.get(self.module, {}) | dict(added)

    def find(self, text: str) -> tuple[Entry, dict[str, Any]]:
        """Find the entry of `name` or `name(parameter=value, ...)`.

        Parameters
        ----------
        text : str
            A name, with or without parameters.

        Returns
        -------
        Entry
            The entry of that name.
        dict
            The parameters in the text.

        Raises
        ------
        InvalidInput
            If the text cannot be parsed or the name is unknown.
        """
        try:
            name, parameters = parse(text)
            if re.search(r"[{}\[\]\"'=]", name):
                raise ValueError(f"{name!r} is not a name")
        except ValueError:
            raise InvalidInput(
                f"The {self.kind} is {text!r}, but must be a name or a name with parameters; "
                f"write it like {self._example_for(text)!r}."
            ) from None
        known = self.entries()
        *_, own = name.split(":")
        if own != name:
            raise InvalidInput(
                f"There is no {self.kind} {name!r}, since names are those of the catalogue; "
                f"in Python, import {own} and give {own}() itself."
            )
        if name not in known:
            advice = nearest(name, known, "choose one of these")
            raise InvalidInput(f"There is no {self.kind} {name!r}, but there are {', '.join(known)}; {advice}.")
        return known[name], parameters

    def _example_for(self, text: str) -> str:
        """An example with the entry that a text mentions, as {"type": "fixed"} does, or else the usual one."""
        for name, mentioned in self.entries().items():
            if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) and mentioned.parameters:
                needed = {each: default for each, default in mentioned.parameters.items() if default is REQUIRED}
                shown = needed or dict(list(mentioned.parameters.items())[:2])
                values = {each: "..." if default is REQUIRED else repr(default) for each, default in shown.items()}
                return f"{name}({', '.join(f'{each}={value}' for each, value in values.items())})"
        return self.example

    def make(self, text: str) -> Any:
        """Make the entry of `name` or `name(parameter=value, ...)`.

        Parameters
        ----------
        text : str
            A name, with or without parameters.

        Raises
        ------
        InvalidInput
            If the text cannot be parsed, or a name or parameter is unknown or invalid.
        """
        named, parameters = self.find(text)
        return named.make(**parameters)


_added: dict[str, dict[str, Entry]] = {}  # by the module of their catalogue

POLICIES = Catalogue("toplist.policies", "policy", "cascade-ucb1(scale=1.5)")
WORLDS = Catalogue("toplist.worlds", "world", "b-lb(items=32, positions=8)")
USERS = Catalogue("toplist.clicks", "click model", "dcm(termination=0.5)")
STARTS = Catalogue("toplist.engine.starts", "start", "one-sample")


@cache
def entries_of(module: str) -> dict[str, Entry]:
    """Entries marked in a package or module, by name, sorted."""
    entries: dict[str, Entry] = {}
    for part in _modules(importlib.import_module(module)):
        for value in vars(part).values():
            mark = getattr(value, _MARK, None)
            # Imported names and inherited marks belong to another module or class.
            if isinstance(mark, Entry) and mark.build is value and value.__module__ == part.__name__:
                if mark.name in entries:
                    raise TypeError(f"two entries of {module} are called {mark.name!r}; rename one of them")
                entries[mark.name] = mark
    return dict(sorted(entries.items()))


def _modules(module: ModuleType) -> Iterator[ModuleType]:
    """A module and, if it is a package, the modules directly in it."""
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", ())):
        yield importlib.import_module(f"{module.__name__}.{info.name}")


def parse(text: str) -> tuple[str, dict[str, Any]]:
    """Parse `name` or `name(parameter=value, ...)`; values are Python literals or bare words.

    >>> parse("cascade-ucb1(scale=2, order=last)")
    ('cascade-ucb1', {'scale': 2, 'order': 'last'})
    """
    name, bracket, rest = text.strip().partition("(")
    if not bracket:
        return name.strip(), {}
    call = _expression(f"f({rest}")
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise ValueError(f"{text!r} is not a name with parameters")
    parameters: dict[str, Any] = {}
    for word in call.keywords:
        if word.arg is None or word.arg in parameters:
            raise ValueError(f"a parameter of {text!r} has no name or is given twice")
        parameters[word.arg] = _literal(word.value)
    return name.strip(), parameters


def parse_values(text: str) -> list[Any]:
    """Parse values separated by commas.

    >>> parse_values("0.5, 2, last, [2, 1]")
    [0.5, 2, 'last', [2, 1]]
    """
    values = _expression(f"[{text}]")
    if not isinstance(values, ast.List):
        raise ValueError(f"{text!r} is not a sequence of values")
    return [_literal(value) for value in values.elts]


def _expression(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, MemoryError, RecursionError) as problem:  # the latter two: deeply nested brackets
        raise ValueError(f"{text!r} cannot be parsed") from problem


def _literal(node: ast.expr) -> Any:
    """Value of a literal; a word needs no quotes, which a shell would remove anyway."""
    if isinstance(node, ast.Name):
        return node.id
    try:
        return ast.literal_eval(node)
    except (TypeError, SyntaxError, MemoryError, RecursionError) as problem:
        raise ValueError("that is not a plain value") from problem


def call_text(name: str, parameters: Mapping[str, Any]) -> str:
    """`name(parameter=value, ...)`, the text that `parse` reads.

    >>> call_text("cascade-ucb1", {"scale": 2, "order": "last"})
    "cascade-ucb1(scale=2, order='last')"
    """
    given = ", ".join(f"{name}={value!r}" for name, value in parameters.items())
    return f"{name}({given})" if given else name


def part_text(part: Any, shown: Collection[str] = ()) -> str:
    """A part, or a policy made of parts, as Python code; fields at their defaults are left out unless `shown`.

    >>> from toplist.policies import make
    >>> part_text(make("cascade-kl-ucb"), shown=["loglog"])
    'Policy(ThroughFirstClick(), Everything(), KLUCB(loglog=3.0), TopK())'
    """
    if not hasattr(part, "_fields"):
        return repr(part)
    positional: list[str] = []
    by_name: list[str] = []
    for name, value in part._asdict().items():
        if hasattr(value, "_fields") and not by_name:
            positional.append(part_text(value, shown))
        elif name in shown or repr(value) != repr(part._field_defaults.get(name, REQUIRED)):
            by_name.append(f"{name}={part_text(value, shown)}")
    return f"{type(part).__name__}({', '.join(positional + by_name)})"
