"""What servers say to each other: framed MessagePack on a connection that both ends have proved to know a secret on."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import Struct

LONGEST = 1 << 28  # bytes of a message


class Message(Struct, array_like=True, frozen=True, tag=True):
    """A message; `id` is that of the request that it belongs to."""

    id: int


class ForwardedKey(Struct, array_like=True, frozen=True):
    """The API key of a caller, whose server has checked it."""

    name: str
    rankings: list[str] | None
    scope: str | None = None  # as in the settings; servers of earlier releases, which do not send it, have checked it


class Ask(Message, frozen=True):
    """A request for the owner of a partition."""

    partition: int
    route: str  # by its name
    path: list[str]
    query: bytes
    body: bytes
    request_id: bytes
    caller: str
    key: ForwardedKey | None = None


class ForwardedAnswer(Message, frozen=True):
    """The response to a request."""

    status: int
    body: bytes
    media: bytes
    headers: Mapping[str, str]
    is_stream: bool = False  # then the body comes in parts, which are asked for one by one


class Elsewhere(Message, frozen=True):
    """The server does not own the partition: nothing was done."""

    divisions: int = 0  # of the ranking, where another partition has what was asked for; 1: it is not known here


class NextPart(Message, frozen=True):
    """Ask for the next part of a stream."""

    stream: int  # id of the request


class Part(Message, frozen=True):
    """A part of a stream; None after the last."""

    body: bytes | None
    is_broken: bool = False


class EndStream(Message, frozen=True):
    """End a stream before its last part."""


class LookAgain(Message, frozen=True):
    """The owners of partitions have changed: ask the database."""


Said = Ask | ForwardedAnswer | Elsewhere | NextPart | Part | EndStream | LookAgain
encode_message = msgspec.msgpack.Encoder().encode
decode_message = msgspec.msgpack.Decoder(Said).decode
