"""A server among others of the same PostgreSQL database: its application, its partitions and its listener for them."""

from __future__ import annotations

import socket
from functools import partial

from toplist.service.cluster.cluster import Cluster
from toplist.service.cluster.listener import Listener
from toplist.service.cluster.owners import DatabaseClock
from toplist.service.http.app import App
from toplist.service.http.cluster_app import ClusterApp, make_cluster_app
from toplist.service.http.logs import Log
from toplist.service.live.compiler import PolicyCompiler
from toplist.service.live.read_lane import ReadLane
from toplist.service.live.service import Service, SharedResources
from toplist.service.live.transaction import OpenStore
from toplist.service.live.work_memory import WorkMemory
from toplist.service.log.impression_id import ImpressionIds
from toplist.service.serving import log_code_warnings, service_of, start_work
from toplist.service.settings import Settings
from toplist.service.store.postgres.database import Database

SLOWER = 5.0  # times that the periodic work of a partition is rarer than that of a whole store


class ServingTogether:
    """The service of some partitions of a database, with the listener for other servers."""

    def __init__(self, settings: Settings, listener: socket.socket, log: Log) -> None:
        shared, limits = settings.cluster, settings.limits
        self._settings, self._socket, self._log = settings, listener, log
        clock, compiler = DatabaseClock(), PolicyCompiler()
        self._resources = SharedResources(
            clock, compiler, WorkMemory(limits.request_memory << 20), ReadLane(limits.read_share, limits.reads_waiting)
        )
        secret = shared.secret.encode()
        self._cluster = Cluster(
            Database(settings.store, settings.lease), shared.partitions, own_address(settings, listener), secret,
            settings.memory << 20, clock, compiler, log.event,
        )  # fmt: skip
        self._cluster.serve_with(self._service_of, partial(start_work, log=log, slower=SLOWER))
        self._app: ClusterApp = make_cluster_app(self._cluster, settings, log)
        self.app: App = self._app
        self._listener = Listener(secret, self._app.answer_forwarded, self._cluster.owners.look_again)

    def _service_of(self, partition: int, open_store: OpenStore) -> Service:
        ids = ImpressionIds(partition if self._cluster.count > 1 else None)
        made = service_of(self._settings.store, self._settings, open_store, shared=self._resources, ids=ids)
        made.transactions.others = self._cluster
        log_code_warnings(made, self._log)
        return made

    async def start(self) -> None:
        """Listen for other servers, and take partitions."""
        await self._listener.start(self._socket)
        await self._cluster.start()

    async def leave(self) -> None:
        """Hand all partitions over to other servers, while requests still come."""
        await self._cluster.leave()

    def begin_stop(self) -> None:
        """Partitions cancel what they cannot finish when they are handed over."""

    async def stop(self) -> None:
        """Stop after the last request."""
        await self._listener.stop()
        await self._cluster.stop()

    @property
    def is_compiling(self) -> bool:
        """Whether machine code is loaded or compiled here, which cannot be interrupted."""
        return self._cluster.is_compiling


def own_address(settings: Settings, listener: socket.socket) -> str:
    """Host and port at which other servers reach this one."""
    host, port, *_ = listener.getsockname()
    return settings.cluster.address or (f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
