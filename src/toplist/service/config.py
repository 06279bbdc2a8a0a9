"""Settings of the service: from a TOML file, the environment and flags; later ones override earlier ones."""

from __future__ import annotations

import difflib
import ipaddress
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct

from toplist.core.compiling import LIBRARY_VARIABLES
from toplist.core.problem import InvalidInput, nearest, refuse
from toplist.service.api_keys import ApiKeySetting, keys_of_file, keys_of_text
from toplist.service.browser_settings import SHORTEST_SECRET, BrowserSettings, allowed_origins, token_secrets
from toplist.service.cluster_settings import ClusterSettings
from toplist.service.playground_settings import PlaygroundSettings
from toplist.service.policy_settings import PolicySettings
from toplist.support.tables import series

FILE = "toplist.toml"  # default, in the current folder
PREFIX = "TOPLIST_"
CONFIG = f"{PREFIX}CONFIG"  # path of the file
OTHER_VARIABLES = (CONFIG, *LIBRARY_VARIABLES)  # not settings of the service

SECRETS = ("segment_secret", "browser.secrets", "cluster.secret")  # settings whose values are never shown


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


def read_settings(
    file: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, str | list[str]] | None = None,
) -> Settings:
    """Read settings from a file, the environment and flags; later ones override earlier ones.

    Parameters
    ----------
    file : path-like or None, default None
        TOML file; None: the one that `TOPLIST_CONFIG` names, else `toplist.toml` in the current folder, if it exists.
    environment : mapping of str to str or None, default None
        Variables; None: those of the process. Empty ones are ignored.
    flags : mapping of str to str or list of str, or None, default None
        Values by the name of the setting.

    Returns
    -------
    Settings

    Raises
    ------
    InvalidInput
        If a setting is unknown or has an invalid value, or if the service would be reachable without API keys.

    Examples
    --------
    >>> read_settings(environment={"TOPLIST_PORT": "9000"}, flags={"limits.rate": "50"}).limits.rate
    50.0
    """
    environment = os.environ if environment is None else environment
    given = environment.get(CONFIG) or None if file is None else file
    path = Path(FILE if given is None else given)
    values = _read_file(path) if given is not None or path.exists() else {}
    known = list(setting_fields())
    _check_known(values, Settings, str(path))
    given_values: dict[tuple[str, ...], Any] = {}
    for setting in known:
        found = _value_at(values, setting.path)
        if found is not None:
            what = str(path) if setting.name == "keys" else f"{setting.name} in {path}"
            given_values[setting.path] = _convert(setting, found, what, strict=True)
    variables = {setting.variable: setting for setting in known}
    for variable in sorted(environment):
        if variable.startswith(PREFIX) and variable not in OTHER_VARIABLES:
            setting = _find(variable, variables, "the environment", OTHER_VARIABLES)
            if environment[
                variable
            ].strip():  # else it is ignored: some launchers can only set a variable to nothing, not unset it
                given_values[setting.path] = _convert(setting, environment[variable], variable, strict=False)
    names = {setting.name: setting for setting in known}
    for name, value in (flags or {}).items():
        setting = _find(name, names, "a flag")
        given_values[setting.path] = _convert(setting, value, name, strict=False)
    made: Settings = _build(Settings, (), given_values)
    check_reach(made)
    _check_proxies(made)
    _check_secret(made)
    token_secrets(made.browser)
    allowed_origins(made.browser)
    _check_tls(made)
    return made


def _find(name: str, known: Mapping[str, SettingField], where: str, more: Sequence[str] = ()) -> SettingField:
    if name not in known:
        advice = nearest(name, [*known, *more], "")
        if not advice:
            alike = difflib.get_close_matches(name, known, n=len(known), cutoff=0.0)  # the most similar names first
            advice = f"the nearest are {series(alike[:3])}; the others are {', '.join(alike[3:])}"
        raise InvalidInput(f"Unknown setting {name} in {where}; {advice}.")
    return known[name]


def check_reach(made: Settings) -> None:
    """Refuse to listen beyond loopback without API keys."""
    hosts = [made.host] if made.health.port is None else [made.host, made.health.host]
    if not made.keys and (reachable := [host for host in hosts if not is_loopback(host)]):
        raise InvalidInput(
            f"The host is {reachable[0]!r}, which other machines can reach, but no keys are configured; listen on "
            f"127.0.0.1, or make a key with `toplist keys new --scope admin` and add its lines to {FILE}."
        )


