"""Former names of parameters, which callers may still use."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def accepts_former(former: str, name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take an argument by the former name of its parameter, too.

    >>> @accepts_former("colour", "color")
    ... def paint(color):
    ...     return f"painted {color}"
    >>> paint(colour="red"), paint(color="red")
    ('painted red', 'painted red')
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def accepting(*given: P.args, **named: P.kwargs) -> R:
            if former in named and name not in named:
                named[name] = named.pop(former)
            return function(*given, **named)

        return accepting

    return decorate
