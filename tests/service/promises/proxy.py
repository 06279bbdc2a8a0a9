"""A proxy between two ends of a connection, which cuts it, slows it down or lets only one direction through."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
OPEN, CUT, SLOW, DEAF, MUTE, LATE, HELD = "open", "cut", "slow", "deaf", "mute", "late", "held"
TROUBLES = (CUT, SLOW, DEAF, MUTE, LATE)
SLOW_SECONDS = 2.0
LATE_SECONDS = 0.5


class Proxy:
    """Forwards bytes of all connections; `mode` may change at any time.

    cut: connections are ended and new ones refused; slow: all bytes come two seconds later; deaf and mute: what the
    far end says, or what the near end says, never arrives; late: the near end loses each connection that it has now as
    soon as it says something there, which arrives all the same, half a second later; new connections work; held: what
    the near end says arrives once the mode is another one, and `held` has the beginnings of it.
    """

    def __init__(self, connect: Callable[[], Awaitable[Streams]]) -> None:
        self._connect = connect
        self._mode = OPEN
        self.held: list[bytes] = []
        self._may_pass = asyncio.Event()
        self._may_pass.set()
        self._open: set[asyncio.StreamWriter] = set()
        self._late: set[asyncio.StreamWriter] = set()  # near ends whose next words come late
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def mode(self) -> str:
        """What it does with bytes."""
        return self._mode

    @mode.setter
    def mode(self, mode: str) -> None:
        if mode == LATE:
            self._late |= self._open
            return
        self._mode = mode
        if mode == HELD:
            self._may_pass.clear()
        else:
            self.held = []
            self._may_pass.set()
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
        with suppress(asyncio.CancelledError):  # at the end of all
            await self._connect_both(reader, writer)

    async def _connect_both(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._mode == CUT:
            writer.transport.abort()
            return
        try:
            far_reader, far_writer = await self._connect()
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, far_writer}
        outward = asyncio.create_task(self._pump_outward(reader, writer, far_writer))
        inward = asyncio.create_task(self._pump(far_reader, writer, DEAF))
        self._tasks |= {outward, inward}
        await asyncio.wait([outward, inward], return_when=asyncio.FIRST_COMPLETED)
        self._open -= {writer, far_writer}
        writer.transport.abort()
        if writer in self._late:  # what was said is still on its way
            await asyncio.wait([outward], timeout=2 * LATE_SECONDS)
        self._late -= {writer, far_writer}
        far_writer.transport.abort()
        for task in (outward, inward):
            task.cancel()
            self._tasks.discard(task)

    async def _pump_outward(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, far_writer: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                if writer in self._late:
                    writer.transport.abort()
                    await asyncio.sleep(LATE_SECONDS)
                    far_writer.write(data)
                    await asyncio.sleep(LATE_SECONDS / 2)  # to be read and answered
                    return
                if self._mode == HELD:
                    self.held.append(data)
                    await self._may_pass.wait()
                await self._forward(data, far_writer, MUTE)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, silenced: str) -> None:
        with suppress(OSError):
            while data := await reader.read(1 << 16):
                await self._forward(data, writer, silenced)

    async def _forward(self, data: bytes, writer: asyncio.StreamWriter, silenced: str) -> None:
        if self._mode == SLOW:
            await asyncio.sleep(SLOW_SECONDS)
        if self._mode != silenced:
            writer.write(data)
            await writer.drain()
