"""Selects how toplist uses numba: with its private parts, which is fast, or with its public API only.

`TOPLIST_NUMBA=public` selects the public one. It is also selected if numba's private parts have changed: if an import
of them or a self-test fails.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from contextlib import suppress
from types import ModuleType

import numba

from toplist.core.compiling import numba_public
from toplist.core.compiling.cache_folder import cache_folder, machine, ways_to_compile

VARIABLE = "TOPLIST_NUMBA"


def choose_backend() -> ModuleType:
    """The module to compile with: `numba_private`, or `numba_public` where that is wanted or the private one fails."""
    wanted = os.environ.get(VARIABLE, "private")
    if wanted not in ("private", "public"):
        raise ValueError(f"{VARIABLE} is {wanted!r}; it must be 'private' or 'public', or not set.")
    if wanted == "public" or vars(numba.config)["DISABLE_JIT"]:
        return numba_public
    try:
        from toplist.core.compiling import numba_private  # noqa: PLC0415 - it may not work with this numba

        _test_once(numba_private)
    except Exception as error:  # whatever a changed numba raises
        warnings.warn(
            f"toplist cannot use the private parts of numba {numba.__version__} ({error!r}), so it compiles with its "
            f"public API: slower, and without a cache on disk. Install a version that toplist was tested with, or set "
            f"{VARIABLE}=public to silence this warning.",
            RuntimeWarning,
            stacklevel=2,
        )
        return numba_public
    return numba_private


def _test_once(private: ModuleType) -> None:
    """Test the private parts, unless they have passed on this machine before."""
    name = hashlib.sha256(repr((machine(), ways_to_compile())).encode()).hexdigest()[:32]
    folder = cache_folder()
    passed = None if folder is None else folder / f"passed-{name}"
    if passed is not None and passed.exists():
        return
    private.self_test()
    if passed is not None:
        with suppress(OSError):  # a full disk: test again next time
            passed.touch()
