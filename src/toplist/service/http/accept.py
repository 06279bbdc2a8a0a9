"""The Accept header: whether a client takes the media type of a response."""

from __future__ import annotations

from collections.abc import Iterable

from toplist.service.http.problems import HttpProblem
from toplist.service.wire import Fault


def check_accept(accept: bytes | None, media_type: bytes) -> None:
    """Refuse a request whose Accept header excludes the media type of its response; most accept any."""
    if accept is None or accept in (b"*/*", media_type):
        return
    media = media_type.decode().partition(";")[0]
    kind = media.partition("/")[0]
    best, weight = -1, 0.0
    for part in accept.decode("latin-1").lower().split(","):
        name, *parameters = (each.strip() for each in part.split(";"))
        exactness = {"*/*": 0, f"{kind}/*": 1, media: 2}.get(name, -1)
        if exactness > best:
            best, weight = exactness, _weight(parameters)
    if best < 0 or weight <= 0.0:
        detail = f"The response is {media}, which the Accept header excludes; accept it."
        raise HttpProblem("not-acceptable", detail, [Fault(header="Accept", detail=detail)])


def _weight(parameters: Iterable[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0
