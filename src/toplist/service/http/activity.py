"""What happened lately in a ranking, read from the end of its event log."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection
from typing import Any

import msgspec

from toplist.core.item_id import ItemId
from toplist.service.store.row_kinds import LIST
from toplist.service.wire import Event, LiveEvent

RECENT_LISTS = 1000  # of which shares by position are taken
SHARED_POSITIONS = 20  # that have shares, the first ones
TREND_PARTS = 10  # of these lists
EVENTS = 40  # that are kept
TAIL, NEXT = 4000, 400  # of its events that are read at first, and then with each look; others are skipped
NAMED = 3  # items that a text names


class Activity:
    """The recent lists, events and changes of one ranking, or of one of its segments."""

    def __init__(self) -> None:
        self.seq = 0  # up to which the log is read
        self.events: deque[LiveEvent] = deque(maxlen=EVENTS)
        self._lists: deque[list[ItemId]] = deque()
        self._impressions: deque[str | None] = deque(maxlen=RECENT_LISTS)
        self._counts: Counter[tuple[ItemId, int]] = Counter()

    @property
    def recent(self) -> int:
        """The number of lists that shares are of."""
        return len(self._lists)

    def add(self, event: Event) -> None:
        """Add the next event of the log."""
        if event.kind == LIST:
            self._add_list(decoded(event.body)["items"][:SHARED_POSITIONS])
            self._impressions.append(event.impression)
        if (said := live_event(event.kind, event.at, event.body, event.impression)) is not None:
            self.events.append(said)

    @property
    def next_events(self) -> int:
        """How many of the latest events to read."""
        return NEXT if self.seq else TAIL

    def has_list(self, impression: str) -> bool:
        """Whether a list is one of the recent ones."""
        return impression in self._impressions

    def shares(self, item: ItemId, positions: int) -> list[float]:
        """The share of the recent lists that showed an item at each position."""
        lists = max(1, len(self._lists))
        return [round(self._counts[item, position] / lists, 4) for position in range(positions)]

    def trends(self, items: Collection[ItemId]) -> dict[ItemId, list[float]]:
        """The share of lists that showed each item, in successive parts of the recent lists, the latest last."""
        lists = list(self._lists)
        size = -(-len(lists) // TREND_PARTS) or 1
        parts = [lists[begin : begin + size] for begin in range(0, len(lists), size)]
        counts = [Counter(item for shown in part for item in shown) for part in parts]
        return {item: [round(shown[item] / len(part), 3) for shown, part in zip(counts, parts, strict=True)]
                for item in items}  # fmt: skip

    def _add_list(self, items: list[ItemId]) -> None:
        self._lists.append(items)
        for position, item in enumerate(items):
            self._counts[item, position] += 1
        if len(self._lists) > RECENT_LISTS:
            for position, item in enumerate(self._lists.popleft()):
                self._counts[item, position] -= 1
                if not self._counts[item, position]:
                    del self._counts[item, position]


def decoded(raw: Any) -> Any:
    """The body of an event."""
    return msgspec.json.decode(raw) if isinstance(raw, msgspec.Raw | bytes) else raw


def live_event(
    kind: str, at: str, raw: Any, impression: str | None = None, before: dict[str, Any] | None = None
) -> LiveEvent | None:
    """An event as it is shown, a change of settings with those from `before`; None if it is not shown."""
    body = decoded(raw)
    said = event_text(kind, body, before)
    if said is None:
        return None
    return LiveEvent(at=at, kind=kind, detail=said, impression=impression, by=body.get("by", ""))


def event_text(kind: str, body: Any, before: dict[str, Any] | None = None) -> str | None:
    """An event in words; None for a report, whose outcome is known elsewhere, and for what nobody looks for.

    `before` are the settings until then, if they are known.

    >>> event_text("learned", {"merged": {"clicks": [1, 3]}, "reason": "final"})
    'clicks at 1, 3, by a final report'
    """
    match kind:
        case "list":
            return f"showed {_named(body['items'])}"
        case "learned":
            how = "by a final report" if body.get("reason") == "final" else "as its click window closed"
            merged = body.get("merged", {})  # left out where nothing was reported
            return f"{clicks_text(merged.get('clicks', []))}, {how}"
        case "dropped":
            return "dropped, as it was not shown in time"
        case "ranking":
            return _ranking_text(body, before)
        case "items":
            put, removed = body.get("put", []), body.get("removed", [])
            texts = [f"put {_named(_ids(put))}"] if put else []
            texts += [f"removed {_named(removed)}"] if removed else []
            return "; ".join(texts)
        case "imported":
            return f"began with {body.get('learned', 0)} lists of a saved ranker"
        case "quarantined":
            return f"set aside: {body.get('reason', '')}"
        case "erased":
            return "a segment was deleted"
        case "stopped":
            metric, ratio = body["metric"], body["ratio"]
            return f"back to the baseline: {metric} is {ratio:.3f} times that of the holdout"
    return None


def clicks_text(clicks: list[int]) -> str:
    """Clicked positions in words.

    >>> clicks_text([2]), clicks_text([])
    ('a click at 2', 'no clicks')
    """
    if not clicks:
        return "no clicks"
    return f"{'clicks' if len(clicks) > 1 else 'a click'} at {', '.join(map(str, clicks))}"


def _ranking_text(body: Any, before: dict[str, Any] | None) -> str:
    if body.get("deleted"):
        return "the ranking was deleted"
    spec = body.get("spec", {})
    if before:
        changed = [name for name in spec if spec[name] != before.get(name)]
        return "; ".join(f"{name}: {_setting(before.get(name))} to {_setting(spec[name])}" for name in changed) or (
            "settings: unchanged"
        )
    parts = [str(spec["policy"])] if "policy" in spec else []
    parts += [f"{spec['positions']} positions"] if "positions" in spec else []
    return f"settings: {', '.join(parts) or 'changed'}"


def _setting(value: Any) -> str:
    """The value of a setting, in short.

    >>> _setting(0.1), _setting(None), _setting(["tea", "milk"]), _setting({"1": "tea"})
    ('0.1', 'none', '2 items', '1: tea')
    """
    if isinstance(value, list):
        return f"{len(value)} items"
    if isinstance(value, dict):
        return _named([f"{name}: {each}" for name, each in value.items()]) or "none"
    return "none" if value is None else str(value)


def _ids(put: list[Any]) -> list[Any]:
    return [each["id"] if isinstance(each, dict) else each for each in put]


def _named(items: list[Any]) -> str:
    """The first items by name, and how many more there are.

    >>> _named(["tea", 7]), _named(list("abcde"))
    ('tea, 7', 'a, b, c and 2 more')
    """
    first = ", ".join(str(item) for item in items[:NAMED])
    return first if len(items) <= NAMED else f"{first} and {len(items) - NAMED} more"
