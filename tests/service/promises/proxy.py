"""A proxy between two ends of a connection, which cuts it, slows it down or lets only one direction through."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
OPEN, CUT, SLOW, DEAF, MUTE = "open", "cut", "slow", "deaf", "mute"
SLOW_SECONDS = 2.0


class Proxy:
    """Forwards bytes of all connections; `mode` may change at any time.

    cut: connections are ended and new ones refused; slow: all bytes come two seconds later; deaf and mute: what the
    far end says, or what the near end says, never arrives.
    """

    def __init__(self, connect: Callable[[], Awaitable[Streams]]) -> None:
        self._connect = connect
        self._mode = OPEN
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def mode(self) -> str:
        """What it does with bytes."""
        return self._mode

    @mode.setter
    def mode(self, mode: str) -> None:
        self._mode = mode
        if mode == CUT:
            self._hang_up()

    async def listen_unix(self, path: str) -> None:
        """Take connections at a socket in the file system."""
        self._server = await asyncio.start_unix_server(self._serve, path)

    async def listen(self, port: int) -> None:
        """Take connections at a port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)

    def close(self) -> None:
        """End all connections, and take no more."""
        if self._server is not None:
            self._server.close()
        self._hang_up()
        for task in self._tasks:
            task.cancel()

    def _hang_up(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._mode == CUT:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await self._connect()
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, far_writer}
        tasks = [
            asyncio.create_task(self._pump(reader, far_writer, MUTE)),
            asyncio.create_task(self._pump(far_reader, writer, DEAF)),
        ]
        self._tasks.update(tasks)
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        self._open -= {writer, far_writer}
        for end in (writer, far_writer):
            end.transport.abort()
        for task in tasks:
            task.cancel()
            self._tasks.discard(task)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silenced: str) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                if self._mode == SLOW:
                    await asyncio.sleep(SLOW_SECONDS)
                if self._mode == silenced:
                    continue
                writer.write(data)
                await writer.drain()
