"""Hides segments at the door: with a secret in the settings, only their hashes get into the service."""

from __future__ import annotations

import hmac
from typing import TypeVar

from msgspec import structs

from toplist.service.wire import OfSegment

Message = TypeVar("Message", bound=OfSegment)


class SegmentHash:
    """Segments as the service knows them: HMAC-SHA-256 of those in requests, or as they are without a secret.

    >>> SegmentHash("").of("Ada"), SegmentHash("a secret of thirty-two characters").of("Ada")[:12]
    ('Ada', '518b6d36f18b')
    """

    def __init__(self, secret: str) -> None:
        self._secret = secret.encode()

    def of(self, segment: str) -> str:
        """The segment that a request names, as the service knows it."""
        return hmac.digest(self._secret, segment.encode(), "sha256").hex() if self._secret else segment

    def hidden(self, message: Message) -> Message:
        """A request with its segment and its visitor as the service knows them."""
        if not self._secret:
            return message
        segment, visitor = message.segment, getattr(message, "visitor", None)  # type: ignore[attr-defined]
        if visitor is not None:
            message = structs.replace(message, visitor=self.of(visitor))
        return message if segment is None else named(message, self.of(segment))

    def shown(self, reply: Message, asked: OfSegment) -> Message:
        """A reply with the segment that the request has named."""
        return reply if not self._secret else named(reply, asked.segment)  # type: ignore[attr-defined]


def named(message: Message, segment: str | None) -> Message:
    """A message with another segment."""
    return structs.replace(message, segment=segment, key=segment)
