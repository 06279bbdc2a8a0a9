"""Looks up request ids in the store: where it is far, all that wait at one moment by one read."""

from __future__ import annotations

import asyncio

from toplist.service.store.protocol import Store
from toplist.service.store.row_kinds import RequestRow

READS = 2  # at once: one that takes long keeps nobody waiting

_Asked = tuple[int, str]  # a ranking, and the id of a request for one of its lists


class RequestLookUps:
    """Looks up which list was made for a request id.

    A round trip costs about the same for one id and for all of the requests that came meanwhile. An id that is asked
    for while a read is on its way waits for the next one, so that it sees all that was committed before.

    Parameters
    ----------
    store : Store
        The store.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: list[tuple[_Asked, asyncio.Future[RequestRow | None]]] = []
        self._reading: set[asyncio.Task[None] | None] = set()
        self._is_starting = False  # whether one of them takes all that wait in a moment

    async def find(self, ranking: int, request: str) -> RequestRow | None:
        """The row of a request id; None if no list was made for it."""
        asked = ranking, request
        if not self._store.is_far:  # it answers at once
            return next(iter(await self._store.read(lambda reader: reader.requests([asked]))), None)
        loop = asyncio.get_running_loop()
        found: asyncio.Future[RequestRow | None] = loop.create_future()
        self._waiting.append((asked, found))
        if len(self._reading) < READS and not self._is_starting:
            self._is_starting = True
            self._reading.add(loop.create_task(self._work()))
        return await found

    async def _work(self) -> None:
        try:
            await asyncio.sleep(0)  # requests that are ready to run now join
            self._is_starting = False
            while self._waiting:
                waiting, self._waiting = self._waiting, []
                await self._read(waiting)
        finally:  # not by a callback, which comes a turn later: whoever asks meanwhile would wait for nobody
            self._reading.discard(asyncio.current_task())

    async def _read(self, waiting: list[tuple[_Asked, asyncio.Future[RequestRow | None]]]) -> None:
        asked = list({each for each, _ in waiting})
        try:
            rows = await self._store.read(lambda reader: reader.requests(asked))
        except Exception as problem:
            for _, future in waiting:
                if not future.done():  # its client may have left
                    future.set_exception(problem)
            return
        found = {(row.ranking, row.request): row for row in rows}
        for each, future in waiting:
            if not future.done():
                future.set_result(found.get(each))
