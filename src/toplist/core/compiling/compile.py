"""Marks functions and the methods of parts for compilation with numba.

A part is a `NamedTuple` of parameters with plain methods. Numba takes NamedTuples as arguments and specialises on
their class, but does not compile their methods; `protocol` registers these. All functions are compiled without
reference counting: it was the main cost of composed parts, and without it an allocation in a hot method is a compile
error.
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

overload_method: Any = _overload_method  # its published type lacks some arguments

CALLEE_OPTIONS: dict[str, Any] = OPTIONS | {"pipeline_class": CalleeCompiler}


def helper(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a small function that hot methods call, and inline it into its callers; from Python it runs compiled too.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    callable
        The compiled function.
    """
    compiled: Callable[P, R] = recompile_for_python(numba.njit(**CALLEE_OPTIONS, forceinline=True)(function))
    return compiled


def routine(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that hot methods call and that is too large to be inlined.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    callable
        The compiled function.
    """
    compiled: Callable[P, R] = recompile_for_python(numba.njit(**CALLEE_OPTIONS)(function))
    return compiled


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that takes parts; the machine code is cached on disk by the code of all parts.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    callable
        The compiled function.
    """
    dispatcher = numba.njit(**OPTIONS, pipeline_class=WholeCompiler)(function)
    with suppress(RuntimeError, OSError):  # no folder for the cache, as in a read-only container: compile each time
        dispatcher._cache = SourceCache(function)  # type: ignore[no-untyped-call]
    return dispatcher  # type: ignore[no-any-return]


def plain(function: Callable[P, R]) -> Callable[P, R]:
    """The uncompiled source of a function.

    Parameters
    ----------
    function : callable
        A function, compiled or not.

    Returns
    -------
    callable
        The plain function.
    """
    return getattr(function, "py_func", function)


def direct(function: Callable[P, R], *examples: P.args, **_: P.kwargs) -> Callable[P, R]:
    """The machine code of a function for arguments of given types, called without checking the types.

    The check takes longer than most of the work on a list. The caller must pass arguments of the types of the examples;
    others would be misread as these.

    Parameters
    ----------
    function : callable
        A compiled function.
    examples
        Arguments of the types to compile for.

    Returns
    -------
    callable
        The machine code.

    Raises
    ------
    DoesNotCompile
        If the function cannot be compiled for these types.
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
    """Class decorator: make the public methods of a protocol callable on parts inside compiled code.

    Parameters
    ----------
    cls : type
        The protocol.

    Returns
    -------
    type
        The same class.

    Raises
    ------
    TypeError
        If another protocol has a method of the same name.
    """
    for name, function in vars(cls).items():
        if isinstance(function, FunctionType) and not name.startswith("_"):
            _register_method(name, inspect.signature(function))
    return cls


def _register_method(name: str, signature: inspect.Signature) -> None:
    """Let numba find a method of this name on the class of a part."""
    if name in _registered_methods:
        raise TypeError(f"two protocols declare the method {name!r}; give one of them another name")
    _registered_methods.add(name)

    def resolve(self: Any, *_: Any) -> Any:
        return getattr(self.instance_class, name, None)

    # Numba reads the arity from the signature, so it must be that of the method and not (self, *_).
    resolve.__signature__ = signature  # type: ignore[attr-defined]
    for kind in (types.NamedTuple, types.NamedUniTuple):
        overload_method(kind, name, strict=False, jit_options=CALLEE_OPTIONS | {"forceinline": True})(resolve)


_registered_methods: set[str] = set()


def reserved_names() -> frozenset[str]:
    """Names of protocol methods; in compiled code, a field of such a name would be taken for the method."""
    return frozenset(_registered_methods)
