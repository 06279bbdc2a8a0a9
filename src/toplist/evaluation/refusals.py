"""The error of an estimator that a log cannot answer."""

from toplist.core.problem import InvalidInput


class CannotEstimate(InvalidInput):
    """The log cannot answer; the message says why, and what would help."""
