"""A lock for many readers at once, or one writer alone."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext


class ReadWriteLock:
    """`with lock.reading:` runs beside other readers, `with lock.writing:` runs alone; waiting writers go first.

    Readers are identified by their threads, so the lock is not reentrant. If Ctrl-C interrupts a reader while it enters
    or leaves, its entry may stay behind; the next time that thread uses the lock corrects it.
    """

    def __init__(self) -> None:
        self._entry = threading.Lock()  # held by a writer as long as it waits and writes, by a reader only to enter
        self._reader_left = threading.Condition()
        self._readers: set[int] = set()
        self.reading: AbstractContextManager[None] = _Reading(self)
        self.writing: AbstractContextManager[None] = _Writing(self)

    @property
    def has_writer(self) -> bool:
        """Whether a writer writes or waits; also true for the moment in which a reader enters."""
        return self._entry.locked()


class _Reading(AbstractContextManager[None]):
    def __init__(self, lock: ReadWriteLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        with self._lock._entry:
            self._lock._readers.add(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        lock = self._lock
        lock._readers.discard(threading.get_ident())
        if not lock._readers:
            with lock._reader_left:
                lock._reader_left.notify()


class _Writing(AbstractContextManager[None]):
    def __init__(self, lock: ReadWriteLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        lock = self._lock
        lock._entry.acquire()
        try:
            lock._readers.discard(threading.get_ident())
            with lock._reader_left:
                while lock._readers:
                    lock._reader_left.wait()
        except BaseException:  # such as Ctrl-C
            lock._entry.release()
            raise

    def __exit__(self, *_: object) -> None:
        self._lock._entry.release()


class NoLock(ReadWriteLock):
    """For a ranker that one thread has to itself: never waits."""

    def __init__(self) -> None:
        self.reading = self.writing = nullcontext()
