"""Caches machine code and code for linking on disk, under the content that it was compiled from.

Private parts of numba, for `numba_private`.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import llvmlite.binding  # type: ignore[import-untyped]
from numba.core import compiler, serialize
from numba.core.environment import lookup_environment

from toplist.core.compiling import numba_public
from toplist.core.compiling.cache_folder import ENDING, cache_folder, machine, trim, ways_to_compile
from toplist.core.compiling.fingerprint import Fingerprint, part_classes
from toplist.core.compiling.numba_libraries import CalleeLibrary, all_callees
from toplist.core.compiling.numba_shortcuts import find_scipy_later
from toplist.core.compiling.only_cached import compiling_is_refused, refuse_to_compile

dumps: Any = serialize.dumps

OPTIONS: dict[str, Any] = numba_public.OPTIONS | {"_nrt": False}
BETWEEN_TRIMS = 16  # functions written by a process; to look at every file of a large cache takes as long as a write
_saves = count()


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
        if not self._may_have_files() and not compiling_is_refused():
            return None
        file = self.file_of(signature)
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
        file = self.file_of(signature)
        if file is None or getattr(result.library, "has_dynamic_globals", False):
            return
        with suppress(Exception):
            payload: bytes = dumps(self.pack(result))
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
            if next(_saves) % BETWEEN_TRIMS == 0:
                trim(file.parent)

    def pack(self, result: Any) -> Any:
        """What is pickled of a compiled function: itself."""
        return result

    def unpack(self, content: Any, _: Any) -> Any:
        """The compiled function from what was pickled, and numba's context."""
        return content

    def _may_have_files(self) -> bool:
        """Whether a file in the folder is of a function of this name: to look takes less time than to hash the code."""
        folder, start = cache_folder(), f"{self._function.__name__}-"
        return folder is not None and any(name.startswith(start) for name in os.listdir(folder))

    def file_of(self, signature: Any) -> Path | None:
        """The file of this signature; None if it must not be cached."""
        folder = cache_folder()
        classes = [cls for argument in signature for cls in part_classes(argument)]
        modules = sorted({cls.__module__ for cls in classes} | {self._function.__module__})
        code = Fingerprint(self._function, *classes)
        if folder is None or "__main__" in modules or not code.is_complete:
            return None
        how = machine(), ways_to_compile(), sorted(OPTIONS.items())
        content = repr((how, str(code), modules, str(signature), self._options))
        return folder / f"{self._function.__name__}-{hashlib.sha256(content.encode()).hexdigest()[:40]}{ENDING}"


class WholeCache(ContentCache):
    """The disk cache of a function with machine code."""

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled function, of this signature: a class from within a function is another one where it is read."""
        find_scipy_later()
        result = super().load_overload(signature, target_context)
        return result and result._replace(signature=result.signature.replace(args=tuple(signature)))

    def pack(self, result: Any) -> Any:
        """The machine code, and what numba knows of the function."""
        return result._reduce()

    def unpack(self, content: Any, target_context: Any) -> Any:
        """The function, loaded."""
        target_context.refresh()
        return compiler.CompileResult._rebuild(target_context, *content)  # type: ignore[no-untyped-call]


class LinkingCache(ContentCache):
    """The disk cache of a callee: code for linking, with all that it calls itself."""

    def pack(self, result: Any) -> Any:
        """The code, and what numba knows of the function."""
        module = result.library._get_module_for_linking()
        names = [variable.name for variable in module.global_variables]
        environments = [lookup_environment(name) for name in names]  # type: ignore[no-untyped-call]
        environments = [environment for environment in environments if environment is not None]
        result.fndesc.typemap = result.fndesc.calltypes = None  # large, and of no more use
        libraries = [result.library, *all_callees(result.library._linking_libraries)]
        reload_init = {function for library in libraries for function in library._reload_init}
        return module.as_bitcode(), result.fndesc, result.environment, result.signature, environments, reload_init

    def unpack(self, content: Any, target_context: Any) -> Any:
        """The function, known to numba."""
        bitcode, descriptor, environment, signature, environments, reload_init = content
        target_context.refresh()
        for function in reload_init:
            function()
        library: Any = CalleeLibrary(target_context.codegen(), descriptor.qualname)  # type: ignore[no-untyped-call]
        library._final_module = llvmlite.binding.parse_bitcode(bitcode)
        library._reload_init.update(reload_init)
        library.finalize()
        entry_point = target_context.get_executable(library, descriptor, environment)
        target_context.insert_user_function(entry_point, descriptor, [library])
        return compiler.compile_result(  # type: ignore[no-untyped-call]
            typing_context=target_context.typing_context,
            target_context=target_context,
            entry_point=entry_point,
            library=library,
            signature=signature,
            objectmode=False,
            lifted=(),
            fndesc=descriptor,
            environment=environment,
            reload_init=list(reload_init),
            referenced_envs=environments,
        )
