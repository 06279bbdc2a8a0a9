"""The lock of a store: one process serves a file, under whatever name."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import ClassVar

from toplist.core.problem import InvalidInput


class StoreLock:
    """Keeps others from serving a file as long as this process lives.

    Two files are locked. The lock of the store itself holds for all its names, hard links among them, and cannot be
    removed. That of a file beside it holds for the name, by which SQLite finds the write-ahead log, even if another
    file gets that name.

    Closing any descriptor of a file drops the locks that SQLite holds on it in the same process. So a store that this
    process has locked is never opened here a second time, and connections are closed before the lock is released.
    """

    _held: ClassVar[set[tuple[int, int]]] = set()  # device and inode of the stores that this process has locked

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name_lock = self._lock(path.with_name(f"{path.name}.lock"))
        try:
            if path.exists() and _identity(path) in self._held:
                raise self._is_served()
            self._file_lock = self._lock(path)
        except BaseException:
            os.close(self._name_lock)
            raise
        self._identity = _identity(self._file_lock)
        self._held.add(self._identity)

    def release(self) -> None:
        """Unlock the store; all connections of this process must be closed."""
        self._held.discard(self._identity)
        os.close(self._file_lock)
        os.close(self._name_lock)

    def _lock(self, path: Path) -> int:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as problem:
            raise self._cannot_open(problem) from problem
        try:
            # Not the kind of lock that SQLite uses: the two do not see each other.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            os.close(file)
            is_locked = isinstance(problem, BlockingIOError)
            raise (self._is_served() if is_locked else self._cannot_open(problem)) from None
        return file

    def _is_served(self) -> InvalidInput:
        return InvalidInput(f"Another process serves {self._path}; stop it first, or name another file.")

    def _cannot_open(self, problem: OSError) -> InvalidInput:
        return InvalidInput(f"The store {self._path} cannot be opened: {problem.strerror}; name another file.")


def _identity(file: int | Path) -> tuple[int, int]:
    """What tells a file from all others, whatever its names."""
    status = os.stat(file)
    return status.st_dev, status.st_ino
