"""A stand-in for a GPU: the same batches and launches, played in plain Python on the host."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

import numpy as np

from toplist.engine.gpu.batch import ArrayPlace, Batch, BatchLayout


class HostArrays:
    """Has the methods of `CudaArrays`: arrays stay where they are."""

    def take(self, place: ArrayPlace) -> Any:
        return place.view

    def give(self, place: ArrayPlace) -> Any:
        return lambda *_: None

    def fixed(self, like: Any) -> Any:
        return lambda array: array


class HostDevice:
    """Has the methods of `CudaDevice`; counts what it is asked to do."""

    def __init__(self, memory: int = 1 << 30) -> None:
        self.memory, self.batches, self.launches = memory, [], []  # type: ignore[var-annotated]

    def own_queue(self) -> Self:
        return self

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

    def prepare(self, layout: BatchLayout, batch: Batch) -> Any:
        self.batches.append(len(batch.played))
        return layout.function(HostArrays())

    def launch(self, play_run: Any, batch: Batch, sampled_positions: int, until: int) -> None:
        self.launches.append(until)
        for at in range(len(batch.played)):
            play_run(*batch.shared, *batch[1:], at, sampled_positions, until)

    def is_idle(self) -> bool:
        return True

    def wait(self) -> None:
        pass
