"""Plays all runs of a simulation on threads or a pool of workers, and saves finished work even if interrupted."""

from __future__ import annotations

import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints
from toplist.engine.player import Player, RunSetup
from toplist.engine.resume_file import ResumeFile
from toplist.support.progress import Progress

CHUNK_SECONDS = 0.05  # about how long a run plays before it reports progress and checks for Ctrl-C
LONG_SECONDS = 0.005  # a run that takes longer is collected at once; shorter ones together, ten times a second
SNAPSHOT_SECONDS = 5.0  # how often a long run takes a snapshot, all that remains of it if the process is killed


Watch = Callable[[Player], float]  # measures a player at a checkpoint; recorded next to regret and clicks


class RunOutcome(NamedTuple):
    """A run that was finished or stopped."""

    label: str
    run: int
    curves: Floats | None  # (checkpoints, 2), or 3 with a watch; None if stopped
    detections: list[int]
    unfinished: dict[str, Any] | None  # the player's state, if stopped


class RunScheduler:
    """All runs of all policies. Only the thread that calls `play` uses the resume file."""

    def __init__(
        self,
        setups: dict[str, RunSetup],
        checkpoints: Ints,
        runs: int,
        seed: int,
        file: ResumeFile,
        watch: Watch | None = None,
    ) -> None:
        self._setups, self._checkpoints, self._seed, self._file = setups, checkpoints, seed, file
        self._watch = watch
        self._runs, self._steps = runs, int(checkpoints[-1])
        self.total = len(setups) * runs * self._steps  # steps
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._snapshots: dict[tuple[str, int], dict[str, Any]] = {}
        self._ended: list[RunOutcome] = []  # by threads, and not collected yet
        self._news = threading.Event()  # there is something to collect
        self._chunks = dict.fromkeys(setups, 16)  # steps that a run plays at once
        self._warned = False
        columns = 2 if watch is None else 3
        self.curves: dict[str, Floats] = {label: np.zeros((runs, len(checkpoints), columns)) for label in setups}
        self._waiting: deque[tuple[str, int, dict[str, Any] | None]] = deque()
        # Run by run, not policy by policy: after an interruption, the finished runs of all policies can be compared.
        for run in range(runs):
            for label in setups:
                finished = file.finished(label, run)
                if finished is None:
                    self._waiting.append((label, run, file.unfinished(label, run)))
                else:
                    self.curves[label][run] = finished
        unfinished_steps = sum(int(unfinished["step"]) for _, _, unfinished in self._waiting if unfinished)
        self.earlier = self._done = self.total - len(self._waiting) * self._steps + unfinished_steps  # by earlier calls

    def play(
        self, threads: int, progress: Callable[[Progress], None] | None, pool: Executor | None = None
    ) -> dict[str, Floats]:
        """Curves of all policies, (runs, checkpoints, 2) each: regret and clicks; with a watch, 3 columns.

        Runs are played on threads of this process, or on the workers of `pool`, which is not shut down.
        """
        begun = time.monotonic()

        def report() -> None:
            if progress is not None:
                progress(Progress(self._done, self.total, time.monotonic() - begun, self.earlier))

        report()
        own = ThreadPoolExecutor(threads) if pool is None else None
        futures: list[Future[Any]] = []
        try:
            if own is not None:
                futures += [own.submit(self._play_runs) for _ in range(min(threads, len(self._waiting)))]
            elif pool is not None:
                for label, run, unfinished in self._waiting:
                    arguments = self._setups[label], self._key(run), self._checkpoints, self._watch
                    futures.append(pool.submit(play_whole_run, label, run, unfinished, *arguments))
            for future in futures:
                future.add_done_callback(lambda _: self._news.set())
            pending = futures
            while pending:
                self._news.wait(0.1)
                self._news.clear()
                ended, pending = (
                    [each for each in pending if each.done()],
                    [each for each in pending if not each.done()],
                )
                self._collect(ended)
                if own is None:  # workers of a pool do not report steps: count whole runs
                    self._done = max(self._done, self.total - len(pending) * self._steps)
                for future in ended:
                    future.result()  # raises the run's exception
                self._save(throttled=True)
                report()
        finally:
            self._stopped.set()  # runs stop after their chunk
            if own is not None:
                own.shutdown(wait=True, cancel_futures=True)
            for future in futures:
                future.cancel()
            # All futures again: the interruption may have come before some were collected.
            self._collect([future for future in futures if future.done()])
            self._save()
        return self.curves

    def detections(self) -> dict[str, list[list[int]]]:
        """Steps at which each policy with change detection found a change, per run."""
        able = [label for label, setup in self._setups.items() if setup.policy.capabilities().detects]
        return {label: [self._file.detections(label, run) for run in range(self._runs)] for label in able}

    def breakpoints(self) -> list[list[int]]:
        """Steps after which the world changed abruptly, per run; empty if it changed in no run."""
        setup = next(iter(self._setups.values()))
        if not setup.has_breakpoints():
            return []
        steps = [setup.breakpoints(self._key(run)) for run in range(self._runs)]
        return steps if any(steps) else []

    def _key(self, run: int) -> int:
        """Key of a run, the same for every policy."""
        return branch(self._seed, run)

    def _save(self, throttled: bool = False) -> None:
        """Write the resume file; if that fails, warn and continue the simulation."""
        try:
            self._file.save(throttled)
        except (OSError, InvalidInput) as error:
            if not self._warned:
                warnings.warn(f"The resume file could not be written, and is tried again: {error}", stacklevel=3)
            self._warned = True

    def _play_runs(self) -> None:
        """Play runs on a thread until none is left; the arrays of a player serve all its runs."""
        players: dict[str, Player] = {}
        while not self._stopped.is_set():
            with self._lock:
                if not self._waiting:
                    return
                label, run, unfinished = self._waiting.popleft()
            begun = time.monotonic()
            outcome = self._play_run(label, run, unfinished, players)
            with self._lock:
                self._ended.append(outcome)
            if time.monotonic() - begun > LONG_SECONDS:
                self._news.set()

    def _play_run(
        self, label: str, run: int, unfinished: dict[str, Any] | None, players: dict[str, Player]
    ) -> RunOutcome:
        """Play one run on a thread, in chunks of about `CHUNK_SECONDS`."""
        player = players.get(label)
        if unfinished is not None or player is None or not player.restart(self._key(run)):
            player = prepared_player(self._setups[label], self._key(run), self._checkpoints, self._watch, unfinished)
            if unfinished is None and self._runs > 1:
                player.keep_fresh()
                players[label] = player
        chunk, snapshot_at = self._chunks[label], time.monotonic()
        while player.step < self._steps and not self._stopped.is_set():
            before, clock = player.step, time.monotonic()
            play_until(player, min(self._steps, player.step + chunk), self._watch)
            now = time.monotonic()
            if now - clock < CHUNK_SECONDS / 2:
                chunk *= 2 if player.step - before == chunk else 1
            elif now - clock > CHUNK_SECONDS:
                chunk = max(1, chunk // 2)
            with self._lock:
                self._done += player.step - before
                if self._file.has_path and now - snapshot_at > SNAPSHOT_SECONDS:
                    copies = {name: np.copy(array) for name, array in player.state_arrays().items()}
                    self._snapshots[label, run] = copies
                    snapshot_at = now
        self._chunks[label] = chunk
        if player.step < self._steps:
            # A run that was stopped before its first step has nothing to keep.
            return RunOutcome(label, run, None, [], player.state_arrays() if player.step > 0 else None)
        return RunOutcome(label, run, player.run.curves.copy(), player.detections(), None)

    def _collect(self, ended: Iterable[Future[Any]]) -> None:
        """Hand snapshots of running runs and the outcomes of ended ones to the resume file."""
        with self._lock:
            snapshots, self._snapshots = self._snapshots, {}
            outcomes, self._ended = self._ended, []
        for (label, run), snapshot in snapshots.items():
            self._file.add_unfinished(label, run, snapshot)
        results = [each.result() for each in ended if not each.cancelled() and each.exception() is None]
        for label, run, curves, detections, unfinished in [*outcomes, *(each for each in results if each is not None)]:
            if curves is not None:
                self.curves[label][run] = curves
                self._file.add_finished(label, run, curves, detections)
            elif unfinished is not None:
                self._file.add_unfinished(label, run, unfinished)


def prepared_player(setup: RunSetup, key: int, checkpoints: Ints, watch: Watch | None, unfinished: Any) -> Player:
    """A player at the beginning of a run, or at its snapshot."""
    player = Player(setup, key, checkpoints, compiled=setup.compiled, columns=2 if watch is None else 3)
    if unfinished is not None:
        player.restore(unfinished)
    return player


def play_until(player: Player, until: int, watch: Watch | None) -> None:
    """Play up to a step and call `watch` at every checkpoint on the way."""
    while watch is not None and player.step < until:
        upcoming = int(np.searchsorted(player.run.checkpoints, player.step, side="right"))
        player.play(min(until, int(player.run.checkpoints[upcoming])))
        if player.step == player.run.checkpoints[upcoming]:
            player.run.curves[upcoming, 2] = watch(player)
    player.play(until)


def play_whole_run(
    label: str, run: int, unfinished: Any, setup: RunSetup, key: int, checkpoints: Ints, watch: Watch | None
) -> RunOutcome:
    """Play one run as a whole, for pools whose workers share nothing with this process."""
    player = prepared_player(setup, key, checkpoints, watch, unfinished)
    play_until(player, int(checkpoints[-1]), watch)
    return RunOutcome(label, run, player.run.curves, player.detections(), None)
