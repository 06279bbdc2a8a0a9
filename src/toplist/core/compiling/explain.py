"""Explains in one sentence why numba cannot compile a part, and in which line."""

from __future__ import annotations

import dis
import linecache
import re
from contextlib import suppress
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple

import numba
from numba.core.errors import NumbaError, UnsupportedBytecodeError

import toplist
from toplist.core.compiling.fingerprint import part_classes

COMPILE_ERRORS = (NumbaError, UnsupportedBytecodeError)
LONGEST_REASON = 160


class DoesNotCompile(TypeError):
    """A method of a part cannot be compiled; the message names the line and the reason."""


def explain_compile_error(error: Exception, *arguments: Any) -> str:
    """Summarise a compile error of numba in one sentence; `arguments` are those of the compiled function.

    Of all the lines that numba names, the innermost one outside numba and toplist has the mistake.
    """
    text = str(error)
    parts: list[type] = []
    for argument in arguments:
        with suppress(ValueError):  # a value without a numba type is not a part
            parts += part_classes(numba.typeof(argument))  # type: ignore[no-untyped-call]
    source_lines = [
        source_line for source_line in _source_lines(text, parts) if not _is_within(source_line.file, numba)
    ]
    outside = [source_line for source_line in source_lines if not _is_within(source_line.file, toplist)]
    if not source_lines:
        owners = {cls.__name__: cls for cls in parts if cls.__module__.partition(".")[0] != "toplist"}
        what = " or ".join(sorted(owners)) or "The code"
        owner = next(iter(owners.values())) if len(owners) == 1 else None
        return f"{what} does not compile: {_allocation(owner) if _allocates(text) else _reason(text)}."
    source_line = (outside or source_lines)[0]
    inner = text[: source_line.offset]
    line = source_line.line
    if source_line.method is not None and (undefined := re.search(r"name '(\w+)' is not defined", inner)):
        line = _first_line_using(source_line.method, undefined[1])
    source = linecache.getline(source_line.file, line).strip()
    what = f"{Path(source_line.file).name} line {line}" + (f', "{source}",' if source else "")
    if _allocates(inner):
        owner = _owner(source_lines[source_lines.index(source_line) :], parts)
        return f"{what} does not compile: {_allocation(owner)}."
    return f"{what} does not compile: {_reason(inner)}."


class _SourceLine(NamedTuple):
    """A line that numba names, or the method that it was compiling when it named no line."""

    offset: int  # in the text; the text before it is about this line or its callees
    file: str
    line: int
    method: CodeType | None = None


def _source_lines(text: str, parts: list[type]) -> list[_SourceLine]:
    """All lines that an error of numba names, the innermost first."""
    found = [
        _SourceLine(match.end(), str(Path(match[1] or match[3]).absolute()), int(match[2] or match[4]))
        for match in re.finditer(r'^ *File "(.+)", line (\d+):|\bat (\S.*) \((\d+)\)$', text, re.MULTILINE)
    ]
    for match in re.finditer(r"BoundFunction\(\(.+, '(\w+)'\) for (\w+)\(", text):
        for cls in parts:
            code = getattr(getattr(cls, match[1], None), "__code__", None)
            if cls.__name__ == match[2] and code is not None:
                found.append(_SourceLine(match.start(), code.co_filename, code.co_firstlineno, code))
    return sorted(found, key=lambda source_line: source_line.offset)


def _first_line_using(code: CodeType, name: str) -> int:
    """The first line of a function that uses this name."""
    lines = (step.positions.lineno for step in dis.get_instructions(code) if step.argval == name and step.positions)
    return next((line for line in lines if line is not None), code.co_firstlineno)


def _owner(source_lines: list[_SourceLine], parts: list[type]) -> type | None:
    """The part whose method holds the innermost of these lines that lies in a part; None if no line does."""
    for source_line in source_lines:
        for cls in parts:
            for method in vars(cls).values():
                code = getattr(method, "__code__", None)
                if code is not None and str(Path(code.co_filename).absolute()) == source_line.file:
                    lines = [line for *_, line in code.co_lines() if line is not None]
                    if min(lines) <= source_line.line <= max(lines):
                        return cls
    return None


def _allocation(owner: type | None) -> str:
    """The reason and advice for a part that allocates: where its kind of part makes arrays."""
    if hasattr(owner, "attract"):
        place = "begin(), as fields of the moment"
    elif owner is None or hasattr(owner, "scratch"):
        place = "scratch()"
    elif hasattr(owner, "begin"):
        place = "begin(), as fields of the belief"
    else:
        place = "prepare(), as fields of the part"
    return f"it allocates; hot methods allocate nothing: make arrays in {place}"


def _is_within(file: str, package: ModuleType) -> bool:
    return Path(file).resolve().is_relative_to(Path(package.__file__ or "").resolve().parent)


def _allocates(text: str) -> bool:
    """Whether numba complains about an allocation, which it does in two ways."""
    before, found, _ = text.partition("Only accept returning of array passed into the function as argument")
    within = before.rpartition("Overload in function")[2]  # a new array in a function of numba, a view in ours
    ours = "register_jitable" in within  # a helper: numba names the file of its own decorator
    return "NRT required" in text or (bool(found) and "File: numba/" in within and not ours)


# Lines of numba's errors that are not reasons.
_BOILERPLATE = (
    r"Failed in |- Resolution failure|No implementation of|>>> |There are \d|- Of which|(?:Operator )?Overload |"
    r"With argument|Rejected as|During: |raised from|File \"|Known signatures|\* \(|No match|None$|$"
)


def _reason(text: str) -> str:
    """The innermost reason in an error of numba, in a few words."""
    without_source = re.sub(r'^ *File ".*?^ *\^$', "", text, flags=re.DOTALL | re.MULTILINE)
    lines = [re.sub(r"^\w+Error: ", "", line.strip()) for line in without_source.splitlines()]
    reasons = [line for line in lines if not re.match(_BOILERPLATE, line)]
    calls = re.findall(r"^( *)>>> (?!resolve\()(.*)$", without_source, re.MULTILINE)
    innermost = max(calls, key=lambda call: len(call[0]), default=("", ""))[1]
    reason = reasons[-1] if reasons else f"numba does not support {innermost}" if calls else "numba does not say why"
    if plain := re.match(r"Untyped global name '(\w+)': .*<class 'function'>", reason):
        return f"{plain[1]} is a plain function; mark it with @helper, as in: from toplist.core.compiling import helper"
    reason = re.sub(r", defined at .*|\.?\. Raised from None$", "", reason)
    reason = re.sub(r"^Cannot bind .* due to \"\w+: (.*)\"\.?$", r"\1", reason)
    while (shorter := re.sub(r"(?<=[\w\]])\([^()]*\)", "", reason)) != reason:  # nested types
        reason = shorter
    return reason.rstrip(".") if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]} and so on"
