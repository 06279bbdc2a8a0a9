"""A pool whose workers are those of a Ray cluster: the same runs, bit for bit, on as many machines as it has."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from toplist.files import optional


class RayPool(Executor):
    """Takes every call to a Ray cluster: one that `address` names, as "auto", or a local one of so many workers.

    Workers need toplist, and the parts that are played, as this process has them. Use it as a context.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._ray = optional("ray", "ray")
        joined: dict[str, Any] = {"num_cpus": workers} if address is None else {"address": address}
        self._ray.init(include_dashboard=False, log_to_driver=False, **joined)
        self._calls: dict[Any, Any] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have it called by some worker."""
        if fn not in self._calls:
            self._calls[fn] = self._ray.remote(fn)
        future: Future[Any] = self._calls[fn].remote(*args, **kwargs).future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster; a local one ends."""
        self._ray.shutdown()
