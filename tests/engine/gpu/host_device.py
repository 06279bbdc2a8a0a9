"""A stand-in for a GPU: the same batches and launches, played in plain Python on the host."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from toplist.engine.gpu.batch import Arguments, BatchLayout, play_one_run


class HostDevice:
    """Has the methods of `CudaDevice`; counts what it is asked to do."""

    def __init__(self, memory: int = 1 << 30) -> None:
        self.memory, self.batches, self.launches = memory, [], []  # type: ignore[var-annotated]

    def context(self) -> AbstractContextManager[None]:
        return nullcontext()

    def free_bytes(self) -> int:
        return self.memory

    def put(self, array: Any) -> Any:
        return np.array(array)

    def repeat(self, array: Any, times: int) -> Any:
        return np.repeat(array[None], times, axis=0)

    def overwrite(self, target: Any, array: Any) -> None:
        target[...] = array

    def fetch(self, array: Any) -> Any:
        return array.copy()

    def prepare(self, layout: BatchLayout, arguments: Arguments, played: Any) -> Any:
        self.batches.append(len(played))
        return layout.view

    def launch(self, view: Any, arguments: Arguments, played: Any, sampled_positions: int, until: int) -> Any:
        self.launches.append(until)
        for at in range(len(played)):
            play_one_run(view(*arguments, at), played, at, sampled_positions, until)
        return self

    def is_done(self, launched: Any) -> bool:
        return True

    def wait(self, launched: Any) -> None:
        pass
