"""Compresses snapshots of large learners in another thread, one at a time, while others are served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from toplist.service.live.work_memory import WorkMemory
from toplist.service.store.row_kinds import Row, SnapshotRow

LARGE = 1 << 20  # bytes of a learner; compressing more would hold up the event loop for tens of milliseconds
TIMES_SNAPSHOT = 2  # a copy of the learner, and the bytes that are made of it


class LargeSnapshots:
    """Writes the snapshots of large learners, each once it is compressed; it belongs to one event loop."""

    def __init__(self, work: WorkMemory, write: Callable[[list[Row]], None]) -> None:
        self._work, self._write = work, write
        self._task: asyncio.Task[None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether no snapshot is being compressed."""
        return self._task is None

    def has_room(self, size: int) -> bool:
        """Whether no other snapshot is being compressed, and there is memory for one of `size` bytes now."""
        return self.is_idle and self._work.has_room(TIMES_SNAPSHOT * size)

    def keep(self, row: SnapshotRow, size: int, pack: Callable[[], bytes], is_wanted: Callable[[], bool]) -> None:
        """Compress in another thread and write the row with that body, if it is still wanted then."""
        self._work.take_now(TIMES_SNAPSHOT * size)
        self._task = asyncio.create_task(self._keep(row, size, pack, is_wanted))

    async def _keep(
        self, row: SnapshotRow, size: int, pack: Callable[[], bytes], is_wanted: Callable[[], bool]
    ) -> None:
        try:
            body = await asyncio.to_thread(pack)
        finally:
            self._task = None
            self._work.give_back(TIMES_SNAPSHOT * size)
        if is_wanted():
            self._write([row._replace(body=body)])
