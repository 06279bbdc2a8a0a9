"""A pool whose workers are those of a Ray cluster: the same runs, bit for bit, on as many machines as it has."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from toplist.support.files import import_optional


class RayPool(Executor):
    """Takes every call to a Ray cluster: one that `address` names, as "auto", or a local one of so many workers.

    Workers need toplist, and the parts that are played, as this process has them. Use it as a context. A connection
    that this process has already is used, and left open.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would tell its makers
        self._ray = import_optional("ray", "ray")
        self._own = not self._ray.is_initialized()
        if self._own:
            joined = {"address": "local", "num_cpus": workers} if address is None else {"address": address}
            self._ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR, **joined)
        self._pickle = import_optional("ray.cloudpickle", "ray")
        self._call = self._ray.remote(call)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have it called by some worker."""
        # Arrays that Ray carries itself cannot be written to, which to numba is another type, and to be compiled anew.
        future: Future[Any] = self._call.remote(self._pickle.dumps((fn, args, kwargs))).future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster; a local one ends."""
        if self._own:
            self._ray.shutdown()


def call(packed: bytes) -> Any:
    """What a worker does."""
    fn, args, kwargs = import_optional("ray.cloudpickle", "ray").loads(packed)
    return fn(*args, **kwargs)
