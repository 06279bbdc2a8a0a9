"""Errors over HTTP: application/problem+json (RFC 9457) that points at the offending field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from msgspec import UNSET

from toplist.core.item_id import LARGEST_INTEGER
from toplist.core.problem import refuse
from toplist.service.errors import Refused
from toplist.service.http.accepted import ANY_KEY, in_words, is_about_value
from toplist.service.wire import (
    INTEGER_RULE,
    ITEM_RULE,
    PATTERN_RULES,
    PROBLEM_STATUSES,
    PROBLEM_TYPE_PREFIX,
    TEXT_RULE,
    Fault,
    ProblemBody,
)

_LOCATION = re.compile(r" - at `(?P<key>key` in `)?(?P<path>\$(?:\.[A-Za-z_]\w*|\[\d+\]|\[\.\.\.\])*)`$")
_STEP = re.compile(r"\.(?P<field>[A-Za-z_]\w*)|\[(?P<index>\d+|\.\.\.)\]")
_FIELD = re.compile(r"^Object (?:contains unknown|missing required) field `(?P<field>.*)`$", flags=re.DOTALL)
_MISMATCH = re.compile(r"^Expected str matching regex (?P<pattern>'.*')$", flags=re.DOTALL)
_LENGTH = re.compile(r"^Expected str of length [<>]= \d+$")  # all texts with a length have the same rule
_WRONG_ID = re.compile(r"^Expected int \| str\b.*, got \w+$")
_BEYOND = re.compile(rf"^Expected int (<= |>= -){LARGEST_INTEGER}$")
_RULES = {repr(pattern): rule for pattern, rule in PATTERN_RULES.items()}  # as msgspec writes patterns
LONGEST_DETAIL = 2000  # characters of an explanation, most of which may be quoted from the request
LONGEST_POINTER = 500  # characters
LARGEST_SEARCHED = 64 << 10  # bytes of a body in which the invalid key and value are looked for; all others wait


class HttpProblem(Exception):
    """A request that cannot be answered: status, headers and body of the reply."""

    def __init__(
        self,
        name: str,
        detail: str,
        errors: Iterable[Fault] = (),
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status = PROBLEM_STATUSES[name]
        self.headers = dict(headers or {})
        self.body = ProblemBody(
            type=PROBLEM_TYPE_PREFIX + name,
            title=HTTPStatus(status).phrase,
            status=status,
            detail=cut(detail),
            errors=[_cut_fault(each) for each in errors] or UNSET,
            **more,
        )


def cut(text: str, longest: int = LONGEST_DETAIL) -> str:
    """A text without its middle, if it is long: what it quotes may be as long as a request.

    >>> cut("a" * 10, longest=7)
    'aaa...a'
    """
    if len(text) <= longest:
        return text
    end = longest // 4
    return f"{text[: longest - end - 3]}...{text[-end:]}"


def _cut_fault(fault: Fault) -> Fault:
    """A problem with a short explanation and a pointer that is short and right: to the object around the field."""
    pointer = fault.pointer
    while isinstance(pointer, str) and len(pointer) > LONGEST_POINTER:
        pointer = pointer.rpartition("/")[0]
    names = {name: cut(value) for name in ("parameter", "header") if isinstance(value := getattr(fault, name), str)}
    return msgspec.structs.replace(fault, detail=cut(fault.detail), pointer=pointer, **names)


def invalid(detail: str, *errors: Fault) -> HttpProblem:
    """The problem of a request that cannot be used."""
    return HttpProblem("invalid", detail, errors)


def invalid_field(pointer: str, detail: str) -> HttpProblem:
    """The problem of a field of the body that cannot be used."""
    return invalid(detail, Fault(pointer=pointer, detail=detail))


def invalid_parameter(name: str, detail: str) -> HttpProblem:
    """The problem of a part of the path or query that cannot be used."""
    return invalid(detail, Fault(parameter=name, detail=detail))


def refusal(error: Refused, **more: Any) -> HttpProblem:
    """The problem of a request that the service refuses as invalid."""
    return HttpProblem("invalid", str(error), faults(error), **more)


def faults(error: Refused) -> list[Fault]:
    """The field that an error is about, if it names one."""
    return [] if error.field is None else [Fault(pointer=error.field, detail=str(error))]


def too_slow(part: str, seconds: float) -> HttpProblem:
    """The problem of a part of a request that did not arrive in time."""
    detail = f"The {part} of the request did not arrive within {seconds:g} s; send it faster."
    return HttpProblem("too-slow", detail, headers={"connection": "close"})


def escape(step: str | int) -> str:
    """One step of a JSON pointer (RFC 6901)."""
    return str(step).replace("~", "~0").replace("/", "~1")


def pointer(steps: Iterable[str | int]) -> str:
    """A JSON pointer.

    >>> pointer(["items", 0, "a/b"])
    '/items/0/a~1b'
    """
    return "".join(f"/{escape(step)}" for step in steps)


def undecodable(error: Exception, raw: bytes, decode: Callable[[bytes], Any]) -> HttpProblem:
    """The problem of a body that `decode` refuses, with a pointer to the wrong field."""
    if not raw.strip():
        detail = f"The body is empty, but must be a JSON object; send {_least_body(decode)}."
        return HttpProblem("malformed", detail)
    if not isinstance(error, msgspec.ValidationError):
        reason = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else reason
        return HttpProblem("malformed", f"The body must be JSON in UTF-8, but cannot be read: {reason}.")
    detail, steps = _split_message(str(error))
    rule = _rule(detail) if steps else None
    path, given = steps, None
    if rule is not None or ANY_KEY in steps or is_about_value(detail):
        path, given = _locate(steps, str(error), raw, decode)
    is_key = " - at `key` in `" in str(error)
    if rule is not None:
        return invalid_field(pointer(path), _broken_rule(rule, steps, path, path[-1] if is_key else given, is_key))
    known = None if is_key else in_words(detail, _what(steps, path, is_key), given, _decoded_type(decode), steps)
    return invalid_field(pointer(path), f"{detail}." if known is None else known)


def unconvertible(
    name: str, given: str, error: msgspec.ValidationError, kind: Any = None, steps: Sequence[str | int] = ()
) -> HttpProblem:
    """The problem of a parameter that cannot be converted to a type, or to that of a field of it."""
    detail, _ = _split_message(str(error))
    if (rule := _rule(detail)) is not None:
        return invalid_parameter(name, str(refuse(name, given, *rule)))
    known = in_words(detail, name, given, kind, steps)
    return invalid_parameter(name, f"{name} is invalid: {detail}." if known is None else known)


def _decoded_type(decode: Callable[[bytes], Any]) -> Any:
    """The type that a decoder of msgspec decodes; None of another function."""
    decoder = getattr(decode, "__self__", None)
    return decoder.type if isinstance(decoder, msgspec.json.Decoder) else None


def _least_body(decode: Callable[[bytes], Any]) -> str:
    """The shortest body to send, with its first required field."""
    try:
        decode(b"{}")
    except msgspec.ValidationError as error:
        if field := _FIELD.match(str(error)):
            return f'{{"{field["field"]}": ...}}'
    return "{}"


def _rule(detail: str) -> tuple[str, str] | None:
    """What is accepted and what to do, in words, if a text or an id breaks the rule of its type, size or pattern."""
    if _LENGTH.match(detail):
        return TEXT_RULE
    if _WRONG_ID.match(detail):
        return ITEM_RULE
    if _BEYOND.match(detail):
        return INTEGER_RULE
    found = _MISMATCH.match(detail)
    return None if found is None else _RULES.get(found["pattern"])


def _broken_rule(rule: tuple[str, str], steps: list[str | int], path: list[str | int], given: Any, is_key: bool) -> str:
    """The sentence about a text that breaks a rule; `path` has mapping keys where `steps` has dots."""
    what = _what(steps, path, is_key)
    accepted, advice = rule
    if isinstance(given, str | int | float) and len(path) == len(steps):
        return str(refuse(what, given, accepted, advice))
    return f"{what} must be {accepted}; {advice}."


def _what(steps: list[str | int], path: list[str | int], is_key: bool) -> str:
    """What a person would call the value at a path, which has mapping keys where `steps` has dots."""
    if not steps:
        return "The body"
    at = max((n for n, step in enumerate(steps) if isinstance(step, str) and step != ANY_KEY), default=0)
    if is_key or len(path) < len(steps):
        return f"A {'key' if is_key else 'value'} of {steps[at]}"
    return f"{steps[at]}{''.join(f'[{step!r}]' for step in path[at + 1 :])}"


def _split_message(message: str) -> tuple[str, list[str | int]]:
    """A message of msgspec as its text and the path to the field it is about.

    A message with a very long name is cut first; its path is that of the object around the field.
    """
    is_whole = len(message) <= LONGEST_DETAIL
    message = cut(message)
    found = _LOCATION.search(message)
    if found is None:
        detail, steps = message, []
    else:
        detail = message[: found.start()]
        steps = [
            step["field"] or (int(step["index"]) if step["index"].isdigit() else ANY_KEY)
            for step in _STEP.finditer(found["path"])
        ]
        if found["key"]:
            steps.append(ANY_KEY)
    if is_whole and (field := _FIELD.match(detail)):  # point at the field itself, present or missing
        steps.append(field["field"])
    return detail.replace("`", ""), steps


def _locate(
    steps: list[str | int], message: str, raw: bytes, decode: Callable[[bytes], Any]
) -> tuple[list[str | int], Any]:
    """The path with mapping keys in place of dots, up to the first key that cannot be found; and the invalid value.

    Finds a key by bisection: drop half of the mapping's keys, decode again and see whether the error stays. Each try
    takes half as long as the one before, since the document has nothing but that mapping. The value is None if it
    cannot be found: of a field that occurs twice, only the last is decoded.
    """
    path = list(steps)
    known = path[: path.index(ANY_KEY)] if ANY_KEY in path else path
    if len(raw) > LARGEST_SEARCHED:
        return known, None
    try:
        document = _around(path, msgspec.json.decode(raw))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):  # the body is malformed after the invalid field
        return known, None
    for depth, step in enumerate(path):
        if step != ANY_KEY:
            continue
        try:
            mapping = _value_at(document, path[:depth])
            if (key := _offending_key(mapping, lambda: _fails_alike(document, message, decode))) is None:
                return path[:depth], None
        except (LookupError, TypeError, AttributeError):
            return path[:depth], None
        path[depth] = key
    try:
        return path, _value_at(document, path) if _fails_alike(document, message, decode) else None
    except (LookupError, TypeError):
        return path, None


def _around(path: list[str | int], document: Any) -> Any:
    """The document with the first field of the path alone: that a field is missing is only said of valid ones."""
    return {path[0]: document[path[0]]} if isinstance(document, dict) and path[0] in document else document


def _value_at(document: Any, steps: Iterable[str | int]) -> Any:
    for step in steps:
        document = document[step]
    return document


def _offending_key(mapping: dict[str, Any], fails: Callable[[], bool]) -> str | None:
    """The key of the invalid value; all other keys are removed from the mapping."""
    suspects = dict(mapping)
    while len(suspects) > 1:
        names = list(suspects)
        first = {name: suspects[name] for name in names[: len(names) // 2]}
        mapping.clear()
        mapping.update(first)
        suspects = first if fails() else {name: suspects[name] for name in names[len(names) // 2 :]}
    mapping.clear()
    mapping.update(suspects)
    return next(iter(suspects), None) if fails() else None


def _fails_alike(document: Any, message: str, decode: Callable[[bytes], Any]) -> bool:
    """Whether decoding this document fails with the same message."""
    try:
        decode(msgspec.json.encode(document))
    except msgspec.ValidationError as error:
        return str(error) == message
    return False
