"""The settings of the service: their names, defaults, limits and descriptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct

from toplist.service.api_keys import ApiKeySetting
from toplist.service.browser_settings import BrowserSettings
from toplist.service.cluster_settings import ClusterSettings
from toplist.service.playground_settings import PlaygroundSettings
from toplist.service.policy_settings import PolicySettings

PREFIX = "TOPLIST_"  # of variables in the environment


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits per request, caller and process."""

    body_bytes: Annotated[
        int, Meta(ge=1024, description="largest body of a request with items, in bytes; more gets 413")
    ] = 16 * 2**20
    list_bytes: Annotated[
        int, Meta(ge=1024, description="largest body of a list, a report or any other request, in bytes; more gets 413")
    ] = 2**20
    bodies_bytes: Annotated[
        int,
        Meta(
            ge=1024,
            description="bytes of large bodies on their way, of requests and responses, half of them for one caller; "
            "more gets 503",
        ),
    ] = 128 * 2**20
    head_bytes: Annotated[int, Meta(ge=1024, description="largest head of a request, in bytes; much more gets 431")] = (
        64 * 2**10
    )
    seconds: Annotated[
        float,
        Meta(
            gt=0.0,
            le=3600.0,
            description="seconds for the head of a request to arrive, and again for its body, else 408; "
            "and for the client to take 4096 bytes of a response",
        ),
    ] = 60.0
    idle: Annotated[
        float, Meta(gt=0.0, le=3600.0, description="seconds that a connection may wait for its next request")
    ] = 75.0
    batch: Annotated[int, Meta(ge=1, le=10_000, description="items put or removed in one request; more gets 422")] = (
        10_000
    )
    rate: Annotated[
        float,
        Meta(
            ge=0.0,
            description="requests per second of a key, or of an address without keys; 0: no limit; more gets 429",
        ),
    ] = 3000.0
    burst: Annotated[int, Meta(ge=1, description="requests at once before the rate applies")] = 6000
    stranger_rate: Annotated[
        float,
        Meta(
            ge=0.0,
            description="requests per second without a valid key of an address (IPv6: a /64), where there are keys; "
            "0: no limit; more gets 429",
        ),
    ] = 20.0
    stranger_burst: Annotated[int, Meta(ge=1, description="such requests at once before the rate applies")] = 100
    read_share: Annotated[
        float,
        Meta(
            gt=0.0,
            le=1.0,
            description="share of the time for costly reads (estimates, explanations, histories), one at a time and "
            "keys in turn; and as much for lists and reports of more than 8 KB",
        ),
    ] = 0.2
    reads_waiting: Annotated[
        int, Meta(ge=1, description="costly reads of a key that wait for their turn; more gets 429")
    ] = 32
    in_flight: Annotated[
        int, Meta(ge=1, description="requests that have arrived and have no response yet; more gets 503")
    ] = 1024
    connections: Annotated[
        int,
        Meta(
            ge=1,
            description="open connections; beyond it one that waits for its client is closed, or the new one gets 503",
        ),
    ] = 2048
    address_connections: Annotated[
        int,
        Meta(ge=1, description="open connections of an address (IPv6: a /64) that is not among the proxies"),
    ] = 256
    request_memory: Annotated[
        int,
        Meta(
            ge=16,
            le=2**20,
            description="megabytes for loading, copying and training learners, and for lists until they are on disk; "
            "requests wait for room, larger learners get 422",
        ),
    ] = 1024
    bodies_memory: Annotated[
        int,
        Meta(
            ge=16,
            le=2**20,
            description="megabytes for bodies of requests and responses as objects; requests wait for room, larger "
            "bodies get 413",
        ),
    ] = 512
    items_memory: Annotated[
        int, Meta(ge=1, le=2**20, description="megabytes for the items of all rankings; more gets 422")
    ] = 1024
    rankings: Annotated[int, Meta(ge=1, description="rankings; more gets 422")] = 1000
    segments: Annotated[int, Meta(ge=1, description="segments of a ranking; more gets 422")] = 1_000_000
    unrecorded: Annotated[
        float,
        Meta(
            ge=0.0,
            le=3600.0,
            description="seconds for which lists are made from memory while the store is away, in rankings with "
            'when_unavailable "serve"',
        ),
    ] = 60.0


class Logs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which JSON lines are written to stderr."""

    requests: Annotated[
        Literal["all", "failed", "none"], Meta(description="requests to log; failed: status 400 and above")
    ] = "all"


class HealthListener(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A second listener, for health checks: it answers while all connections of the other are taken."""

    host: Annotated[
        str, Meta(min_length=1, description="address to listen on for /healthz, /readyz and /metrics alone")
    ] = "127.0.0.1"
    port: Annotated[
        Annotated[int, Meta(ge=0, le=65_535)] | None,
        Meta(description="port for these, which answers when all connections are taken"),
    ] = None


