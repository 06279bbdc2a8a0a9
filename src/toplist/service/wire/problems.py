"""Messages about errors: the kinds of problems, with their statuses and bodies."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

PROBLEM_MEDIA = "application/problem+json"
PROBLEM_TYPE_PREFIX = "urn:toplist:problem:"
PROBLEM_STATUSES = {  # status of each kind of problem; where several share a status, the first is the usual one
    "malformed": 400,
    "unauthorized": 401,
    "key-expired": 401,
    "forbidden": 403,
    "token-expired": 403,
    "not-found": 404,
    "no-such-path": 404,
    "method-not-allowed": 405,
    "not-acceptable": 406,
    "too-slow": 408,
    "conflict": 409,
    "too-large": 413,
    "unsupported-media-type": 415,
    "misdirected": 421,
    "invalid": 422,
    "too-many-requests": 429,
    "head-too-large": 431,
    "unforeseen": 500,
    "store-unavailable": 503,
    "busy": 503,
    "not-ready": 503,
}


class Fault(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that is wrong, and where."""

    detail: str
    pointer: str | UnsetType = UNSET  # JSON pointer into the body of the request
    parameter: str | UnsetType = UNSET  # of the path or the query
    header: str | UnsetType = UNSET


class ProblemBody(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The body of an error (RFC 9457)."""

    type: str  # for programs: PROBLEM_TYPE_PREFIX and a name of PROBLEM_STATUSES
    title: str
    status: int
    detail: str
    errors: list[Fault] | UnsetType = UNSET
    counted: bool | UnsetType = UNSET  # of a report: false, since it was not learned from
    why: str | UnsetType = UNSET
