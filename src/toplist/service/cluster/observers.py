"""Answers questions about partitions that other servers own, from what is committed."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from toplist.service.cluster.partitions import MakeService
from toplist.service.live.service import Service
from toplist.service.store.postgres.committed import CommittedStore
from toplist.service.store.postgres.database import Database

MOST = 4  # partitions whose rankings are kept in memory for questions
MEMORY_SHARE = 8  # the learners of each take at most this part of the memory for learners


class _Observer:
    """The committed state of a partition; one question at a time, since the next may need a later state."""

    def __init__(self, service: Service, store: CommittedStore) -> None:
        self.service, self._store = service, store
        self._turn = asyncio.Lock()
        self.users = 0
        self._is_started = False

    @asynccontextmanager
    async def question(self) -> AsyncIterator[Service]:
        async with self._turn:
            if not self._is_started:
                await self.service.start()
                self._is_started = True
            else:
                self.service.transactions.follow(await self._store.read(lambda reader: reader.mark()))
            yield self.service

    async def close(self) -> None:
        if self._is_started:
            await self.service.stop()


class Observers:
    """Services that read partitions of other servers.

    Parameters
    ----------
    database : Database
        The database.
    memory : int
        Bytes of learners of this server.
    make_service : callable
        Makes the service of a partition, given what opens its store.
    """

    def __init__(self, database: Database, memory: int, make_service: MakeService) -> None:
        self._database, self._memory, self._make_service = database, memory, make_service
        self._observers: OrderedDict[int, _Observer] = OrderedDict()  # the one asked last is last

    @asynccontextmanager
    async def question(self, partition: int) -> AsyncIterator[Service]:
        """Context of a question about a partition, with a service that knows all that is committed now."""
        observer = self._observers.get(partition)
        if observer is None:
            store = CommittedStore(self._database, partition)
            service = self._make_service(partition, lambda _: store)
            service.transactions.limit_learners(self._memory // MEMORY_SHARE)
            observer = self._observers[partition] = _Observer(service, store)
        self._observers.move_to_end(partition)
        observer.users += 1
        try:
            async with observer.question() as service:
                yield service
        finally:
            observer.users -= 1
            await self._close_oldest()

    def keep(self, partition: int) -> Callable[[], None]:
        """Keep the service of the question that is being answered, for a stream; returns what lets go of it."""
        observer = self._observers[partition]
        observer.users += 1

        def let_go() -> None:
            observer.users -= 1

        return let_go

    async def _close_oldest(self) -> None:
        for partition, observer in list(self._observers.items()):
            if len(self._observers) <= MOST:
                return
            if not observer.users:
                del self._observers[partition]
                await observer.close()

    async def stop(self) -> None:
        """End all of them."""
        while self._observers:
            await self._observers.popitem()[1].close()
