"""Where machine code is cached on disk, and how the cache stays small.

The folder belongs to the user, not to a checkout: files are named by the content they were compiled from, so clones and
branches share them.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import llvmlite  # type: ignore[import-untyped]
import llvmlite.binding  # type: ignore[import-untyped]
import numba
import numpy as np

import toplist

VARIABLE = "TOPLIST_CACHE_DIR"
ENDING = ".machine-code"  # of all our files; a folder of your own may hold others, which are never deleted
LIMIT = 1 << 30  # bytes; a compiled simulation takes about half a megabyte


def cache_folder() -> Path | None:
    """The folder, which is made if necessary; None if it cannot be written, as in a read-only container."""
    folder = Path(os.environ.get(VARIABLE) or _default_folder())
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def _default_folder() -> Path:
    """The usual place for caches of this system, with the name of this package."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "toplist"


def machine() -> tuple[str, ...]:
    """Everything besides the source that machine code depends on: versions, the CPU and numba's settings."""
    return (
        f"toplist {toplist.__version__}, {_compiler()}",
        f"numpy {np.__version__}, python {platform.python_implementation()} {platform.python_version()}",
        *_processor(),
    )


def arithmetic() -> tuple[str, ...]:
    """Everything besides the source that the last bits of results depend on: as `machine`, and the system's libm."""
    libm = " ".join([*platform.libc_ver(), platform.mac_ver()[0]])
    return _compiler(), f"numpy {np.__version__}", libm, *_processor()


def _compiler() -> str:
    return f"numba {numba.__version__}, llvmlite {llvmlite.__version__}"


def _processor() -> tuple[str, ...]:
    """The CPU, and numba's settings for its code."""
    config = vars(numba.config)
    name, features = _host()
    settings = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "ENABLE_AVX")
    return (
        f"{platform.system()} {platform.machine()}",
        str(config["CPU_NAME"] or name),
        str(config["CPU_FEATURES"] or features),
        *(f"{name}={config.get(name)}" for name in settings),
    )


@cache
def _host() -> tuple[str, str]:
    """Name and features of this machine's CPU, for which numba compiles unless its settings name others."""
    return llvmlite.binding.get_host_cpu_name(), llvmlite.binding.get_host_cpu_features().flatten()


@cache
def ways_to_compile() -> str:
    """A digest of the modules that tell numba how to compile: other ways give other machine code."""
    modules = sorted(Path(__file__).parent.glob("numba_*.py"))
    return hashlib.sha256(b"".join(module.read_bytes() for module in modules)).hexdigest()


def trim(folder: Path, limit: int = LIMIT) -> None:
    """Delete cached files that were not used for the longest time, if all of them take more than `limit` bytes."""
    found = []
    for path in folder.glob(f"*{ENDING}"):
        with suppress(OSError):  # another process deleted it
            status = path.stat()
            found.append((status.st_mtime_ns, status.st_size, path))
    total = sum(size for _, size, _ in found)
    if total <= limit:
        return
    for _, size, path in sorted(found):
        with suppress(OSError):
            path.unlink()
        total -= size
        if total <= 0.9 * limit:
            return
