"""`toplist serve` with a desk in memory, as a process of its own.

A list takes as long as there is a file `wait` beside the store, and a file `stopped` is written when all is over.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from double import Double

from toplist.cli import main
from toplist.service import run
from toplist.service.config import Settings
from toplist.service.live.service import Desk
from toplist.service.wire import ListReply, ListRequest


class Slow(Double):
    """Takes its time, and says when it was stopped."""

    def __init__(self, store: Path) -> None:
        super().__init__()
        self.store = store

    async def make_list(self, name: str, request: ListRequest) -> ListReply:
        while self.store.with_name("wait").exists():
            await asyncio.sleep(0.02)
        return await super().make_list(name, request)

    async def stop(self) -> None:
        self.store.with_name("stopped").write_text(f"{len(self.lists)} lists")


def opened(store: Path, _: Settings) -> Desk:
    """The desk of this process."""
    return Slow(store).as_desk()


if __name__ == "__main__":
    original = run.serve
    run.serve = lambda settings, **more: original(settings, opened=opened, **more)
    sys.exit(main(["serve", *sys.argv[1:]]))
