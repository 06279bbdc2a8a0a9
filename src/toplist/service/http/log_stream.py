"""A stream to a file descriptor that never blocks its writer: a thread writes, and lines that it cannot are dropped."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from datetime import UTC, datetime

import msgspec

MOST_BYTES = 4 << 20  # that wait for the thread; more are dropped
CLOSE_SECONDS = 1.0  # for the thread to write the last lines


class LogStream:
    """Lines for a file descriptor, such as a pipe that nobody reads.

    Once the descriptor takes lines again, one says how many were dropped. The descriptor stays in blocking mode, since
    other processes may share it.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._unreported = 0
        self.dropped = 0  # lines
        self._changed = threading.Condition()
        self._closed = False
        # A daemon, so that a descriptor that takes nothing does not keep the process.
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def write(self, text: str) -> None:
        """Hand lines over, or drop them if too many wait."""
        data = text.encode()
        with self._changed:
            if self._closed or self._bytes + len(data) > MOST_BYTES:
                lines = data.count(b"\n")
                self.dropped += lines
                self._unreported += lines
                return
            self._waiting.append(data)
            self._bytes += len(data)
            self._changed.notify()

    def flush(self) -> None:
        """Do nothing: the thread writes without delay."""

    def close(self) -> None:
        """Give the thread a moment to write the last lines."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join(CLOSE_SECONDS)

    def _write(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if not self._waiting:
                    return
                data = self._waiting.popleft()
            try:
                while data:
                    data = data[os.write(self._descriptor, data) :]  # may block
            except OSError:  # closed: serve on without a log
                self._count_lost(data)
            with self._changed:
                self._bytes = sum(map(len, self._waiting))
                if self._unreported and not self._waiting:
                    self._report()

    def _count_lost(self, data: bytes) -> None:
        with self._changed:
            self.dropped += data.count(b"\n")

    def _report(self) -> None:
        """Say how many lines were dropped."""
        at = datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
        line = msgspec.json.encode({"at": at, "event": "log lines dropped", "count": self._unreported}) + b"\n"
        self._unreported = 0
        self._waiting.append(line)
        self._bytes += len(line)
