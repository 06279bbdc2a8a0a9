"""A connection of an attacker: raw bytes from an address of its choice."""

from __future__ import annotations

import asyncio
import select
import socket

LARGEST_ANSWER = 1 << 26


class Peer:
    """A socket with which everything can be done that HTTP forbids."""

    def __init__(self, opened: socket.socket) -> None:
        self._socket = opened
        self._loop = asyncio.get_running_loop()
        self._rest = b""

    @classmethod
    async def to(cls, port: int, address: str, receive_buffer: int | None = None) -> Peer:
        """Connect from an address of loopback."""
        opened = socket.socket()
        try:
            opened.setblocking(False)
            if receive_buffer is not None:
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            opened.bind((address, 0))
            await asyncio.get_running_loop().sock_connect(opened, ("127.0.0.1", port))
        except BaseException:
            opened.close()
            raise
        return cls(opened)

    async def send(self, data: bytes) -> None:
        """Send everything; waits while the service does not read."""
        await self._loop.sock_sendall(self._socket, data)

    def half_close(self) -> None:
        """Send no more."""
        self._socket.shutdown(socket.SHUT_WR)

    async def receive(self, most: int = 1 << 16) -> bytes:
        """Some bytes, or none at the end."""
        return await self._loop.sock_recv(self._socket, most)

    async def answer(self) -> tuple[int, bytes]:
        """Status and body of the next answer; ConnectionError if the service hangs up first."""
        data = self._rest
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += await self._more()
        head = data[:end].lower()
        status = int(head[9:12])
        data = data[end + 4 :]
        if b"transfer-encoding: chunked" in head:
            while not data.endswith(b"0\r\n\r\n"):
                data = data[-8:] + await self._more()
            self._rest = b""
            return status, b""
        at = head.find(b"content-length:")
        length = int(head[at + 15 : (head + b"\r\n").find(b"\r\n", at)]) if at >= 0 else 0
        parts, size = [data], len(data)
        while size < min(length, LARGEST_ANSWER):
            parts.append(await self._more())
            size += len(parts[-1])
        data = b"".join(parts)
        self._rest = data[length:]
        return status, data[:length]

    def has_ended(self) -> bool:
        """Whether the service has closed the connection; nothing of it is read."""
        poll = select.poll()
        poll.register(self._socket, select.POLLRDHUP)  # errors and ends are told in any case
        return bool(poll.poll(0))

    async def _more(self) -> bytes:
        data = await self.receive()
        if not data:
            raise ConnectionResetError("the service hung up")
        return data

    def close(self) -> None:
        """Close the connection, with a reset where the service has sent something unread."""
        self._socket.close()