class TlsFiles(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Files for TLS; without them, the service speaks plain HTTP."""

    certificate: Annotated[
        str, Meta(description="file with the certificate and those above it, in PEM, to serve HTTPS; needs tls.key")
    ] = ""
    key: Annotated[str, Meta(description="file with the private key of the certificate, in PEM")] = ""


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of `toplist serve`.

    Parameters
    ----------
    store : str, default "toplist.db"
        File of the store, created if missing, or the address of a PostgreSQL database (postgresql://...).
    lease : float, default 10
        Seconds after which another server may take over a PostgreSQL database from one that was killed.
    host : str, default "127.0.0.1"
        Address to listen on; other addresses than loopback need keys.
    port : int, default 8600
        Port to listen on; 0: any free port.
    hosts : list of str, default []
        Host names besides localhost that requests without keys may use.
    proxies : list of str, default []
        Addresses of proxies whose X-Forwarded-For header is trusted.
    segment_secret : str, default ""
        Secret by which segments are hashed before they are stored; empty: they are not.
    memory : int, default 512
        Megabytes for learners in memory; others stay in the store.
    grace : int, default 30
        Seconds for requests in flight to finish at shutdown.
    tls : TlsFiles
        Files for TLS.
    health : HealthListener
        A second listener, for health checks.
    browser : BrowserSettings
        Reports that browsers send themselves.
    policies : PolicySettings
        Policies besides those of the catalogue.
    cluster : ClusterSettings
        Other servers of the same PostgreSQL database.
    playground : PlaygroundSettings
        Simulations that are asked for on the page of the service.
    limits : Limits
        Limits per request, caller and process.
    logs : Logs
        Which JSON lines are written to stderr.
    keys : list of ApiKeySetting, default []
        API keys, by their hashes.
    """

    store: Annotated[
        str,
        Meta(min_length=1, description="file of the store, created if missing, or address of a PostgreSQL database"),
    ] = "toplist.db"
    lease: Annotated[
        float,
        Meta(
            ge=0.5,
            le=3600.0,
            description="seconds after which another server may take a PostgreSQL database from one that was killed",
        ),
    ] = 10.0
    host: Annotated[
        str, Meta(min_length=1, description="address to listen on; other addresses than loopback need keys")
    ] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535, description="port to listen on; 0: any free port")] = 8600
    hosts: Annotated[
        list[str], Meta(description="host names besides localhost that requests without keys may use")
    ] = []
    proxies: Annotated[list[str], Meta(description="addresses of proxies whose X-Forwarded-For header is trusted")] = []
    segment_secret: Annotated[
        str, Meta(description="secret by which segments are hashed before they are stored; empty: they are not")
    ] = ""
    memory: Annotated[
        int, Meta(ge=1, le=2**20, description="megabytes for learners in memory; others stay in the store")
    ] = 512
    grace: Annotated[int, Meta(ge=1, le=3600, description="seconds for requests in flight to finish at shutdown")] = 30
    tls: TlsFiles = TlsFiles()
    health: HealthListener = HealthListener()
    browser: BrowserSettings = BrowserSettings()
    policies: PolicySettings = PolicySettings()
    cluster: ClusterSettings = ClusterSettings()
    playground: PlaygroundSettings = PlaygroundSettings()
    limits: Limits = Limits()
    logs: Logs = Logs()
    keys: Annotated[
        list[ApiKeySetting],
        Meta(description="API keys, by their hashes; outside the file as name:scope:sha256"),
    ] = []


class SettingField(NamedTuple):
    """One setting, with its names in file and environment."""

    path: tuple[str, ...]
    type: Any
    default: Any
    description: str

    @property
    def name(self) -> str:
        """Name in the file and in flags, such as `limits.rate`."""
        return ".".join(self.path)

    @property
    def variable(self) -> str:
        """Name in the environment, such as `TOPLIST_LIMITS_RATE`."""
        return PREFIX + "_".join(self.path).upper()

    @property
    def is_list(self) -> bool:
        """Whether it is a list, comma-separated in the environment and in flags."""
        return isinstance(self.default, list)


def setting_fields(of: type[Struct] = Settings, above: tuple[str, ...] = ()) -> Iterator[SettingField]:
    """All settings, those of tables such as `limits` included.

    >>> [setting.variable for setting in setting_fields()][:3]
    ['TOPLIST_STORE', 'TOPLIST_LEASE', 'TOPLIST_HOST']
    """
    hints = get_type_hints(of, include_extras=True)
    for field in msgspec.structs.fields(of):
        default = field.default_factory() if callable(field.default_factory) else field.default
        path = (*above, field.name)
        if isinstance(default, Struct):
            yield from setting_fields(type(default), path)
        else:
            kind = hints[field.name]
            yield SettingField(
                path, kind, default, next(m.description for m in get_args(kind) if isinstance(m, Meta)) or ""
            )
