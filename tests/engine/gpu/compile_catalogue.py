"""Compiles the loop for CUDA with every policy of the catalogue; `make gpu-compile`, which needs no GPU."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from catalogue_problems import USERS, policies, world_for
from host_device import HostDevice

from toplist import make
from toplist.core.compiling.numba_public import rare_garbage_collection
from toplist.core.compiling.replaced import replaced
from toplist.engine.gpu.batch import BatchLayout
from toplist.engine.gpu.cuda_device import kernel_source
from toplist.engine.gpu.cuda_target import kernel_code, numba_cuda
from toplist.engine.player import Player, RunSetup
from toplist.engine.starts import OneSample
from toplist.support.files import import_optional

CAPABILITY = (9, 0)


class Capability(NamedTuple):
    """What numba-cuda asks of a device while it compiles."""

    compute_capability: tuple[int, int]


def without_device() -> AbstractContextManager[None]:
    """Compile for devices of a compute capability where there is none."""
    dispatcher = import_optional("numba.cuda.dispatcher", "gpu")
    nvrtc = import_optional("numba.cuda.cudadrv.nvrtc", "gpu")
    paths = import_optional("numba.cuda.cuda_paths", "gpu")
    return replaced(
        (dispatcher, "get_current_device", lambda: Capability(CAPABILITY)),
        # Else numba-cuda loads a library of 100 MB for this list, and wants its path.
        (nvrtc, "get_supported_ccs", lambda: (CAPABILITY,)),
        (paths, "_get_nvrtc_path", lambda: None),
    )


def assembly(policy: str, world: Any = None, users: Any = USERS) -> str:
    """The kernel of a policy in NVIDIA's assembly language."""
    cuda = numba_cuda()
    typeof = import_optional("numba.cuda.typing.typeof", "gpu").typeof
    setup = RunSetup.of(make(policy), world_for(policy) if world is None else world, users, OneSample(), 1000)
    layout = BatchLayout(Player(setup.on_gpu(), 0, np.array([1000]), compiled=False))
    batch = layout.batch([1, 2], np.zeros(2, dtype=np.int64), HostDevice())
    arguments = (*batch.shared, *batch[1:], 1, 1000)
    with without_device(), kernel_code(), rare_garbage_collection():
        signature = tuple(map(typeof, arguments))
        text, _ = cuda.compile(kernel_source(cuda, layout), signature, cc=CAPABILITY, device=False, abi="numba")
    return str(text)


def main() -> int:
    """Compile all, or the policies named; the number of failures."""
    failed = 0
    for policy in sys.argv[1:] or policies():
        begun, worked = time.monotonic(), time.process_time()
        try:
            size = len(assembly(policy))
        except Exception as error:
            failed += 1
            print(f"{policy}: FAILED, {type(error).__name__}: {str(error)[-600:]}", flush=True)
        else:
            print(f"{policy}: {size / 1e6:.1f} MB in {time.monotonic() - begun:.1f} s, "
                  f"{time.process_time() - worked:.1f} of the processor", flush=True)  # fmt: skip
    return failed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
