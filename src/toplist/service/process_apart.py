"""Processes that the service starts: they give way to requests before they do anything else, and end with the service.

`python -m toplist.service.process_apart MODULE NICENESS ARGUMENTS` runs the `main` of a module so. This module imports
nothing that takes long: importing the compiler takes a second of the processor, which requests would wait for.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from contextlib import suppress
from time import sleep

LOOK_EVERY = 0.5  # seconds


def command_apart(module: str, niceness: int, *arguments: str) -> list[str]:
    """The command of a process that gives way to requests from its first moment on, and then runs a module's `main`."""
    return [sys.executable, "-m", __name__, module, str(niceness), *arguments]


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


def main() -> int | None:
    """Give way, and only then import the module and run its `main`, with the other arguments."""
    _, module, niceness, *arguments = sys.argv
    give_way(int(niceness))
    sys.argv = [module, *arguments]
    code: int | None = importlib.import_module(module).main()
    return code


if __name__ == "__main__":
    sys.exit(main())
