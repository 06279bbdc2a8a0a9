"""Compiles policies, each kind once, while requests that need one wait for it."""

from __future__ import annotations

import asyncio
import functools
import threading
from contextlib import suppress

from toplist.service.errors import StoreUnavailable
from toplist.service.live.compile_apart import CompilerProcess
from toplist.service.log.settings import LearnerSettings

MOST_KINDS = 1000  # policies that are remembered as compiled


class PolicyCompiler:
    """Policies that are compiled or being compiled; its length is their number. It belongs to one event loop."""

    def __init__(self) -> None:
        self._kinds: dict[str, asyncio.Future[None]] = {}
        self._unfinished: set[asyncio.Future[None]] = set()
        self._threads: set[threading.Thread] = set()
        self.process = CompilerProcess()
        self._stopping = False

    def __len__(self) -> int:
        return len(self._kinds)

    def start(self) -> None:
        """Take requests, again after `stop`."""
        self._stopping = False
        self.process.start()

    def compile(self, settings: LearnerSettings) -> asyncio.Future[None]:
        """Compile a policy, once; await the future shielded, since other requests may wait for it, too."""
        spec = settings.spec
        kind = f"{settings.policy} {bool(spec.features)}"
        if settings.policy_seq == 0:  # new settings, never checked: their errors are not those of other rankings
            checked = self._start(settings)
            checked.add_done_callback(functools.partial(self._remember, kind))
            return checked
        compiled = self._kinds.get(kind)
        if compiled is None or _has_failed(compiled):
            compiled = self._start(settings)
            self._remember(kind, compiled)
        return compiled

    async def wait_for(self, settings: LearnerSettings) -> None:
        """Wait until a policy is compiled; raises what is wrong with its settings."""
        await asyncio.shield(self.compile(settings))

    def stop(self) -> None:
        """Fail everything that waits for the compiler."""
        self._stopping = True
        self.process.end()
        for compiled in list(self._unfinished):
            if not compiled.done():
                compiled.set_exception(
                    StoreUnavailable("The service stops before the policy is compiled; ask it again.")
                )

    @property
    def is_busy(self) -> bool:
        """Whether a thread loads machine code or compiles; the latter cannot be interrupted."""
        return bool(self._threads)

    def _remember(self, kind: str, compiled: asyncio.Future[None]) -> None:
        if _has_failed(compiled):
            return
        if len(self._kinds) >= MOST_KINDS:  # what is forgotten here and still needed is compiled, and remembered soon
            self._kinds = {known: future for known, future in self._kinds.items() if not future.done()}
        self._kinds[kind] = compiled

    def _start(self, settings: LearnerSettings) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        compiled: asyncio.Future[None] = loop.create_future()
        compiled.add_done_callback(lambda done: done.cancelled() or done.exception())
        compiled.add_done_callback(self._unfinished.discard)
        self._unfinished.add(compiled)
        if self._stopping:
            self.stop()
            return compiled

        def finish(problem: Exception | None) -> None:
            if not compiled.done():
                if problem is None:
                    compiled.set_result(None)
                else:
                    compiled.set_exception(problem)

        def work() -> None:
            problem: Exception | None = None
            try:
                self.process.compile(settings)
            except Exception as raised:
                problem = raised
            self._threads.discard(thread)
            with suppress(RuntimeError):  # the loop may have ended meanwhile
                loop.call_soon_threadsafe(finish, problem)

        # A daemon thread: the process waits for the threads of a pool at its end, and the compiler cannot be stopped.
        thread = threading.Thread(target=work, name="toplist-compile", daemon=True)
        self._threads.add(thread)
        thread.start()
        return compiled


def _has_failed(compiled: asyncio.Future[None]) -> bool:
    return compiled.done() and (compiled.cancelled() or compiled.exception() is not None)
