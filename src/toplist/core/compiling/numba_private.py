"""Everything in toplist that uses private parts of numba; `numba_public` has the same functions without them.

- `_nrt=False` compiles without reference counting, which was the main cost of composed parts; and an allocation in a
  hot method becomes a compile error.
- `CalleeCompiler` compiles a function and all its callees in one pass. Numba optimises every callee separately and
  generates machine code for it, and then does all of it again within the caller. A policy calls some eighty functions,
  and none of them is called from Python, so this machine code is thrown away. Here a callee stays in LLVM's
  intermediate representation, and only the whole program is optimised and turned into machine code. That takes a third
  of the time, and LLVM optimises better when it sees everything.
- `ContentCache` caches machine code on disk under the content that it was compiled from.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import compiler, serialize
from numba.core.codegen import JITCodeLibrary

from toplist.core.compiling import numba_public
from toplist.core.compiling.cache_folder import ENDING, cache_folder, machine, trim
from toplist.core.compiling.fingerprint import Fingerprint, part_classes
from toplist.core.compiling.only_cached import refuse_to_compile

_dumps: Any = serialize.dumps

OPTIONS: dict[str, Any] = numba_public.OPTIONS | {"_nrt": False}


def callee_options() -> dict[str, Any]:
    """Options of functions that only compiled code calls."""
    return OPTIONS | {"pipeline_class": CalleeCompiler}


def compile_whole(function: Any) -> Any:
    """A dispatcher that compiles a function and everything it calls; its machine code is cached on disk."""
    dispatcher: Any = numba.njit(**OPTIONS, pipeline_class=WholeCompiler)(function)
    dispatcher._cache = ContentCache(function)
    return dispatcher


# Compiling in one pass ------------------------------------------------------------------------------------------------


class _CalleeLibrary(JITCodeLibrary):
    """Code that is only linked into other code: neither optimised as a whole nor turned into machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()  # type: ignore[no-untyped-call]
        self._finalized = True

    def get_pointer_to_function(self, _: str) -> int:
        """There is no machine code to point to; numba writes that as 0."""
        return 0

    @property
    def codegen(self) -> Any:
        """Numba would set the address of the function's environment here; without machine code there is none."""
        return _IgnoredEnvironments()


class _IgnoredEnvironments:
    def set_env(self, _: str, __: Any) -> None:
        pass


class WholeCompiler(compiler.Compiler):
    """Compiles a function to machine code, and its callees to code for linking."""

    def compile_extra(self, func: Any) -> Any:
        """As in numba; then set the environments of the callees, which have their addresses only now."""
        result: Any = super().compile_extra(func)  # type: ignore[no-untyped-call]
        for environment in result._find_referenced_environments():
            result.library.codegen.set_env(environment.env_name, environment)
        return result


class CalleeCompiler(compiler.Compiler):
    """Compiles a function for linking."""

    def compile_extra(self, func: Any) -> Any:
        """As in numba, but into a library without machine code."""
        self.state.library = _CalleeLibrary(self.state.targetctx.codegen(), func.__qualname__)  # type: ignore[no-untyped-call]
        # No wrappers: neither Python nor C will call it.
        self.state.flags.no_cpython_wrapper = self.state.flags.no_cfunc_wrapper = True
        return super().compile_extra(func)  # type: ignore[no-untyped-call]


# The cache ------------------------------------------------------------------------------------------------------------


class ContentCache:
    """The disk cache of a dispatcher: one file per signature, named by all the code that the signature can call.

    Numba's own cache watches only the file of the compiled function, so it would use old machine code after an edit of
    a part. Parts defined in `__main__` cannot be imported again, so they are compiled in each process.
    """

    # Compiling again is the answer to any error with a cache file, a full disk included.

    def __init__(self, function: Any, options: str = "") -> None:
        self._function, self._options = function, options

    @property
    def cache_path(self) -> str:
        """The folder, for numba's statistics."""
        return os.fspath(cache_folder() or "")

    def flush(self) -> None:
        """Numba calls this before it compiles all signatures again."""

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function from the disk; None if it is not there, and is to be compiled."""
        file = self._file(signature)
        if file is None:
            return None
        with suppress(Exception):
            content = file.read_bytes()
            if hashlib.sha256(content[32:]).digest() == content[:32]:  # LLVM ends the process on damaged machine code
                result = self.unpack(pickle.loads(content[32:]), target_context)
                os.utime(file)  # so that `trim` deletes others first
                return result
        refuse_to_compile(self._function.__name__)
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Write a compiled function to the disk."""
        file = self._file(signature)
        if file is None or getattr(result.library, "has_dynamic_globals", False):
            return
        with suppress(Exception):
            payload: bytes = _dumps(self.pack(result))
            with tempfile.NamedTemporaryFile(
                dir=file.parent, prefix="writing-", suffix=ENDING, delete=False
            ) as written:
                try:
                    written.write(hashlib.sha256(payload).digest() + payload)
                    written.close()
                    os.replace(written.name, file)
                except BaseException:
                    os.unlink(written.name)
                    raise
            trim(file.parent)

    def pack(self, result: Any) -> Any:
        """What is pickled of a compiled function."""
        return result._reduce()

    def unpack(self, content: Any, target_context: Any) -> Any:
        """The compiled function from what was pickled."""
        target_context.refresh()
        return compiler.CompileResult._rebuild(target_context, *content)  # type: ignore[no-untyped-call]

    def _file(self, signature: Any) -> Path | None:
        """The file of this signature; None if it must not be cached."""
        folder = cache_folder()
        classes = [cls for argument in signature for cls in part_classes(argument)]
        modules = sorted({cls.__module__ for cls in classes} | {self._function.__module__})
        code = Fingerprint(self._function, *classes)
        if folder is None or "__main__" in modules or not code.is_complete:
            return None
        content = repr((machine(), sorted(OPTIONS.items()), str(code), modules, str(signature), self._options))
        return folder / f"{self._function.__name__}-{hashlib.sha256(content.encode()).hexdigest()[:40]}{ENDING}"


# The self-test --------------------------------------------------------------------------------------------------------


def self_test() -> None:
    """Compile and run a small program; raises an error if this numba does not do what this module relies on."""
    numba.extending.register_jitable(**callee_options(), forceinline=True)(_increment)
    total = numba.njit(**OPTIONS, pipeline_class=WholeCompiler)(_sum_of_increments)
    values = np.arange(3.0)
    signature = (numba.typeof(values),)  # type: ignore[no-untyped-call]
    _expect(total(values) == 6.0, "a function with a callee")
    (result,) = total.overloads.values()
    payload = pickle.loads(_dumps(result._reduce()))
    restored = compiler.CompileResult._rebuild(result.target_context, *payload)  # type: ignore[no-untyped-call]
    _expect(restored.entry_point(values) == 6.0, "machine code read back")
    try:
        numba.njit(**OPTIONS)(_allocate).compile(signature)
    except numba.core.errors.NumbaError as error:
        _expect("NRT required" in str(error), "the refusal of an allocation")
    else:
        _expect(False, "the refusal of an allocation")


def _expect(works: bool, what: str) -> None:
    if not works:
        raise RuntimeError(f"{what} does not work")


def _increment(number: float) -> float:
    return number + 1.0


def _sum_of_increments(values: Any) -> float:
    total = 0.0
    for value in values:
        total += _increment(value)
    return total


def _allocate(values: Any) -> float:
    return float((2.0 * values).sum())
