"""The playground: runs simulations in processes of their own, so many at once, and the others in turn."""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from time import monotonic
from typing import Any

from toplist.policies.own import loaded_sources
from toplist.service.errors import NotFound, TooManyReads
from toplist.service.playground.plan import SimulationPlan, python_of
from toplist.service.playground.simulate_apart import OUT_OF_MEMORY
from toplist.service.playground_settings import PlaygroundSettings
from toplist.service.process_apart import command_apart

NICENESS = 10  # of its processes
LONGEST_LINE = 1 << 20  # bytes
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
OFF = "The playground is off on this server; turn it on with the setting playground.enabled."

Told = dict[str, Any]  # an event of a simulation, with its kind as "event"


class QueuedSimulation:
    """A simulation that waits, runs or has ended; `end` ends it in any of these states."""

    def __init__(self, playground: Playground, plan: SimulationPlan, model: str | None) -> None:
        self._playground, self.plan, self._model = playground, plan, model
        self.turn = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None
        self._is_over = False

    @property
    def pid(self) -> int | None:
        """Id of its process; None before there is one."""
        return None if self._process is None else self._process.pid

    async def events(self) -> AsyncIterator[Told]:
        """What happens, until it is over: waiting, started, policy, point, done, refused or failed."""
        ahead = -1
        while not self.turn.is_set() and not self._is_over:
            if ahead != (ahead := self._playground.ahead_of(self)):
                yield {"event": "waiting", "ahead": ahead}
            with suppress(TimeoutError):
                await asyncio.wait_for(self.turn.wait(), 0.2)
        if self._is_over:
            return
        try:
            async for told in self._play():
                yield told
        finally:
            self.end()

    async def _play(self) -> AsyncIterator[Told]:
        settings = self._playground.settings
        yield {"event": "started", "python": python_of(self.plan), "policies": self.plan.policies}
        begun = monotonic()
        try:
            process = self._process = await asyncio.create_subprocess_exec(
                *command_apart("toplist.service.playground.simulate_apart", NICENESS, str(os.getpid())),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
                limit=LONGEST_LINE, env=os.environ | ONE_THREAD, start_new_session=True,
            )  # fmt: skip
        except OSError as problem:
            yield {"event": "failed", "detail": f"No process could be started for the simulation: {problem}."}
            return
        if self._is_over:  # meanwhile
            self._playground.reap(process)
            return
        assert process.stdin is not None
        assert process.stdout is not None
        given = {"plan": self.plan, "model": self._model, "megabytes": settings.memory, "sources": loaded_sources()}
        with suppress(ConnectionError):  # it has ended already
            process.stdin.write(json.dumps(given).encode())
            await process.stdin.drain()
            process.stdin.close()
        while True:
            try:
                left = settings.seconds - (monotonic() - begun)
                line = await asyncio.wait_for(process.stdout.readline(), left) if left > 0 else None
            except TimeoutError:
                line = None
            except ValueError:  # a longer line than any of ours
                line = b""
            if line is None:
                detail = (
                    f"The simulation took more than {settings.seconds:g} seconds; play fewer lists, runs or policies."
                )
                yield {"event": "failed", "detail": detail}
                return
            if not line:
                break
            told: Told = json.loads(line)
            yield told
            if told["event"] in ("done", "refused"):
                return
        code = await process.wait()
        if self._is_over:
            return
        detail = f"The process of the simulation ended with exit code {code}; the service goes on."
        if code == OUT_OF_MEMORY:
            detail = f"The simulation took more than {settings.memory} megabytes; have fewer items, runs or policies."
        yield {"event": "failed", "detail": detail}

    def end(self) -> None:
        """End it, and let the next one begin."""
        if self._is_over:
            return
        self._is_over = True
        if self._process is not None:
            self._playground.reap(self._process)
        self._playground.remove(self)


class Playground:
    """All simulations of a service; it belongs to one event loop."""

    def __init__(self, settings: PlaygroundSettings) -> None:
        self.settings = settings
        self._running: set[QueuedSimulation] = set()
        self._waiting: deque[QueuedSimulation] = deque()
        self._ending: set[asyncio.Task[int]] = set()  # processes that were killed
        self._is_stopping = False

    def check_enabled(self) -> None:
        """Refuse if the settings turn it off."""
        if not self.settings.enabled:
            raise NotFound(OFF)

    def begin(self, plan: SimulationPlan, model: str | None) -> QueuedSimulation:
        """Take a simulation in; refused if too many wait already."""
        self.check_enabled()
        is_full = len(self._running) >= self.settings.at_once and len(self._waiting) >= self.settings.waiting
        if is_full or self._is_stopping:
            raise TooManyReads(
                f"{len(self._running)} simulations run and {len(self._waiting)} wait, which are the most; try again "
                f"when one has ended.", 5.0,
            )  # fmt: skip
        simulation = QueuedSimulation(self, plan, model)
        self._waiting.append(simulation)
        self._let_begin()
        return simulation

    def ahead_of(self, simulation: QueuedSimulation) -> int:
        """How many simulations must end before this one begins."""
        return self._waiting.index(simulation) + 1 if simulation in self._waiting else 0

    def remove(self, simulation: QueuedSimulation) -> None:
        """Forget a simulation that has ended, and let the next one begin."""
        self._running.discard(simulation)
        with suppress(ValueError):
            self._waiting.remove(simulation)
        self._let_begin()

    def stop(self) -> None:
        """End all simulations, and take no others."""
        self._is_stopping = True
        for simulation in [*self._waiting, *self._running]:
            simulation.end()

    def reap(self, process: asyncio.subprocess.Process) -> None:
        """Kill a process, if it still runs, and wait for its end in the background."""
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            ending = asyncio.ensure_future(process.wait())
            self._ending.add(ending)
            ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """End all simulations, and wait until their processes have ended."""
        self.stop()
        await asyncio.gather(*self._ending)

    def _let_begin(self) -> None:
        while self._waiting and len(self._running) < self.settings.at_once and not self._is_stopping:
            simulation = self._waiting.popleft()
            self._running.add(simulation)
            simulation.turn.set()
