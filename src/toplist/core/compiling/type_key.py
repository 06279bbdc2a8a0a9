"""A key of the types of arguments that is quick to find: equal keys have equal types for the compiler."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

_SCALARS = frozenset((float, bool, type(None), str, np.float64, np.int64, np.bool_))
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1  # of machine integers; beyond these, the compiler takes another type


class _Unknown(Exception):
    """A value whose type the key cannot tell."""


def type_key(*values: Any) -> Hashable | None:
    """The key of the types of parts, states and numbers; None where a value is none of these.

    numba's own `typeof` takes half a millisecond for the arguments of a policy, several times as long as the rest of a
    new learner's first list.

    Examples
    --------
    >>> type_key(1, np.zeros(3)) == type_key(2, np.ones(5)), type_key(1) == type_key(1.0)
    (True, False)
    """
    try:
        key: Hashable = _key(values)
    except _Unknown:
        return None
    return key


def _key(value: Any) -> Any:
    kind = type(value)
    if kind is np.ndarray:
        flags = value.flags
        layout = flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned
        return (value.dtype, value.ndim, *layout)
    if isinstance(value, tuple):
        return (kind, *map(_key, value))
    if kind in _SCALARS or (kind is int and _LEAST <= value <= _MOST):
        return kind
    raise _Unknown
