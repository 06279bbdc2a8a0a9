"""The live view: what a ranking shows of itself, to whom, how often it is made, and how it ends."""

from __future__ import annotations

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from asking import ADMIN, KEYS, SERVE, LocalService, Make, problem
from test_serving import running

from toplist.cli import Exit
from toplist.service.api_keys import ApiKeySetting
from toplist.service.errors import NotFound, StoreUnavailable
from toplist.service.http.activity import RECENT_LISTS, SHARED_POSITIONS, Activity, decoded, event_text
from toplist.service.http.auth import hash_api_key
from toplist.service.http.handlers import BASELINE_BYTES
from toplist.service.http.history import Curve
from toplist.service.http.live_view import LiveParts
from toplist.service.http.routing import HttpRequest
from toplist.service.log.events import NO_REPORT, ListOutcome, encode
from toplist.service.store.row_kinds import EventRow
from toplist.service.wire import Event, RankingView

LIVE = "/v1/rankings/front-page/live"


def states(reply: httpx.Response) -> list[dict[str, Any]]:
    """The states of a stream, which must end as it should."""
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    parts = reply.text.split("\n\n")
    assert parts[-2:] == ["event: end\ndata: {}", ""]
    return [json.loads(part.partition("data: ")[2]) for part in parts if part.startswith("event: state")]


def shown(service: LocalService, **more: Any) -> dict[str, Any]:
    (state,) = states(service.ask("GET", LIVE, **more))
    msgspec.convert(state, RankingView)
    return state


def test_a_state_has_the_order_the_history_and_the_last_events(service: LocalService) -> None:
    for clicks in ([1], [], [2, 1]):
        made = service.ask("POST", "/v1/rankings/front-page/lists", json={}).json()
        report = {"clicks": clicks, "final": True}
        service.ask("PUT", f"/v1/impressions/{made['impression']}/clicks", json=report)
        service.double.as_if_learned("front-page", clicks)
    service.ask("PUT", f"/v1/impressions/{made['impression']}/clicks", json={"clicks": [1, 2], "final": True})
    late = service.ask("POST", "/v1/rankings/front-page/lists", json={}).json()["impression"]
    service.ask("PUT", f"/v1/impressions/{late}/clicks", json={"final": True})
    service.ask("PUT", f"/v1/impressions/{late}/clicks", json={"clicks": [1]})
    state = shown(service)
    assert state["ranking"]["name"] == "front-page"
    assert (state["history"]["lists"], state["history"]["clicked"]) == (3, 2)
    assert {row["item"]: row["shares"] for row in state["items"]} == {
        "cocoa": [1.0, 0.0], "coffee": [0.0, 1.0], "tea": [0.0, 0.0]
    }  # fmt: skip
    assert state["recent"] == 4
    assert [event["outcome"] for event in state["events"] if event["kind"] == "report"] == [
        "late", "counted", "duplicate", "counted", "counted", "counted"
    ]  # fmt: skip
    details = {event["detail"] for event in state["events"]}
    assert {"put tea, coffee, cocoa", "showed cocoa, coffee", "reported 2 clicks", "reported 1 click"} <= details
    assert [event["kind"] for event in state["changes"]] == ["ranking", "items"]
    assert state["reports"] == {"counted": 4, "duplicate": 1, "late": 1}


def test_before_the_first_list_there_are_items_without_estimates(service: LocalService) -> None:
    async def none(*_: Any, **__: Any) -> Any:
        raise NotFound("no list was made yet")

    service.double.estimates = none  # type: ignore[method-assign]
    state = shown(service)
    assert (state["learned"], state["recent"]) == (0, 0)
    assert [row["item"] for row in state["items"]] == ["cocoa", "coffee", "tea"]
    assert all(row["mean"] is None for row in state["items"])
    assert len(shown(service, params={"items": 2})["items"]) == 2


