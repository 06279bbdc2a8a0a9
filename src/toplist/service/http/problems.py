"""What goes wrong, as RFC 9457 describes it: application/problem+json that points at the offending field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

MEDIA = "application/problem+json"
NAMES = "urn:toplist:problem:"
STATUSES = {  # of every kind of problem; of several with one status, the first is the usual one
    "malformed": 400,
    "unauthorized": 401,
    "forbidden": 403,
    "not-found": 404,
    "no-such-path": 404,
    "method-not-allowed": 405,
    "not-acceptable": 406,
    "too-slow": 408,
    "conflict": 409,
    "too-large": 413,
    "unsupported-media-type": 415,
    "misdirected": 421,
    "invalid": 422,
    "too-many-requests": 429,
    "head-too-large": 431,
    "unforeseen": 500,
    "store-unavailable": 503,
    "busy": 503,
    "not-ready": 503,
}
_PLACE = re.compile(r" - at `(?P<key>key` in `)?(?P<path>\$(?:\.[A-Za-z_]\w*|\[\d+\]|\[\.\.\.\])*)`$")
_STEP = re.compile(r"\.(?P<field>[A-Za-z_]\w*)|\[(?P<index>\d+|\.\.\.)\]")
_FIELD = re.compile(r"^Object (?:contains unknown|missing required) field `(?P<field>.*)`$", flags=re.DOTALL)
_ANY_KEY = "..."  # msgspec says that something is wrong in a mapping, but not under which key


class Fault(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong, and where."""

    detail: str
    pointer: str | UnsetType = UNSET  # a JSON pointer into the body of the request
    parameter: str | UnsetType = UNSET  # of the path or the query
    header: str | UnsetType = UNSET


class ProblemBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a request that cannot be answered gets (RFC 9457)."""

    type: str  # a name for programs: the same mistake has the same name
    title: str
    status: int
    detail: str
    errors: list[Fault] | UnsetType = UNSET
    counted: bool | UnsetType = UNSET  # of a report: false, so that nobody takes it for learned
    why: str | UnsetType = UNSET


class Problem(Exception):
    """A request that cannot be answered, and why."""

    def __init__(
        self,
        name: str,
        detail: str,
        errors: Iterable[Fault] = (),
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        faults = list(errors)
        self.status = status = STATUSES[name]
        self.headers = dict(headers or {})
        self.body = ProblemBody(
            type=NAMES + name,
            title=HTTPStatus(status).phrase,
            status=status,
            detail=detail,
            errors=faults or UNSET,
            **more,
        )


def invalid(detail: str, *errors: Fault) -> Problem:
    """Something in a request cannot be used."""
    return Problem("invalid", detail, errors)


def at(pointer: str, detail: str) -> Problem:
    """A field of the body cannot be used."""
    return invalid(detail, Fault(pointer=pointer, detail=detail))


def parameter(name: str, detail: str) -> Problem:
    """A part of the path or the query cannot be used."""
    return invalid(detail, Fault(parameter=name, detail=detail))


def too_slow(part: str, seconds: float) -> Problem:
    """A part of a request does not come."""
    detail = f"The {part} of the request was not here within {seconds:g} s; send it faster."
    return Problem("too-slow", detail, headers={"connection": "close"})


def escaped(step: str | int) -> str:
    """One step of a JSON pointer (RFC 6901)."""
    return str(step).replace("~", "~0").replace("/", "~1")


def pointer(steps: Iterable[str | int]) -> str:
    """A JSON pointer.

    >>> pointer(["items", 0, "a/b"])
    '/items/0/a~1b'
    """
    return "".join(f"/{escaped(step)}" for step in steps)


def undecoded(error: Exception, raw: bytes, decode: Callable[[bytes], Any]) -> Problem:
    """The problem of a body that `decode` has refused, with a pointer at what is wrong."""
    if not isinstance(error, msgspec.ValidationError):
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        reason = "it is too deep" if isinstance(error, RecursionError) else reason
        return Problem("malformed", f"The body must be JSON in UTF-8, but cannot be read: {reason}.")
    detail, steps = _taken_apart(str(error))
    return at(pointer(_with_keys(steps, str(error), raw, decode)), f"{detail}.")


def unconverted(name: str, error: msgspec.ValidationError) -> Problem:
    """The problem of a parameter that cannot be converted."""
    detail, _ = _taken_apart(str(error))
    return parameter(name, f"{name} is refused: {detail}.")


def _taken_apart(message: str) -> tuple[str, list[str | int]]:
    """What msgspec complains about, and the way to it."""
    found = _PLACE.search(message)
    if found is None:
        detail, steps = message, []
    else:
        detail = message[: found.start()]
        steps = [
            step["field"] or (int(step["index"]) if step["index"].isdigit() else _ANY_KEY)
            for step in _STEP.finditer(found["path"])
        ]
        if found["key"]:
            steps.append(_ANY_KEY)
    if field := _FIELD.match(detail):  # point at the field itself, there or not
        steps.append(field["field"])
    return detail.replace("`", ""), steps


def _with_keys(steps: list[str | int], message: str, raw: bytes, decode: Callable[[bytes], Any]) -> list[str | int]:
    """The way with the names of keys in place of dots; as far as it can be told.

    Half of a mapping's keys are left out, and it is seen whether the complaint stays: a few decodings find the key.
    """
    if _ANY_KEY not in steps:
        return steps
    way = list(steps)
    try:
        document = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # what comes after is worse still
        return way[: way.index(_ANY_KEY)]
    for depth, step in enumerate(way):
        if step != _ANY_KEY:
            continue
        try:
            mapping = _at(document, way[:depth])
            if (key := _offending(mapping, lambda: _same(document, message, decode))) is None:
                return way[:depth]
        except (LookupError, TypeError, AttributeError):
            return way[:depth]
        way[depth] = key
    return way


def _at(document: Any, steps: Iterable[str | int]) -> Any:
    for step in steps:
        document = document[step]
    return document


def _offending(mapping: dict[str, Any], complains: Callable[[], bool]) -> str | None:
    """The key that is complained about; the mapping is left with it alone."""
    suspects = dict(mapping)
    while len(suspects) > 1:
        names = list(suspects)
        first = {name: suspects[name] for name in names[: len(names) // 2]}
        mapping.clear()
        mapping.update(first)
        suspects = first if complains() else {name: suspects[name] for name in names[len(names) // 2 :]}
    mapping.clear()
    mapping.update(suspects)
    return next(iter(suspects), None) if complains() else None


def _same(document: Any, message: str, decode: Callable[[bytes], Any]) -> bool:
    """Whether this document is refused with the same words."""
    try:
        decode(msgspec.json.encode(document))
    except msgspec.ValidationError as error:
        return str(error) == message
    return False
