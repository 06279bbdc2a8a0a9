"""Plays all runs of a simulation on a pool of threads, and keeps what was played however it ends."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import numpy as np

from toplist.engine.player import Player, Setting
from toplist.engine.store import Store
from toplist.problem import InvalidInput
from toplist.randomness import branch
from toplist.slate import Floats, Ints

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


class Crew:
    """All runs of all policies. Only the thread that calls `play` touches the store."""

    def __init__(self, settings: dict[str, Setting], checkpoints: Ints, runs: int, seed: int, store: Store) -> None:
        self._settings, self._checkpoints, self._seed, self._store = settings, checkpoints, seed, store
        self._runs, self._steps = runs, int(checkpoints[-1])
        self.total = len(settings) * runs * self._steps  # steps
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._aside: dict[tuple[str, int], dict[str, Any]] = {}
        self._warned = False
        self.curves: dict[str, Floats] = {label: np.zeros((runs, len(checkpoints), 2)) for label in settings}
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

    def play(self, threads: int, progress: Callable[[Progress], None] | None) -> dict[str, Floats]:
        """Curves of all policies, (runs, checkpoints, 2) each: regret and clicks."""
        begun = time.monotonic()

        def report() -> None:
            if progress is not None:
                progress(Progress(self._done, self.total, time.monotonic() - begun, self.earlier))

        report()
        pool = ThreadPoolExecutor(threads)
        everybody: set[Future[tuple[str, int, Player]]] = set()
        try:
            for run in self._waiting:
                everybody.add(pool.submit(self._play_one, *run))
            pending = everybody
            while pending:
                ended, pending = wait(pending, timeout=0.1, return_when=FIRST_COMPLETED)
                self._keep(ended)
                for future in ended:
                    future.result()  # raises what the run raised
                self._save(at_most_every=2.0)
                report()
        finally:
            self._stopped.set()  # runs stop after their chunk
            pool.shutdown(wait=True, cancel_futures=True)
            self._keep(everybody)  # again all of them: this may have begun anywhere
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

    def _save(self, at_most_every: float = 0.0) -> None:
        """A file that cannot be written costs the resumption, never the simulation."""
        try:
            self._store.save(at_most_every)
        except (OSError, InvalidInput) as error:
            if not self._warned:
                warnings.warn(f"What was played could not be saved, and is tried again: {error}", stacklevel=3)
            self._warned = True

    def _play_one(self, label: str, run: int, unfinished: dict[str, Any] | None) -> tuple[str, int, Player]:
        player = Player(self._settings[label], self._key(run), self._checkpoints)
        if unfinished is not None:
            player.take_up(unfinished)
        chunk, put_aside = 16, time.monotonic()
        while player.step < self._steps and not self._stopped.is_set():
            before, clock = player.step, time.monotonic()
            player.play(min(self._steps, player.step + chunk))
            now = time.monotonic()
            if now - clock < CHUNK_SECONDS / 2:
                chunk *= 2
            elif now - clock > CHUNK_SECONDS:
                chunk = max(1, chunk // 2)
            with self._lock:
                self._done += player.step - before
                if self._store.keeps and now - put_aside > ASIDE_SECONDS:
                    self._aside[label, run] = {name: np.copy(array) for name, array in player.put_aside().items()}
                    put_aside = now
        return label, run, player

    def _keep(self, ended: Iterable[Future[tuple[str, int, Player]]]) -> None:
        """Hand the store what runs have put aside on their way, and those that ended, finished or not."""
        with self._lock:
            aside, self._aside = self._aside, {}
        for (label, run), kept in aside.items():
            self._store.keep_unfinished(label, run, kept)
        for future in ended:
            if future.cancelled() or future.exception() is not None:
                continue
            label, run, player = future.result()
            if player.step == self._steps:
                self.curves[label][run] = player.run.curves
                self._store.keep_finished(label, run, player.run.curves, player.detections())
            else:
                self._store.keep_unfinished(label, run, player.put_aside())
