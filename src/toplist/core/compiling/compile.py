"""Compile plain functions and the methods of parts, and keep the results on disk for as long as they are true.

A part is a `NamedTuple` of parameters with plain methods. Numba takes NamedTuples as arguments and specialises on
their class; all it lacks is their methods, which `method` supplies. Every compiled function here runs without
reference counting: that is where composition used to lose its time, and it makes allocation in a hot method a
compile-time error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import suppress
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

import numba
from numba import types
from numba.extending import overload_method as _overload_method

from toplist.core.compiling.cache import SourceCache
from toplist.core.compiling.explain import COMPILE_ERRORS, DoesNotCompile, explain_compile_error
from toplist.core.compiling.linking import OPTIONS, CalleeCompiler, WholeCompiler, recompile_for_python

P = ParamSpec("P")
R = TypeVar("R")

overload_method: Any = _overload_method  # whose published type does not know all that it takes

CALLEE_OPTIONS: dict[str, Any] = OPTIONS | {"pipeline_class": CalleeCompiler}


def helper(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a small function that hot methods call; from plain Python it runs compiled as well."""
    compiled: Callable[P, R] = recompile_for_python(numba.njit(**CALLEE_OPTIONS, forceinline=True)(function))
    return compiled


def routine(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that hot methods call and that is too large to be copied to every place of call."""
    compiled: Callable[P, R] = recompile_for_python(numba.njit(**CALLEE_OPTIONS)(function))
    return compiled


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function whose arguments are parts, cached on disk under the source of every part's module."""
    dispatcher = numba.njit(**OPTIONS, pipeline_class=WholeCompiler)(function)
    with suppress(RuntimeError, OSError):  # no folder to cache in, as in a read-only container: compile each time
        dispatcher._cache = SourceCache(function)  # type: ignore[no-untyped-call]
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
        raise DoesNotCompile(explain_compile_error(error, *examples)) from None
    entry: Callable[P, R] = dispatcher.get_overload(signature)
    return entry


def protocol(cls: type) -> type:
    """Class decorator: make every public method of a protocol callable on parts inside compiled code."""
    for name, function in vars(cls).items():
        if isinstance(function, FunctionType) and not name.startswith("_"):
            _register_method(name, inspect.signature(function))
    return cls


def _register_method(name: str, signature: inspect.Signature) -> None:
    if name in _registered_methods:
        raise TypeError(f"two protocols declare the method {name!r}; give one of them another name")
    _registered_methods.add(name)

    def resolve(self: Any, *_: Any) -> Any:
        return getattr(self.instance_class, name, None)

    # numba reads the arity from the signature, so it must be the method's own and not (self, *_).
    resolve.__signature__ = signature  # type: ignore[attr-defined]
    for kind in (types.NamedTuple, types.NamedUniTuple):
        overload_method(kind, name, strict=False, jit_options=CALLEE_OPTIONS | {"forceinline": True})(resolve)


_registered_methods: set[str] = set()


def reserved_names() -> frozenset[str]:
    """Names of protocol methods; compiled code would find the method where a field of that name is meant."""
    return frozenset(_registered_methods)
