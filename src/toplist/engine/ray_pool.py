"""A pool of Ray workers: the same runs, bit for bit, on all machines of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from toplist.support.files import import_optional
from toplist.support.ray_cluster import RayCluster


class RayPool(Executor):
    """An executor whose calls run on the workers of a Ray cluster.

    Workers need the same toplist, and the same parts of your own, as this process. Use the pool as a context manager.
    If this process is already connected to Ray, that connection is used and left open.

    Parameters
    ----------
    address : str or None, default None
        Address of a running cluster, such as "auto"; None starts a local one.
    workers : int or None, default None
        Number of workers of a local cluster; None uses all cores.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self._cluster = RayCluster(address, workers)
        self._pickle = import_optional("ray.cloudpickle", "ray")
        self._call = self._cluster.ray.remote(call)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Schedule the call on a worker."""
        # Pickled here, since arrays that Ray deserialises are read-only: another type to numba, compiled again.
        future: Future[Any] = self._call.remote(self._pickle.dumps((fn, args, kwargs))).future()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Disconnect, which stops a local cluster."""
        self._cluster.disconnect()


def call(packed: bytes) -> Any:
    """Unpack and run a call, on a worker."""
    fn, args, kwargs = import_optional("ray.cloudpickle", "ray").loads(packed)
    return fn(*args, **kwargs)
