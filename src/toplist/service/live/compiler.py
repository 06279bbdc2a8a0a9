"""Policies are compiled, each kind once, in a thread of its own; whoever needs one waits for it, until the end."""

from __future__ import annotations

import asyncio
import functools
import threading
from contextlib import suppress

from toplist.service.errors import StoreUnavailable
from toplist.service.live.ranking import Setting
from toplist.service.log import training

KINDS = 1000  # of policies that are known to be compiled


class Warming:
    """What is compiled, or about to be. All methods belong to one event loop."""

    def __init__(self) -> None:
        self._kinds: dict[str, asyncio.Future[None]] = {}
        self._waited_for: set[asyncio.Future[None]] = set()
        self._threads: set[threading.Thread] = set()
        self._over = False

    def of(self, setting: Setting) -> asyncio.Future[None]:
        """Compile a policy, once; to be shielded, since others may wait for it, too."""
        spec = setting.spec
        kind = f"{spec.policy} {bool(spec.features)}"
        if setting.policy == 0:  # its settings were never checked: what is wrong with them is nobody else's error
            checked = self._begun(setting)
            checked.add_done_callback(functools.partial(self._share, kind))
            return checked
        compiled = self._kinds.get(kind)
        if compiled is None or _failed(compiled):
            compiled = self._begun(setting)
            self._share(kind, compiled)
        return compiled

    def _share(self, kind: str, compiled: asyncio.Future[None]) -> None:
        """What others may wait for, too."""
        if _failed(compiled):
            return
        if len(self._kinds) >= KINDS:  # rankings come and go; what is needed still is compiled, and soon here again
            self._kinds = {known: one for known, one in self._kinds.items() if not one.done()}
        self._kinds[kind] = compiled

    async def ready(self, setting: Setting) -> None:
        """When a policy is compiled, or the error why it cannot be."""
        await asyncio.shield(self.of(setting))

    def _begun(self, setting: Setting) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        compiled: asyncio.Future[None] = loop.create_future()
        compiled.add_done_callback(lambda done: done.cancelled() or done.exception())
        compiled.add_done_callback(self._waited_for.discard)
        self._waited_for.add(compiled)
        if self._over:
            self.end()
            return compiled

        def told(problem: Exception | None) -> None:
            if not compiled.done():
                if problem is None:
                    compiled.set_result(None)
                else:
                    compiled.set_exception(problem)

        def work() -> None:
            problem: Exception | None = None
            try:
                training.warm_up(setting)
            except Exception as raised:
                problem = raised
            self._threads.discard(thread)
            with suppress(RuntimeError):  # as where the loop has ended meanwhile
                loop.call_soon_threadsafe(told, problem)

        # The compiler cannot be interrupted. A thread of a pool would be waited for at the end of the process.
        thread = threading.Thread(target=work, name="toplist-compile", daemon=True)
        self._threads.add(thread)
        thread.start()
        return compiled

    def end(self) -> None:
        """Nobody waits any more: whoever does hears that the service ends."""
        self._over = True
        for compiled in list(self._waited_for):
            if not compiled.done():
                compiled.set_exception(
                    StoreUnavailable("The service ends before the policy is compiled; ask it again.")
                )

    @property
    def busy(self) -> bool:
        """Whether the compiler works on, whoever waits for it."""
        return bool(self._threads)


def _failed(compiled: asyncio.Future[None]) -> bool:
    return compiled.done() and (compiled.cancelled() or compiled.exception() is not None)
