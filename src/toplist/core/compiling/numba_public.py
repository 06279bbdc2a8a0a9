"""Compiles with numba's public API only: the fallback of `numba_private`, with the same functions.

It is slower to compile and to run, allocations in hot methods are not refused, and machine code is not cached on disk,
since numba's own cache does not notice an edited part.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import numba

OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def callee_options() -> dict[str, Any]:
    """Options of functions that only compiled code calls."""
    return dict(OPTIONS)


def compile_whole(function: Any) -> Any:
    """A dispatcher that compiles a function and everything it calls."""
    return numba.njit(**OPTIONS)(function)


def keep_on_disk(dispatcher: Any, function: Any, options: str) -> None:
    """Nothing: it is compiled in each process."""


def short_cuda() -> AbstractContextManager[None]:
    """Context for compiling for CUDA: as numba-cuda does."""
    return nullcontext()


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Collect no garbage: compiling makes millions of objects, almost all of which stay until it has ended."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():  # else somebody else has frozen objects
                gc.freeze()
                gc.unfreeze()  # to the oldest generation, or the next collection of young objects would look at all
            gc.enable()
