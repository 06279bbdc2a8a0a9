"""Many readers beside each other, or one writer alone."""

from __future__ import annotations

import threading


class Gate:
    """`with gate.reading:` waits for no reader, `with gate.writing:` for everybody; waiting writers go first."""

    def __init__(self) -> None:
        self._entry = threading.Lock()  # held by a writer for as long as it writes, by a reader only to come in
        self._count = threading.Condition()
        self._readers = 0
        self.reading = _Reading(self)
        self.writing = _Writing(self)


class _Reading:
    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def __enter__(self) -> None:
        gate = self._gate
        with gate._entry, gate._count:
            gate._readers += 1

    def __exit__(self, *_: object) -> None:
        gate = self._gate
        with gate._count:
            gate._readers -= 1
            if gate._readers == 0:
                gate._count.notify()


class _Writing:
    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def __enter__(self) -> None:
        gate = self._gate
        gate._entry.acquire()
        try:
            with gate._count:
                while gate._readers > 0:
                    gate._count.wait()
        except BaseException:  # as by Ctrl-C
            gate._entry.release()
            raise

    def __exit__(self, *_: object) -> None:
        self._gate._entry.release()
