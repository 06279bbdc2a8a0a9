"""Many readers beside each other, or one writer alone."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext


class Gate:
    """`with gate.reading:` waits for no reader, `with gate.writing:` for everybody; waiting writers go first.

    Readers are known by their threads, so a thread must not enter again while it is inside. If Ctrl-C leaves one
    behind on its way in or out, the next time that thread comes along puts it right.
    """

    def __init__(self) -> None:
        self._entry = threading.Lock()  # held by a writer for as long as it writes, by a reader only to come in
        self._left = threading.Condition()
        self._readers: set[int] = set()
        self.reading: AbstractContextManager[None] = _Reading(self)
        self.writing: AbstractContextManager[None] = _Writing(self)


class _Reading(AbstractContextManager[None]):
    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def __enter__(self) -> None:
        with self._gate._entry:
            self._gate._readers.add(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        gate = self._gate
        gate._readers.discard(threading.get_ident())
        if not gate._readers:
            with gate._left:
                gate._left.notify()


class _Writing(AbstractContextManager[None]):
    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def __enter__(self) -> None:
        gate = self._gate
        gate._entry.acquire()
        try:
            gate._readers.discard(threading.get_ident())
            with gate._left:
                while gate._readers:
                    gate._left.wait()
        except BaseException:  # as by Ctrl-C
            gate._entry.release()
            raise

    def __exit__(self, *_: object) -> None:
        self._gate._entry.release()


class OpenGate(Gate):
    """For what one thread has to itself: nobody is waited for."""

    def __init__(self) -> None:
        self.reading = self.writing = nullcontext()
