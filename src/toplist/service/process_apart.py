"""What processes that the service starts have in common: they give way to requests, and end with the service."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from time import sleep

LOOK_EVERY = 0.5  # seconds


def give_way(niceness: int) -> None:
    """Let other processes go first."""
    with suppress(OSError):
        if hasattr(os, "SCHED_OTHER"):  # niceness means nothing to a process at real-time priority
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.nice(niceness)


def end_with_parent(parent: int) -> None:
    """End this process soon after the one that started it, of which this is the id, has ended, in whatever way."""

    def watch() -> None:
        while os.getppid() == parent:
            sleep(LOOK_EVERY)
        os._exit(1)

    threading.Thread(target=watch, name="toplist-parent", daemon=True).start()
