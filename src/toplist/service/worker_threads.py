"""Threads for work that takes long, such as estimates of a large learner; at the end they are hardly waited for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Any, TypeVar

T = TypeVar("T")
ENDING = 1.0  # seconds for work in progress, whose requests have ended


class WorkerThreads(ThreadPoolExecutor):
    """The default executor of the event loop of a service."""

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="toplist-worker")
        self._running: set[Future[Any]] = set()

    def submit(self, work: Callable[..., T], /, *arguments: Any, **named: Any) -> Future[T]:
        """Begin work in a thread."""
        begun = super().submit(work, *arguments, **named)
        self._running.add(begun)
        begun.add_done_callback(self._running.discard)
        return begun

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Begin nothing more, and wait for a moment: what no request waits for may take minutes."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)
        if wait:
            wait_for(set(self._running), timeout=ENDING)

    @property
    def is_busy(self) -> bool:
        """Whether work is in progress."""
        return bool(self._running)
