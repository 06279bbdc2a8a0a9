"""The clock of the service, in milliseconds, and timestamps as text."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def milliseconds() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def as_time(moment: int) -> str:
    """Milliseconds since the epoch as RFC 3339 in UTC.

    >>> as_time(1_700_000_000_123)
    '2023-11-14T22:13:20.123Z'
    """
    text = datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
