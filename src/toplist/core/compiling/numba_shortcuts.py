"""Spares numba work that it repeats for every function, or that is of use to its own developers only.

Private parts of numba, for `numba_private`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from numba.core import compiler, event, utils
from numba.core.datamodel import packer
from numba.core.types import functions
from numba.core.typing import context as typing_context
from numba.np import linalg

from toplist.core.compiling import numba_public
from toplist.core.compiling.numba_structures import fields_as_values
from toplist.core.compiling.replaced import replaced

order_templates: Any = utils.order_by_target_specificity
get_call_type: Any = functions.BaseFunction.get_call_type
_orders: dict[Any, Any] = {}
_shared: dict[Any, Any] = {}
_packers: dict[Any, Any] = {}
_structures = fields_as_values("numba.core.cgutils", "numba.np.arrayobj")


def shared_flags(flags: Any) -> Any:
    """A class of options of a compilation, from a target's own, which numba compares and hashes for every call.

    Functions that are called inherit them: all see the same object, so that no callee of numba itself is compiled again
    for a caller that is inlined, and one that is not.
    """

    class SharedFlags(flags):  # type: ignore[misc]
        __slots__ = ("_hash",)

        @classmethod
        def of(cls, options: Any) -> Any:
            """The same options."""
            made = cls(options)
            made._hash = hash(str(made.values()))
            return made

        def copy(self) -> Any:
            """What callees inherit from."""
            inherited = flags(self)
            inherited.forceinline = inherited.no_cpython_wrapper = inherited.no_cfunc_wrapper = True
            inherited.release_gil = True
            inherited = self.of(inherited)
            return _shared.setdefault(inherited, inherited)

        def __hash__(self) -> int:
            return int(self._hash)

        def __eq__(self, other: object) -> bool:
            return self is other or bool(super().__eq__(other))

    return SharedFlags


CpuFlags = shared_flags(compiler.Flags)


@contextmanager
def shortcuts(compile_callee: Callable[..., Any]) -> Iterator[None]:
    """Context for compiling a whole program; numba's own functions in it are compiled by `compile_callee`."""
    with (
        numba_public.no_garbage_collection(),
        shorter_resolution("numba.core"),
        replaced(
            *_structures,
            (typing_context, "order_by_target_specificity", _ordered),
            (compiler, "compile_extra", compile_callee),
            # How long it holds its locks is measured at every call of LLVM, for all functions that are under way.
            (event, "install_timer", lambda *_: nullcontext()),
            (event, "start_event", _ignore),
            (event, "end_event", _ignore),
        ),
    ):
        yield


@contextmanager
def shorter_resolution(package: str) -> Iterator[None]:
    """Context in which a target, given by its package, looks for each function once."""
    core = "numba.core" if package == "numba.core" else f"{package}.core"
    contexts = import_module(f"{core}.base").BaseContext, import_module(f"{package}.typing.context").BaseContext
    options = import_module(f"{core}.targetconfig").ConfigStack

    def resolve(function: Any, context: Any, args: Any, kws: Any) -> Any:
        known = vars(function).setdefault("_found", {})
        key = context, options.top_or_none(), tuple(args), tuple(kws.items())
        if key not in known:
            known[key] = get_call_type(function, context, args, kws)
        return known[key]

    def get_arg_packer(context: Any, args: Any) -> Any:
        key = context.data_model_manager, tuple(args)
        if key not in _packers:
            _packers[key] = packer.ArgPacker(*key)  # type: ignore[no-untyped-call]
        return _packers[key]

    with replaced(
        # A belief and a cache may have some hundred fields, each of which is an argument: they need no names.
        (contexts[0], "get_arg_packer", get_arg_packer),
        (packer.ArgPacker, "assign_names", _ignore),
        # An operator has dozens of templates, which are tried for each of its uses.
        (functions.BaseFunction, "get_call_type", resolve),
        (utils, "order_by_target_specificity", _ordered),
        # Whether there is something new to call is asked in some forty lists, more than ten times per function.
        *((context, "refresh", _refresh(context.refresh)) for context in contexts),
    ):
        yield


def _ignore(*_: Any, **__: Any) -> None:
    pass


def _ordered(target: Any, templates: Any, fnkey: Any = "") -> Any:
    """Templates from the most specific to the least, found once."""
    key = target, *templates
    if key not in _orders:
        _orders[key] = order_templates(target, templates, fnkey)
    return list(_orders[key])


def _refresh(refresh: Callable[[Any], None]) -> Callable[[Any], None]:
    known: dict[int, int] = {}

    def refresh_if_new(context: Any) -> None:
        registered = _registered(context)
        if known.get(id(context._registries)) != registered:
            refresh(context)
            known[id(context._registries)] = _registered(context)

    return refresh_if_new


def _registered(context: Any) -> int:
    """How many functions, attributes and others are in the lists that a context knows."""
    return sum(
        len(getattr(registry, name))
        for registry, loader in context._registries.items()
        for name in loader.registry_items
    )


@cache
def find_scipy_later() -> None:
    """Let numba look whether SciPy is there, and not import it: that takes half as long as all of numba."""
    with replaced((linalg, "ensure_blas", _ensure_scipy)):
        from numba.np import arraymath  # noqa: PLC0415 - here it calls `ensure_blas`
    arraymath.ensure_blas = linalg.ensure_blas  # type: ignore[attr-defined]


def _ensure_scipy() -> None:
    if find_spec("scipy") is None:
        raise ImportError("SciPy is not installed")
