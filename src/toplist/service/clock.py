"""The time of the service, in milliseconds: the wall clock as long as it is believed; and timestamps as text."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

MILLISECOND = 1_000_000  # nanoseconds

# The wall clock is believed while it goes as fast as CLOCK_BOOTTIME, which nobody can set and which also counts while
# the machine sleeps. All in nanoseconds:
STEP = 2_000_000_000  # a larger difference between two readings is a step; smaller ones are corrections, and followed
STEADY = 300 * 10**9  # after a step, the wall clock is believed again once it has gone without another for so long
LONG_PAUSE = 3600 * 10**9  # a start is like a step if it is so long after the last event of the log, or before that

logger = logging.getLogger("toplist.service")


class Clock(Protocol):
    """The time of the service."""

    def __call__(self) -> int:
        """Milliseconds since the epoch, as far as they are believed."""
        ...

    def waiting(self) -> int:
        """Milliseconds that nobody can set, for waiting."""
        ...

    def for_expiry(self) -> int:
        """Milliseconds since the epoch by which keys and tokens expire: see `BelievedClock`."""
        ...

    def begin(self, last_event: int) -> None:
        """The service starts; the last event of its log was at this time, 0 if there is none."""
        ...

    @property
    def is_believed(self) -> bool:
        """Whether the time of the last call may close windows and delete events."""
        ...

    @property
    def shift(self) -> int:
        """Milliseconds by which the time changed since the start when it was believed again, all in all."""
        ...


# Nanoseconds since the epoch, and since the machine was started.
wall_time: Callable[[], int] = time.time_ns
boot_time: Callable[[], int] = partial(time.clock_gettime_ns, getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


class BelievedClock:
    """The wall clock as long as it is believed; after a step, the last believed time and what has passed since.

    Parameters
    ----------
    wall, boot : callable
        The wall clock, and one that nobody can set, in nanoseconds.

    Examples
    --------
    >>> wall, boot = [10**15], [50 * 10**9]
    >>> clock = BelievedClock(lambda: wall[0], lambda: boot[0])
    >>> wall[0], boot[0] = wall[0] + 7_200 * 10**9, boot[0] + 10**9
    >>> clock(), clock.is_believed  # two hours forward within a second
    (1000001000, False)
    """

    def __init__(self, wall: Callable[[], int] = wall_time, boot: Callable[[], int] = boot_time) -> None:
        self._wall, self._boot = wall, boot
        self._offset = wall() - boot()  # of the believed time
        self._seen = self._offset  # of the wall clock, when it was last read
        self._steady_since: int | None = None  # on the other clock; None: believed
        self._shift = 0  # milliseconds
        self._wall_ahead = 0  # of the believed time, if the start was long after the last event

    def __call__(self) -> int:
        """Milliseconds since the epoch, as far as they are believed."""
        wall, boot = self._wall(), self._boot()
        offset = wall - boot
        if self._steady_since is None and -STEP < offset - self._seen < STEP:  # the usual case
            self._seen = self._offset = offset
            return wall // MILLISECOND
        self._read_doubtful(boot, offset)
        return (boot + self._offset) // MILLISECOND

    def _read_doubtful(self, boot: int, offset: int) -> None:
        """Notice a step, or the end of the time in which there must be none."""
        moved, self._seen = offset - self._seen, offset
        if abs(moved) >= STEP:
            self._doubt(boot, f"The clock was set by {moved / 1e9:+.1f} s")
        elif self._steady_since is not None and boot - self._steady_since >= STEADY:
            self._steady_since, self._wall_ahead = None, 0
            shift = (offset - self._offset) // MILLISECOND
            self._shift += shift
            self._offset = offset
            logger.warning("The clock is believed again; the time changes by %+.1f s.", shift / 1000)

    def _doubt(self, boot: int, what: str) -> None:
        self._steady_since = boot
        seconds = STEADY // 10**9
        logger.warning("%s; nothing is closed or deleted by time until it is steady for %d s.", what, seconds)

    def waiting(self) -> int:
        """Milliseconds since the machine was started."""
        return self._boot() // MILLISECOND

    def for_expiry(self) -> int:
        """The believed time, but after a start not before the wall clock at the start.

        So a step forward expires no key, a step back revives none, and neither does a long pause before a start.
        """
        return self() + self._wall_ahead // MILLISECOND

    def begin(self, last_event: int) -> None:
        """Doubt the wall clock if the last event of the log is long ago, or in the future; its time goes on then."""
        passed = (self() - last_event) * MILLISECOND
        if last_event and not -STEP <= passed <= LONG_PAUSE:
            boot = self._boot()
            offset = last_event * MILLISECOND - boot
            self._offset, self._wall_ahead = offset, max(0, self._offset - offset)
            self._doubt(boot, f"The last event of the log is {passed / 1e9:.1f} s old")

    @property
    def is_believed(self) -> bool:
        """Whether the wall clock was believed when it was last read."""
        return self._steady_since is None

    @property
    def shift(self) -> int:
        """Milliseconds by which the time changed since the start when it was believed again, all in all."""
        return self._shift


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

    def for_expiry(self) -> int:
        """The given time."""
        return self._now()

    def begin(self, last_event: int) -> None:
        """Whatever the last event."""

    @property
    def is_believed(self) -> bool:
        """Always."""
        return True

    @property
    def shift(self) -> int:
        """Always 0."""
        return 0


def as_time(moment: int) -> str:
    """Milliseconds since the epoch as RFC 3339 in UTC.

    >>> as_time(1_700_000_000_123)
    '2023-11-14T22:13:20.123Z'
    """
    text = datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
