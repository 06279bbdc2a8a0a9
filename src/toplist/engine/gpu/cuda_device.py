"""A GPU: its memory, and kernels that play one run per thread, compiled once and cached on disk."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import numpy as np

from toplist.core.compiling import COMPILE_ERRORS, fingerprint
from toplist.core.compiling.compile import backend
from toplist.core.compiling.numba_public import no_garbage_collection
from toplist.core.problem import InvalidInput
from toplist.engine.gpu.batch import Batch, BatchLayout
from toplist.engine.gpu.cuda_arrays import CudaArrays
from toplist.engine.gpu.cuda_target import kernel_code, let_kernels_call, numba_cuda
from toplist.engine.play import play_one_run
from toplist.support.files import import_optional

BLOCK = 128  # threads: a multiprocessor then plays few batches at a time, and its cache holds their code
REGISTERS = 128  # per thread, at most: more would leave room for fewer threads
# Large runs without features mostly wait for memory: with fewer registers per thread, more threads wait at once.
FEWER, LARGE = 64, 1 << 14  # registers, and bytes of a large run
REPEATED = 1 << 22  # bytes of copies that the host makes; the device doubles them
SPARE = 0.9  # of the free memory is used

_kernels: dict[tuple[Any, ...], Any] = {}
_one_thread = threading.RLock()  # at a time may start CUDA or change numba-cuda


def gpus() -> list[CudaDevice]:
    """All GPUs of this machine; raises InvalidInput without the extra, a GPU or its driver."""
    with _one_thread:
        try:
            cuda = numba_cuda()
        except ImportError as error:
            raise InvalidInput(f"engine='gpu' cannot play: {error}.") from error
        try:
            return [CudaDevice(cuda, number) for number in range(len(cuda.gpus))]
        except cuda.CudaSupportError as error:
            reason = " ".join(str(error).split()).rstrip(".: ")
            raise InvalidInput(
                f"engine='gpu' needs an NVIDIA GPU and its driver, but none was found ({reason}); use engine='cpu'."
            ) from error


class CudaDevice:
    """The GPU of a number, with a queue of work; `cuda` is the module from `numba_cuda`.

    The common queue 0 waits for all others, and they wait for it.
    """

    def __init__(self, cuda: Any, number: int, queue: Any = 0) -> None:
        self._cuda, self._number, self._queue = cuda, number, queue

    def own_queue(self) -> CudaDevice:
        """The same GPU with another queue, whose copies and kernels wait for no others."""
        return CudaDevice(self._cuda, self._number, self._cuda.stream())

    def context(self) -> Any:
        """Make it the current GPU, in a with statement."""
        return self._cuda.gpus[self._number]

    def name(self) -> str:
        """Its model."""
        return str(self.context().name)

    def free_bytes(self, enough: int) -> int:
        """Memory for batches; if that is not enough, with the memory of earlier ones, for which all kernels wait."""
        context = self._cuda.current_context()
        if SPARE * context.get_memory_info().free < enough:
            context.deallocations.clear()
        return int(SPARE * context.get_memory_info().free)

    def put(self, array: Any) -> Any:
        """Copy an array to the GPU."""
        with memory_errors():
            return self._cuda.to_device(np.ascontiguousarray(array), self._queue)

    def repeat(self, array: Any, times: int) -> Any:
        """Copy an array to the GPU several times, along a new first axis."""
        with memory_errors():
            target = self._cuda.device_array((times, *array.shape), array.dtype)
        filled = min(times, max(1, REPEATED // array.nbytes))
        self.overwrite(target[:filled], np.broadcast_to(array, (filled, *array.shape)))
        while filled < times:
            more = min(filled, times - filled)
            target[filled : filled + more].copy_to_device(target[:more], self._queue)
            filled += more
        return target

    def overwrite(self, target: Any, array: Any) -> None:
        """Copy an array into one on the GPU."""
        target.copy_to_device(np.ascontiguousarray(array), self._queue)
        self.wait()

    def fetch(self, array: Any) -> Any:
        """Copy an array from the GPU."""
        host = array.copy_to_host(stream=self._queue)
        self.wait()
        return host

    def prepare(self, layout: BatchLayout, runs: int) -> Any:
        """The kernel for batches of up to `runs` runs; raises DoesNotCompile."""
        threads = self._cuda.get_current_device().MULTIPROCESSOR_COUNT * (65_536 // REGISTERS)
        reads = layout.run_bytes() > LARGE and layout.player.setup.problem.features == 0
        registers = FEWER if reads and runs > threads else REGISTERS
        with memory_errors():
            return kernel_for(self._cuda, layout, layout.examples(), registers)

    def launch(self, kernel: Any, batch: Batch, sampled_positions: int, until: int) -> None:
        """Begin to play the runs of a batch until a step."""
        blocks = -(-len(batch.played) // BLOCK)
        with (
            memory_errors(),
            warnings.catch_warnings(action="ignore"),
        ):  # numba-cuda calls few runs an under-utilised GPU
            kernel[blocks, BLOCK, self._queue](*batch.shared, *batch[1:], sampled_positions, until)

    def is_idle(self) -> bool:
        """Whether all work of the queue is done; asked of the queue, since an event would hold up others."""
        driver = import_optional("numba.cuda.cudadrv.driver", "gpu")
        try:
            driver.driver.cuStreamQuery(int(self._queue.handle))
        except driver.CudaAPIError as error:
            if error.code != driver.binding.CUresult.CUDA_ERROR_NOT_READY:
                raise
            return False
        return True

    def wait(self) -> None:
        """Wait until all work of the queue is done."""
        self._queue.synchronize()


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raise MemoryError where CUDA has no memory left."""
    driver = import_optional("numba.cuda.cudadrv.driver", "gpu")
    try:
        yield
    except driver.CudaAPIError as error:
        if error.code != driver.binding.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            raise
        raise MemoryError(str(error)) from None


