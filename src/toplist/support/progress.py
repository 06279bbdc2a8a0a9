"""The progress of long work, for callbacks and progress bars."""

from __future__ import annotations

from typing import NamedTuple


class Progress(NamedTuple):
    """Progress of a simulation.

    Parameters
    ----------
    done : int
        Steps played, of all policies and runs together.
    total : int
        Steps to play.
    seconds : float
        Seconds since the call.
    earlier : int, default 0
        Steps among `done` that an earlier, interrupted call had played.

    Examples
    --------
    >>> Progress(done=300, total=1000, seconds=6.0, earlier=100).remaining
    21.0
    """

    done: int
    total: int
    seconds: float
    earlier: int = 0

    @property
    def remaining(self) -> float:
        """Seconds left at the rate so far; infinite as long as nothing was played."""
        if self.done == self.total:
            return 0.0
        played = self.done - self.earlier
        return (self.total - self.done) * self.seconds / played if played else float("inf")
