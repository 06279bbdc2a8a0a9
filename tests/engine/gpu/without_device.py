"""Compiles for CUDA where there is no GPU: a compute capability is all that numba-cuda asks of one."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, NamedTuple

from host_device import HostDevice

from toplist.core.compiling.replaced import replaced
from toplist.engine.gpu.batch import BatchLayout
from toplist.engine.gpu.cuda_device import REGISTERS, kernel_for
from toplist.engine.gpu.cuda_target import numba_cuda
from toplist.support.files import import_optional

CAPABILITY = (9, 0)


class Capability(NamedTuple):
    """What numba-cuda asks of a device, or of its context, while it compiles."""

    compute_capability: tuple[int, int]

    @property
    def device(self) -> Capability:
        return self


def without_device(capability: tuple[int, int] = CAPABILITY) -> AbstractContextManager[None]:
    """Compile for devices of a compute capability where there is none, up to NVIDIA's assembly language."""
    dispatcher = import_optional("numba.cuda.dispatcher", "gpu")
    devices = import_optional("numba.cuda.cudadrv.devices", "gpu")
    nvrtc = import_optional("numba.cuda.cudadrv.nvrtc", "gpu")
    paths = import_optional("numba.cuda.cuda_paths", "gpu")
    return replaced(
        (numba_cuda(), "get_current_device", lambda: Capability(capability)),
        (dispatcher, "get_current_device", lambda: Capability(capability)),
        (devices, "get_context", lambda: Capability(capability)),
        # Else numba-cuda loads a library of 100 MB for this list, and wants its path.
        (nvrtc, "get_supported_ccs", lambda: (capability,)),
        (paths, "_get_nvrtc_path", lambda: None),
        (vars(dispatcher)["_Kernel"], "bind", lambda _: None),  # machine code is the driver's work
    )


class CompilingDevice(HostDevice):
    """A stand-in that compiles kernels for CUDA before it plays in plain Python."""

    def prepare(self, layout: BatchLayout, runs: int) -> Any:
        compiled_kernel(layout)
        return super().prepare(layout, runs)


def signature_of(layout: BatchLayout) -> tuple[Any, ...]:
    """The types of a kernel's arguments."""
    return tuple(map(import_optional("numba.cuda.typing.typeof", "gpu").typeof, layout.examples()))


def compiled_kernel(layout: BatchLayout, capability: tuple[int, int] = CAPABILITY) -> Any:
    """The kernel of a layout, not loaded."""
    with without_device(capability):
        return kernel_for(numba_cuda(), layout, layout.examples(), REGISTERS)
