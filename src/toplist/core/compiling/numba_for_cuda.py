"""Compiles for CUDA in as few steps as for the CPU, and to as little code for LLVM.

Private parts of numba-cuda, which has its own copy of most of numba.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

from numba.core import itanium_mangler
from numba.core.compiler_lock import global_compiler_lock

from toplist.core.compiling.numba_lowering import ShortLowering
from toplist.core.compiling.numba_passes import ShortPipeline, is_ordinary
from toplist.core.compiling.numba_shortcuts import shared_flags, shorter_resolution
from toplist.core.compiling.numba_structures import fields_as_values
from toplist.core.compiling.replaced import replaced


@contextmanager
def short_cuda() -> Iterator[None]:
    """Context in which numba-cuda compiles so; code for the CPU is compiled in no other thread meanwhile."""
    with global_compiler_lock, replaced(*_replacements()), shorter_resolution("numba.cuda"):
        yield


@cache
def _replacements() -> list[tuple[Any, str, Any]]:
    convention = import_module("numba.cuda.core.callconv").BaseCallConv
    return [
        (import_module("numba.cuda.compiler"), "CUDACompiler", _short_compiler()),
        (convention, "mangler", _symbol),
        *fields_as_values("numba.cuda.cgutils", "numba.cuda.np.arrayobj"),
    ]


def _symbol(_: Any, name: str, __: Any, *, abi_tags: Any = (), uid: int | None = None) -> str:  # noqa: ARG001 - numba-cuda passes them
    """A function's name in LLVM, without the types of its arguments, which are kilobytes."""
    symbol: str = itanium_mangler.mangle(name, (), uid=uid)  # type: ignore[no-untyped-call]
    return symbol


def _short_compiler() -> Any:
    """numba-cuda's compiler, with our passes."""
    compiler: Any = import_module("numba.cuda.compiler")
    flags = shared_flags(import_module("numba.cuda.flags").CUDAFlags)

    class Lower(ShortLowering, import_module("numba.cuda.lowering").CUDALower):  # type: ignore[misc]
        analysis = import_module("numba.cuda.core.analysis")
        arrays = import_module("numba.cuda.np.arrayobj")
        assignments = import_module("numba.cuda.core.ir").assign_types

    class Lowering(compiler.CUDANativeLowering):  # type: ignore[misc]
        @property
        def lowering_class(self) -> Any:
            return Lower

    class ShortCompiler(compiler.CUDACompiler):  # type: ignore[misc]
        def _compile_core(self) -> Any:
            self.state.flags = flags.of(self.state.flags)
            return super()._compile_core()

        def define_pipelines(self) -> Any:
            if not is_ordinary(self.state.func_id.func, self.state.flags):
                return super().define_pipelines()
            write = compiler.CreateLibrary, Lowering, compiler.CUDABackend
            return [ShortPipeline("numba.cuda.core", compiler.CUDATranslateBytecode, *write)]

    return ShortCompiler
