"""Marks functions and the methods of parts for compilation with numba.

A part is a `NamedTuple` of parameters with plain methods. Numba takes NamedTuples as arguments and specialises on
their class, but does not compile their methods; `protocol` registers these. All functions are compiled without
reference counting: it was the main cost of composed parts, and without it an allocation in a hot method is a compile
error.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from types import FunctionType
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import numba
from numba import extending, types

from toplist.core.compiling.callees import callees, methods
from toplist.core.compiling.explain import COMPILE_ERRORS, DoesNotCompile, explain_compile_error
from toplist.core.compiling.numba_backend import choose_backend
from toplist.core.compiling.type_key import type_key

P = ParamSpec("P")
R = TypeVar("R")

# Their published types lack some arguments.
overload_method: Any = extending.overload_method
register_jitable: Any = extending.register_jitable

backend = choose_backend()
# Machine code that `direct` has found, by the function and the types of its arguments.
_direct: WeakKeyDictionary[Any, dict[Hashable, Any]] = WeakKeyDictionary()
_in_plain_mode: ContextVar[bool] = ContextVar("in plain mode", default=False)
BULK = 1000  # elements; in plain Python they take a few milliseconds


def helper(function: Callable[P, R]) -> Callable[P, R]:
    """Let compiled code call a small function, which is inlined into its callers; Python runs the function as it is.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    callable
        The same function.
    """
    return _register_function(function, forceinline=True)


def routine(function: Callable[P, R]) -> Callable[P, R]:
    """Let compiled code call a function that is too large to be inlined; Python runs the function as it is.

    Parameters
    ----------
    function : callable
        The function.

    Returns
    -------
    callable
        The same function.
    """
    return _register_function(function)


def _register_function(function: Callable[P, R], **options: bool) -> Callable[P, R]:
    callees[function] = options
    # Said in any case: numba would inline whatever an inlined function calls.
    options = {"forceinline": False} | options
    registered: Callable[P, R] = register_jitable(**backend.callee_options(), **options)(function)
    return registered


@contextmanager
def plain_mode(wanted: bool = True) -> Iterator[None]:
    """Run the source of functions that run compiled where there is much to do: those of `in_bulk` and `by_mode`.

    Parameters
    ----------
    wanted : bool, default True
        Whether to; False is for callers that themselves run in either mode.
    """
    token = _in_plain_mode.set(wanted)
    try:
        yield
    finally:
        _in_plain_mode.reset(token)


def by_mode(function: Callable[P, R]) -> Callable[P, R]:
    """A compiled function, or its source in plain mode.

    Parameters
    ----------
    function : callable
        A compiled function.

    Returns
    -------
    callable
        The function to call.
    """
    return plain(function) if _in_plain_mode.get() else function


def is_machine_code() -> bool:
    """Whether the caller runs as machine code of a CPU: a detour that vectors make quick is slow in plain Python.

    Returns
    -------
    bool
        False in plain Python and on a GPU.
    """
    return False


@extending.overload(is_machine_code, strict=False, inline="always")
def _overload_is_machine_code() -> Any:
    return lambda: True


def in_bulk(function: Callable[P, None]) -> Callable[P, None]:
    """Make a function that fills an array quick to call from Python: machine code for long arrays, source for others.

    In plain mode the source runs for all.

    Parameters
    ----------
    function : callable
        A `helper` whose last argument is the array to fill.

    Returns
    -------
    callable
        The same function, in two speeds.
    """
    machine_code = compiled(function)

    @wraps(function)
    def fill(*arguments: P.args, **named: P.kwargs) -> None:
        filled: Any = arguments[-1]
        (function if len(filled) < BULK else by_mode(machine_code))(*arguments, **named)

    return fill


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
    dispatcher: Callable[P, R] = backend.compile_whole(function)
    return dispatcher


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
    if not hasattr(dispatcher, "compile"):  # NUMBA_DISABLE_JIT
        return function
    key = type_key(*examples)
    found = _direct.setdefault(dispatcher, {})
    if key is not None and key in found:
        known: Callable[P, R] = found[key]
        return known
    signature = tuple(numba.typeof(example) for example in examples)  # type: ignore[no-untyped-call]
    try:
        if signature not in dispatcher.overloads:  # to ask the compiler, one waits while it compiles something else
            dispatcher.compile(signature)
    except COMPILE_ERRORS as error:
        raise DoesNotCompile(explain_compile_error(error, *examples)) from None
    entry: Callable[P, R] = dispatcher.get_overload(signature)
    if key is not None:
        found[key] = entry
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
    if name in methods:
        raise TypeError(f"two protocols declare the method {name!r}; give one of them another name")
    methods[name] = signature
    resolve = method_finder(name)
    for kind in (types.NamedTuple, types.NamedUniTuple):
        overload_method(kind, name, strict=False, jit_options=backend.callee_options() | {"forceinline": True})(resolve)


def method_finder(name: str) -> Callable[..., Any]:
    """What numba calls to find the method of this name on the type of a part."""

    def resolve(self: Any, *_: Any) -> Any:
        return getattr(self.instance_class, name, None)

    # Numba reads the arity from the signature, so it must be that of the method and not (self, *_).
    resolve.__signature__ = methods[name]  # type: ignore[attr-defined]
    return resolve


def reserved_names() -> frozenset[str]:
    """Names of protocol methods; in compiled code, a field of such a name would be taken for the method."""
    return frozenset(methods)
