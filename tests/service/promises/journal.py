"""Two memories of the same events, the callers' and the store's, and what must hold between them."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.server import PATIENCE, Broken


class Listed(NamedTuple):
    """A list that a caller got, or that the log has."""

    items: tuple[str, ...]
    segment: str | None
    request_id: str | None


class Learned(NamedTuple):
    """How an impression was closed, as the log has it."""

    clicks: frozenset[int]
    reason: str
    at: int  # milliseconds


@dataclass
class Journal:
    """What the callers asked for, and what was acknowledged."""

    lists: dict[str, Listed] = field(default_factory=dict)  # acknowledged, by impression
    of_request: dict[str, str] = field(default_factory=dict)  # impressions by request id
    waiting: set[str] = field(default_factory=set)  # deferred impressions of which nobody has said that they are shown
    sent: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))  # clicks by impression, answered or not
    counted: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))  # of those, what is said to count
    refused: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))  # and what is said not to

    def listed(self, answer: dict[str, Any], request_id: str | None) -> None:
        """A list was acknowledged; the second time, for the same request, it must be the same."""
        impression = answer["impression"]
        listed = Listed(tuple(answer["items"]), answer["segment"], request_id)
        if request_id is not None and self.of_request.setdefault(request_id, impression) != impression:
            raise Broken(f"the request {request_id} got {self.of_request[request_id]}, and then {impression}")
        if self.lists.setdefault(impression, listed) != listed:
            raise Broken(f"{impression} was {self.lists[impression]}, and then {listed}")
        if answer["deferred"]:
            self.waiting.add(impression)

    def reporting(self, impression: str, clicks: Sequence[int]) -> None:
        """A report is about to be sent, and may count even if its answer never comes."""
        self.sent[impression].update(clicks)

    def reported(self, answer: dict[str, Any], clicks: Sequence[int]) -> None:
        """A report was answered."""
        impression = answer["impression"]
        (self.counted if answer["counted"] else self.refused)[impression].update(clicks)
        if answer["counted"]:
            self.waiting.discard(impression)


@dataclass
class Log:
    """What the store has."""

    lists: dict[str, Listed] = field(default_factory=dict)
    due: dict[str, int] = field(default_factory=dict)  # milliseconds
    learned: dict[str, list[Learned]] = field(default_factory=lambda: defaultdict(list))
    dropped: set[str] = field(default_factory=set)
    reported: set[str] = field(default_factory=set)  # impressions with a report
    events: int = 0

    @property
    def closed(self) -> int:
        """How many impressions were learned."""
        return sum(1 for learned in self.learned.values() if learned)

    @classmethod
    def of(cls, store: Path) -> Log:
        """Everything that is committed, read from the file itself."""
        log = cls()
        with closing(sqlite3.connect(store)) as opened:
            segments = dict(opened.execute("SELECT id, key FROM learners"))
            for learner, kind, at, raw, body in opened.execute(
                "SELECT learner, kind, at, impression, body FROM events ORDER BY seq"
            ):
                log.events += 1
                if raw is not None:
                    log.add_event(kind, at, as_text(raw), segments.get(learner), json.loads(body))
            log.due = {as_text(raw): due for raw, due in opened.execute("SELECT id, due FROM impressions")}
        return log

    @classmethod
    def of_export(cls, export: Path) -> Log:
        """Everything that `toplist store export` wrote, as NDJSON."""
        log = cls()
        with export.open("rb") as lines:
            for line in lines:
                event = json.loads(line)
                log.events += 1
                if event["impression"] is not None:
                    log.add_event(event["kind"], 0, event["impression"], event["segment"], event["body"])
        return log

    def add_event(self, kind: str, at: int, impression: str, segment: str | None, body: dict[str, Any]) -> None:
        if kind == "list":
            if impression in self.lists:
                raise Broken(f"{impression} was made twice")
            self.lists[impression] = Listed(tuple(body["items"]), segment, body.get("request_id"))
        elif kind == "report":
            self.reported.add(impression)
        elif kind == "learned":
            merged = body.get("merged", {})
            if body["reason"] == "final":
                self.reported.add(impression)
            self.learned[impression].append(Learned(frozenset(merged.get("clicks", ())), body["reason"], at))
        elif kind == "dropped":
            self.dropped.add(impression)


def as_text(raw: bytes) -> str:
    """An impression's id as callers know it."""
    h = raw.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def audit(journal: Journal, log: Log) -> None:
    """Raise `Broken` unless the log keeps what was acknowledged, and each impression was closed exactly once."""
    found: dict[str, list[str]] = defaultdict(list)
    for impression, listed in journal.lists.items():
        if log.lists.get(impression) != listed:
            found["acknowledged lists lost or changed"].append(impression)
    of_request: dict[str, str] = {}
    for impression, listed in log.lists.items():
        if listed.request_id is not None and of_request.setdefault(listed.request_id, impression) != impression:
            found["requests with two lists"].append(listed.request_id)
        times = len(log.learned[impression])
        if times > 1:
            found["impressions learned twice"].append(impression)
        if times + (impression in log.dropped) == 0:
            found["impressions never closed"].append(impression)
        if times and impression in log.dropped:
            found["impressions learned and dropped"].append(impression)
        if impression in log.dropped and impression in journal.lists and impression not in journal.waiting:
            found["impressions dropped though they were shown"].append(impression)
        if times:
            clicks = set(log.learned[impression][0].clicks)
            if not journal.counted[impression] <= clicks:
                found["acknowledged clicks lost"].append(impression)
            if not clicks <= journal.sent[impression]:
                found["clicks learned that nobody sent"].append(impression)
            if clicks & (journal.refused[impression] - journal.counted[impression]):
                found["clicks learned that were refused"].append(impression)
    if found:
        raise Broken("; ".join(f"{len(names)} {what}, as {names[0]}" for what, names in found.items()))


def wait_until_closed(store: Path, patience: float = PATIENCE) -> None:
    """Until every impression of a store that somebody serves was learned or dropped."""
    until = time.monotonic() + patience
    with closing(sqlite3.connect(store)) as opened:
        while (left := opened.execute("SELECT count(*) FROM impressions WHERE state < 2").fetchone()[0]) > 0:
            if time.monotonic() > until:
                raise Broken(f"{left} impressions are still open after {patience:.0f} s")
            time.sleep(0.1)
