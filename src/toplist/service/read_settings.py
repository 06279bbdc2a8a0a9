"""Read the settings from a TOML file, the environment and flags, later ones before earlier ones; refuse unsafe ones."""

from __future__ import annotations

import difflib
import ipaddress
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from toplist.core.compiling import LIBRARY_VARIABLES
from toplist.core.problem import InvalidInput, nearest, refuse
from toplist.service.api_keys import keys_of_file, keys_of_text
from toplist.service.browser_settings import SHORTEST_SECRET, allowed_origins, token_secrets
from toplist.service.settings import PREFIX, SettingField, Settings, setting_fields
from toplist.support.tables import series

FILE = "toplist.toml"  # default, in the current folder
CONFIG = f"{PREFIX}CONFIG"  # path of the file
OTHER_VARIABLES = (CONFIG, *LIBRARY_VARIABLES)  # not settings of the service

SECRETS = ("segment_secret", "browser.secrets", "cluster.secret")  # settings whose values are never shown


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
