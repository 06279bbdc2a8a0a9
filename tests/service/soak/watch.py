"""Memory and processor time of the processes of a soak, once a second."""

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
