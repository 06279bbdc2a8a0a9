"""A service with its application and the work that no request asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from toplist.service.errors import StoreUnavailable
from toplist.service.http.app import App, make_app
from toplist.service.http.logs import Log
from toplist.service.live.service import Service
from toplist.service.live.transaction import OpenStore
from toplist.service.settings import Settings
from toplist.service.store.address import open_store as open_any_store

# Seconds between two runs of periodic work:
CLOSE_EVERY = 0.1  # impressions whose click window has ended
FORGET_EVERY = 60.0  # events older than the retention of their ranking
PURGE_EVERY = 0.1  # what deleted rankings left behind
GUARD_EVERY = 2.0  # the uplift of divided rankings that have a guardrail


class Serving(Protocol):
    """A service that requests are answered by, alone or with other servers."""

    app: App

    async def start(self) -> None:
        """Start the service, and the work that no request asks for."""

    async def leave(self) -> None:
        """Hand over to other servers, while requests still come."""

    def begin_stop(self) -> None:
        """Cancel what cannot be finished."""

    async def stop(self) -> None:
        """Stop the service after the last request."""

    @property
    def is_compiling(self) -> bool:
        """Whether machine code is loaded or compiled here, which cannot be interrupted."""
        ...


class ServingAlone:
    """The service of a whole store."""

    def __init__(self, service: Service, settings: Settings, log: Log) -> None:
        self._service, self._log = service, log
        self._work: list[asyncio.Task[None]] = []
        self.app = make_app(service, settings, log)
        log_code_warnings(service, log)

    async def start(self) -> None:
        """Start the service, and the work that no request asks for."""
        await self._service.start()
        self._work = start_work(self._service, self._log)

    async def leave(self) -> None:
        """Nobody else serves the store."""

    def begin_stop(self) -> None:
        """Cancel what cannot be finished."""
        self._service.begin_stop()

    async def stop(self) -> None:
        """Stop the service after the last request."""
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        await self._service.stop()

    @property
    def is_compiling(self) -> bool:
        """Whether machine code is loaded or compiled here, which cannot be interrupted."""
        return self._service.is_compiling


def service_of(store: Path | str, settings: Settings, open_store: OpenStore | None = None, **more: Any) -> Service:
    """The service with the limits of the settings; in tests, with another kind of store."""
    limits = settings.limits
    opened = partial(open_any_store, lease=settings.lease) if open_store is None else open_store
    return Service(
        store,
        learner_bytes=settings.memory << 20,
        work_bytes=limits.request_memory << 20,
        item_bytes=limits.items_memory << 20,
        most_rankings=limits.rankings,
        most_segments=limits.segments,
        read_share=limits.read_share,
        reads_waiting=limits.reads_waiting,
        unrecorded_seconds=limits.unrecorded,
        open_store=opened,
        **more,
    )


def log_code_warnings(service: Service, log: Log) -> None:
    """Log learners that were made with other code of their policy."""
    service.on_code_warning = lambda ranking, warning: log.event("policy code differs", ranking=ranking, detail=warning)


def start_work(service: Service, log: Log, slower: float = 1.0) -> list[asyncio.Task[None]]:
    """Start the work that no request asks for; `slower` so many times, where a service has one partition of many."""
    return [
        asyncio.create_task(repeat(service.impressions.close_all_due, CLOSE_EVERY * slower, log, "closing")),
        asyncio.create_task(repeat(service.retention.forget_old, FORGET_EVERY, log, "retaining")),
        asyncio.create_task(repeat(service.retention.purge_deleted, PURGE_EVERY * slower, log, "purging")),
        asyncio.create_task(repeat(service.guardrails.check, GUARD_EVERY, log, "guarding")),
    ]


async def repeat(work: Callable[[], Awaitable[Any]], seconds: float, log: Log, name: str) -> None:
    """Run `work` every `seconds`, whatever errors it raises; of consecutive errors the first is logged."""
    failing = False
    while True:
        await asyncio.sleep(seconds)
        try:
            await work()
            failing = False
        except StoreUnavailable as error:
            if not failing:
                log.event("store unavailable", during=name, detail=str(error))
            failing = True
        except Exception as error:
            if not failing:
                log.failure("unforeseen", error, during=name)
            failing = True
