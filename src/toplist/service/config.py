"""Settings of the service: from one TOML file, the environment and flags, each over the ones before."""

from __future__ import annotations

import ipaddress
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_type_hints

import msgspec
from msgspec import Meta, Struct

from toplist.core.problem import InvalidInput, nearest, refuse

FILE = "toplist.toml"  # read from the current folder where no other is named
PREFIX = "TOPLIST_"
CONFIG = f"{PREFIX}CONFIG"  # names the file

Scope = Literal["serve", "admin"]


class KeySetting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who may call; the key itself is written nowhere."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,50}(?![\s\S])")]
    scope: Scope
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}(?![\s\S])")]


_PARTS_OF_A_KEY = {
    "name": "1 to 50 letters, digits, dots, dashes and underscores",
    "scope": "serve or admin",
    "sha256": "64 digits 0-9 and a-f, the hash of the key and never the key itself",
}


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one request, and one caller, may ask for."""

    body_bytes: Annotated[int, Meta(ge=1024, description="the largest request, in bytes; more gets 413")] = 16 * 2**20
    head_bytes: Annotated[
        int, Meta(ge=1024, description="the largest head of a request, in bytes; much more gets 431")
    ] = 64 * 2**10
    seconds: Annotated[
        float,
        Meta(gt=0.0, le=3600.0, description="in which a request's head, and then its body, must be here; else 408"),
    ] = 60.0
    batch: Annotated[int, Meta(ge=1, le=10_000, description="items put or removed in one request; more gets 422")] = (
        10_000
    )
    rate: Annotated[
        float,
        Meta(ge=0.0, description="requests per second of one key, or address without keys; 0: any; more gets 429"),
    ] = 0.0
    burst: Annotated[int, Meta(ge=1, description="requests that may come at once before the rate counts")] = 100
    in_flight: Annotated[int, Meta(ge=1, description="requests at work at the same time; more gets 503")] = 1024


class Logs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is told on stderr, as lines of JSON."""

    requests: Annotated[
        Literal["all", "failed", "none"], Meta(description="of which requests a line is written; failed: status 400 on")
    ] = "all"


