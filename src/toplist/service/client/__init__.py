"""The Python client of the service, sync and async."""

from toplist.service.client.client import AsyncClient, Client, ServiceError, Unreachable
from toplist.service.client.retries import Retries

__all__ = ["AsyncClient", "Client", "Retries", "ServiceError", "Unreachable"]