def _check_proxies(made: Settings) -> None:
    """Refuse proxies that would never match, or would make a service without keys public."""
    for given in made.proxies:
        try:
            ipaddress.ip_network(given)
        except ValueError as error:
            if given != "*":
                accepted = "an IP address, a network such as 10.0.0.0/8, or * for any"
                raise refuse(
                    "One of the proxies", given, accepted, f"name the proxy by its address ({error})"
                ) from None
            if len(made.proxies) > 1:
                raise refuse(
                    "The setting proxies", made.proxies, "* alone, or addresses", "leave one of them out"
                ) from None
    if made.proxies and not made.keys:
        raise InvalidInput(
            f"There are proxies, {', '.join(made.proxies)}, but no keys: everybody could use the service through them; "
            f"make a key with `toplist keys new --scope admin` and add its lines to {FILE}, or leave out the proxies."
        )


def _check_secret(made: Settings) -> None:
    """Refuse a secret that could be guessed; it is not quoted."""
    if 0 < len(made.segment_secret) < SHORTEST_SECRET:
        raise InvalidInput(
            f"The segment_secret has {len(made.segment_secret)} characters, but must have at least {SHORTEST_SECRET}; "
            f"make one with `openssl rand -hex 32`."
        )


def _check_tls(made: Settings) -> None:
    """Refuse one file of TLS without the other."""
    if bool(made.tls.certificate) != bool(made.tls.key):
        given, missing = ("certificate", "key") if made.tls.certificate else ("key", "certificate")
        raise InvalidInput(f"There is tls.{given}, but no tls.{missing}; name both files, or neither for plain HTTP.")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _read_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as opened:
            return tomllib.load(opened)
    except FileNotFoundError:
        raise refuse("The settings file", str(path), "a file that exists", "name another one") from None
    except OSError as problem:
        raise refuse("The settings file", str(path), "a readable file", f"check its permissions ({problem})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise refuse("The settings file", str(path), "TOML", f"correct it: {problem}") from None


def _check_known(values: Mapping[str, Any], of: type[Struct], where: str, above: str = "") -> None:
    """Refuse an unknown setting, and suggest the nearest known one."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(of)}
    for name, value in values.items():
        if name not in fields:
            everywhere = {setting.path[-1]: setting.name for setting in setting_fields()}
            if name in everywhere:  # in the wrong table
                advice = f"perhaps you mean {everywhere[name]!r}"
            else:
                advice = nearest(name, fields, "leave it out")
            raise InvalidInput(f"Unknown setting {above + name!r} in {where}; {advice}.")
        default = fields[name].default
        if isinstance(default, Struct):
            if not isinstance(value, dict):
                raise refuse(f"{above}{name} in {where}", value, "a table", f"write [{name}] above its settings")
            _check_known(value, type(default), where, f"{above}{name}.")


def _value_at(values: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = values
    for step in path:
        if step not in found:
            return None
        found = found[step]
    return found


def _convert(setting: SettingField, value: Any, what: str, *, strict: bool) -> Any:
    """A value converted to the type of its setting; not strict for text from the environment and flags."""
    if setting.name == "keys":
        return keys_of_file(value, what) if strict else keys_of_text(value, what)
    if setting.is_list and isinstance(value, str) and not strict:
        value = [part.strip() for part in value.split(",") if part.strip()]
    try:
        return msgspec.convert(value, setting.type, strict=strict)
    except msgspec.ValidationError as error:
        reason = str(error).partition(" - at ")[0].replace("`", "")
        value = "(not shown)" if setting.name in SECRETS else value
        raise refuse(what, value, reason.removeprefix("Expected ").partition(", got")[0], setting.description) from None


def _build(of: Any, above: tuple[str, ...], given: Mapping[tuple[str, ...], Any]) -> Any:
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(of):
        path = (*above, field.name)
        if isinstance(field.default, Struct):
            values[field.name] = _build(type(field.default), path, given)
        elif path in given:
            values[field.name] = given[path]
    return of(**values)
