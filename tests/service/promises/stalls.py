"""When the machine itself was too busy: a process that wants to run and does not, a commit of one row that takes long.

A lease of 1.5 s cannot be renewed if the machine lets no process run, or write to its disk, for longer than that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from contextlib import suppress

import psycopg

LOOK_EVERY = 0.05  # seconds
WRITE_EVERY = 0.25
LONG = 0.05  # seconds that are not worth mentioning
Times = list[tuple[float, float]]


class Stalls:
    """Looks for stalls of this process and of the database, which must have answered its first question.

    Parameters
    ----------
    address : str
        Address of the database.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._tasks: list[asyncio.Task[None]] = []
        self.of_process: Times = []
        self.of_database: Times = []

    def start(self) -> None:
        """Begin to look."""
        self._tasks = [asyncio.create_task(self._feel()), asyncio.create_task(self._write())]

    async def stop(self) -> None:
        """Look no more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _feel(self) -> None:
        while True:
            await self._note(self.of_process, asyncio.sleep(LOOK_EVERY), LOOK_EVERY)

    async def _write(self) -> None:
        while True:
            with suppress(psycopg.Error):  # the database was killed
                async with await psycopg.AsyncConnection.connect(self._address, autocommit=True) as connection:
                    await connection.execute("CREATE TABLE IF NOT EXISTS public.stalls (number integer)")
                    while True:
                        written = connection.execute("INSERT INTO public.stalls VALUES (1)")
                        await self._note(self.of_database, written, 0.0)
                        await asyncio.sleep(WRITE_EVERY)
            await asyncio.sleep(WRITE_EVERY)

    async def _note(self, times: Times, work: Awaitable[object], usual: float) -> None:
        """Note what took longer than usual."""
        now = asyncio.get_running_loop().time
        usual_end = now() + usual
        await work
        if now() > usual_end + LONG:
            times.append((usual_end, now()))


def within(times: Times, begun: float, ended: float) -> float:
    """How much of some times is between two moments, in seconds."""
    return sum(max(0.0, min(until, ended) - max(since, begun)) for since, until in times)