def kernel_for(cuda: Any, layout: BatchLayout, arguments: tuple[Any, ...], registers: int) -> Any:
    """The kernel for arguments of these types; raises DoesNotCompile."""
    failed = import_optional("numba.cuda.errors", "gpu").UnsupportedBytecodeError
    signature = tuple(map(import_optional("numba.cuda.typing.typeof", "gpu").typeof, arguments))
    with _one_thread:
        known = layout.key, str(signature), registers, cuda.get_current_device().compute_capability
        if known not in _kernels:
            kernel = cuda.jit(kernel_source(cuda, layout), max_registers=registers, lto=False)  # lto fuses products
            code = fingerprint(CudaArrays, kernel_code), known, version("numba-cuda")
            backend.keep_on_disk(kernel, play_one_run, repr(code))
            try:
                with kernel_code(), no_garbage_collection():
                    kernel.compile(signature)
            except (*COMPILE_ERRORS, failed, NotImplementedError) as error:
                raise layout.player.does_not_compile(error) from None
            _kernels[known] = kernel
        next(iter(_kernels[known].overloads.values())).bind()  # two threads must not load it at once
        return _kernels[known]


def kernel_source(cuda: Any, layout: BatchLayout) -> Any:
    """The kernel as a Python function."""
    play_run = layout.function(CudaArrays(layout))
    let_kernels_call(play_run, forceinline=True)

    def kernel(
        policy: Any, belief: Any, cache: Any, world: Any, users: Any, start: Any, run: Any, curves: Any, kept: Any,
        scratch: Any, keys: Any, played: Any, sampled_positions: int, until: int,
    ) -> None:  # fmt: skip
        at = cuda.grid(1)
        if at < len(played):
            play_run(policy, belief, cache, world, users, start, run, curves, kept, scratch, keys, played, at,
                     sampled_positions, until)  # fmt: skip

    return kernel
