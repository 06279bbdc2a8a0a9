"""A divided ranking on two real servers: both serve its segments, and a change is seen by all of them at once."""

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.server import Server, item_names
from forking import ForkedProcess
from postgres_server import database
from two_servers import owners, two_servers, wait_for_owners

from toplist.cli import Exit, main
from toplist.service.cluster.placing import partition_of
from toplist.service.store.divisions import division_of, division_parts

LEASE = 2.0
PARTITIONS, DIVISIONS = 16, 8
NAME = "front"
SEGMENTS = [f"segment-{n}" for n in range(24)]
PATIENCE = 60.0  # seconds


@pytest.fixture
def address(tmp_path: Path) -> str:
    return database(tmp_path / "db")


@pytest.fixture
def servers(tmp_path: Path, address: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Server]]:
    monkeypatch.setattr(Server, "popen", ForkedProcess)
    with two_servers(tmp_path, address, PARTITIONS, LEASE) as made:
        wait_for_owners(made[0], 2)
        yield made


def asked(server: Server, method: str, path: str, body: Any = None, status: int = 0) -> Any:
    """Ask again while a partition moves, as clients do; in the end it has this status, or is fine."""
    for attempt in range(100):
        found, answer = server.ask(method, path, body)
        if found != 503:
            assert found == status if status else found < 400 or (found == 409 and attempt > 0), (found, answer)
            return answer
        time.sleep(0.1)
    raise AssertionError(answer)


def create(server: Server, **more: Any) -> None:
    given = {"name": NAME, "positions": 3, "click_window": 60.0, "policy": "cascade-kl-ucb", "divisions": DIVISIONS}
    assert asked(server, "POST", "/v1/rankings", given | more)["divisions"] == DIVISIONS
    asked(server, "PUT", f"/v1/rankings/{NAME}/items", {"items": [{"id": item} for item in item_names(8)]})


def visit(server: Server, segment: str | None, **more: Any) -> Any:
    """A list, whose first item is clicked."""
    made = asked(server, "POST", f"/v1/rankings/{NAME}/lists", {"segment": segment} | more)
    path = f"/v1/impressions/{made['impression']}/clicks"
    assert asked(server, "PUT", path, {"clicks": [1], "final": True})["counted"]
    return made


def read_events(servers: list[Server], limit: int = 7) -> list[dict[str, Any]]:
    """All events of the ranking by its cursor, some at a time from each server in turn."""
    found: list[dict[str, Any]] = []
    while True:
        server, cursor = servers[len(found) % len(servers)], f"&cursor={found[-1]['cursor']}" if found else ""
        status, text = server.ask_raw("GET", f"/v1/rankings/{NAME}/events?limit={limit}{cursor}")
        assert status == 200, text
        if not text:
            return found
        found += map(json.loads, text.splitlines())


