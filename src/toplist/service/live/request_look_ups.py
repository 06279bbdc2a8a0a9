"""Looks up request ids in the store: where it is far, all that wait at one moment by one read."""

from __future__ import annotations

import asyncio

from toplist.service.store.protocol import LogReader, Store
from toplist.service.store.row_kinds import RequestRow

READS = 2  # at once: one that takes long keeps nobody waiting

_Asked = tuple[int, str, int]  # a ranking, the id of a request for one of its lists, and the ranking's scope
_Found = tuple[RequestRow | None, bool]  # the row, and whether any partition has a list for it


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
        self._waiting: list[tuple[_Asked, asyncio.Future[_Found]]] = []
        self._reading: set[asyncio.Task[None] | None] = set()
        self._is_starting = False  # whether one of them takes all that wait in a moment

    async def find(self, ranking: int, request: str, scope: int = 0) -> _Found:
        """The row of a request id, None if no list was made for it here; and whether one was elsewhere.

        With a scope, other partitions may have lists of the ranking.
        """
        asked = ranking, request, scope
        if not self._store.is_far:  # it answers at once, and has one part
            return next(iter(await self._store.read(lambda reader: reader.requests([asked[:2]]))), None), False
        loop = asyncio.get_running_loop()
        found: asyncio.Future[_Found] = loop.create_future()
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

    async def _read(self, waiting: list[tuple[_Asked, asyncio.Future[_Found]]]) -> None:
        asked = list({each[:2] for each, _ in waiting})
        scoped = list({(scope, request) for (_, request, scope), _ in waiting if scope})

        def read(reader: LogReader) -> tuple[list[RequestRow], set[tuple[int, str]]]:
            claimed = reader.claimed(scoped) if scoped else set[tuple[int, str]]()
            return reader.requests(asked), claimed  # in this order: what is claimed by then is found

        try:
            rows, claimed = await self._store.read(read)
        except Exception as problem:
            for _, future in waiting:
                if not future.done():  # its client may have left
                    future.set_exception(problem)
            return
        found = {(row.ranking, row.request): row for row in rows}
        for (ranking, request, scope), future in waiting:
            if not future.done():
                future.set_result((found.get((ranking, request)), (scope, request) in claimed))
