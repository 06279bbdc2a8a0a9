"""Work in threads that takes long does not keep the service from ending."""

import asyncio
import threading

import pytest
import uvloop

from toplist.service import worker_threads
from toplist.service.worker_threads import WorkerThreads


def test_a_loop_ends_while_work_that_nobody_waits_for_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_threads, "ENDING", 0.01)
    begun, go_on = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        go_on.wait()

    async def cancelled() -> None:
        waiting = asyncio.create_task(asyncio.to_thread(work))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        waiting.cancel()
        await asyncio.wait([waiting])

    workers = WorkerThreads()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:  # its end waits for the executor
            runner.get_loop().set_default_executor(workers)
            runner.run(cancelled())
        assert workers.is_busy
    finally:
        go_on.set()
    workers.shutdown()
    monkeypatch.undo()
    workers.shutdown()
    assert not workers.is_busy


def test_work_that_ends_leaves_nothing() -> None:
    workers = WorkerThreads()
    assert workers.submit(lambda number: number + 1, 1).result() == 2
    workers.shutdown()
    assert not workers.is_busy
