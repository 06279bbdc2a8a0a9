"""Compiles the loop for CUDA with every policy, world, users and start of the catalogue; needs no GPU.

    make gpu-compile
    python tests/engine/gpu/compile_catalogue.py --as-played dcm-lsb

The first is for every change. NVIDIA's compiler does not optimise there, which takes less time and finds the same
errors, and what was compiled from the same source before is noted in the cache of machine code. The second compiles one
after the other, at the level at which a GPU plays, whatever is noted: for measurements of the time.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import numpy as np
from catalogue_problems import OTHERS, Problem, policies, problem_of
from without_device import CAPABILITY, signature_of, without_device

from toplist import make
from toplist.core.compiling import fingerprint
from toplist.core.compiling.numba_private import ContentCache
from toplist.core.compiling.numba_public import no_garbage_collection
from toplist.core.compiling.replaced import replaced
from toplist.engine.gpu import cuda_target
from toplist.engine.gpu.batch import BatchLayout
from toplist.engine.gpu.cuda_arrays import CudaArrays
from toplist.engine.gpu.cuda_device import kernel_source
from toplist.engine.gpu.cuda_target import kernel_code, numba_cuda
from toplist.engine.play import play_one_run
from toplist.engine.player import Player, RunSetup
from toplist.engine.shared_users import users_of_shared_types

COMPILED, NOTED, FAILED = "compiled", "noted", "failed"


def layout_of(problem: Problem) -> BatchLayout:
    """The layout of a problem's runs."""
    setup, *others = [
        RunSetup.of(make(problem.policy), problem.world, users, problem.start, 1000)
        for users in (problem.users, *problem.beside)
    ]
    if others:
        setup = setup._replace(users=users_of_shared_types([setup, *others])[0])
    return BatchLayout(Player(setup.on_gpu(), 0, np.array([1000]), compiled=False))


def assembly(name: str) -> str:
    """The kernel of a policy as played, in NVIDIA's assembly language; kept in the cache of machine code."""
    layout = layout_of(problem_of(name))
    kept, signature = KeptAssembly(layout, cuda_target.OPTIMISATION), signature_of(layout)
    found = kept.load_overload(signature, None)
    if found is None:
        found = assembly_of(layout, cuda_target.OPTIMISATION)
        kept.save_overload(signature, SimpleNamespace(library=None, text=found))
    return str(found)


def assembly_of(layout: BatchLayout, level: int) -> str:
    """The kernel of a layout; `level` is that of NVIDIA's optimisation."""
    cuda, signature = numba_cuda(), signature_of(layout)
    with without_device(), replaced((cuda_target, "OPTIMISATION", level)), kernel_code(), no_garbage_collection():
        text, _ = cuda.compile(kernel_source(cuda, layout), signature, cc=CAPABILITY, device=False, abi="numba")
    return str(text)


class CompiledNotes(ContentCache):
    """Notes in the cache of machine code that a kernel was compiled, without its code."""

    KIND = COMPILED

    def __init__(self, layout: BatchLayout, level: int) -> None:
        code = fingerprint(CudaArrays, kernel_code), layout.key, CAPABILITY, level
        versions = version("numba-cuda"), version("nvidia-nvvm")
        super().__init__(play_one_run, hashlib.sha256(repr((self.KIND, code, versions)).encode()).hexdigest())

    def pack(self, result: Any) -> Any:
        """That it was compiled."""
        return COMPILED


class KeptAssembly(CompiledNotes):
    """The same with its code."""

    KIND = "assembly"

    def pack(self, result: Any) -> Any:
        """The code."""
        return result.text


def compile_one(name: str, level: int, noted: bool) -> str:
    """Compile a policy or another problem unless that is noted, and print a line; what became of it."""
    begun, worked = time.monotonic(), time.process_time()
    try:
        layout = layout_of(problem_of(name))
        notes, signature = CompiledNotes(layout, level), signature_of(layout)
        if noted and notes.load_overload(signature, None) is not None:
            print(f"{name}: compiled before", flush=True)
            return NOTED
        size = len(assembly_of(layout, level))
    except Exception as error:
        print(f"{name}: FAILED, {type(error).__name__}: {str(error)[-600:]}", flush=True)
        return FAILED
    notes.save_overload(signature, SimpleNamespace(library=None))
    print(f"{name}: {size / 1e6:.1f} MB in {time.monotonic() - begun:.1f} s, "
          f"{time.process_time() - worked:.1f} of the processor", flush=True)  # fmt: skip
    return COMPILED


def compile_share(names: list[str], level: int = 0, noted: bool = True) -> list[str]:
    """Compile several in this process, where they share functions; what became of each."""
    return [compile_one(name, level, noted) for name in names]


def main(arguments: list[str] | None = None) -> int:
    """Compile all, or those named; 1 if one failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"policies, or some of {', '.join(OTHERS)}")
    parser.add_argument("--as-played", action="store_true", help="at the level at which a GPU plays, one by one")
    asked = parser.parse_args(arguments)
    names = asked.names or [*policies(), *OTHERS]
    if asked.as_played:
        outcomes = compile_share(names, cuda_target.OPTIMISATION, noted=False)
    else:  # policies over features take about half of the time, and share functions
        shares = [[name for name in names if needs_features(name) == needed] for needed in (True, False)]
        shares = list(filter(None, shares))
        with ProcessPoolExecutor(len(shares), multiprocessing.get_context("spawn")) as pool:
            outcomes = [outcome for share in pool.map(compile_share, shares) for outcome in share]
    counts = Counter(outcomes)
    print(f"for CUDA: {counts[COMPILED]} compiled, {counts[NOTED]} compiled before, {counts[FAILED]} failed")
    return min(counts[FAILED], 1)


def needs_features(name: str) -> bool:
    """Whether the policy of a problem learns from features."""
    return bool(make(problem_of(name).policy).capabilities().needs_features)


if __name__ == "__main__":
    sys.exit(main())
