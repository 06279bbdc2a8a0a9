"""A stand-in for a GPU: the same batches and launches, played in plain Python on the host."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import pytest

from toplist.engine import batch_scheduler
from toplist.engine.gpu import cuda_device
from toplist.engine.gpu.batch import ArrayPlace, Batch, BatchLayout, HostMemory

_current: list[HostDevice] = []  # the GPU on which things happen is the last one


class HostArrays:
    """Has the methods of `CudaArrays`: arrays stay where they are."""

    def take(self, place: ArrayPlace) -> Any:
        return place.view

    def give(self, place: ArrayPlace) -> Any:
        return lambda *_: None

    def fixed(self, like: Any) -> Any:
        return lambda array: array


class HostDevice(HostMemory):
    """Has the methods of `CudaDevice`; counts what it is asked to do, and checks that it is the current GPU then."""

    def __init__(self, memory: int = 1 << 30) -> None:
        self.memory, self._taken = memory, 0  # bytes, in all and of arrays that somebody still has
        self.prepared: list[int] = []  # runs of a batch at most, for each kernel
        self.batches: list[int] = []  # runs
        self.launches: list[int] = []  # until which step
        self.fails_at = -1  # launch that finds no memory
        self.stops_at = 1 << 60  # step after which runs are not played, though nobody says so
        self._launched: list[Any] = []

    @contextmanager
    def context(self) -> Iterator[None]:
        _current.append(self)
        try:
            yield
        finally:
            _current.pop()

    def name(self) -> str:
        return "a stand-in"

    def _check_current(self) -> None:
        assert _current[-1:] == [self], "this GPU is not the current one, so another would be asked"

    def own_queue(self) -> Self:
        self._check_current()
        return self

    def free_bytes(self, enough: int) -> int:
        self._check_current()
        return self.memory - self._taken

    def _take(self, array: Any) -> Any:
        """Count an array until nobody has it any more."""
        if self._taken + array.nbytes > self.memory:
            raise MemoryError("CUDA_ERROR_OUT_OF_MEMORY")
        self._taken += array.nbytes
        weakref.finalize(array, self._give_back, array.nbytes)
        return array

    def _give_back(self, size: int) -> None:
        self._taken -= size

    def put(self, array: Any) -> Any:
        self._check_current()
        return self._take(super().put(array))

    def repeat(self, array: Any, times: int) -> Any:
        self._check_current()
        return self._take(super().repeat(array, times))

    def overwrite(self, target: Any, array: Any) -> None:
        self._check_current()
        target[...] = array

    def fetch(self, array: Any) -> Any:
        self._check_current()
        return array.copy()

    def prepare(self, layout: BatchLayout, runs: int) -> Any:
        self._check_current()
        self.prepared.append(runs)
        return layout.function(HostArrays())

    def launch(self, play_run: Any, batch: Batch, sampled_positions: int, until: int) -> None:
        self._check_current()
        if len(self.launches) == self.fails_at:
            raise MemoryError("CUDA_ERROR_OUT_OF_MEMORY")
        if not any(batch.played is played() for played in self._launched):
            self._launched.append(weakref.ref(batch.played))
            self.batches.append(len(batch.played))
        self.launches.append(until)
        for at in range(len(batch.played)):
            play_run(*batch.shared, *batch[1:], at, sampled_positions, min(until, self.stops_at))

    def is_idle(self) -> bool:
        self._check_current()
        return True

    def wait(self) -> None:
        self._check_current()


def install_stand_ins(monkeypatch: pytest.MonkeyPatch, devices: list[Any]) -> list[Any]:
    """Let engine="gpu" play on stand-ins."""
    monkeypatch.setattr(cuda_device, "gpus", lambda: devices)
    monkeypatch.setattr(batch_scheduler, "gpus", lambda: devices)
    return devices
