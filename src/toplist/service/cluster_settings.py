"""Settings of a server that shares a PostgreSQL database with others."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from toplist.core.problem import InvalidInput, refuse
from toplist.service.browser_settings import SHORTEST_SECRET

EVERYWHERE = ("0.0.0.0", "::", "")


class ClusterSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Other servers of the same PostgreSQL database; without a port, one server at a time serves it."""

    port: Annotated[
        Annotated[int, Meta(ge=0, le=65_535)] | None,
        Meta(description="port for other servers of the same PostgreSQL database; without it one serves at a time"),
    ] = None
    host: Annotated[str, Meta(min_length=1, description="address to listen on for other servers")] = "127.0.0.1"
    address: Annotated[
        str, Meta(description="host and port at which other servers reach this one; by default cluster.host and port")
    ] = ""
    secret: Annotated[str, Meta(description="secret that all servers of a database share")] = ""
    partitions: Annotated[
        Annotated[int, Meta(ge=1, le=1024)] | None,
        Meta(description="partitions of a new database, fixed from then on; by default 16"),
    ] = None


def check_cluster(settings: ClusterSettings, is_database: bool) -> None:
    """Refuse settings under which servers could not find or trust each other; the secret is not quoted."""
    if settings.port is None:
        return
    if not is_database:
        raise InvalidInput(
            "There is a cluster.port, but the store is a file, which one server serves; leave it out, or store in "
            "PostgreSQL (postgresql://...)."
        )
    if len(settings.secret) < SHORTEST_SECRET:
        raise InvalidInput(
            f"The cluster.secret has {len(settings.secret)} characters, but must have at least {SHORTEST_SECRET}, the "
            f"same on all servers; make one with `openssl rand -hex 32`."
        )
    if not settings.address and settings.host in EVERYWHERE:
        raise refuse(
            "The cluster.host", settings.host, "an address at which other servers reach this one",
            "name it in cluster.address, as 10.0.0.5:8700",
        )  # fmt: skip
    if settings.address and not settings.address.rpartition(":")[2].isdigit():
        raise refuse("The cluster.address", settings.address, "a host and a port", "write it as 10.0.0.5:8700")
