"""Plays all runs of a simulation in batches that fit the memory of the GPUs, all policies side by side."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any

import numpy as np

from toplist.core.compiling import DoesNotCompile
from toplist.core.problem import InvalidInput
from toplist.core.slate import Floats
from toplist.engine.gpu.batch import LANES, BatchLayout
from toplist.engine.gpu.cuda_device import gpus
from toplist.engine.player import Player, request_key
from toplist.engine.scheduler import SNAPSHOT_SECONDS, RunScheduler, Watch
from toplist.support.progress import Progress

LAUNCH_SECONDS = 0.2  # about how long a batch plays before it reports progress and Ctrl-C is heard
POLL_SECONDS = 0.001
FIRST_CHUNK = 64  # steps
REPORT_SECONDS = 0.1
UNITS = {"GB": 1e9, "MB": 1e6, "kB": 1e3}
LESS_MEMORY = "end what else uses the GPU, play fewer policies at once, or use engine='cpu'."

Waiting = tuple[int, dict[str, Any] | None]  # a run, and its snapshot if it was begun earlier


class RunBatch:
    """Runs of one policy on one GPU.

    Parameters
    ----------
    device : CudaDevice
        The GPU.
    kernel : Any
        From its `prepare`, for this layout.
    label : str
        Of the policy.
    layout : BatchLayout
        Of the policy's runs.
    runs : list of tuple
        The runs.
    keys : list of int
        Key of each run's requests.
    watch : callable or None
        Measures a player at every checkpoint.
    """

    def __init__(
        self,
        device: Any,
        kernel: Any,
        label: str,
        layout: BatchLayout,
        runs: list[Waiting],
        keys: list[int],
        watch: Watch | None,
    ) -> None:
        self.label, self._runs = label, [run for run, _ in runs]
        self._kernel, self._layout, self._watch = kernel, layout, watch
        self._checkpoints = layout.player.run.checkpoints
        self._steps = int(self._checkpoints[-1])
        self.chunk = FIRST_CHUNK  # steps of a launch
        self._begun = np.array([0 if unfinished is None else int(unfinished["step"]) for _, unfinished in runs])
        self._step = self._until = int(self._begun.min())  # of the run that has played least
        self._playing = False
        self._launched_at = 0.0
        self._saved_at = time.monotonic()
        with device.context():
            self._device = device = device.own_queue()
            with memory_needed(device, label, len(runs), layout):
                self._batch = layout.batch(keys, self._begun, device)
            unfinished = {at: snapshot for at, (_, snapshot) in enumerate(runs) if snapshot is not None}
            if unfinished:
                layout.restore(self._batch, unfinished, device)

    def poll(self) -> int:
        """Launch the next steps as soon as the last ones are played; number of steps that were played."""
        with self._device.context():
            if self._playing and not self._device.is_idle():
                return 0
            played = self._end_launch()
            if self._step < self._steps:
                self._launch()
            return played

    def stop(self) -> int:
        """Wait for the steps that were launched; their number."""
        with self._device.context():
            if self._playing:
                self._device.wait()
            return self._end_launch()

    def is_finished(self) -> bool:
        """Whether all steps are played."""
        return self._step == self._steps

    def outcomes(self) -> Iterator[tuple[int, Floats, list[int]]]:
        """Curves and detections of every run; all are finished."""
        self._check_played()
        if self._layout.player.policy.capabilities().detects:
            for run, player in self._players():
                yield run, player.run.curves.copy(), player.detections()
            return
        with self._device.context():
            curves = self._device.fetch(self._batch.curves)
        for at, run in enumerate(self._runs):
            yield run, curves[at], []

    def snapshots(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The state of every run that has begun; nothing may be playing."""
        self._check_played()
        self._saved_at = time.monotonic()
        for run, player in self._players():
            if player.step > 0:
                yield run, {name: np.copy(array) for name, array in player.state_arrays().items()}

    def is_snapshot_due(self) -> bool:
        """Whether a killed process would lose many seconds of play."""
        return time.monotonic() - self._saved_at > SNAPSHOT_SECONDS

    def _players(self) -> Iterator[tuple[int, Player]]:
        """Every run, and the player in its state."""
        with self._device.context():
            kept, curves = self._device.fetch(self._batch.kept), self._device.fetch(self._batch.curves)
        for at, run in enumerate(self._runs):
            yield run, self._layout.load(kept, curves, at, max(self._step, int(self._begun[at])))

    def _check_played(self) -> None:
        """Raise RuntimeError if the GPU stopped before the step until which runs were to be played."""
        with self._device.context():
            played = self._device.fetch(self._batch.played)
        behind = np.flatnonzero(played < self._step)
        if len(behind):
            raise RuntimeError(
                f"the GPU played {len(behind)} of {len(played)} runs of {self.label} only until step "
                f"{played[behind].min()} of {self._step}, and these are not kept; play again, or use engine='cpu'"
            )

    def _launch(self) -> None:
        until = min(self._steps, self._step + self.chunk)
        if self._watch is not None:
            until = min(until, int(self._checkpoints[np.searchsorted(self._checkpoints, self._step, side="right")]))
        self._until, self._launched_at = until, time.monotonic()
        positions = self._layout.player.setup.sampled_positions()
        with memory_needed(self._device, self.label, len(self._runs), self._layout):
            self._device.launch(self._kernel, self._batch, positions, until)
        self._playing = True

    def _end_launch(self) -> int:
        """Count the steps that were launched as played."""
        if not self._playing:
            return 0
        elapsed = time.monotonic() - self._launched_at
        if elapsed < LAUNCH_SECONDS / 2:
            self.chunk *= 2
        elif elapsed > LAUNCH_SECONDS:
            self.chunk = max(1, self.chunk // 2)
        before = np.maximum(self._begun, self._step).sum()
        self._step, self._playing = self._until, False
        if self._watch is not None:
            self._record_watched()
        return int(np.maximum(self._begun, self._step).sum() - before)

    def _record_watched(self) -> None:
        """At a checkpoint, write the watch's values next to regret and clicks."""
        at = int(np.searchsorted(self._checkpoints, self._step))
        if self._watch is None or self._checkpoints[at] != self._step:
            return
        curves = self._device.fetch(self._batch.curves)
        for number, (_, player) in enumerate(self._players()):
            if player.step == self._step:
                curves[number, at, 2] = self._watch(player)
        self._device.overwrite(self._batch.curves, curves)


class BatchScheduler(RunScheduler):
    """All runs of all policies, on all GPUs of this machine; the same outcomes and files as on the CPU."""

    def play(
        self,
        threads: int,
        progress: Callable[[Progress], None] | None,
        pool: Executor | None = None,
        devices: list[Any] | None = None,
    ) -> dict[str, Floats]:
        """Curves of all policies, as `RunScheduler.play`; no threads or pools are used."""
        if pool is not None:
            raise InvalidInput("engine='gpu' plays on the GPUs of this machine, but a pool was given; leave out one.")
        devices = gpus() if devices is None else devices
        begun, reported = time.monotonic(), 0.0

        def report() -> None:
            if progress is not None:
                progress(Progress(self._done, self.total, time.monotonic() - begun, self.earlier))

        report()
        playing: list[RunBatch] = []
        try:
            for batches in self._rounds(devices):
                playing = batches
                while playing:
                    played = [batch.poll() for batch in playing]
                    self._done += sum(played)
                    self._collect_finished(playing)
                    if self._file.has_path and any(batch.is_snapshot_due() for batch in playing):
                        self._keep(playing)
                    self._save(throttled=True)
                    if not any(played):
                        time.sleep(POLL_SECONDS)
                    if time.monotonic() - reported > REPORT_SECONDS:
                        reported = time.monotonic()
                        report()
        finally:
            try:
                self._keep(playing)
            finally:
                self._save()
        report()
        return self.curves

    def _rounds(self, devices: list[Any]) -> Iterator[list[RunBatch]]:
        """Batches that fit the GPUs together: as many runs of every policy as each GPU has room for."""
        waiting: dict[str, list[Waiting]] = {label: [] for label in self._setups}
        for label, run, unfinished in self._waiting:
            waiting[label].append((run, unfinished))
        columns = 2 if self._watch is None else 3
        layouts = {
            label: BatchLayout(
                Player(self._setups[label].on_gpu(), 0, self._checkpoints, compiled=False, columns=columns)
            )
            for label, runs in waiting.items()
            if runs
        }
        kernels: dict[tuple[int, str], Any] = {}
        begin, most = 0, max((len(runs) for runs in waiting.values()), default=0)
        needed = sum(layout.run_bytes() for layout in layouts.values())
        while begin < most:
            tile = LANES * needed
            free = [_free_bytes(device, -(-(most - begin) // LANES) * tile) for device in devices]
            sizes = shares(most - begin, [each // tile * LANES for each in free])
            if not any(sizes):
                raise InvalidInput(
                    f"{LANES} runs of each policy take {memory_text(tile)}, but the GPU has {memory_text(max(free))} "
                    f"free; {LESS_MEMORY}"
                )
            if not kernels:  # all of them, so that what cannot be compiled is told before anything is played
                devices = [device for device, size in zip(devices, sizes, strict=True) if size]
                sizes = [size for size in sizes if size]
                kernels = {
                    (number, label): _kernel(device, label, layout, min(sizes[number], len(waiting[label])))
                    for label, layout in layouts.items()
                    for number, device in enumerate(devices)
                }
            ends = np.cumsum([begin, *sizes]).tolist()
            yield [
                RunBatch(
                    device, kernels[number, label], label, layout, share,
                    [request_key(self._key(run)) for run, _ in share], self._watch,
                )
                for label, layout in layouts.items()
                for number, device in enumerate(devices)
                if (share := waiting[label][ends[number] : ends[number + 1]])
            ]  # fmt: skip
            begin = ends[-1]

    def _collect_finished(self, playing: list[RunBatch]) -> None:
        """Take the batches that are finished out of those that play; when this returns, nobody has their memory."""
        for batch in [batch for batch in playing if batch.is_finished()]:
            playing.remove(batch)
            for run, curves, detections in batch.outcomes():
                self.curves[batch.label][run] = curves
                self._file.add_finished(batch.label, run, curves, detections)

    def _keep(self, playing: list[RunBatch]) -> None:
        """Hand the state of unfinished runs to the resume file."""
        for batch in playing:
            self._done += batch.stop()
        if self._file.has_path:
            for batch in playing:
                for run, snapshot in batch.snapshots():
                    self._file.add_unfinished(batch.label, run, snapshot)


def _free_bytes(device: Any, enough: int) -> int:
    """Memory for batches on a GPU; more than enough need not be found."""
    with device.context():
        free: int = device.free_bytes(enough)
        return free


def shares(runs: int, rooms: Sequence[int]) -> list[int]:
    """How many of the runs each GPU takes: equally many, where there is room for them.

    >>> shares(10, [8, 2, 8]), shares(10, [0, 4])
    ([4, 2, 4], [0, 4])
    """
    sizes = [0] * len(rooms)
    for others, number in zip(range(len(rooms) - 1, -1, -1), np.argsort(rooms, kind="stable").tolist(), strict=True):
        sizes[number] = min(rooms[number], -(-(runs - sum(sizes)) // (others + 1)))
    return sizes


@contextmanager
def memory_needed(device: Any, label: str, runs: int, layout: BatchLayout) -> Iterator[None]:
    """Say what was asked and what to do, where a GPU has no memory left."""
    try:
        yield
    except MemoryError as error:
        raise MemoryError(
            f"the GPU ran out of memory: {runs} runs of {label} take {memory_text(runs * layout.run_bytes())}, and "
            f"{memory_text(device.free_bytes(0))} are free ({error}); {LESS_MEMORY}"
        ) from None


def memory_text(size: float) -> str:
    """A size of memory as people read it.

    >>> memory_text(1234), memory_text(5.06e10)
    ('1.2 kB', '50.6 GB')
    """
    unit = next((unit for unit in ("GB", "MB") if size >= UNITS[unit]), "kB")
    return f"{size / UNITS[unit]:.1f} {unit}"


def _kernel(device: Any, label: str, layout: BatchLayout, runs: int) -> Any:
    """The kernel of a policy on a GPU, for batches of up to this many runs."""
    with device.context(), memory_needed(device, label, runs, layout):
        try:
            return device.prepare(layout, runs)
        except DoesNotCompile as error:
            reason = str(error).rstrip(".")
            raise DoesNotCompile(f"engine='gpu' cannot play {label}: {reason}; use engine='cpu'.") from None
