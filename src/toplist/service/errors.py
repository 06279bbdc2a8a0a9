"""What the service refuses, and why: each kind is one answer of the API."""

from __future__ import annotations

from toplist.core.problem import InvalidInput


class Refused(InvalidInput):
    """Something that was asked for cannot be; `field` is the JSON pointer to what is wrong with it, where one knows."""

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field


class NotFound(Refused):
    """There is no such ranking, item, key or impression."""


class Conflict(Refused):
    """It does not fit what is there already."""


class StoreUnavailable(Exception):
    """Nothing can be kept now, so nothing is promised; worth another try after `retry_after` seconds."""

    def __init__(self, message: str, retry_after: float = 1.0) -> None:
        super().__init__(message)
        self.retry_after = retry_after
