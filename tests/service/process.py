"""`toplist serve` with a desk in memory, as a process of its own: `process.py SECONDS flags...`.

The desk takes SECONDS for every list, and writes a file when it is stopped.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from double import Double

from toplist.cli import main
from toplist.service import serving
from toplist.service.desk import Desk
from toplist.service.shapes import ListReply, ListRequest


class Slow(Double):
    """Takes its time, and says when it was stopped."""

    def __init__(self, store: Path) -> None:
        super().__init__()
        self.store = store

    async def make_list(self, name: str, request: ListRequest) -> ListReply:
        await asyncio.sleep(float(sys.argv[1]))
        return await super().make_list(name, request)

    async def stop(self) -> None:
        self.store.with_name("stopped").write_text(f"{len(self.lists)} lists")


def opened(store: Path) -> Desk:
    """The desk of this process."""
    return Slow(store).as_desk()


if __name__ == "__main__":
    original = serving.serve
    serving.serve = lambda settings, **more: original(settings, opened=opened, **more)
    sys.exit(main(["serve", *sys.argv[2:]]))
