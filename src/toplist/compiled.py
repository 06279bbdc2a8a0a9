"""Compile plain functions and the methods of parts, and keep the results on disk for as long as they are true.

A part is a `NamedTuple` of parameters with plain methods. Numba takes NamedTuples as arguments and specialises on
their class; all it lacks is their methods, which `method` supplies. Every compiled function here runs without
reference counting: that is where composition used to lose its time, and it makes allocation in a hot method a
compile-time error.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np
from numba import types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import overload_method as _overload_method

P = ParamSpec("P")
R = TypeVar("R")

overload_method: Any = _overload_method  # whose published type does not know all that it takes

# `_nrt` is private to numba, so the range of versions is narrow, and the benchmark watches what depends on it.
OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy"}


def helper(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a small function that hot methods call; from plain Python it runs compiled as well."""
    compiled: Callable[P, R] = numba.njit(**OPTIONS, forceinline=True)(function)
    return compiled


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function whose arguments are parts, cached on disk under the source of every part's module."""
    dispatcher = numba.njit(**OPTIONS)(function)
    dispatcher._cache = _SourceCache(function)  # type: ignore[no-untyped-call]
    return dispatcher  # type: ignore[no-any-return]


def plain(function: Callable[P, R]) -> Callable[P, R]:
    """The same source, uncompiled: `function` itself, or what it was compiled from."""
    return getattr(function, "py_func", function)


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
        overload_method(kind, name, strict=False, jit_options=OPTIONS | {"forceinline": True})(resolve)


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
        if "__main__" in modules:
            return False
        code = fingerprint(self._py_func, *classes)
        named = hashlib.sha256(repr((modules, str(sig))).encode()).hexdigest()[:16]
        self._family = f"{self._impl.filename_base}-{named}"
        self._cache_file = IndexDataCacheFile(  # type: ignore[no-untyped-call]
            cache_path=self._cache_path, filename_base=f"{self._family}-{code[:16]}", source_stamp=code
        )
        return True


def _classes(numba_type: Any) -> Iterator[type]:
    if isinstance(numba_type, types.NamedTuple | types.NamedUniTuple):
        yield numba_type.instance_class
        for field in numba_type:
            yield from _classes(field)


def fingerprint(*called: Any) -> str:
    """Hash of the code of functions and of the methods of classes, with all the functions and values that they use.

    It is the loaded code that is hashed, not the files: these may have been edited since.
    """
    digest = hashlib.sha256()
    seen: set[int] = set()
    for value in called:
        _hash(value, frozenset(), digest, seen)
    return digest.hexdigest()


def _hash(value: Any, names: frozenset[str], digest: Any, seen: set[int]) -> None:
    """Add one value that code refers to; `names` are those the code uses, to find what it takes from a module."""
    value = plain(value)
    if isinstance(value, FunctionType | type | ModuleType):
        if id(value) in seen or value.__name__.partition(".")[0] in _GIVEN:
            return
        if not isinstance(value, ModuleType):
            seen.add(id(value))
    if isinstance(value, FunctionType):
        _hash_code(value.__code__, digest)
        used = frozenset(_names(value.__code__))
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        for other in [value.__defaults__, *cells, *(value.__globals__.get(name) for name in sorted(used))]:
            _hash(other, used, digest, seen)
    elif isinstance(value, type):
        digest.update(value.__qualname__.encode())
        for cls in value.__mro__:
            for name, method in sorted(vars(cls).items()):
                if isinstance(method, FunctionType) and cls.__module__ not in _GIVEN:
                    digest.update(name.encode())
                    _hash(method, names, digest, seen)
    elif isinstance(value, ModuleType):
        for name in sorted(names & set(vars(value))):
            _hash(vars(value)[name], names, digest, seen)
    elif isinstance(value, np.ndarray):
        digest.update(repr((value.dtype, value.shape)).encode() + value.tobytes())
    elif isinstance(value, bool | int | float | complex | str | bytes | tuple | None | np.generic):
        digest.update(repr(value).encode())


def _hash_code(code: CodeType, digest: Any) -> None:
    digest.update(code.co_code)
    for constant in (*code.co_consts, *code.co_names, *code.co_varnames):
        if isinstance(constant, CodeType):
            _hash_code(constant, digest)
        else:
            digest.update(repr(constant).encode())


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


_GIVEN = {"numpy", "numba", "math", "builtins", "typing", "collections"}  # what changes only with an installation
