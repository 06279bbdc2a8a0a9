"""A connection between two servers: both ends prove that they know the secret, and then send messages."""

from __future__ import annotations

import asyncio
import hmac
import os
import socket
from collections.abc import Callable
from hashlib import sha256
from struct import Struct
from typing import cast

from toplist.service.cluster.messages import LONGEST, Said, decode_message, encode_message

LENGTH = Struct(">I")  # before each message: how many bytes it has
NONCE = PROOF = 32  # bytes
HANDSHAKE_SECONDS = 5.0
SILENT_SECONDS = 10  # a peer that acknowledges nothing for so long is taken for gone
# Options of TCP, where the system has them: the same limit for what was sent, and for a connection that is idle.
_TCP_OPTIONS = (
    ("TCP_USER_TIMEOUT", SILENT_SECONDS * 1000),  # milliseconds
    ("TCP_KEEPIDLE", SILENT_SECONDS // 2),
    ("TCP_KEEPINTVL", 1),
    ("TCP_KEEPCNT", SILENT_SECONDS // 2),
)


class ServerLink(asyncio.Protocol):
    """One end of a connection.

    Each end sends random bytes and gets them back signed with the secret, so that the secret itself is never sent and
    an old proof proves nothing. Messages that are sent in one turn of the event loop leave together.

    Parameters
    ----------
    secret : bytes
        What all servers know.
    is_caller : bool
        Whether this end has opened the connection.
    on_message : callable
        Called with each message.
    on_end : callable
        Called once when the connection has ended.
    """

    def __init__(
        self, secret: bytes, *, is_caller: bool, on_message: Callable[[ServerLink, Said], None],
        on_end: Callable[[ServerLink], None],
    ) -> None:  # fmt: skip
        self._secret, self._is_caller, self._on_message, self._on_end = secret, is_caller, on_message, on_end
        self._nonce = os.urandom(NONCE)
        self._peer_nonce: bytes | None = None
        self._buffer = bytearray()
        self._unsent: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.is_open = False
        self.heard = 0.0  # when bytes came last, by the clock of the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send random bytes to the other end."""
        self._transport = made = cast(asyncio.Transport, transport)  # uvloop's are of another class
        _notice_silence(made.get_extra_info("socket"))
        made.write(self._nonce)
        self._timer = asyncio.get_running_loop().call_later(HANDSHAKE_SECONDS, made.abort)

    @property
    def address(self) -> str:
        """Address of the other end; empty where there is none."""
        peer = None if self._transport is None else self._transport.get_extra_info("peername")
        return str(peer[0]) if peer else ""

    def data_received(self, data: bytes) -> None:
        """Take in a part of the handshake, or messages."""
        self._buffer += data
        self.heard = asyncio.get_running_loop().time()
        try:
            if self.is_open or self._has_proved():
                self._read_messages()
        except Exception:  # no other server sends this
            self.close()

    def _has_proved(self) -> bool:
        """Whether the other end has proved that it knows the secret."""
        assert self._transport is not None
        if self._peer_nonce is None and len(self._buffer) >= NONCE:
            self._peer_nonce = bytes(self._buffer[:NONCE])
            del self._buffer[:NONCE]
            self._transport.write(self._proof(self._peer_nonce, self._nonce, self._is_caller))
        if self._peer_nonce is None or len(self._buffer) < PROOF:
            return False
        given = bytes(self._buffer[:PROOF])
        del self._buffer[:PROOF]
        if not hmac.compare_digest(given, self._proof(self._nonce, self._peer_nonce, not self._is_caller)):
            self.close()
            return False
        if self._timer is not None:
            self._timer.cancel()
        self.is_open = True
        if not self.ready.done():
            self.ready.set_result(None)
        return True

    def _proof(self, challenge: bytes, own: bytes, is_caller: bool) -> bytes:
        role = b"caller" if is_caller else b"called"
        return hmac.digest(self._secret, role + challenge + own, sha256)

    def _read_messages(self) -> None:
        at, end = 0, len(self._buffer)
        with memoryview(self._buffer) as buffer:
            while end - at >= LENGTH.size:
                (size,) = LENGTH.unpack_from(buffer, at)
                if size > LONGEST:
                    raise ValueError(size)
                begin = at + LENGTH.size
                if end < begin + size:
                    break
                at = begin + size
                with buffer[begin:at] as encoded:
                    message = decode_message(encoded)
                self._on_message(self, message)
        del self._buffer[:at]

    def send(self, message: Said) -> None:
        """Send a message, with all others of this turn of the event loop."""
        encoded = encode_message(message)
        if not self._unsent:
            asyncio.get_running_loop().call_soon(self._flush)
        self._unsent += (LENGTH.pack(len(encoded)), encoded)

    def _flush(self) -> None:
        unsent, self._unsent = self._unsent, []
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(unsent))

    def close(self) -> None:
        """End the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Tell whoever waits."""
        self.is_open = False
        self._transport = None
        if self._timer is not None:
            self._timer.cancel()
        if not self.ready.done():
            self.ready.set_exception(ConnectionError("The other server does not know the secret, or has gone."))
            self.ready.exception()  # nobody may wait for it
        self._on_end(self)


def _notice_silence(connection: socket.socket) -> None:
    """Let the system end a connection whose other end has gone without a word."""
    if connection.family in (socket.AF_INET, socket.AF_INET6):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _TCP_OPTIONS:
            if hasattr(socket, name):
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
