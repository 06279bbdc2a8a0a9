"""API keys in the settings: who holds a key, what it is for and until when; the keys themselves are stored nowhere."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from toplist.core.problem import InvalidInput, nearest
from toplist.service.wire import Name

Scope = Literal["list", "report", "read", "admin"]
SCOPES: dict[str, frozenset[Scope]] = {  # what each word in a setting allows
    "list": frozenset(["list"]),
    "report": frozenset(["report"]),
    "read": frozenset(["read"]),
    "serve": frozenset(["list", "report", "read"]),
    "admin": frozenset(["list", "report", "read", "admin"]),
}
_WORD = "|".join(SCOPES)
_PARTS = {
    "name": "1 to 50 letters, digits, dots, dashes and underscores",
    "scope": "list, report, read, serve (these three) or admin (everything), or several joined by +, as list+report",
    "sha256": "64 digits 0-9 and a-f, the hash of the key, never the key itself",
    "rankings": "one or more names of rankings",
    "expires": "a date and time with its offset, as 2027-01-31T12:00:00Z",
}
_OPTION = re.compile(r":(?=expires=|rankings=)")  # a time has colons of its own
_ADVICE = "`toplist keys new` prints a valid one"


class ApiKeySetting(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The owner of an API key, what it may do, and until when.

    >>> sorted(ApiKeySetting(name="page", scope="list+report", sha256="0" * 64).scopes)
    ['list', 'report']
    """

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,50}(?![\s\S])")]
    scope: Annotated[str, Meta(pattern=rf"^({_WORD})(\+({_WORD}))*(?![\s\S])")]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}(?![\s\S])")]
    rankings: Annotated[list[Name], Meta(min_length=1)] | None = None  # None: all
    expires: Annotated[datetime, Meta(tz=True)] | None = None  # None: never

    @property
    def scopes(self) -> frozenset[Scope]:
        """What the key allows; a word of a later release, which another server may send, allows nothing."""
        return frozenset().union(*(SCOPES.get(word, ()) for word in self.scope.split("+")))


def check_api_key(values: Mapping[str, Any], what: str, advice: str = _ADVICE) -> ApiKeySetting:
    """The setting of one key. Errors do not quote its values: one may be a key instead of its hash."""
    try:
        return msgspec.convert(values, ApiKeySetting)
    except msgspec.ValidationError as error:
        reason, _, path = str(error).partition(" - at `$.")
        field = re.split(r"[\[`]", path)[0]
        if field in _PARTS:
            accepted = f"{_article(field)} that is {_PARTS[field]}"
            raise InvalidInput(f"{what} must have {accepted}; {advice.format(field=field)}.") from None
        raise InvalidInput(f"{what} cannot be used: {reason.replace('`', '')}; {advice}.") from None


def _article(field: str) -> str:
    return {"expires": "a value of expires", "rankings": "a value of rankings"}.get(field, f"a {field}")


def keys_of_file(given: Any, where: str) -> list[ApiKeySetting]:
    """The keys of a settings file."""
    if not isinstance(given, list):
        raise InvalidInput(f"The keys of {where} must be tables, [[keys]]; `toplist keys new` prints the lines of one.")
    known = [field.encode_name for field in msgspec.structs.fields(ApiKeySetting)]
    for each in given:
        for name in each if isinstance(each, dict) else ():
            if name not in known:
                advice = nearest(name, known, "leave it out")
                raise InvalidInput(f"Unknown setting {name!r} of a key in {where}; {advice}.")
    return _check_names(
        [check_api_key(each, f"Key {number} of {where}") for number, each in enumerate(given, 1)], where
    )


