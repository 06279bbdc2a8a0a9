"""The thread that commits for an event loop: calls one after the other, errors to whoever waits, an end in order."""

import asyncio
import threading
from threading import Event

import pytest

from toplist.service.store.commit_thread import CommitThread

PATIENCE = 20.0  # seconds


def names() -> list[str]:
    return [thread.name for thread in threading.enumerate()]


def test_calls_are_made_in_their_order_and_errors_are_raised() -> None:
    made: list[int] = []

    def refuse() -> None:
        made.append(-1)
        raise KeyboardInterrupt

    async def work() -> None:
        thread = CommitThread(asyncio.get_running_loop())
        assert "toplist-commit" not in names()  # it may never be needed
        thread.close()
        calls = [thread.run(lambda n=n: made.append(n)) for n in range(3)]  # type: ignore[misc]
        refused = thread.run(refuse)
        await asyncio.gather(*calls)
        with pytest.raises(KeyboardInterrupt):
            await refused
        assert made == [0, 1, 2, -1]
        await thread.run(lambda: made.append(3))  # it goes on
        thread.close()
        assert "toplist-commit" not in names()

    asyncio.run(asyncio.wait_for(work(), PATIENCE))
    assert made == [0, 1, 2, -1, 3]


def test_a_call_whose_caller_was_cancelled_is_made_to_its_end_before_the_thread_ends() -> None:
    begun, over, done = Event(), Event(), Event()

    def call() -> None:
        begun.set()
        assert over.wait(PATIENCE)
        done.set()

    async def work() -> None:
        thread = CommitThread(asyncio.get_running_loop())
        waiting = thread.run(call)
        while not begun.is_set():
            await asyncio.sleep(0)
        waiting.cancel()
        over.set()
        thread.close()
        assert done.is_set()
        await asyncio.sleep(0)  # its outcome is told to nobody

    asyncio.run(asyncio.wait_for(work(), PATIENCE))


def test_a_call_that_outlives_its_loop_is_no_error() -> None:
    over, begun = Event(), Event()
    threads: list[CommitThread] = []

    def call() -> None:
        begun.set()
        assert over.wait(PATIENCE)

    async def work() -> None:
        threads.append(CommitThread(asyncio.get_running_loop()))
        threads[0].run(call)
        while not begun.is_set():
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(work(), PATIENCE))
    over.set()
    threads[0].close()
