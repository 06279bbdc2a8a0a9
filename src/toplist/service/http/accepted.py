"""What a field of a request accepts, in words: messages of msgspec have names of Python's types, and no choices."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from msgspec import inspect

from toplist.core.problem import nearest

ANY_KEY = "..."  # msgspec reports an error inside a mapping, but not under which key
_NAMES = {
    "int": "a whole number", "float": "a number", "str": "text", "bool": "true or false", "array": "a list",
    "object": "an object", "null": "null",
}  # fmt: skip
_TYPES = {
    inspect.IntType: "int", inspect.FloatType: "float", inspect.StrType: "str", inspect.BoolType: "bool",
    inspect.ListType: "array", inspect.StructType: "object", inspect.DictType: "object", inspect.NoneType: "null",
}  # fmt: skip
_WRONG_TYPE = re.compile(r"^Expected (?P<wanted>[a-z]+(?: \| [a-z]+)*), got (?P<got>[a-z]+)$")
_OUTSIDE = re.compile(r"^Expected (?P<kind>int|float) (?P<sign>[<>]=?) (?P<bound>\S+)$")
_LENGTH = re.compile(r"^Expected (?:array|object) of length (?P<sign>[<>]=?) (?P<bound>\d+)$")
_NO_CHOICE = re.compile(r"^Invalid enum value '(?P<given>.*)'$", flags=re.DOTALL)
_UNKNOWN = re.compile(r"^Object contains unknown field (?P<field>.*)$", flags=re.DOTALL)
_MISSING = re.compile(r"^Object missing required field .*$", flags=re.DOTALL)
_BOUNDS = {">=": "of at least", "<=": "of at most", ">": "above", "<": "below"}
_LARGEST = 2**53 - 1  # a bound that only says what JSON can hold
_SHOWN = 80  # characters of a value


def is_about_value(detail: str) -> bool:
    """Whether a message of msgspec can be said better with the value that it is about."""
    return any(pattern.match(detail) for pattern in (_WRONG_TYPE, _OUTSIDE, _LENGTH))


def in_words(detail: str, what: str, given: Any, kind: Any, steps: Sequence[str | int]) -> str | None:
    """A message of msgspec in words: what was given, what is accepted and what to do; None for other messages.

    Parameters
    ----------
    detail : str
        The message, without its location and backticks.
    what : str
        What it is about, as a person would call it.
    given : object
        The value; None where it is unknown or null.
    kind : type or None
        The type of the whole request, if it is known.
    steps : sequence of str or int
        Where in it the value, or the unknown or missing field, is.

    Returns
    -------
    str or None
        A sentence.

    Examples
    --------
    >>> in_words("Expected int, got str", "positions", "5", dict[str, int], ["positions"])
    "positions is '5', but must be a whole number; write 5 without quotes."
    >>> in_words("Expected int >= 1", "positions", 0, None, ["positions"])
    'positions is 0, but must be a whole number of at least 1; give a larger one.'
    """
    if found := _UNKNOWN.match(detail):
        return _unknown_field(found["field"], [] if kind is None else _types_at(kind, steps[:-1]))
    types = [] if kind is None else _types_at(kind, steps)
    accepted = " or ".join(dict.fromkeys(_accepted(each) for each in types))
    if _MISSING.match(detail):
        return f"{what} is missing" + (f", but must be {accepted}" if accepted else "") + "; add it."
    if found := _NO_CHOICE.match(detail):
        choices = [value for each in types if isinstance(each, inspect.LiteralType) for value in each.values]
        return f"{what} is {found['given']!r}, but must be {accepted}; {_choice(found['given'], choices)}."
    if found := _OUTSIDE.match(detail):
        accepted = accepted or f"{_NAMES[found['kind']]} {_BOUNDS[found['sign']]} {found['bound']}"
        advice = "give a larger one" if found["sign"].startswith(">") else "give a smaller one"
        return _refusal(what, None if given is None else _shown(given), accepted, advice)
    if found := _LENGTH.match(detail):
        count = f"{len(given)} entries" if isinstance(given, list | dict) else "too few or too many entries"
        least = found["sign"].startswith(">")
        accepted, advice = ("at least", "send more") if least else ("at most", "send fewer")
        return f"{what} has {count}, but must have {accepted} {found['bound']}; {advice}."
    if found := _WRONG_TYPE.match(detail):
        wanted = found["wanted"].split(" | ")
        if any(name not in _NAMES for name in (*wanted, found["got"])):
            return None
        accepted = accepted or " or ".join(_NAMES[name] for name in wanted)
        is_known = _json_type(given) == found["got"]
        shown = _shown(given) if is_known else _NAMES[found["got"]]
        return _refusal(what, shown, accepted, _advice(given if is_known else None, wanted, types))
    return None


def current_fields(kind: Any) -> list[str]:
    """Names of the fields of a type of messages, without former names.

    >>> from toplist.service.wire import NextQuery
    >>> current_fields(NextQuery)
    ['segment', 'person']
    """
    return _current_fields(_types_at(kind, ()))


def nearest_field(given: str, kind: Any, otherwise: str) -> str:
    """Advice for a name that is no field of a type of messages; former names are accepted, but not suggested.

    >>> from toplist.service.wire import NextQuery
    >>> nearest_field("segmnt", NextQuery, "leave it out"), nearest_field("kye", NextQuery, "leave it out")
    ("perhaps you mean 'segment'", 'leave it out')
    """
    return _nearest_field(given, _types_at(kind, ()), otherwise)


def _refusal(what: str, shown: str | None, accepted: str, advice: str) -> str:
    is_given = "" if shown is None else f" is {shown}, but"
    return f"{what}{is_given} must be {accepted}; {advice}."


def _unknown_field(field: str, types: list[inspect.Type]) -> str:
    names = _current_fields(types)
    known = f"known are {', '.join(names)}" if names else "leave it out"
    return f"There is no field {field!r}; {_nearest_field(field, types, known)}."


def _nearest_field(given: str, types: list[inspect.Type], otherwise: str) -> str:
    names = [field.encode_name for each in types if isinstance(each, inspect.StructType) for field in each.fields]
    advice, current = nearest(given, names, otherwise), _current_fields(types)
    return advice if advice in [nearest(name, [name], "") for name in current] else otherwise


def _choice(given: str, choices: list[Any]) -> str:
    return nearest(given, [each for each in choices if isinstance(each, str)], "choose one of these")


# Types ----------------------------------------------------------------------------------------------------------------


@lru_cache(100)
def _inspected(kind: Any) -> inspect.Type:
    return inspect.type_info(kind)


def _types_at(kind: Any, steps: Sequence[str | int]) -> list[inspect.Type]:
    """The types that a value there may have."""
    types = list(_alternatives(_inspected(kind)))
    for step in steps:
        types = [deeper for each in types for found in _step_into(each, step) for deeper in _alternatives(found)]
    return types


def _alternatives(kind: inspect.Type) -> Iterator[inspect.Type]:
    """The types of a union, without what is said about them for the schema."""
    if isinstance(kind, inspect.Metadata):
        yield from _alternatives(kind.type)
    elif isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from _alternatives(each)
    else:
        yield kind


def _step_into(kind: inspect.Type, step: str | int) -> Iterator[inspect.Type]:
    if isinstance(kind, inspect.StructType):
        yield from (field.type for field in kind.fields if field.encode_name == step)
    elif isinstance(kind, inspect.ListType) and (isinstance(step, int) or step == ANY_KEY):
        yield kind.item_type
    elif isinstance(kind, inspect.DictType) and isinstance(step, str):
        yield kind.value_type


def _current_fields(types: list[inspect.Type]) -> list[str]:
    structs = [each for each in types if isinstance(each, inspect.StructType)]
    return [field.encode_name for each in structs for field in each.fields if not _is_deprecated(field.type)]


def _is_deprecated(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.Metadata) and bool((kind.extra_json_schema or {}).get("deprecated"))


def _accepted(kind: inspect.Type) -> str:
    """What a type accepts, in words."""
    if isinstance(kind, inspect.LiteralType):
        return " or ".join(_shown(value) for value in kind.values)
    name = _NAMES.get(_TYPES.get(type(kind), ""), "another value")
    if not isinstance(kind, inspect.IntType | inspect.FloatType):
        return name
    most = kind.le if kind.le is not None and abs(kind.le) < _LARGEST else None
    if kind.ge is not None and most is not None:
        return f"{name} between {kind.ge:.15g} and {most:.15g}"
    bounds = {">=": kind.ge, ">": kind.gt, "<=": most, "<": kind.lt}
    said = [
        f"{_BOUNDS[sign]} {bound:.15g}" for sign, bound in bounds.items() if bound is not None and bound > -_LARGEST
    ]
    return " ".join([name, " and ".join(said[:1] + [each.removeprefix("of ") for each in said[1:]])]).strip()


# Values ---------------------------------------------------------------------------------------------------------------


def _json_type(value: Any) -> str:
    """The type of a decoded value, as msgspec calls it."""
    names = {dict: "object", list: "array", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    """A value as JSON, or text in single quotes as in other errors; a long one is shortened."""
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _advice(given: Any, wanted: list[str], types: list[inspect.Type]) -> str:
    """What to do about a value of a wrong type, which is None if it is unknown."""
    if any(isinstance(each, inspect.LiteralType) for each in types):
        return "choose one of these"
    if isinstance(given, str) and len(given) < _SHOWN and _means(given, wanted):
        return f"write {given} without quotes"
    if isinstance(given, float) and "int" in wanted:
        return "round it"
    if isinstance(given, int) and not isinstance(given, bool) and "str" in wanted:
        return f'write it in quotes, "{given}"'
    if isinstance(given, dict) and "array" in wanted:
        return "put it in brackets"
    if isinstance(given, str | int | float) and "array" in wanted and len(_shown(given)) < _SHOWN:
        return f"send {json.dumps([given], ensure_ascii=False)}"
    required = [
        field.encode_name
        for each in types if isinstance(each, inspect.StructType) and given is not None
        for field in each.fields if field.required
    ]  # fmt: skip
    return f'send {{"{required[0]}": ...}}' if required else f"send {_NAMES[wanted[0]]}"


def _means(text: str, wanted: list[str]) -> bool:
    """Whether a text has a value of these types in it."""
    try:
        meant = _json_type(json.loads(text))
    except (ValueError, RecursionError):
        return False
    return meant in {"int", "float", "bool"} & set(wanted) or (meant == "int" and "float" in wanted)
