"""Connects to a Ray cluster."""

from __future__ import annotations

import logging
import os
from typing import Any

from toplist.support.files import import_optional


class RayCluster:
    """A connection to a Ray cluster; an existing one is used and left open.

    Parameters
    ----------
    address : str or None, default None
        Address of a running cluster, such as "auto"; None starts a local one.
    workers : int or None, default None
        Number of workers of a local cluster; None uses all cores.
    """

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no usage statistics
        self.ray: Any = import_optional("ray", "ray")
        self._own = not self.ray.is_initialized()
        if self._own:
            joined = {"address": "local", "num_cpus": workers} if address is None else {"address": address}
            self.ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR, **joined)

    def disconnect(self) -> None:
        """Disconnect, which stops a local cluster."""
        if self._own:
            self.ray.shutdown()
