"""Hashes the loaded code of a compiled function and all its parts, so that an edited part is compiled again."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
from numba import types

import toplist
from toplist.core.compiling.callees import callees


def fingerprint(*called: Any, with_version: bool = True) -> str:
    """Hash the code of functions and of the methods of classes, with all functions and values that they use.

    The loaded code is hashed, not the files, which may have been edited since; and the version of toplist, unless the
    code alone counts.
    """
    return str(Fingerprint(*called, with_version=with_version))


class Fingerprint:
    """A walk over everything that code refers to, outside the standard library, NumPy and numba."""

    def __init__(self, *called: Any, with_version: bool = True) -> None:
        self.is_complete = True  # False once a value was met that cannot be hashed
        self._digest: Any = hashlib.sha256()
        self._seen: set[Any] = set()
        if with_version:
            self._add("toplist", toplist.__version__)
        for value in called:
            self._add_value(value, frozenset())

    def __str__(self) -> str:
        return str(self._digest.hexdigest())[:32]

    def _add(self, kind: str, content: str | bytes) -> None:
        """Hash a piece with its kind and length, so that no two sequences of pieces look alike."""
        data = content.encode() if isinstance(content, str) else content
        self._digest.update(f"{kind} {len(data)} ".encode() + data)

    def _add_value(self, value: Any, names: frozenset[str]) -> None:
        """Hash a value that code refers to; of a module, only the names that the code uses."""
        if hasattr(value, "py_func"):
            self._add("options", repr(sorted(value.targetoptions.items())))
            value = value.py_func
        value = getattr(value, "_defn", value)  # of numba's intrinsics, the function that writes the code
        if isinstance(value, ModuleType):
            self._add_module(value, names)
        elif isinstance(value, type | FunctionType | BuiltinFunctionType):
            self._add("name", f"{value.__module__}.{value.__qualname__}")
            if _is_installed(value.__module__ or "builtins") or id(value) in self._seen:
                return
            self._seen.add(id(value))
            if isinstance(value, FunctionType):
                self._add_function(value)
            elif isinstance(value, type):
                self._add_class(value)
        elif isinstance(value, tuple | list | frozenset | set):
            # The order of a set differs from process to process.
            elements = sorted(value, key=repr) if isinstance(value, frozenset | set) else value
            self._add("several", f"{type(value).__qualname__} {len(value)}")
            if hasattr(value, "_fields"):
                self._add_value(type(value), names)
            for element in elements:
                self._add_value(element, names)
        elif isinstance(value, types.Type):
            self._add("type", str(value))
        elif isinstance(value, np.ndarray):
            self._add("array", f"{value.dtype} {value.shape}".encode() + value.tobytes())
        elif isinstance(value, CodeType):
            self._digest.update(_content_of_code(value))
        elif isinstance(value, Enum | bool | int | float | complex | str | bytes | None | np.generic):
            self._add(type(value).__qualname__, repr(getattr(value, "value", value)))
        else:
            self._add("other", type(value).__qualname__)
            self.is_complete = self.is_complete and type(value).__module__.partition(".")[0] != "numba"

    def _add_function(self, function: FunctionType) -> None:
        self._add("options", repr(callees.get(function)))
        used = _names_used(function.__code__)
        self._digest.update(_content_of_code(function.__code__))
        self._add_value(function.__defaults__, used)
        for cell in function.__closure__ or ():
            self._add_value(cell.cell_contents, used)
        for name in sorted(used & set(function.__globals__)):
            self._add("global", name)
            self._add_value(function.__globals__[name], used)

    def _add_class(self, cls: type) -> None:
        for base in cls.__mro__:
            if _is_installed(base.__module__):
                continue
            for name, attribute in sorted(vars(base).items()):
                if isinstance(attribute, FunctionType) or (issubclass(cls, Enum) and isinstance(attribute, cls)):
                    self._add("attribute", name)
                    self._add_value(attribute, frozenset())

    def _add_module(self, module: ModuleType, names: frozenset[str]) -> None:
        if _is_installed(module.__name__) or (id(module), names) in self._seen:
            return
        self._seen.add((id(module), names))
        for name in sorted(names & set(vars(module))):
            self._add("global", f"{module.__name__}.{name}")
            self._add_value(vars(module)[name], names)

    def _add_code(self, code: CodeType) -> None:
        self._add("code", code.co_code)
        for kind in (code.co_consts, code.co_names, code.co_varnames, code.co_freevars):
            self._add_value(kind, frozenset())


def _is_installed(module: str) -> bool:
    """Whether a module changes only with an installation."""
    package = module.partition(".")[0]
    return package in ("numpy", "numba", "llvmlite") or (package in sys.stdlib_module_names and package != "__main__")


class _Recorder:
    """Takes what is to be hashed, in place of a digest."""

    def __init__(self) -> None:
        self.content = bytearray()

    def update(self, data: bytes) -> None:
        self.content += data


# Code never changes: an edited function has other code. To walk through it anew took most of the time of a fingerprint.
@lru_cache(maxsize=10_000)
def _content_of_code(code: CodeType) -> bytes:
    """What is hashed of code."""
    walk, recorder = Fingerprint(with_version=False), _Recorder()
    walk._digest = recorder
    walk._add_code(code)
    return bytes(recorder.content)


@lru_cache(maxsize=10_000)
def _names_used(code: CodeType) -> frozenset[str]:
    nested = (_names_used(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return frozenset(code.co_names).union(*nested)


def part_classes(numba_type: Any) -> Iterator[type]:
    """The classes of all parts in a numba type."""
    numba_type = getattr(numba_type, "kept", numba_type)
    if isinstance(numba_type, types.NamedTuple | types.NamedUniTuple):
        yield numba_type.instance_class
    if isinstance(numba_type, types.BaseTuple):
        fields: Any = numba_type
        for field in fields:
            yield from part_classes(field)
