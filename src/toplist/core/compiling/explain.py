"""Says in one sentence why numba cannot compile a part, and in which line."""

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
    """What numba says on several pages, in a sentence; `arguments` are those that code was compiled for.

    Of all the lines that numba names, the innermost one that is neither numba's nor ours is where the mistake is.
    """
    text = str(error)
    parts: list[type] = []
    for argument in arguments:
        with suppress(ValueError):  # what has no type for numba is no part
            parts += part_classes(numba.typeof(argument))  # type: ignore[no-untyped-call]
    lines_found = [line_found for line_found in _source_lines(text, parts) if not _is_within(line_found.file, numba)]
    outside = [line_found for line_found in lines_found if not _is_within(line_found.file, toplist)]
    if not lines_found:
        owners = {cls.__name__ for cls in parts if cls.__module__.partition(".")[0] != "toplist"}
        return f"{' or '.join(sorted(owners)) or 'The code'} does not compile: {_reason(text)}."
    line_found = (outside or lines_found)[0]
    inner = text[: line_found.told]
    line = line_found.line
    if line_found.method is not None and (undefined := re.search(r"name '(\w+)' is not defined", inner)):
        line = _first_line_using(line_found.method, undefined[1])
    source = linecache.getline(line_found.file, line).strip()
    what = f"{Path(line_found.file).name} line {line}" + (f', "{source}",' if source else "")
    if _allocates(inner):
        return f"{what} does not compile: it allocates; hot methods allocate nothing: make arrays in scratch()."
    return f"{what} does not compile: {_reason(inner)}."


class _SourceLine(NamedTuple):
    """A line that numba names, or the method that it was in when it did not know the line."""

    told: int  # where in the text; what is told before is about this place or about what it calls
    file: str
    line: int
    method: CodeType | None = None


def _source_lines(text: str, parts: list[type]) -> list[_SourceLine]:
    """All places that a text of numba's names, the innermost first."""
    found = [
        _SourceLine(match.end(), str(Path(match[1] or match[3]).absolute()), int(match[2] or match[4]))
        for match in re.finditer(r'^ *File "(.+)", line (\d+):|\bat (\S.*) \((\d+)\)$', text, re.MULTILINE)
    ]
    for match in re.finditer(r"BoundFunction\(\(.+, '(\w+)'\) for (\w+)\(", text):
        for cls in parts:
            code = getattr(getattr(cls, match[1], None), "__code__", None)
            if cls.__name__ == match[2] and code is not None:
                found.append(_SourceLine(match.start(), code.co_filename, code.co_firstlineno, code))
    return sorted(found, key=lambda line_found: line_found.told)


def _first_line_using(code: CodeType, name: str) -> int:
    """The first line of a function that uses this name."""
    lines = (step.positions.lineno for step in dis.get_instructions(code) if step.argval == name and step.positions)
    return next((line for line in lines if line is not None), code.co_firstlineno)


def _is_within(file: str, package: ModuleType) -> bool:
    return Path(file).resolve().is_relative_to(Path(package.__file__ or "").resolve().parent)


def _allocates(text: str) -> bool:
    """Whether it is allocation that numba complains about, which it does in two ways."""
    before, found, _ = text.partition("Only accept returning of array passed into the function as argument")
    within = before.rpartition("Overload in function")[2]  # in numba's own functions a new array, in ours a view
    return "NRT required" in text or (bool(found) and "File: numba/" in within)


# What numba says around a reason.
_BOILERPLATE = (
    r"Failed in |- Resolution failure|No implementation of|>>> |There are \d|- Of which|(?:Operator )?Overload |"
    r"With argument|Rejected as|During: |raised from|File \"|Known signatures|\* \(|No match|None$|$"
)


def _reason(text: str) -> str:
    """The innermost reason in a text of numba's, in a few words."""
    told = re.sub(r'^ *File ".*?^ *\^$', "", text, flags=re.DOTALL | re.MULTILINE)  # without the source that is shown
    lines = [re.sub(r"^\w+Error: ", "", line.strip()) for line in told.splitlines()]
    reasons = [line for line in lines if not re.match(_BOILERPLATE, line)]
    calls = [line.removeprefix(">>> ") for line in lines if line.startswith(">>> ") and "resolve(" not in line]
    reason = reasons[-1] if reasons else f"numba knows no {calls[0]}" if calls else "numba does not say why"
    reason = re.sub(r", defined at .*|\.?\. Raised from None$", "", reason)
    reason = re.sub(r"^Cannot bind .* due to \"\w+: (.*)\"\.?$", r"\1", reason)
    while (shorter := re.sub(r"(?<=[\w\]])\([^()]*\)", "", reason)) != reason:  # the types within types
        reason = shorter
    return reason.rstrip(".") if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]} and so on"
