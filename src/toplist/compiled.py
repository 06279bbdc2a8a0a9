"""Compile plain functions and the methods of parts, and keep the results on disk for as long as they are true.

A part is a `NamedTuple` of parameters with plain methods. Numba takes NamedTuples as arguments and specialises on
their class; all it lacks is their methods, which `method` supplies. Every compiled function here runs without
reference counting: that is where composition used to lose its time, and it makes allocation in a hot method a
compile-time error.
"""

from __future__ import annotations

import dis
import hashlib
import inspect
import linecache
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import Enum
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numba
import numpy as np
from numba import types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numba.extending import overload_method as _overload_method

import toplist
from toplist.linking import Ingredient, Whole, callable_from_python

P = ParamSpec("P")
R = TypeVar("R")

overload_method: Any = _overload_method  # whose published type does not know all that it takes

# `_nrt` is private to numba, so the range of versions is narrow, and the benchmark watches what depends on it.
OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy"}
INGREDIENT: dict[str, Any] = OPTIONS | {"pipeline_class": Ingredient}
COMPILE_ERRORS = (NumbaError, UnsupportedBytecodeError)
LONGEST_REASON = 160


def helper(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a small function that hot methods call; from plain Python it runs compiled as well."""
    compiled: Callable[P, R] = callable_from_python(numba.njit(**INGREDIENT, forceinline=True)(function))
    return compiled


def routine(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that hot methods call and that is too large to be copied to every place of call."""
    compiled: Callable[P, R] = callable_from_python(numba.njit(**INGREDIENT)(function))
    return compiled


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function whose arguments are parts, cached on disk under the source of every part's module."""
    dispatcher = numba.njit(**OPTIONS, pipeline_class=Whole)(function)
    with suppress(RuntimeError, OSError):  # no folder to cache in, as in a read-only container: compile each time
        dispatcher._cache = _SourceCache(function)  # type: ignore[no-untyped-call]
    return dispatcher  # type: ignore[no-any-return]


def plain(function: Callable[P, R]) -> Callable[P, R]:
    """The same source, uncompiled: `function` itself, or what it was compiled from."""
    return getattr(function, "py_func", function)


def direct(function: Callable[P, R], *examples: P.args, **_: P.kwargs) -> Callable[P, R]:
    """What was compiled for arguments like these, called without a look at their types.

    Looking takes longer than most work on a list. Whoever calls it answers for the types: others than the examples'
    would be taken for them.
    """
    dispatcher: Any = function
    signature = tuple(numba.typeof(example) for example in examples)  # type: ignore[no-untyped-call]
    try:
        dispatcher.compile(signature)
    except COMPILE_ERRORS as error:
        raise DoesNotCompile(explained(error, *examples)) from None
    entry: Callable[P, R] = dispatcher.get_overload(signature)
    return entry


class DoesNotCompile(TypeError):
    """A method of a part cannot be compiled; the message names the line and the reason."""


def explained(error: Exception, *arguments: Any) -> str:
    """What numba says on several pages, in a sentence; `arguments` are those that code was compiled for.

    Of all the lines that numba names, the innermost one that is neither numba's nor ours is where the mistake is.
    """
    text = str(error)
    parts: list[type] = []
    for argument in arguments:
        with suppress(ValueError):  # what has no type for numba is no part
            parts += _classes(numba.typeof(argument))  # type: ignore[no-untyped-call]
    places = [place for place in _places(text, parts) if not _is_within(place.file, numba)]
    outside = [place for place in places if not _is_within(place.file, toplist)]
    if not places:
        owners = {cls.__name__ for cls in parts if cls.__module__.partition(".")[0] != "toplist"}
        return f"{' or '.join(sorted(owners)) or 'The code'} does not compile: {_reason(text)}."
    place = (outside or places)[0]
    inner = text[: place.told]
    line = place.line
    if place.method is not None and (undefined := re.search(r"name '(\w+)' is not defined", inner)):
        line = _line_of(place.method, undefined[1])
    source = linecache.getline(place.file, line).strip()
    what = f"{Path(place.file).name} line {line}" + (f', "{source}",' if source else "")
    if _allocates(inner):
        return f"{what} does not compile: it allocates; hot methods allocate nothing: make arrays in scratch()."
    return f"{what} does not compile: {_reason(inner)}."


class _Place(NamedTuple):
    """A line that numba names, or the method that it was in when it did not know the line."""

    told: int  # where in the text; what is told before is about this place or about what it calls
    file: str
    line: int
    method: CodeType | None = None


def _places(text: str, parts: list[type]) -> list[_Place]:
    """All places that a text of numba's names, the innermost first."""
    found = [
        _Place(match.end(), str(Path(match[1] or match[3]).absolute()), int(match[2] or match[4]))
        for match in re.finditer(r'^ *File "(.+)", line (\d+):|\bat (\S.*) \((\d+)\)$', text, re.MULTILINE)
    ]
    for match in re.finditer(r"BoundFunction\(\(.+, '(\w+)'\) for (\w+)\(", text):
        for cls in parts:
            code = getattr(getattr(cls, match[1], None), "__code__", None)
            if cls.__name__ == match[2] and code is not None:
                found.append(_Place(match.start(), code.co_filename, code.co_firstlineno, code))
    return sorted(found, key=lambda place: place.told)


def _line_of(code: CodeType, name: str) -> int:
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
_AROUND = (
    r"Failed in |- Resolution failure|No implementation of|>>> |There are \d|- Of which|(?:Operator )?Overload |"
    r"With argument|Rejected as|During: |raised from|File \"|Known signatures|\* \(|No match|None$|$"
)


def _reason(text: str) -> str:
    """The innermost reason in a text of numba's, in a few words."""
    told = re.sub(r'^ *File ".*?^ *\^$', "", text, flags=re.DOTALL | re.MULTILINE)  # without the source that is shown
    lines = [re.sub(r"^\w+Error: ", "", line.strip()) for line in told.splitlines()]
    reasons = [line for line in lines if not re.match(_AROUND, line)]
    calls = [line.removeprefix(">>> ") for line in lines if line.startswith(">>> ") and "resolve(" not in line]
    reason = reasons[-1] if reasons else f"numba knows no {calls[0]}" if calls else "numba does not say why"
    reason = re.sub(r", defined at .*|\.?\. Raised from None$", "", reason)
    reason = re.sub(r"^Cannot bind .* due to \"\w+: (.*)\"\.?$", r"\1", reason)
    while (shorter := re.sub(r"(?<=[\w\]])\([^()]*\)", "", reason)) != reason:  # the types within types
        reason = shorter
    return reason.rstrip(".") if len(reason) <= LONGEST_REASON else f"{reason[:LONGEST_REASON]} and so on"


def protocol(cls: type) -> type:
    """Class decorator: make every public method of a protocol callable on parts inside compiled code."""
    for name, function in vars(cls).items():
        if isinstance(function, FunctionType) and not name.startswith("_"):
            _method(name, inspect.signature(function))
    return cls


def _method(name: str, signature: inspect.Signature) -> None:
    if name in _known_methods:
        raise TypeError(f"two protocols declare the method {name!r}; give one of them another name")
    _known_methods.add(name)

    def resolve(self: Any, *_: Any) -> Any:
        return getattr(self.instance_class, name, None)

    # numba reads the arity from the signature, so it must be the method's own and not (self, *_).
    resolve.__signature__ = signature  # type: ignore[attr-defined]
    for kind in (types.NamedTuple, types.NamedUniTuple):
        overload_method(kind, name, strict=False, jit_options=INGREDIENT | {"forceinline": True})(resolve)


_known_methods: set[str] = set()


def reserved_names() -> frozenset[str]:
    """Names of protocol methods; compiled code would find the method where a field of that name is meant."""
    return frozenset(_known_methods)


class _SourceCache(FunctionCache):
    """Numba's disk cache, one file per signature and per code of everything that the signature can call.

    Numba watches only the file of the compiled function itself, so that editing a part would leave the old machine
    code in use; and it keeps all signatures in one file, which nobody can read any more once a class named in it is
    gone. Parts defined in `__main__` cannot be found again and are compiled anew in each process.
    """

    # Whatever is wrong with a file of the cache, a full disk included: compiling anew is always an answer.

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        if self._opened(sig):
            with suppress(Exception):
                return super()._load_overload(sig, target_context)  # type: ignore[no-untyped-call]
        return None

    def _save_overload(self, sig: Any, data: Any) -> None:
        if self._opened(sig):
            with suppress(Exception):
                for outdated in Path(self._cache_path).glob(f"{self._family}-*"):
                    outdated.unlink(missing_ok=True)
                super()._save_overload(sig, data)  # type: ignore[no-untyped-call]

    def _opened(self, sig: Any) -> bool:
        """Turn to the file of this signature; False where it must not be cached."""
        classes = [cls for argument in sig for cls in _classes(argument)]
        modules = sorted({cls.__module__ for cls in classes} | {self._py_func.__module__})
        code = _Fingerprint(self._py_func, *classes)
        if "__main__" in modules or not code.certain:
            return False
        named = hashlib.sha256(repr((modules, str(sig))).encode()).hexdigest()[:16]
        self._family = f"{self._impl.filename_base}-{named}"
        self._cache_file = _SealedFile(  # type: ignore[no-untyped-call]
            cache_path=self._cache_path, filename_base=f"{self._family}-{code}", source_stamp=str(code)
        )
        return True


class _SealedFile(IndexDataCacheFile):
    """A cache file that is read only if it is what was written: LLVM ends the process on damaged machine code."""

    def _save_data(self, name: str, data: Any) -> None:
        payload = self._dump(data)  # type: ignore[no-untyped-call]
        with self._open_for_write(self._data_path(name)) as file:  # type: ignore[no-untyped-call]
            file.write(hashlib.sha256(payload).digest() + payload)

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()  # type: ignore[no-untyped-call]
        if hashlib.sha256(content[32:]).digest() != content[:32]:
            raise OSError(f"{name} is damaged")
        return pickle.loads(content[32:])


def _classes(numba_type: Any) -> Iterator[type]:
    if isinstance(numba_type, types.NamedTuple | types.NamedUniTuple):
        yield numba_type.instance_class
    if isinstance(numba_type, types.BaseTuple):
        fields: Any = numba_type
        for field in fields:
            yield from _classes(field)


def fingerprint(*called: Any) -> str:
    """Hash of the code of functions and of the methods of classes, with all the functions and values that they use.

    It is the loaded code that is hashed, not the files: these may have been edited since.
    """
    return str(_Fingerprint(*called))


class _Fingerprint:
    """A walk over everything that code refers to, outside the standard library, NumPy and numba."""

    def __init__(self, *called: Any) -> None:
        self.certain = True  # False once something was met whose meaning cannot be hashed
        self._digest = hashlib.sha256()
        self._seen: set[Any] = set()
        self._add("toplist", f"{toplist.__version__} {sorted(OPTIONS.items())}")
        for value in called:
            self._value(value, frozenset())

    def __str__(self) -> str:
        return self._digest.hexdigest()[:32]

    def _add(self, kind: str, content: str | bytes) -> None:
        """Each piece with its kind and length, so that no two sequences of pieces look alike."""
        data = content.encode() if isinstance(content, str) else content
        self._digest.update(f"{kind} {len(data)} ".encode() + data)

    def _value(self, value: Any, names: frozenset[str]) -> None:
        """One value that code refers to; `names` are those the code uses, to find what it takes from a module."""
        if hasattr(value, "py_func"):
            self._add("options", repr(sorted(value.targetoptions.items())))
            value = value.py_func
        if isinstance(value, ModuleType):
            self._module(value, names)
        elif isinstance(value, type | FunctionType | BuiltinFunctionType):
            self._add("name", f"{value.__module__}.{value.__qualname__}")
            if _is_given(value.__module__ or "builtins") or id(value) in self._seen:
                return
            self._seen.add(id(value))
            if isinstance(value, FunctionType):
                self._function(value)
            elif isinstance(value, type):
                self._class(value)
        elif isinstance(value, tuple | list | frozenset | set):
            # Sets have no order of their own, and a different one in each process.
            elements = sorted(value, key=repr) if isinstance(value, frozenset | set) else value
            self._add("several", f"{type(value).__qualname__} {len(value)}")
            if hasattr(value, "_fields"):
                self._value(type(value), names)
            for element in elements:
                self._value(element, names)
        elif isinstance(value, np.ndarray):
            self._add("array", f"{value.dtype} {value.shape}".encode() + value.tobytes())
        elif isinstance(value, CodeType):
            self._code(value)
        elif isinstance(value, Enum | bool | int | float | complex | str | bytes | None | np.generic):
            self._add(type(value).__qualname__, repr(getattr(value, "value", value)))
        else:
            self._add("other", type(value).__qualname__)
            self.certain = self.certain and type(value).__module__.partition(".")[0] != "numba"

    def _function(self, function: FunctionType) -> None:
        used = frozenset(_names(function.__code__))
        self._code(function.__code__)
        self._value(function.__defaults__, used)
        for cell in function.__closure__ or ():
            self._value(cell.cell_contents, used)
        for name in sorted(used & set(function.__globals__)):
            self._add("global", name)
            self._value(function.__globals__[name], used)

    def _class(self, cls: type) -> None:
        for base in cls.__mro__:
            if _is_given(base.__module__):
                continue
            for name, attribute in sorted(vars(base).items()):
                if isinstance(attribute, FunctionType) or (issubclass(cls, Enum) and isinstance(attribute, cls)):
                    self._add("attribute", name)
                    self._value(attribute, frozenset())

    def _module(self, module: ModuleType, names: frozenset[str]) -> None:
        if _is_given(module.__name__) or (id(module), names) in self._seen:
            return
        self._seen.add((id(module), names))
        for name in sorted(names & set(vars(module))):
            self._add("global", f"{module.__name__}.{name}")
            self._value(vars(module)[name], names)

    def _code(self, code: CodeType) -> None:
        self._add("code", code.co_code)
        for kind in (code.co_consts, code.co_names, code.co_varnames, code.co_freevars):
            self._value(kind, frozenset())


def _is_given(module: str) -> bool:
    """Whether a module changes only with an installation."""
    package = module.partition(".")[0]
    return package in ("numpy", "numba", "llvmlite") or (package in sys.stdlib_module_names and package != "__main__")


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
