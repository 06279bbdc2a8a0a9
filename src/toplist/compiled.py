"""Compile plain functions and the methods of parts, and keep the results on disk for as long as they are true.

A part is a `NamedTuple` of parameters with plain methods. Numba takes NamedTuples as arguments and specialises on
their class; all it lacks is their methods, which `method` supplies. Every compiled function here runs without
reference counting: that is where composition used to lose its time, and it makes allocation in a hot method a
compile-time error.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, ParamSpec, TypeVar

import numba
from numba import types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.extending import overload_method as _overload_method

P = ParamSpec("P")
R = TypeVar("R")

overload_method: Any = _overload_method  # whose published type does not know all that it takes

# `_nrt` is private to numba, so numba is pinned and the benchmark watches the speed that depends on it.
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
    """Numba's disk cache, one file per signature, valid for the source of every module its parts come from.

    Numba watches only the file of the compiled function itself, so that editing a part would leave the old machine
    code in use; and it keeps all signatures in one file, which nobody can read any more once a class named in it is
    gone. Parts defined in `__main__` have no stable source and are compiled anew in each process.
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
                # One signature a file: what may stand there cannot be of use any more.
                self._cache_file.flush()  # type: ignore[no-untyped-call]
                super()._save_overload(sig, data)  # type: ignore[no-untyped-call]

    def _opened(self, sig: Any) -> bool:
        """Turn to the file of this signature; False where it must not be cached."""
        modules = {self._py_func.__module__}
        for argument in sig:
            modules.update(cls.__module__ for cls in _classes(argument))
        if "__main__" in modules:
            return False
        source = fingerprint(frozenset(modules))
        # In the name too, so that no process can find new machine code under an old index or the other way round.
        name = hashlib.sha256(repr((sorted(modules), str(sig), source)).encode()).hexdigest()[:16]
        self._cache_file = IndexDataCacheFile(  # type: ignore[no-untyped-call]
            cache_path=self._cache_path, filename_base=f"{self._impl.filename_base}-{name}", source_stamp=source
        )
        return True


def _classes(numba_type: Any) -> Iterator[type]:
    if isinstance(numba_type, types.NamedTuple | types.NamedUniTuple):
        yield numba_type.instance_class
        for field in numba_type:
            yield from _classes(field)


@cache
def fingerprint(modules: frozenset[str]) -> str:
    """Hash of the source of these modules and of everything of the user's or ours that they use.

    Followed are modules of the same packages and modules outside site-packages; the standard library and installed
    third parties are not, since numba's own cache key already holds what matters of them here.
    """
    packages = {name.partition(".")[0] for name in modules}
    sources: dict[str, bytes] = {}
    waiting = sorted(modules)
    while waiting:
        name = waiting.pop()
        path = None if name in sources else _watched_file(name, packages)
        if path is None:
            continue
        sources[name] = path.read_bytes()
        for value in vars(sys.modules[name]).values():
            used = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            if isinstance(used, str):
                waiting.append(used)
    digest = hashlib.sha256()
    for name in sorted(sources):
        digest.update(name.encode() + b"\0" + sources[name] + b"\0")
    return digest.hexdigest()


def _watched_file(name: str, packages: set[str]) -> Path | None:
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None or not file.endswith(".py"):
        return None
    path = Path(file)
    if name.partition(".")[0] in packages:
        return path
    installed = path.is_relative_to(_STANDARD) or bool({"site-packages", "dist-packages"} & set(path.parts))
    return None if installed else path


_STANDARD = Path(sysconfig.get_paths()["stdlib"])
