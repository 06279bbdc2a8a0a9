"""Spares numba work that it repeats for every function, or that is of use to its own developers only.

Private parts of numba, for `numba_private`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib.util import find_spec
from typing import Any

from numba.core import base, compiler, event, utils
from numba.core.typing import context as typing_context
from numba.np import linalg

from toplist.core.compiling import numba_public
from toplist.core.compiling.replaced import replaced

order_templates: Any = utils.order_by_target_specificity
_orders: dict[Any, Any] = {}
_shared: dict[Any, Any] = {}


class SharedFlags(compiler.Flags):
    """Options of a compilation, which numba compares and hashes for every call that it resolves.

    Functions that are called inherit them: all see the same object, so that no callee of numba itself is compiled again
    for a caller that is inlined, and one that is not.
    """

    __slots__ = ("_hash",)

    _hash: int

    @classmethod
    def of(cls, flags: Any) -> Any:
        """The same options."""
        made: Any = cls(flags)
        made._hash = hash(str(made.values()))
        return made

    def copy(self) -> Any:
        """What callees inherit from."""
        inherited: Any = compiler.Flags(self)  # type: ignore[no-untyped-call]
        inherited.forceinline = inherited.no_cpython_wrapper = inherited.no_cfunc_wrapper = inherited.release_gil = True
        inherited = SharedFlags.of(inherited)
        return _shared.setdefault(inherited, inherited)

    def __hash__(self) -> int:
        return int(self._hash)

    def __eq__(self, other: object) -> bool:
        return self is other or bool(super().__eq__(other))  # type: ignore[no-untyped-call]


@contextmanager
def shortcuts(compile_callee: Callable[..., Any]) -> Iterator[None]:
    """Context for compiling a whole program; numba's own functions in it are compiled by `compile_callee`."""
    with (
        numba_public.no_garbage_collection(),
        replaced(
            (utils, "order_by_target_specificity", _ordered),
            (typing_context, "order_by_target_specificity", _ordered),
            (compiler, "compile_extra", compile_callee),
            # How long it holds its locks is measured at every call of LLVM, for all functions that are under way.
            (event, "install_timer", lambda *_: nullcontext()),
            (event, "start_event", _ignore),
            (event, "end_event", _ignore),
            # Whether there is something new to call is asked in some forty lists, more than ten times per function.
            (base.BaseContext, "refresh", _refresh(base.BaseContext.refresh)),
            (typing_context.BaseContext, "refresh", _refresh(typing_context.BaseContext.refresh)),
        ),
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