class Settings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings of `toplist serve`."""

    store: Annotated[str, Meta(min_length=1, description="the file of the store, made where there is none")] = (
        "toplist.db"
    )
    host: Annotated[
        str, Meta(min_length=1, description="the address to listen on; other than loopback only with keys")
    ] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535, description="the port to listen on; 0: any that is free")] = 8600
    hosts: Annotated[
        list[str], Meta(description="names besides localhost that requests without keys may be addressed to")
    ] = []
    proxies: Annotated[
        list[str], Meta(description="addresses of proxies whose X-Forwarded-For says who the caller is")
    ] = []
    memory: Annotated[
        int, Meta(ge=1, le=2**20, description="megabytes for learners; those not in use lie in the store")
    ] = 512
    grace: Annotated[int, Meta(ge=1, le=3600, description="seconds that requests in flight get at the end")] = 30
    limits: Limits = Limits()
    logs: Logs = Logs()
    keys: Annotated[
        list[KeySetting],
        Meta(description="who may call, by the hashes of their keys; outside the file, as name:scope:sha256"),
    ] = []


class Setting(NamedTuple):
    """One setting, under all its names."""

    path: tuple[str, ...]
    type: Any
    default: Any
    description: str

    @property
    def name(self) -> str:
        """As in the file."""
        return ".".join(self.path)

    @property
    def variable(self) -> str:
        """As in the environment."""
        return PREFIX + "_".join(self.path).upper()

    @property
    def several(self) -> bool:
        """Whether it is a list: in the environment, and in a flag, with commas between."""
        return isinstance(self.default, list)


def settings(of: type[Struct] = Settings, above: tuple[str, ...] = ()) -> Iterator[Setting]:
    """Every setting that has a value of its own.

    >>> [setting.variable for setting in settings()][:3]
    ['TOPLIST_STORE', 'TOPLIST_HOST', 'TOPLIST_PORT']
    """
    hints = get_type_hints(of, include_extras=True)
    for field in msgspec.structs.fields(of):
        default = field.default_factory() if callable(field.default_factory) else field.default
        path = (*above, field.name)
        if isinstance(default, Struct):
            yield from settings(type(default), path)
        else:
            kind = hints[field.name]
            yield Setting(path, kind, default, next(m.description for m in get_args(kind) if isinstance(m, Meta)) or "")


def read(
    file: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
) -> Settings:
    """The settings: those of the file, with those of the environment over them, and flags (by name) over all.

    >>> read(environment={"TOPLIST_PORT": "9000"}, flags={"limits.rate": "50"}).limits.rate
    50.0
    """
    environment = os.environ if environment is None else environment
    given = environment.get(CONFIG) or None if file is None else file
    path = Path(FILE if given is None else given)
    values = _of_file(path) if given is not None or path.exists() else {}
    known = list(settings())
    _check_known(values, Settings, str(path))
    told: dict[tuple[str, ...], Any] = {}
    for setting in known:
        found = _inside(values, setting.path)
        if found is not None:
            what = str(path) if setting.name == "keys" else f"{setting.name} in {path}"
            told[setting.path] = _converted(setting, found, what, strict=True)
    variables = {setting.variable: setting for setting in known}
    for variable in sorted(environment):
        if variable.startswith(PREFIX) and variable != CONFIG:
            setting = _named(variable, variables, "as the environment has it", [CONFIG])
            if environment[variable].strip():  # else it is as not given, which some ways to start a program cannot say
                told[setting.path] = _converted(setting, environment[variable], variable, strict=False)
    names = {setting.name: setting for setting in known}
    for name, value in (flags or {}).items():
        setting = _named(name, names, "as a flag has it")
        told[setting.path] = _converted(setting, value, name, strict=False)
    made: Settings = _made(Settings, (), told)
    check_reach(made)
    _check_proxies(made)
    return made


def _named(name: str, known: Mapping[str, Setting], where: str, more: Sequence[str] = ()) -> Setting:
    if name not in known:
        raise InvalidInput(f"There is no setting {name}, {where}; {nearest(name, [*known, *more], 'leave it out')}.")
    return known[name]


def check_reach(made: Settings) -> None:
    """Refuse to listen where everybody can call, unless callers have keys."""
    if not made.keys and not is_loopback(made.host):
        raise InvalidInput(
            f"The host is {made.host!r}, where others can call, but no keys are configured; listen on 127.0.0.1, or "
            f"make a key with `toplist keys new --scope admin` and put its lines into {FILE}."
        )


def _check_proxies(made: Settings) -> None:
    """Refuse what no proxy calls from: it would be believed nowhere, and all its callers taken for one."""
    for given in made.proxies:
        try:
            ipaddress.ip_network(given, strict=False)
        except ValueError:
            if given != "*":
                accepted = "an IP address, a network as 10.0.0.0/8, or * for any"
                raise refuse("One of the proxies", given, accepted, "name the proxy by its address") from None


def is_loopback(host: str) -> bool:
    """Whether only this machine can call.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _of_file(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as opened:
            return tomllib.load(opened)
    except FileNotFoundError:
        raise refuse("The file of settings", str(path), "a file that exists", "name another one") from None
    except OSError as problem:
        raise refuse("The file of settings", str(path), "a file that can be read", f"see why not ({problem})") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise refuse("The file of settings", str(path), "TOML", f"correct it: {problem}") from None


def _check_known(values: Mapping[str, Any], of: type[Struct], where: str, above: str = "") -> None:
    """Refuse what is no setting, with the nearest that is."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(of)}
    for name, value in values.items():
        if name not in fields:
            everywhere = {setting.path[-1]: setting.name for setting in settings()}
            if name in everywhere:  # in the wrong table
                advice = f"perhaps you mean {everywhere[name]!r}"
            else:
                advice = nearest(name, fields, "leave it out")
            raise InvalidInput(f"There is no setting {above + name!r}, as {where} has it; {advice}.")
        default = fields[name].default
        if isinstance(default, Struct):
            if not isinstance(value, dict):
                raise refuse(f"{above}{name} in {where}", value, "a table", f"write [{name}] above its settings")
            _check_known(value, type(default), where, f"{above}{name}.")


def _inside(values: Mapping[str, Any], path: tuple[str, ...]) -> Any:
    found: Any = values
    for step in path:
        if step not in found:
            return None
        found = found[step]
    return found


def _converted(setting: Setting, value: Any, what: str, *, strict: bool) -> Any:
    """A value as the setting takes it; from the environment and flags it comes as text."""
    if setting.name == "keys":
        return _keys(value, what) if strict else _keys_of_text(value, what)
    if setting.several and isinstance(value, str) and not strict:
        value = [part.strip() for part in value.split(",") if part.strip()]
    try:
        return msgspec.convert(value, setting.type, strict=strict)
    except msgspec.ValidationError as error:
        reason = str(error).partition(" - at ")[0].replace("`", "")
        raise refuse(what, value, reason.removeprefix("Expected ").partition(", got")[0], setting.description) from None


def _keys(given: Any, where: str) -> list[KeySetting]:
    known = [field.encode_name for field in msgspec.structs.fields(KeySetting)]
    for each in given if isinstance(given, list) else []:
        for name in each if isinstance(each, dict) else []:
            if name not in known:
                advice = nearest(name, known, "leave it out")
                raise InvalidInput(f"There is no setting {name!r} of a key, as {where} has it; {advice}.")
    try:
        keys = msgspec.convert(given, list[KeySetting])
    except msgspec.ValidationError as error:
        reason = str(error).replace("`", "")
        advice = "`toplist keys new` prints the lines for a key"
        raise InvalidInput(f"The keys of {where} cannot be used: {reason}; {advice}.") from None
    return _each_once(keys, where)


def _keys_of_text(text: str, where: str) -> list[KeySetting]:
    """Keys as the environment or a flag has them. What is wrong is not repeated: it may be a key instead of its hash.

    >>> [key.scope for key in _keys_of_text(f"page:serve:{'0' * 64}, editor:admin:{'1' * 64}", "keys")]
    ['serve', 'admin']
    """
    keys: list[KeySetting] = []
    for number, part in enumerate(text.split(","), 1):
        pieces = part.strip().split(":")
        wrong = "three parts with colons between, name:scope:sha256, and a comma between two keys"
        if len(pieces) == 3:
            name, scope, sha256 = pieces
            try:
                keys.append(msgspec.convert({"name": name, "scope": scope, "sha256": sha256}, KeySetting))
                continue
            except msgspec.ValidationError as error:
                field = str(error).rpartition("$.")[2].rstrip("`")
                wrong = f"a {field} that is {_PARTS_OF_A_KEY[field]}"
        raise InvalidInput(f"Key {number} of {where} must have {wrong}; `toplist keys new` prints such a line.")
    return _each_once(keys, where)


def _each_once(keys: list[KeySetting], where: str) -> list[KeySetting]:
    for what, seen in (("name", [key.name for key in keys]), ("sha256", [key.sha256 for key in keys])):
        if double := {value for value in seen if seen.count(value) > 1}:
            raise InvalidInput(f"Two keys of {where} have the {what} {double.pop()!r}; give each its own.")
    return keys


def _made(of: Any, above: tuple[str, ...], told: Mapping[tuple[str, ...], Any]) -> Any:
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(of):
        path = (*above, field.name)
        if isinstance(field.default, Struct):
            values[field.name] = _made(type(field.default), path, told)
        elif path in told:
            values[field.name] = told[path]
    return of(**values)
