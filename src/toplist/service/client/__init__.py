"""The Python client of the service, sync and async."""

from importlib import import_module

for _module in ("httpx", "msgspec"):
    try:
        import_module(_module)
    except ImportError as problem:
        needed = f"the client needs {_module}, which cannot be imported"
        raise ImportError(f'{needed}; install it with: pip install "toplist[client]"') from problem

from toplist.service.client.client import AsyncClient, Client, ServiceError, Unreachable  # noqa: E402
from toplist.service.client.retries import Retries  # noqa: E402

__all__ = ["AsyncClient", "Client", "Retries", "ServiceError", "Unreachable"]
