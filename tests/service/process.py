"""`toplist serve` with an in-memory double of the service, as a process.

A list waits while a file `wait` exists beside the store, and stopping the service writes a file `stopped`.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from double import Double

from toplist.cli import main
from toplist.service import run
from toplist.service.live.service import Service
from toplist.service.settings import Settings
from toplist.service.wire import ListReply, ListRequest


class Slow(Double):
    """Waits before it makes a list, and records when it was stopped."""

    def __init__(self, store: Path) -> None:
        super().__init__()
        self.store = store

    async def make_list(self, name: str, request: ListRequest) -> ListReply:
        while self.store.with_name("wait").exists():
            await asyncio.sleep(0.02)
        return await super().make_list(name, request)

    async def stop(self) -> None:
        self.store.with_name("stopped").write_text(f"{len(self.lists)} lists")


def open_service(store: Path, _: Settings) -> Service:
    """The service of this process."""
    return Slow(store).as_service()


if __name__ == "__main__":
    original = run.serve
    run.serve = lambda settings, **more: original(settings, open_service=open_service, **more)
    sys.exit(main(["serve", *sys.argv[1:]]))