def test_a_key_for_some_rankings_sees_nothing_of_the_others(make_service: Make) -> None:
    own = ApiKeySetting(name="own", scope="read", sha256=hash_api_key("own"), rankings=["front-page"])
    service = make_service(keys=[*KEYS, own])
    admin = {"authorization": f"Bearer {ADMIN}"}
    for name in ("front-page", "other"):
        service.ask("POST", "/v1/rankings", json={"name": name, "positions": 2}, headers=admin)
        service.ask("PUT", f"/v1/rankings/{name}/items", json={"items": [{"id": name}]}, headers=admin)
        made = service.ask("POST", f"/v1/rankings/{name}/lists", json={}, headers=admin).json()["impression"]
        service.ask("PUT", f"/v1/impressions/{made}/clicks", json={"clicks": [1]}, headers=admin)
    state = shown(service, headers={"authorization": "Bearer own"})
    assert (state["reports"], state["requests"]) == (None, None)
    assert len([event for event in state["events"] if event["kind"] == "report"]) == 1
    assert "other" not in json.dumps(state)
    problem(service.ask("GET", "/v1/rankings/other/live", headers={"authorization": "Bearer own"}), 403)
    whole = shown(service, headers={"authorization": f"Bearer {SERVE}"})
    assert whole["requests"] == {"editor": 8, "own": 1}  # of a second ago


def test_an_unknown_ranking_is_a_proper_error(service: LocalService) -> None:
    problem(service.ask("GET", "/v1/rankings/nothing/live"), 404)
    for wrong in ("updates=0", "items=0", "items=201", "updates=x"):
        problem(service.ask("GET", f"{LIVE}?{wrong}"), 422)


def test_many_who_look_cost_as_much_as_one(service: LocalService) -> None:
    made = 0
    estimates = service.double.estimates

    async def counted(*given: Any, **more: Any) -> Any:
        nonlocal made
        made += 1
        await asyncio.sleep(0.01)
        return await estimates(*given, **more)

    service.double.estimates = counted  # type: ignore[method-assign]

    async def look() -> list[httpx.Response]:
        return await asyncio.gather(*(service.ask_async("GET", LIVE) for _ in range(10)))

    replies = service.run(look())
    assert len({reply.text for reply in replies}) == 1
    assert made == 1


class Script:
    """States by script; an exception is raised."""

    def __init__(self, *found: Any) -> None:
        self.found = list(found)

    async def __call__(self) -> Any:
        one = self.found.pop(0) if len(self.found) > 1 else self.found[0]
        if isinstance(one, Exception):
            raise one
        return one


def parts_of(script: Script, stopping: Any, updates: int = 10) -> list[bytes]:
    async def play() -> list[bytes]:
        parts = LiveParts(script, updates, stopping)
        await parts.read_first()
        sent: list[bytes] = []
        while (part := await parts.read()) is not None:
            assert await parts.read() == part  # the same again until it goes on
            sent.append(part)
            parts.advance()
        return sent

    return asyncio.run(play())


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toplist.service.http.live_view.STEP", 0.001)
    monkeypatch.setattr("toplist.service.http.live_view.EVERY", 0.002)
    monkeypatch.setattr("toplist.service.http.live_view.ALIVE", 0.02)


@pytest.mark.usefixtures("quick")
def test_a_state_is_sent_when_it_changes_and_trouble_passes() -> None:
    script = Script({"n": 1}, {"n": 1}, StoreUnavailable("away"), {"n": 2}, NotFound("deleted"))
    sent = parts_of(script, lambda: False)
    assert [part for part in sent if not part.startswith(b":")] == [
        b'event: state\ndata: {"n":1}\n\n', b'event: state\ndata: {"n":2}\n\n', b"event: end\ndata: {}\n\n"
    ]  # fmt: skip


@pytest.mark.usefixtures("quick")
def test_a_service_that_stops_ends_the_stream_and_a_quiet_one_shows_that_it_lives() -> None:
    looks = iter(range(100))
    sent = parts_of(Script({"n": 1}), lambda: next(looks) > 60)
    assert sent[0] == b'event: state\ndata: {"n":1}\n\n'
    assert set(sent[1:-1]) == {b": alive\n\n"}
    assert sent[-1] == b"event: end\ndata: {}\n\n"


@pytest.mark.usefixtures("quick")
def test_a_stream_ends_after_a_while_so_that_the_key_is_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toplist.service.http.live_view.LONGEST", 0.05)
    sent = parts_of(Script({"n": 1}), lambda: False)
    assert (sent[0], sent[-1]) == (b'event: state\ndata: {"n":1}\n\n', b"event: end\ndata: {}\n\n")


