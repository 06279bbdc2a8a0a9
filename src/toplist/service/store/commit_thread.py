"""A thread that makes calls for an event loop, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread


class CommitThread:
    """Runs commits; to hand one to a pool of threads, and its outcome back, takes twice the processor time.

    Parameters
    ----------
    loop : asyncio.AbstractEventLoop
        The loop that waits for the calls.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: SimpleQueue[tuple[Callable[[], None], asyncio.Future[None]] | None] = SimpleQueue()
        self._thread: Thread | None = None  # started with the first call: most of many partitions may never commit

    def run(self, call: Callable[[], None]) -> asyncio.Future[None]:
        """Make a call after those before; the future is done when it has returned, or raised."""
        if self._thread is None:
            self._thread = Thread(target=self._work, name="toplist-commit", daemon=True)
            self._thread.start()
        done: asyncio.Future[None] = self._loop.create_future()
        self._calls.put((call, done))
        return done

    def _work(self) -> None:
        while (given := self._calls.get()) is not None:
            call, done = given
            problem: BaseException | None = None
            try:
                call()
            except BaseException as raised:  # whoever waits gets it
                problem = raised
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(_end, done, problem)
            del given, call, done, problem  # nothing is kept until the next call

    def close(self) -> None:
        """Wait for the call in progress, and end the thread."""
        if self._thread is not None:
            self._calls.put(None)
            self._thread.join()
            self._thread = None


def _end(done: asyncio.Future[None], problem: BaseException | None) -> None:
    if done.done():  # whoever waited was cancelled
        return
    if problem is None:
        done.set_result(None)
    else:
        done.set_exception(problem)
