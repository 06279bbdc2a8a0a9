"""What all promises share: the mark, the failure, and the promises that hold for parts of every kind."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from toplist.core.compiling import reserved_names

Check = Callable[..., None]
_PROMISE = "_toplist_promise"


class CheckFailed(AssertionError):
    """A part broke its contract; the message names each broken promise and what happened."""


def promise(check: Check) -> Check:
    """Mark a check as part of the contract."""
    setattr(check, _PROMISE, True)
    return check


def promises_in(module: ModuleType) -> dict[str, Check]:
    """The promises of a module by name, in the order of its source."""
    return {name: value for name, value in vars(module).items() if getattr(value, _PROMISE, False) is True}


def fail_if(wrong: bool, message: str) -> None:
    """Break the promise if something is wrong."""
    if wrong:
        raise CheckFailed(message)


def check_field_names(*parts: Any) -> None:
    """Refuse fields that are named like a method, and parts without a field; also in the parts of a part."""
    waiting = list(parts)
    while waiting:
        part = waiting.pop()
        if hasattr(part, "_fields"):
            taken = reserved_names() & set(part._fields)
            fail_if(
                bool(taken), f"{type(part).__name__} has a field {min(taken, default='')!r}, which is a method's name"
            )
            fail_if(not part._fields, f"{type(part).__name__} has no field; compiled code needs at least one")
            waiting.extend(part)