def test_a_state_is_small_with_a_long_baseline_and_many_positions(service: LocalService) -> None:
    change = {"baseline": [f"item-{n}" for n in range(10_000)], "positions": 500}
    before = service.app.handlers.rankings_size(HttpRequest(()))
    service.ask("PATCH", "/v1/rankings/front-page", json=change)
    assert service.app.handlers.rankings_size(HttpRequest(())) == before + BASELINE_BYTES * 10_000
    state = shown(service)
    assert state["ranking"]["baseline"] is None
    assert {len(row["shares"]) for row in state["items"]} == {SHARED_POSITIONS}


def test_the_last_events_are_shown_while_a_long_log_is_still_read(
    service: LocalService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toplist.service.http.history._PAGES_PER_READ", 1)
    monkeypatch.setattr("toplist.service.http.activity.TAIL", 10)
    for _ in range(600):  # more than a page
        service.double.as_if_learned("front-page", [])
    service.double.as_if_learned("front-page", [2])
    state = shown(service)
    assert state["history"]["complete"] is False
    assert "a click at 2, as its click window closed" in {event["detail"] for event in state["events"]}


def test_sigterm_ends_a_stream_of_a_process(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        httpx.post(f"{service.url}/v1/rankings", json={"name": "shop", "positions": 1})
        with httpx.stream("GET", f"{service.url}/v1/rankings/shop/live?updates=100", timeout=60) as reply:
            lines = reply.iter_lines()
            assert next(lines) == "event: state"
            service.process.send_signal(signal.SIGTERM)
            assert "event: end" in list(lines)
        service.process.communicate(timeout=60)
        assert service.process.wait() == Exit.FINE


def event(kind: str, body: Any, impression: str | None = None) -> Event:
    raw = msgspec.Raw(msgspec.json.encode(body))
    return Event(seq=1, at="2026-11-15T12:00:00.000Z", ranking="a", kind=kind, impression=impression, body=raw)


def test_shares_are_of_the_recent_lists() -> None:
    activity = Activity()
    for _ in range(RECENT_LISTS):
        activity.add(event("list", {"items": ["a", 7]}, "x"))
    assert (activity.shares("a", 2), activity.shares(7, 2), activity.shares("7", 2)) == ([1, 0], [0, 1], [0, 0])
    for _ in range(RECENT_LISTS // 4):
        activity.add(event("list", {"items": ["b", "a"]}, "x"))
    assert activity.recent == RECENT_LISTS
    assert (activity.shares("a", 2), activity.shares("b", 2)) == ([0.75, 0.25], [0.25, 0])


def test_changes_are_kept_in_words_and_not_as_large_events() -> None:
    curve = Curve()
    features = [0.5] * 1000
    put = {"put": [{"id": f"item-{n}", "features": features} for n in range(100)], "by": "boss"}
    curve.add(EventRow(1, 0, 1, 0, "items", None, msgspec.json.encode(put)))
    curve.add(EventRow(2, 0, 1, 0, "pool", None, b"{}"))
    (change,) = curve.changes
    assert (change.detail, change.by) == ("put item-0, item-1, item-2 and 97 more", "boss")
    assert len(msgspec.json.encode(change)) < 300


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("list", {"items": list("abcd")}, "showed a, b, c and 1 more"),
        ("learned", {"merged": {}, "reason": "window"}, "no clicks, as its click window closed"),
        ("learned", decoded(encode(ListOutcome(NO_REPORT, "window", 1))), "no clicks, as its click window closed"),
        ("items", {"put": [{"id": "a"}], "removed": ["b"]}, "put a; removed b"),
        ("ranking", {"spec": {"policy": "dcm-ts", "positions": 3}}, "settings: dcm-ts, 3 positions"),
        ("ranking", {"spec": {}, "deleted": True}, "the ranking was deleted"),
        ("quarantined", {"reason": "damaged"}, "set aside: damaged"),
        (
            "stopped",
            {"metric": "clicks_per_list", "ratio": 0.8127},
            "back to the baseline: clicks_per_list is 0.813 times that of the holdout",
        ),
        ("report", {"clicks": [1]}, None),
        ("pool", {}, None),
    ],
)
def test_events_in_words(kind: str, body: Any, text: str | None) -> None:
    assert event_text(kind, body) == text
