"""Plays all runs of a simulation, on threads or on any pool of workers, and keeps what was played however it ends."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np

from toplist.core.problem import InvalidInput
from toplist.core.randomness import branch
from toplist.core.slate import Floats, Ints
from toplist.engine.player import Player, RunSetup
from toplist.engine.resume_file import ResumeFile

CHUNK_SECONDS = 0.05  # about how long a run plays on before it looks up, for progress and Ctrl-C
ASIDE_SECONDS = 5.0  # how often a long run puts aside what a killed process must not lose


class Progress(NamedTuple):
    """How far a simulation is."""

    done: int  # steps, of all policies and runs together
    total: int
    seconds: float  # since the call
    earlier: int = 0  # of the steps done, those that an earlier call had played

    @property
    def remaining(self) -> float:
        """Seconds left at the rate so far."""
        if self.done == self.total:
            return 0.0
        played = self.done - self.earlier
        return (self.total - self.done) * self.seconds / played if played else float("inf")


Watch = Callable[[Player], float]  # given a player at a checkpoint, a number to keep beside regret and clicks


class RunOutcome(NamedTuple):
    """A run that came to its end, or was stopped before."""

    label: str
    run: int
    curves: Floats | None  # (checkpoints, 2), or 3 with what was watched; None where it was stopped
    detections: list[int]
    unfinished: dict[str, Any] | None  # what is needed to go on


class RunScheduler:
    """All runs of all policies. Only the thread that calls `play` touches the store."""

    def __init__(
        self,
        settings: dict[str, RunSetup],
        checkpoints: Ints,
        runs: int,
        seed: int,
        store: ResumeFile,
        watch: Watch | None = None,
    ) -> None:
        self._settings, self._checkpoints, self._seed, self._store = settings, checkpoints, seed, store
        self._watch = watch
        self._runs, self._steps = runs, int(checkpoints[-1])
        self.total = len(settings) * runs * self._steps  # steps
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._aside: dict[tuple[str, int], dict[str, Any]] = {}
        self._warned = False
        columns = 2 if watch is None else 3
        self.curves: dict[str, Floats] = {label: np.zeros((runs, len(checkpoints), columns)) for label in settings}
        self._waiting: list[tuple[str, int, dict[str, Any] | None]] = []
        # Run by run rather than policy by policy, so that what an interruption leaves behind can be compared.
        for run in range(runs):
            for label in settings:
                finished = store.finished(label, run)
                if finished is None:
                    self._waiting.append((label, run, store.unfinished(label, run)))
                else:
                    self.curves[label][run] = finished
        put_aside = sum(int(unfinished["step"]) for _, _, unfinished in self._waiting if unfinished)
        self.earlier = self._done = self.total - len(self._waiting) * self._steps + put_aside  # played by earlier calls

    def play(
        self, threads: int, progress: Callable[[Progress], None] | None, pool: Executor | None = None
    ) -> dict[str, Floats]:
        """Curves of all policies, (runs, checkpoints, 2) each: regret and clicks, and what was watched.

        Runs are played on so many threads of this process, or as `pool` has it, which is not shut down.
        """
        begun = time.monotonic()

        def report() -> None:
            if progress is not None:
                progress(Progress(self._done, self.total, time.monotonic() - begun, self.earlier))

        report()
        own = ThreadPoolExecutor(threads) if pool is None else None
        everybody: set[Future[RunOutcome]] = set()
        try:
            for label, run, unfinished in self._waiting:
                if own is not None:
                    everybody.add(own.submit(self._play_one, label, run, unfinished))
                elif pool is not None:
                    given = self._settings[label], self._key(run), self._checkpoints, self._watch
                    everybody.add(pool.submit(play_whole_run, label, run, unfinished, *given))
            pending = everybody
            while pending:
                ended, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
                self._keep(ended)
                if own is None:  # who plays elsewhere cannot count on the way
                    self._done = max(self._done, self.total - len(pending) * self._steps)
                for future in ended:
                    future.result()  # raises what the run raised
                self._save(patient=True)
                report()
        finally:
            self._stopped.set()  # runs stop after their chunk
            if own is not None:
                own.shutdown(wait=True, cancel_futures=True)
            for future in everybody:
                future.cancel()
            # Again all of them: this may have begun anywhere.
            self._keep(future for future in everybody if future.done())
            self._save()
        return self.curves

    def detections(self) -> dict[str, list[list[int]]]:
        """Per policy that looks for changes and run, at which steps it found one."""
        able = [label for label, setting in self._settings.items() if setting.policy.capabilities().detects]
        return {label: [self._store.detections(label, run) for run in range(self._runs)] for label in able}

    def breakpoints(self) -> list[list[int]]:
        """Per run, after how many steps the world changed abruptly; empty where it did in none."""
        setting = next(iter(self._settings.values()))
        found = [setting.breakpoints(self._key(run)) for run in range(self._runs)]
        return found if any(found) else []

    def _key(self, run: int) -> int:
        """The key of a run, the same for every policy."""
        return branch(self._seed, run)

    def _save(self, patient: bool = False) -> None:
        """A file that cannot be written costs the resumption, never the simulation."""
        try:
            self._store.save(patient)
        except (OSError, InvalidInput) as error:
            if not self._warned:
                warnings.warn(f"What was played could not be saved, and is tried again: {error}", stacklevel=3)
            self._warned = True

    def _play_one(self, label: str, run: int, unfinished: dict[str, Any] | None) -> RunOutcome:
        player = prepared_player(self._settings[label], self._key(run), self._checkpoints, self._watch, unfinished)
        chunk, put_aside = 16, time.monotonic()
        while player.step < self._steps and not self._stopped.is_set():
            before, clock = player.step, time.monotonic()
            play_until(player, min(self._steps, player.step + chunk), self._watch)
            now = time.monotonic()
            if now - clock < CHUNK_SECONDS / 2:
                chunk *= 2
            elif now - clock > CHUNK_SECONDS:
                chunk = max(1, chunk // 2)
            with self._lock:
                self._done += player.step - before
                if self._store.keeps and now - put_aside > ASIDE_SECONDS:
                    self._aside[label, run] = {name: np.copy(array) for name, array in player.state_arrays().items()}
                    put_aside = now
        if player.step < self._steps:
            return RunOutcome(label, run, None, [], player.state_arrays())
        return RunOutcome(label, run, player.run.curves, player.detections(), None)

    def _keep(self, ended: Iterable[Future[RunOutcome]]) -> None:
        """Hand the store what runs have put aside on their way, and those that ended, finished or not."""
        with self._lock:
            aside, self._aside = self._aside, {}
        for (label, run), kept in aside.items():
            self._store.keep_unfinished(label, run, kept)
        for future in ended:
            if future.cancelled() or future.exception() is not None:
                continue
            label, run, curves, detections, unfinished = future.result()
            if curves is not None:
                self.curves[label][run] = curves
                self._store.keep_finished(label, run, curves, detections)
            elif unfinished is not None:
                self._store.keep_unfinished(label, run, unfinished)


def prepared_player(setting: RunSetup, key: int, checkpoints: Ints, watch: Watch | None, unfinished: Any) -> Player:
    """A player at the beginning of a run, or where it was put aside."""
    player = Player(setting, key, checkpoints, columns=2 if watch is None else 3)
    if unfinished is not None:
        player.restore(unfinished)
    return player


def play_until(player: Player, until: int, watch: Watch | None) -> None:
    """Play up to a step, and on the way watch at every checkpoint."""
    while watch is not None and player.step < until:
        upcoming = int(np.searchsorted(player.run.checkpoints, player.step, side="right"))
        player.play(min(until, int(player.run.checkpoints[upcoming])))
        if player.step == player.run.checkpoints[upcoming]:
            player.run.curves[upcoming, 2] = watch(player)
    player.play(until)


def play_whole_run(
    label: str, run: int, unfinished: Any, setting: RunSetup, key: int, checkpoints: Ints, watch: Watch | None
) -> RunOutcome:
    """One run as a whole, for a pool whose workers share nothing with this process."""
    player = prepared_player(setting, key, checkpoints, watch, unfinished)
    play_until(player, int(checkpoints[-1]), watch)
    return RunOutcome(label, run, player.run.curves, player.detections(), None)
