"""Ctrl-C at a moment that suits: libraries in C turn an interrupt in the middle of a call into other errors."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def delayed_interrupt() -> Iterator[Callable[[], None]]:
    """Keep Ctrl-C until the function that this gives is called, which then raises KeyboardInterrupt.

    A second Ctrl-C acts at once. Outside the main thread, and where Ctrl-C is ignored, nothing changes.

    >>> with delayed_interrupt() as check:
    ...     check()
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
        yield lambda: None
        return
    waiting: list[int] = []

    def keep(number: int, frame: Any) -> None:
        if waiting:
            signal.default_int_handler(number, frame)
        waiting.append(number)

    def check() -> None:
        if waiting:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, keep)
    try:
        yield check
    finally:
        signal.signal(signal.SIGINT, before)
    check()  # it came after the last call
