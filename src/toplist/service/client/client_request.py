"""A request of the client: what to send, the type of the reply, and whether it may be repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec

from toplist.core.item_id import ItemId, item_text
from toplist.core.problem import InvalidInput
from toplist.service.client.arguments import NUMBERS, elements, item_id, plain, text, wrong_type
from toplist.service.wire import Event, ListReply

T = TypeVar("T")


@dataclass(frozen=True)
class ClientRequest(Generic[T]):
    """A request to send, with the type of its reply."""

    method: str
    path: str
    reply: type[T]
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    repeatable: bool = True  # idempotent: may be sent again when it is unknown whether it took effect
    by_lines: bool = False  # the reply is a sequence of JSON lines
    slow: bool = False  # may have to wait for a policy to be compiled or trained


def decode_reply(request: ClientRequest[T], content: bytes) -> T:
    """The reply to a request."""
    if request.by_lines:
        lines: Any = msgspec.json.Decoder(Event).decode_lines(content)
        return lines  # type: ignore[no-any-return]
    return msgspec.json.decode(content or b"null", type=request.reply)


def ranking_path(name: str) -> str:
    """The path of a ranking."""
    return f"/v1/rankings/{_escape(text('The name of the ranking', name))}"


def item_path(name: str, item: ItemId) -> str:
    """The path of an item."""
    return f"{ranking_path(name)}/items/{_escape(item_text(item_id('The item', item)))}"


def segment_path(name: str, segment: str) -> str:
    """The path of a segment."""
    return f"{ranking_path(name)}/segments/{_escape(text('The segment', segment))}"


def impression_path(impression: str | ListReply) -> str:
    """The path of an impression, by its id or by the reply that it came with."""
    if isinstance(impression, ListReply):
        if not impression.impression:
            raise InvalidInput(
                "This list was made while nothing could be recorded, so nothing can be reported on it; look at its "
                "`recorded` first."
            )
        impression = impression.impression
    if not isinstance(impression, str):
        accepted = "the id of an impression, or the reply of make_list"
        raise wrong_type("The impression", impression, accepted, "write shown.impression, or shown")
    return f"/v1/impressions/{_escape(impression)}"


def _escape(step: str) -> str:
    """One step of a path; dots are escaped too, since "." and ".." would be resolved."""
    return quote(step, safe="").replace(".", "%2E")


def person_text(features: Sequence[float] | None) -> str | None:
    """The features of a visitor as a query parameter."""
    return None if features is None else ",".join(repr(plain(each)) for each in elements("person", features, NUMBERS))


def given(**query: Any) -> dict[str, Any]:
    """The query parameters that are not None."""
    return {name: value for name, value in query.items() if value is not None}
