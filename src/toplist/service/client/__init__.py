"""The Python client of the service, sync and async."""

from toplist.service.client.client import AsyncClient, Client, ServiceError, Unreachable

__all__ = ["AsyncClient", "Client", "ServiceError", "Unreachable"]