def metric(server: Server, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", server.ask_raw("GET", "/metrics")[1].decode(), re.MULTILINE)
    assert found, name
    return float(found[1])


@pytest.mark.slow
def test_both_servers_serve_the_segments_of_one_ranking(servers: list[Server], address: str, tmp_path: Path) -> None:
    create(servers[0])
    parts = division_parts(partition_of(NAME, PARTITIONS), DIVISIONS, PARTITIONS)
    own = Counter(owners(servers[0])[parts[division_of(segment, DIVISIONS)]] for segment in SEGMENTS)
    assert len(own) == 2  # both of them
    lists = {}
    for n, segment in enumerate([None, *SEGMENTS]):
        lists[segment] = visit(servers[n % 2], segment, request_id=f"request of {segment}")
        again = asked(
            servers[1 - n % 2], "POST", f"/v1/rankings/{NAME}/lists",
            {"segment": segment, "request_id": f"request of {segment}"},
        )  # fmt: skip
        assert again == lists[segment]
    conflict = {"segment": SEGMENTS[0], "request_id": f"request of {SEGMENTS[1]}"}
    for server in servers:
        asked(server, "POST", f"/v1/rankings/{NAME}/lists", conflict, status=409)
        assert [one["name"] for one in asked(server, "GET", "/v1/rankings")["rankings"]] == [NAME]
        assert asked(server, "GET", f"/v1/rankings/{NAME}/segments")["segments"] == sorted(SEGMENTS)
        page = asked(server, "GET", f"/v1/rankings/{NAME}/segments?limit=5&after=segment-13")
        assert page == {"segments": sorted(SEGMENTS)[6:11], "next": sorted(SEGMENTS)[10]}
        history = asked(server, "GET", f"/v1/rankings/{NAME}/history")
        assert (history["lists"], history["clicked"], history["complete"]) == (25, 25, True)
        assert sum(point["lists"] for point in history["points"]) == 25
        for segment in SEGMENTS:
            assert asked(server, "GET", f"/v1/rankings/{NAME}/estimates?segment={segment}")["learned"] == 1
            assert asked(server, "GET", f"/v1/rankings/{NAME}/explanation?segment={segment}")["learned"] == 1
        asked(server, "GET", f"/v1/rankings/{NAME}/estimates?segment=unknown", status=404)
        asked(server, "GET", f"/v1/rankings/{NAME}/events?after=3", status=422)
        asked(server, "GET", f"/v1/rankings/{NAME}/events?cursor=3-4", status=422)
        live = server.ask_raw("GET", "/v1/live")[1]
        assert live.count(b'"name":') == 1
        assert b'"lists":25,' in live
    learned = [metric(server, 'toplist_learned_total{reason="final"}') for server in servers]
    assert sum(learned) == 25
    assert min(learned) > 0  # both have learned, each its own segments
    events = read_events(servers)
    assert Counter(event["kind"] for event in events) == {
        "ranking": DIVISIONS, "items": DIVISIONS, "learner": 25, "list": 25, "learned": 25
    }  # fmt: skip
    assert len({event["cursor"] for event in events}) == len(events)
    assert read_events(servers[1:], 1000) == events

    asked(servers[0], "DELETE", f"/v1/rankings/{NAME}/segments/{SEGMENTS[3]}")
    assert SEGMENTS[3] not in asked(servers[1], "GET", f"/v1/rankings/{NAME}/segments")["segments"]
    asked(servers[1], "DELETE", f"/v1/rankings/{NAME}/segments/{SEGMENTS[3]}", status=404)

    asked(servers[1], "DELETE", f"/v1/rankings/{NAME}")
    for server in servers:
        for segment in (None, *SEGMENTS):
            asked(server, "POST", f"/v1/rankings/{NAME}/lists", {"segment": segment}, status=404)
    create(servers[1], positions=2)  # the same name once more
    for n, segment in enumerate(SEGMENTS):
        assert len(visit(servers[n % 2], segment, request_id=f"request of {segment}")["items"]) == 2
    for server in servers:
        server.end()
    assert main(["store", "check", "--store", address]) == Exit.FINE
    out = tmp_path / "all.ndjson"
    assert main(["store", "export", str(out), "--ranking", NAME, "--store", address]) == Exit.FINE
    assert out.read_text().count('"kind":"list"') == len(SEGMENTS)


@pytest.mark.slow
def test_a_removed_item_is_in_no_list_that_is_asked_for_afterwards(servers: list[Server], address: str) -> None:
    create(servers[0])
    for n, segment in enumerate(SEGMENTS):
        visit(servers[n % 2], segment)
    gone: dict[str, float] = {}  # items, and when their removal was acknowledged
    shown: list[tuple[float, list[str]]] = []  # when a list was asked for, and its items
    is_over, problems = threading.Event(), list[BaseException]()

    def come(number: int) -> None:
        try:
            while not is_over.is_set():
                for segment in SEGMENTS[number::4]:
                    begun = time.monotonic()
                    made = asked(servers[number % 2], "POST", f"/v1/rankings/{NAME}/lists", {"segment": segment})
                    shown.append((begun, made["items"]))
        except BaseException as problem:
            problems.append(problem)

    visitors = [threading.Thread(target=come, args=(number,)) for number in range(4)]
    for visitor in visitors:
        visitor.start()
    try:
        for n in range(40):
            guest, server = f"guest-{n}", servers[n % 2]
            asked(server, "PUT", f"/v1/rankings/{NAME}/items", {"items": [{"id": guest}]})
            before = len(shown)
            while len(shown) < before + 8 and not problems:  # the guest is shown: it was never seen
                time.sleep(0.001)
            asked(server, "POST", f"/v1/rankings/{NAME}/items/remove", {"ids": [guest]})
            gone[guest] = time.monotonic()
    finally:
        is_over.set()
        for visitor in visitors:
            visitor.join()
    assert not problems
    wrong = [item for begun, items in shown for item in items if begun > gone.get(item, begun)]
    assert wrong == []
    assert sum(item in gone for _, items in shown for item in items) > 40  # guests were shown in between
    for server in servers:
        server.end()
    assert main(["store", "check", "--store", address]) == Exit.FINE
