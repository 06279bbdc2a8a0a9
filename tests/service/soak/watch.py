"""Memory and processor time of the processes of a soak, once a second, and what a sync of the disk takes meanwhile."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

TICK = 1.0 / os.sysconf("SC_CLK_TCK")  # seconds


class Sample(NamedTuple):
    """The processes at one moment."""

    at: float  # by time.monotonic()
    memory: int  # bytes of the service that are resident
    cpu: Mapping[str, float]  # seconds so far, by process
    load: float  # processes of the whole machine that run or wait to


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far, of ended threads as well; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) * TICK


def resident(pid: int) -> int:
    """Resident memory of a process in bytes; 0 if it has ended."""
    try:
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return 0 if found is None else int(found[1]) * 1024


class DiskProbe:
    """A thread that writes to a file of its own and syncs it, again and again: what the disk takes by itself."""

    def __init__(self, folder: Path, every: float = 0.1) -> None:
        self._file, self._every = folder / "probe", every
        self.due: list[float] = []  # by time.monotonic()
        self.seconds: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with self._file.open("wb", buffering=0) as file:
            while not self._over.wait(self._every):
                begun = time.monotonic()
                file.write(b"x" * 4096)
                os.fdatasync(file.fileno())
                self.due.append(begun)
                self.seconds.append(time.monotonic() - begun)

    def stop(self) -> None:
        """End the thread."""
        self._over.set()
        self._thread.join()

    def within(self, spans: list[tuple[float, float]]) -> list[float]:
        """Milliseconds of the syncs that began in one of the spans."""
        return [
            1e3 * seconds
            for due, seconds in zip(self.due, self.seconds, strict=True)
            if any(begin <= due < end for begin, end in spans)
        ]


class Watch:
    """A thread that takes samples until it is stopped; the service is the process named so."""

    def __init__(self, pids: Mapping[str, int], every: float = 1.0) -> None:
        self._pids, self._every = pids, every
        self.samples: list[Sample] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.is_set():
            cpu = {name: cpu_seconds(pid) for name, pid in self._pids.items()}
            self.samples.append(Sample(time.monotonic(), resident(self._pids["service"]), cpu, os.getloadavg()[0]))
            self._over.wait(self._every)

    def stop(self) -> None:
        """Take no more samples."""
        self._over.set()
        self._thread.join()

    def cpu_share(self, name: str, spans: list[tuple[float, float]]) -> float:
        """Share of one core that a process took within some spans of time."""
        used = passed = 0.0
        for before, after in pairwise(self.samples):
            middle = (before.at + after.at) / 2
            if any(begin <= middle < end for begin, end in spans) and after.cpu[name] >= before.cpu[name]:
                used += after.cpu[name] - before.cpu[name]
                passed += after.at - before.at
        return used / passed if passed else 0.0
