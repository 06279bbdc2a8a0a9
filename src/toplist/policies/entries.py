"""The catalogue: finds every algorithm in this folder, and makes one from its name and parameters."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from toplist.problem import InvalidInput, nearest

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "_toplist_entry"


@dataclass(frozen=True)
class Entry:
    """One algorithm of the catalogue."""

    name: str  # lower-case, as it is asked for
    title: str  # as its paper writes it
    paper: str  # key of the paper, or "" for our own
    build: Callable[..., Any]

    @property
    def summary(self) -> str:
        """One sentence."""
        return (inspect.getdoc(self.build) or "").partition("\n")[0]

    @property
    def parameters(self) -> dict[str, Any]:
        """Names and defaults."""
        return {name: field.default for name, field in inspect.signature(self.build).parameters.items()}

    def make(self, **parameters: Any) -> Any:
        """The policy with these parameters."""
        for given in parameters:
            if given not in self.parameters:
                known = ", ".join(self.parameters) or "none"
                advice = nearest(given, self.parameters, "leave it out")
                raise InvalidInput(f"{self.name} has no parameter {given!r}, but has {known}; {advice}.")
        return self.build(**parameters)


def entry(title: str, paper: str = "") -> Callable[[F], F]:
    """Mark a function that builds a policy as an entry of the catalogue; its name, with dashes, is the entry's."""

    def mark(build: F) -> F:
        setattr(build, _MARK, Entry(build.__name__.replace("_", "-"), title, paper, build))
        return build

    return mark


@cache
def catalogue() -> dict[str, Entry]:
    """All algorithms by name, found in the modules of this folder.

    >>> catalogue()["cascade-kl-ucb"].title
    'CascadeKL-UCB'
    """
    found: dict[str, Entry] = {}
    package = importlib.import_module("toplist.policies")
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for value in vars(module).values():
            mark = getattr(value, _MARK, None)
            if isinstance(mark, Entry):
                if found.get(mark.name, mark) is not mark:
                    raise TypeError(f"two algorithms are called {mark.name!r}; rename one of them")
                found[mark.name] = mark
    return dict(sorted(found.items()))


def make(policy: Any) -> Any:
    """A policy from its name, with or without parameters; what is a policy already is returned as it is.

    >>> make("cascade-ucb1(scale=2)").scoring.scale
    2
    """
    if not isinstance(policy, str):
        missing = [method for method in ("prepare", "begin", "rank", "learn") if not hasattr(policy, method)]
        if missing:
            raise InvalidInput(
                f"The policy is {policy!r}, which has no {missing[0]}(); "
                f"give a name of the catalogue or a policy made of parts."
            )
        return policy
    name, parameters = _parse(policy)
    known = catalogue()
    if name not in known:
        advice = nearest(name, known, "choose one of these")
        raise InvalidInput(f"There is no policy {name!r}, but there are {', '.join(known)}; {advice}.")
    return known[name].make(**parameters)


def _parse(text: str) -> tuple[str, dict[str, Any]]:
    """`name` or `name(parameter=value, ...)`, where values are plain Python literals."""
    name, bracket, rest = text.strip().partition("(")
    if not bracket:
        return name.strip(), {}
    try:
        call = ast.parse(f"f({rest}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(word.arg is None for word in call.keywords):
            raise ValueError
        return name.strip(), {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError):
        raise InvalidInput(
            f"The policy is {text!r}, but must be a name or a name with parameters; "
            f"write it like 'cascade-ucb1(scale=1.5)'."
        ) from None
