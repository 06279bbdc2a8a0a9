"""Compiling with numba: marks functions and methods, caches machine code on disk, and explains errors."""

from toplist.core.compiling import cache_folder, numba_backend
from toplist.core.compiling.cache_folder import arithmetic
from toplist.core.compiling.compile import (
    BULK,
    by_mode,
    compiled,
    direct,
    helper,
    in_bulk,
    is_machine_code,
    plain,
    plain_mode,
    protocol,
    reserved_names,
    routine,
)
from toplist.core.compiling.explain import COMPILE_ERRORS, DoesNotCompile, explain_compile_error
from toplist.core.compiling.fingerprint import fingerprint
from toplist.core.compiling.linking import Kept, caller, can_link, value_at
from toplist.core.compiling.only_cached import NotCached, only_cached

LIBRARY_VARIABLES = (cache_folder.VARIABLE, numba_backend.VARIABLE)  # of the environment

__all__ = [
    "BULK",
    "COMPILE_ERRORS",
    "DoesNotCompile",
    "Kept",
    "LIBRARY_VARIABLES",
    "NotCached",
    "arithmetic",
    "by_mode",
    "caller",
    "can_link",
    "compiled",
    "direct",
    "explain_compile_error",
    "fingerprint",
    "helper",
    "in_bulk",
    "is_machine_code",
    "only_cached",
    "plain",
    "plain_mode",
    "protocol",
    "reserved_names",
    "routine",
    "value_at",
]
