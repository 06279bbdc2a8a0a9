"""Policies are compiled, each kind once, in another thread; whoever needs one waits for it."""

from __future__ import annotations

import asyncio

from toplist.service import training
from toplist.service.rankings import Setting


class Warming:
    """What is compiled, or about to be. All methods belong to one event loop."""

    def __init__(self) -> None:
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def of(self, setting: Setting) -> asyncio.Task[None]:
        """Compile a policy, once, in another thread."""
        spec = setting.spec
        kind = f"{spec.policy} {bool(spec.features)}"
        task = self._tasks.get(kind)
        new = setting.policy == 0  # its settings were never checked
        if task is None or new or (task.done() and (task.cancelled() or task.exception() is not None)):
            task = asyncio.get_running_loop().create_task(asyncio.to_thread(training.warm_up, setting))
            task.add_done_callback(lambda done: done.cancelled() or done.exception())
            if not new or kind not in self._tasks:
                self._tasks[kind] = task
        return task

    async def ended(self) -> None:
        """When nothing is compiled any more."""
        for task in self._tasks.values():
            await asyncio.wait([task])
