"""The time of the service, in milliseconds: the wall clock as long as it is believed; and timestamps as text."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

# The wall clock is believed while it goes as fast as CLOCK_BOOTTIME, which nobody can set and which also counts while
# the machine sleeps. All in milliseconds:
STEP = 2000  # a larger difference between two readings is a step; smaller ones are corrections by NTP, and followed
STEADY = 300_000  # after a step, the wall clock is believed again once it has gone without another for so long
LONG_PAUSE = 3_600_000  # a start is like a step if it is so long after the last event of the log, or before that

logger = logging.getLogger("toplist.service")


class Clock(Protocol):
    """The time of the service."""

    def __call__(self) -> int:
        """Milliseconds since the epoch, as far as they are believed."""
        ...

    def waiting(self) -> int:
        """Milliseconds that nobody can set, for waiting."""
        ...

    def begin(self, last_event: int) -> None:
        """The service starts; the last event of its log was at this time, 0 if there is none."""
        ...

    @property
    def is_believed(self) -> bool:
        """Whether the time of the last call may close windows and delete events."""
        ...

    def take_shift(self) -> int:
        """Milliseconds by which the time changed when it was last believed again; 0 when called again."""
        ...


def milliseconds() -> int:
    """Milliseconds since the epoch, by the wall clock."""
    return time.time_ns() // 1_000_000


def boot_milliseconds() -> int:
    """Milliseconds since the machine was started."""
    return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)) // 1_000_000


class BelievedClock:
    """The wall clock as long as it is believed; after a step, the last believed time and what has passed since.

    Parameters
    ----------
    wall, boot : callable
        The wall clock, and one that nobody can set.

    Examples
    --------
    >>> wall, boot = [1_000_000], [50_000]
    >>> clock = BelievedClock(lambda: wall[0], lambda: boot[0])
    >>> wall[0], boot[0] = wall[0] + 7_200_000, boot[0] + 1000
    >>> clock(), clock.is_believed  # two hours forward within a second
    (1001000, False)
    """

    def __init__(self, wall: Callable[[], int] = milliseconds, boot: Callable[[], int] = boot_milliseconds) -> None:
        self._wall, self._boot = wall, boot
        self._offset = wall() - boot()  # of the believed time
        self._seen = self._offset  # of the wall clock, when it was last read
        self._steady_since: int | None = None  # on the other clock; None: believed
        self._shift = 0

    def __call__(self) -> int:
        """Milliseconds since the epoch, as far as they are believed."""
        boot = self._boot()
        offset = self._wall() - boot
        if abs(offset - self._seen) > STEP:
            self._doubt(boot, f"The clock was set by {(offset - self._seen) / 1000:+.1f} s")
        self._seen = offset
        if self._steady_since is None:
            self._offset = offset
        elif boot - self._steady_since >= STEADY:
            self._steady_since = None
            self._shift += offset - self._offset
            self._offset = offset
            logger.warning("The clock is believed again; the time changes by %+.1f s.", self._shift / 1000)
        return boot + self._offset

    def _doubt(self, boot: int, what: str) -> None:
        self._steady_since = boot
        logger.warning("%s; nothing is closed or deleted by time until it is steady for %d s.", what, STEADY // 1000)

    def waiting(self) -> int:
        """Milliseconds since the machine was started."""
        return self._boot()

    def begin(self, last_event: int) -> None:
        """Doubt the wall clock if the last event of the log is long ago, or in the future; its time goes on then."""
        now, boot = self(), self._boot()
        if last_event and not last_event - STEP <= now <= last_event + LONG_PAUSE:
            self._offset = last_event - boot
            self._doubt(boot, f"The last event of the log is {(now - last_event) / 1000:.1f} s old")

    @property
    def is_believed(self) -> bool:
        """Whether the wall clock was believed when it was last read."""
        return self._steady_since is None

    def take_shift(self) -> int:
        """Milliseconds by which the time changed when it was last believed again."""
        shift, self._shift = self._shift, 0
        return shift


class GivenClock:
    """A clock that is always believed, for tests and simulations."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now

    def __call__(self) -> int:
        """The given time."""
        return self._now()

    def waiting(self) -> int:
        """The given time."""
        return self._now()

    def begin(self, last_event: int) -> None:
        """Whatever the last event."""

    @property
    def is_believed(self) -> bool:
        """Always."""
        return True

    def take_shift(self) -> int:
        """Never."""
        return 0


def as_time(moment: int) -> str:
    """Milliseconds since the epoch as RFC 3339 in UTC.

    >>> as_time(1_700_000_000_123)
    '2023-11-14T22:13:20.123Z'
    """
    text = datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
