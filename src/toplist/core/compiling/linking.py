"""Machine code that other machine code calls by its address, so that neither is compiled again for the other.

A function is compiled for a `KeptValue`, the address of a value in memory, and numbers. Its caller knows the address of
the function and that of the value, but no type.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending, types

from toplist.core.compiling.compile import backend, compiled, direct
from toplist.core.compiling.type_key import type_key

WORD = 8  # bytes


def intrinsic(function: Callable[..., Any]) -> Any:
    """numba's `intrinsic`, whose published type does not know that compiled code passes no context."""
    made: Any = extending.intrinsic
    return made(function)


class KeptValue(types.Type):
    """The type of a value that lies in memory, as compiled code sees its address.

    Parameters
    ----------
    kept : numba type
        The type of the value.
    """

    def __init__(self, kept: Any) -> None:
        self.kept = kept
        super().__init__(name=f"KeptValue({kept})")

    @property
    def key(self) -> Any:
        """What makes two types equal: not the name, since two classes may have the same."""
        return self.kept


@extending.register_model(KeptValue)
class _AddressModel(extending.models.PrimitiveModel):
    """In machine code it is a number."""

    def __init__(self, manager: Any, kind: KeptValue) -> None:
        super().__init__(manager, kind, ir.IntType(64))  # type: ignore[no-untyped-call]


@intrinsic
def value_at(_: Any, address: Any) -> Any:
    """The value at an address, in compiled code."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = context.get_value_type(signature.return_type).as_pointer()
        return builder.load(builder.inttoptr(arguments[0], pointer))

    return address.kept(address), generate


@intrinsic
def _write(_: Any, value: Any, address: Any) -> Any:
    """Write a value to an address."""

    def generate(context: Any, builder: Any, __: Any, arguments: Any) -> Any:
        pointer = context.get_value_type(value).as_pointer()
        builder.store(arguments[0], builder.inttoptr(arguments[1], pointer))
        return context.get_dummy_value()

    return types.void(value, address), generate


def _keep(value: Any, address: int) -> None:
    _write(value, address)


_keep_compiled: Any = compiled(_keep)


def caller(result: Any, *arguments: Any) -> Any:
    """A function for compiled code that calls machine code of a `Kept` value by its address.

    Parameters
    ----------
    result : numba type
        What the machine code returns.
    *arguments : numba type
        What it takes, after the kept value.

    Returns
    -------
    callable
        Takes the address of the machine code, the address of the value, and the arguments.
    """

    @intrinsic
    def call(_: Any, code: Any, value: Any, numbers: Any) -> Any:
        def generate(context: Any, builder: Any, __: Any, given: Any) -> Any:
            taken = [
                context.cast(builder, builder.extract_value(given[2], at), numbers[at], kind)
                for at, kind in enumerate(arguments)
            ]
            return backend.call_machine_code(context, builder, result, (types.int64, *arguments), [*given[:2], *taken])

        return result(code, value, numbers), generate

    return call


class Kept:
    """A value in memory, and the machine code of functions that take it.

    Parameters
    ----------
    value : tuple
        The value; its arrays must not be replaced.
    functions : mapping of compiled function to tuple of numba type
        Per function the types of what it takes besides the value.

    Attributes
    ----------
    address : int
        Where the value lies, as long as this object lives.
    code : tuple of int
        The address of each function's machine code.
    """

    def __init__(self, value: Any, functions: Mapping[Any, tuple[Any, ...]]) -> None:
        kind_key = type_key(value)
        key = kind_key, tuple(functions)
        known = _known.get(key)
        if known is None:
            kind: Any = numba.typeof(value)  # type: ignore[no-untyped-call]
            code = tuple(
                int(backend.code_address(function, (KeptValue(kind), *others)))
                for function, others in functions.items()
            )
            known = _Known(direct(_keep_compiled, value, 0), -(-backend.bytes_in_memory(kind) // WORD), code)
            if kind_key is not None:
                _known[key] = known
        self._value = value  # machine code uses its arrays
        self._memory = np.zeros(known.words, dtype=np.int64)
        self.address = int(self._memory.ctypes.data)
        self.code = known.code
        known.keep(value, self.address)


class _Known(NamedTuple):
    """What is the same for all values of a type."""

    keep: Callable[[Any, int], None]
    words: int
    code: tuple[int, ...]


_known: dict[Hashable, _Known] = {}  # numba takes half a millisecond to find the type of a value


def can_link() -> bool:
    """Whether machine code can be called by its address: with numba's private parts only."""
    return hasattr(backend, "code_address")
