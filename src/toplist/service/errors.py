"""Errors of the service; each class becomes one kind of problem over HTTP."""

from __future__ import annotations

from toplist.core.problem import InvalidInput

PAUSE_AFTER_FAILURE = 200  # milliseconds before the state is loaded again


class Refused(InvalidInput):
    """An invalid request; `field` is the JSON pointer to the wrong field, if known."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class NotFound(Refused):
    """The ranking, item, segment or impression does not exist."""


class UnknownRanking(NotFound):
    """There is no ranking of this name; the message may name another one, which not every caller may know."""

    def __init__(self, name: str, advice: str) -> None:
        super().__init__(f"There is no ranking {name!r}; {advice}.")
        self.name = name


class Conflict(Refused):
    """The request conflicts with the current state."""


class TooManyReads(Exception):
    """Too many costly reads of one caller wait for their turn; try again after `retry_after` seconds."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class StoreUnavailable(Exception):
    """The store cannot commit, so nothing is acknowledged; try again after `retry_after` seconds."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NotOwner(StoreUnavailable):
    """Another server serves the store now; this one takes over when the other ends."""


class LogMoved(NotOwner):
    """Another server wrote to the log of this partition: nothing was written, and what was asked is done anew."""


class OtherDivision(NotOwner):
    """The ranking is divided otherwise than the request was routed: another partition answers it."""

    def __init__(self, divisions: int) -> None:
        super().__init__("Another partition has this segment of the ranking; ask again.")
        self.divisions = divisions  # of the ranking; 1 where this partition does not know it


def log_moved() -> LogMoved:
    """The error of a request whose state was dropped for a change that another server decided: it is done anew."""
    return LogMoved("Another server has changed a ranking of this partition; ask again.")


def loaded_again() -> StoreUnavailable:
    """The error of a request whose state was dropped, since it may have what was never committed."""
    return StoreUnavailable(
        "A commit or a change failed a moment ago, and the state is loaded again from the store.",
        PAUSE_AFTER_FAILURE / 1000,
    )
