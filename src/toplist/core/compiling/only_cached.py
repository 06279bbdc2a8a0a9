"""A way to ask for machine code only if it is on the disk, for those who let another process compile it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_only_cached: ContextVar[bool] = ContextVar("only_cached", default=False)


class NotCached(Exception):
    """The machine code is not on the disk."""


@contextmanager
def only_cached() -> Iterator[None]:
    """Context in which machine code is loaded from the disk, and `NotCached` is raised instead of compiling."""
    token = _only_cached.set(True)
    try:
        yield
    finally:
        _only_cached.reset(token)


def compiling_is_refused() -> bool:
    """Whether this is within `only_cached`."""
    return _only_cached.get()


def refuse_to_compile(name: str) -> None:
    """Raise `NotCached` within `only_cached`; called where machine code was not found on the disk."""
    if compiling_is_refused():
        raise NotCached(f"{name} is not compiled yet")