def keys_of_text(text: str, where: str) -> list[ApiKeySetting]:
    """The keys of the environment or of a flag: name:scope:sha256, and perhaps :expires=TIME and :rankings=A+B.

    >>> [key.scope for key in keys_of_text(f"page:serve:{'0' * 64}, editor:admin:{'1' * 64}", "keys")]
    ['serve', 'admin']
    """
    keys: list[ApiKeySetting] = []
    for number, part in enumerate(text.split(","), 1):
        what = f"Key {number} of {where}"
        head, *options = _OPTION.split(part.strip())
        pieces = head.split(":")
        names = [option.partition("=")[0] for option in options]
        if len(pieces) != 3 or len(set(names)) < len(names):
            parts = "three parts separated by colons, name:scope:sha256, then perhaps :expires=TIME and :rankings=A+B"
            raise InvalidInput(f"{what} must have {parts}, and a comma between two keys; {_ADVICE}.")
        values: dict[str, Any] = dict(zip(("name", "scope", "sha256"), pieces, strict=True))
        values |= {name: option.partition("=")[2] for name, option in zip(names, options, strict=True)}
        if "rankings" in values:
            values["rankings"] = values["rankings"].split("+")
        keys.append(check_api_key(values, what))
    return _check_names(keys, where)


def settings_text(key: ApiKeySetting) -> str:
    """A key as `keys_of_text` reads it."""
    text = f"{key.name}:{key.scope}:{key.sha256}"
    if key.expires is not None:
        text += f":expires={time_text(key.expires)}"
    return text if key.rankings is None else f"{text}:rankings={'+'.join(key.rankings)}"


def settings_lines(key: ApiKeySetting) -> str:
    """A key as lines of the settings file."""
    lines = ["[[keys]]", f'name = "{key.name}"', f'scope = "{key.scope}"', f'sha256 = "{key.sha256}"']
    if key.rankings is not None:
        names = ", ".join(f'"{name}"' for name in key.rankings)
        lines.append(f"rankings = [{names}]")
    if key.expires is not None:
        lines.append(f"expires = {time_text(key.expires)}")
    return "\n".join(lines) + "\n"


def time_text(time: datetime) -> str:
    """A time as RFC 3339.

    >>> time_text(datetime.fromisoformat("2027-01-31T12:00:00+00:00"))
    '2027-01-31T12:00:00Z'
    """
    return time.isoformat().replace("+00:00", "Z")


def _check_names(keys: list[ApiKeySetting], where: str) -> list[ApiKeySetting]:
    """Refuse a key that is there twice, and keys of one name that are no rotation: the log tells them by name alone."""
    by_name: dict[str, list[ApiKeySetting]] = {}
    hashes: set[str] = set()
    for key in keys:
        if key.sha256 in hashes:
            raise InvalidInput(f"Two keys of {where} have the sha256 {key.sha256!r}; give each its own.")
        hashes.add(key.sha256)
        by_name.setdefault(key.name, []).append(key)
    for name, several in by_name.items():
        if len(several) > 2:
            raise InvalidInput(
                f"{len(several)} keys of {where} have the name {name!r}, but two at most may be valid at once, "
                f"to replace one by the other; remove the oldest, or rename some."
            )
        if len({_rights(key) for key in several}) > 1:
            raise InvalidInput(
                f"Two keys of {where} have the name {name!r}, but not the same scope and rankings; rename one of them, "
                f"so that the log can tell them apart."
            )
    return keys


def _rights(key: ApiKeySetting) -> tuple[frozenset[Scope], frozenset[str] | None]:
    return key.scopes, None if key.rankings is None else frozenset(key.rankings)


def key_changes(before: Sequence[ApiKeySetting], after: Sequence[ApiKeySetting]) -> dict[str, list[str]]:
    """The names of keys that were added, removed and changed.

    >>> old, new = ("a:read:" + "0" * 64, "b:read:" + "1" * 64), ("b:read:" + "2" * 64, "c:read:" + "3" * 64)
    >>> key_changes(keys_of_text(",".join(old), "old"), keys_of_text(",".join(new), "new"))
    {'added': ['c'], 'removed': ['a'], 'changed': ['b']}
    """
    was, now = _by_name(before), _by_name(after)
    return {
        "added": sorted(set(now) - set(was)),
        "removed": sorted(set(was) - set(now)),
        "changed": sorted(name for name in set(was) & set(now) if was[name] != now[name]),
    }


def _by_name(keys: Sequence[ApiKeySetting]) -> dict[str, set[str]]:
    return {name: {settings_text(key) for key in keys if key.name == name} for name in {key.name for key in keys}}
