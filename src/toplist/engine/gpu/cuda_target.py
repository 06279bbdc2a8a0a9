"""Lets numba-cuda compile what numba compiles for the CPU: the loop, marked functions and the methods of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from toplist.core.compiling.callees import callees, methods
from toplist.core.compiling.compile import backend, is_machine_code, method_finder
from toplist.core.compiling.replaced import replaced
from toplist.core.randomness import overload_wrap, wrap
from toplist.engine.gpu.llvm_text import keep_loops, keep_routines
from toplist.engine.play import play, play_one_run, sample_every_item
from toplist.support.files import import_optional

OPTIMISATION = 2  # level of NVIDIA's compiler, which takes a quarter longer at its usual 3, for code that is no faster
FREED_TOGETHER = 100_000  # arrays, unless they take a fifth of the memory

_registered: set[Any] = set()


def numba_cuda() -> Any:
    """The CUDA target of numba, which knows all of our functions; raises ImportError without the extra."""
    import_optional("numba_cuda", "gpu")
    cuda = import_optional("numba.cuda", "gpu")
    extending = import_optional("numba.cuda.extending", "gpu")
    # Memory is freed later, together: to free it waits for all kernels.
    import_optional("numba.cuda.core.config", "gpu").CUDA_DEALLOCS_COUNT = FREED_TOGETHER
    whole = {"forceinline": True}  # arrays can be kept in the thread only where all code is one function
    if wrap not in _registered:
        extending.overload(wrap, strict=False, inline="always")(overload_wrap)
        extending.overload(is_machine_code, strict=False, inline="always")(lambda: lambda: False)
        _registered.add(wrap)
    for name in methods.keys() - _registered:
        for kind in (extending.types.NamedTuple, extending.types.NamedUniTuple):
            extending.overload_method(kind, name, strict=False, jit_options=whole)(method_finder(name))
        _registered.add(name)
    marked = dict(callees) | {play: whole, sample_every_item: whole, play_one_run: whole}
    for function in marked.keys() - _registered:  # a part of your own may have been imported since
        let_kernels_call(function, **marked[function])
    return cuda


def let_kernels_call(function: Callable[..., Any], **options: bool) -> None:
    """Let code for CUDA call a function."""
    extending = import_optional("numba.cuda.extending", "gpu")
    extending.overload(function, jit_options=options, strict=False)(lambda *_: function)
    _registered.add(function)


@contextmanager
def kernel_code() -> Iterator[None]:
    """Compile so that products and sums are rounded as on the CPU, and addresses in strided arrays stay pointers.

    Code is kept short, so that a multiprocessor finds it in its cache: functions of numbers alone are called if they
    are not small, and loops are not unrolled.
    """
    nvvm = import_optional("numba.cuda.cudadrv.nvvm", "gpu")
    cgutils = import_optional("numba.cuda.cgutils", "gpu")

    def pointer_add(builder: Any, pointer: Any, offset: Any, return_type: Any = None) -> Any:
        offset = cgutils.intp_t(offset) if isinstance(offset, int) else offset
        there = builder.gep(builder.bitcast(pointer, cgutils.voidptr_t), [offset])
        return builder.bitcast(there, return_type or pointer.type)

    def compile_ir(texts: list[str], **options: Any) -> Any:
        options |= {"fma": False, "opt": OPTIMISATION}
        return before([keep_loops(keep_routines(text)) for text in texts], **options)

    before = nvvm.compile_ir
    with replaced((nvvm, "compile_ir", compile_ir), (cgutils, "pointer_add", pointer_add)), backend.short_cuda():
        yield
