"""The requests of the client, one function each: what is sent, what comes back, and whether it may be sent again."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import UNSET, UnsetType

from toplist.service.wire import (
    Estimates,
    Event,
    Explanation,
    History,
    Impression,
    Item,
    ItemBody,
    ItemsBody,
    ItemsChanged,
    ItemsPage,
    KeysPage,
    ListReply,
    ListRequest,
    NextList,
    Ranking,
    RankingChange,
    Rankings,
    RankingSpec,
    RemoveBody,
    Removed,
    Report,
    ReportReply,
)

T = TypeVar("T")
Click = int | str  # a position, counted from 1, or an item


@dataclass(frozen=True)
class Ask(Generic[T]):
    """One request."""

    method: str
    path: str
    reply: type[T]
    body: Any = None
    query: Mapping[str, Any] = field(default_factory=dict)
    repeatable: bool = True  # the same after one time as after several
    by_lines: bool = False
    slow: bool = False  # a policy may have to be compiled, or trained


def create_ranking(spec: RankingSpec) -> Ask[Ranking]:
    """Create a ranking."""
    return Ask("POST", "/v1/rankings", Ranking, spec, repeatable=False, slow=True)


def rankings() -> Ask[Rankings]:
    """All rankings."""
    return Ask("GET", "/v1/rankings", Rankings)


def ranking(name: str) -> Ask[Ranking]:
    """One ranking."""
    return Ask("GET", _ranking(name), Ranking)


def change_ranking(
    name: str,
    *,
    positions: int | UnsetType = UNSET,
    click_window: float | UnsetType = UNSET,
    retention: float | UnsetType | None = UNSET,
    reference: float | UnsetType | None = UNSET,
    policy: str | UnsetType = UNSET,
    seed: int | UnsetType = UNSET,
    steps: int | UnsetType | None = UNSET,
    prior_mean: float | UnsetType = UNSET,
    prior_strength: float | UnsetType = UNSET,
    new_per_list: int | UnsetType | None = UNSET,
    train: bool = True,
) -> Ask[Ranking]:
    """Change what is given of a ranking."""
    change = RankingChange(
        positions=positions, click_window=click_window, retention=retention, reference=reference, policy=policy,
        seed=seed, steps=steps, prior_mean=prior_mean, prior_strength=prior_strength, new_per_list=new_per_list,
        train=train,
    )  # fmt: skip
    begins_anew = policy is not UNSET and not train  # each time: what was learned since the first would be lost
    return Ask("PATCH", _ranking(name), Ranking, change, repeatable=not begins_anew, slow=True)


def delete_ranking(name: str) -> Ask[None]:
    """Delete a ranking with its items, its lists, its events and all that it learned."""
    return Ask("DELETE", _ranking(name), type(None), repeatable=False)


def items(name: str, after: str | None = None, limit: int = 1000) -> Ask[ItemsPage]:
    """Some items, in the order in which they came."""
    return Ask("GET", f"{_ranking(name)}/items", ItemsPage, query=_given(after=after, limit=limit))


def put_items(name: str, items: Sequence[Item | str]) -> Ask[ItemsChanged]:
    """Add or change items, all or none; a name alone is an item without features."""
    whole = [Item(id=item) if isinstance(item, str) else item for item in items]
    return Ask("PUT", f"{_ranking(name)}/items", ItemsChanged, ItemsBody(items=whole))


def remove_items(name: str, ids: Sequence[str]) -> Ask[Removed]:
    """Remove items; those that are not there are none."""
    return Ask("POST", f"{_ranking(name)}/items/remove", Removed, RemoveBody(ids=list(ids)))


def item(name: str, item: str) -> Ask[Item]:
    """One item."""
    return Ask("GET", _item(name, item), Item)


def put_item(
    name: str, item: str, *, features: Sequence[float] | None = None, hidden: bool | None = None
) -> Ask[ItemsChanged]:
    """Add or change one item."""
    row = None if features is None else list(features)
    return Ask("PUT", _item(name, item), ItemsChanged, ItemBody(features=row, hidden=hidden))


def remove_item(name: str, item: str) -> Ask[None]:
    """Remove one item."""
    return Ask("DELETE", _item(name, item), type(None), repeatable=False)


def make_list(
    name: str,
    *,
    key: str | None = None,
    positions: int | None = None,
    among: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    pins: Mapping[int, str] | None = None,
    person: Sequence[float] | None = None,
    features: Mapping[str, Sequence[float]] | None = None,
    request_id: str | None = None,
    deferred: bool = False,
) -> Ask[ListReply]:
    """A list to show. Without a `request_id` it gets one, so that a second try gets the list of the first."""
    request = ListRequest(
        key=key,
        positions=positions,
        among=None if among is None else list(among),
        exclude=list(exclude),
        pins={str(place): item for place, item in (pins or {}).items()},
        person=None if person is None else list(person),
        features=None if features is None else {item: list(row) for item, row in features.items()},
        request_id=request_id or str(uuid.uuid4()),
        deferred=deferred,
    )
    return Ask("POST", f"{_ranking(name)}/lists", ListReply, request)


def report(
    impression: str,
    clicks: Sequence[Click] = (),
    *,
    left: Click | None = None,
    seen: Sequence[Click] | Mapping[str, float] | None = None,
    final: bool = False,
) -> Ask[ReportReply]:
    """Report the clicks so far; what was reported before may be left out."""
    told = dict(seen) if isinstance(seen, Mapping) else None if seen is None else list(seen)
    body = Report(clicks=list(clicks), left=left, seen=told, final=final)
    return Ask("PUT", f"{_impression(impression)}/clicks", ReportReply, body)


def activate(impression: str) -> Ask[ReportReply]:
    """Say that a deferred list is shown now."""
    return Ask("PUT", f"{_impression(impression)}/activation", ReportReply)


def impression(impression: str) -> Ask[Impression]:
    """A list that was made, and what is known of it."""
    return Ask("GET", _impression(impression), Impression)


def explanation(impression: str) -> Ask[Explanation]:
    """Why a list is as it is."""
    return Ask("GET", f"{_impression(impression)}/explanation", Explanation)


def estimates(
    name: str, *, key: str | None = None, limit: int = 100, person: Sequence[float] | None = None
) -> Ask[Estimates]:
    """What is thought of the items."""
    query = _given(key=key, limit=limit, person=_person(person))
    return Ask("GET", f"{_ranking(name)}/estimates", Estimates, query=query)


def next_list(name: str, *, key: str | None = None, person: Sequence[float] | None = None) -> Ask[NextList]:
    """The list that would be made next, and why; none is made by this."""
    return Ask("GET", f"{_ranking(name)}/explanation", NextList, query=_given(key=key, person=_person(person)))


def history(name: str) -> Ask[History]:
    """Click-through so far."""
    return Ask("GET", f"{_ranking(name)}/history", History)


def keys(name: str, after: str | None = None, limit: int = 1000) -> Ask[KeysPage]:
    """Some keys that have a learner of their own."""
    return Ask("GET", f"{_ranking(name)}/keys", KeysPage, query=_given(after=after, limit=limit))


def events(name: str, after: int = 0, limit: int = 1000) -> Ask[list[Event]]:
    """Some lines of the event log."""
    query = _given(after=after, limit=limit)
    return Ask("GET", f"{_ranking(name)}/events", list[Event], query=query, by_lines=True)


def decoded(ask: Ask[T], content: bytes) -> T:
    """What came back."""
    if ask.by_lines:
        lines: Any = msgspec.json.Decoder(Event).decode_lines(content)
        return lines  # type: ignore[no-any-return]
    return msgspec.json.decode(content or b"null", type=ask.reply)


def _ranking(name: str) -> str:
    return f"/v1/rankings/{_escaped(name)}"


def _item(name: str, item: str) -> str:
    return f"{_ranking(name)}/items/{_escaped(item)}"


def _impression(impression: str) -> str:
    return f"/v1/impressions/{_escaped(impression)}"


def _escaped(step: str) -> str:
    """One step of a path; a dot alone would be taken for the way up."""
    return quote(step, safe="").replace(".", "%2E")


def _person(features: Sequence[float] | None) -> str | None:
    return None if features is None else ",".join(map(repr, features))


def _given(**query: Any) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value is not None}
