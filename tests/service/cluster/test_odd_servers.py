"""Servers of two releases beside each other, and servers whose clocks are ten minutes off."""

import asyncio
import http.client
import json
import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from benchmarks.server import UNLIMITED, Server, free_port
from forking import ForkedProcess
from pgbouncer import pgbouncer
from postgres_server import database
from postgres_server import server as shared_server

from toplist.service.api_keys import ApiKeySetting
from toplist.service.cluster.messages import Ask, ForwardedKey
from toplist.service.cluster.peers import Peers
from toplist.service.cluster.placing import partition_of
from toplist.service.http.auth import KnownKey, hash_api_key
from toplist.service.http.cluster_app import forwarded_key, key_to_forward
from toplist.service.store.postgres import check_address
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.schema import VERSIONS
from toplist.service.store.postgres.session import Session

SECRET = "the secret of all servers of a test"
PROGRAM = ("tests.service.odd_server", "serve")
ORIGIN = "http://shop.test"
PATIENCE = 60.0  # seconds
Start = Callable[..., Server]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A function that makes a server of the test's database, not started yet."""
    made: list[Server] = []

    def make(partitions: int, address: str | None = None, **more: str) -> Server:
        settings = {
            **UNLIMITED, "lease": "1", "cluster.secret": SECRET, "cluster.partitions": str(partitions),
            "cluster.port": str(free_port()), "browser.secrets": "a:" + "s" * 40,
            "browser.origins": ORIGIN, **more,
        }  # fmt: skip
        name = tmp_path / f"{len(made)}.db"
        address = address or database(tmp_path / "db")
        made.append(Server(name, program=PROGRAM, settings=settings, database=address))
        return made[-1]

    try:
        yield make
    finally:
        for server in made:
            if server.process is not None and server.running.poll() is None:
                server.kill()


def asked(server: Server, method: str, path: str, body: Any = None) -> Any:
    """Ask again while a partition moves, as clients do."""
    until = time.monotonic() + PATIENCE
    while True:
        status, answer = server.ask(method, path, body)
        if status != 503:
            assert status < 400, answer
            return answer
        assert time.monotonic() < until, answer
        time.sleep(0.05)


def learned(server: Server, name: str) -> int:
    return int(asked(server, "GET", f"/v1/rankings/{name}/estimates")["learned"])


def visit(server: Server, name: str) -> None:
    made = asked(server, "POST", f"/v1/rankings/{name}/lists", {})
    report = {"clicks": [1], "final": True}
    assert asked(server, "PUT", f"/v1/impressions/{made['impression']}/clicks", report)["counted"]


def report_by_token(server: Server, token: str) -> Any:
    """As a browser does."""
    headers = {"Origin": ORIGIN, "Content-Type": "text/plain"}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    try:
        connection.request("POST", "/v1/reports", json.dumps({"token": token, "clicks": [1]}), headers)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def test_two_releases_run_beside_each_other(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "popen", ForkedProcess)
    servers, names, visits = [start(4), start(4)], ["a", "b", "c"], 0
    for server in servers:  # both migrate at once
        server.launch()
    for server in servers:
        server.wait_until_ready()
    for name in names:
        servers[0].create(name, 6, 2, click_window=60.0)

    def visit_all() -> None:
        nonlocal visits
        visits += len(servers)
        for name in names:
            for server in servers:
                visit(server, name)
            assert [learned(server, name) for server in servers] == [visits] * 2

    visit_all()
    # An upgrade of one server after the other, and back; with the tables of the later release from the first step on.
    for number, later in ((0, "1"), (1, "1"), (0, ""), (1, "")):
        servers[number].end()
        monkeypatch.setenv("SERVER_LATER_TABLES", later)
        servers[number].start()
        visit_all()
    session = Session(database(tmp_path / "db"))
    versions = [row[0] for row in session.run([Statement("SELECT version FROM versions ORDER BY 1")])[0]]
    assert versions == list(range(1, len(VERSIONS) + 2))
    session.run([Statement("INSERT INTO versions VALUES (98, 99)")])
    session.close()
    servers[0].end()
    servers[0].launch()
    assert servers[0].running.wait(PATIENCE) != 0
    assert re.search(r"version 98 of the tables, which only a toplist that knows\s+version 99 can use",
                     servers[0].last_words())  # fmt: skip
    visit(servers[1], "a")  # one that runs goes on


def test_two_servers_through_pgbouncer(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "popen", ForkedProcess)
    with pgbouncer(shared_server(), check_address(database(tmp_path / "db"))["dbname"]) as address:
        servers, names = [start(4, address), start(4, address)], ["a", "b", "c"]
        for server in servers:
            server.start()
        for name in names:
            asked(servers[0], "POST", "/v1/rankings", {"name": name, "positions": 2})
            asked(servers[1], "PUT", f"/v1/rankings/{name}/items", {"items": [{"id": f"item-{n}"} for n in range(4)]})
            for server in servers:
                visit(server, name)
        servers[0].end()
        assert [learned(servers[1], name) for name in names] == [2, 2, 2]
        visit(servers[1], "a")
        servers[1].end()


def test_a_forwarded_request_has_the_name_and_the_rankings_of_its_key(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Server, "popen", ForkedProcess)
    boss, page = "toplist_" + "b" * 43, "toplist_" + "p" * 43
    partitions = 16  # one server owns them all by chance once in 2^15 times
    one_each = {partition_of(f"ranking-{n}", partitions): f"ranking-{n}" for n in range(200)}
    names = list(one_each.values())
    assert len(names) == partitions
    allowed = "+".join(names[::2])
    keys = f"boss:admin:{hash_api_key(boss)},page:serve:{hash_api_key(page)}:rankings={allowed}"
    servers = [start(partitions, keys=keys), start(partitions, keys=keys)]

    def ask(server: Server, key: str, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        until = time.monotonic() + PATIENCE
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
            headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            status, text = answer.status, answer.read()
            connection.close()
            if status != 503 or time.monotonic() > until:
                return status, text
            time.sleep(0.05)

    for server in servers:
        server.start()
    until, owners = time.monotonic() + PATIENCE, set[str]()
    while len(owners) < 2 and time.monotonic() < until:
        rows = json.loads(ask(servers[0], boss, "GET", "/v1/cluster")[1])["partitions"]
        owners = {row["owner"] for row in rows if row["owner"] is not None}
    for name in names:  # of each server, some are forwarded
        assert ask(servers[0], boss, "POST", "/v1/rankings", {"name": name, "positions": 2})[0] in (201, 409)
        assert (
            ask(servers[1], boss, "PUT", f"/v1/rankings/{name}/items", {"items": [{"id": "x"}, {"id": "y"}]})[0] == 200
        )
        is_allowed = name in names[::2]
        for server in servers:
            assert ask(server, page, "PUT", f"/v1/rankings/{name}/items", {"items": []})[0] == 403  # its scope
            status, text = ask(server, page, "POST", f"/v1/rankings/{name}/lists", {})
            assert status == (200 if is_allowed else 403)
            if not is_allowed:
                text = ask(server, boss, "POST", f"/v1/rankings/{name}/lists", {})[1]
            path = f"/v1/impressions/{json.loads(text)['impression']}/clicks"
            assert ask(server, page, "PUT", path, {"clicks": [1]})[0] == (200 if is_allowed else 403)
        events = list(map(json.loads, ask(servers[0], boss, "GET", f"/v1/rankings/{name}/events")[1].splitlines()))
        assert {event["body"]["by"] for event in events if event["kind"] in ("ranking", "items")} == {"boss"}
    counted = [ask(server, boss, "GET", "/metrics")[1].decode() for server in servers]
    assert all('toplist_cluster_requests_total{how="forwarded"} 0.0' not in each for each in counted)


def test_a_forwarded_key_is_the_one_that_was_sent() -> None:
    for scope in ("list", "list+report", "serve", "admin"):
        for rankings in (None, ["front", "side"]):
            key = KnownKey.of(ApiKeySetting(name="page", scope=scope, sha256="0" * 64, rankings=rankings))
            told = forwarded_key(key_to_forward(key))
            assert (told.name, told.scopes, told.rankings) == (key.name, key.scopes, key.rankings)
    assert "admin" in forwarded_key(ForwardedKey("page", None)).scopes  # an earlier release has checked it
    assert forwarded_key(ForwardedKey("page", None, "of+a+later+release")).scopes == frozenset()


def test_an_owner_checks_the_scope_of_a_forwarded_key(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Server, "popen", ForkedProcess)
    inner = free_port()
    server = start(1, **{"cluster.port": str(inner)})
    server.start()
    server.create("front", 4, 2)
    body = {"put_items": b'{"items": [{"id": "x"}]}', "make_list": b"{}", "read_ranking": b""}

    async def ask_as(scope: str | None) -> list[int]:
        peers = Peers(SECRET.encode())
        answers = [
            await peers.ask(
                f"127.0.0.1:{inner}",
                Ask(
                    peers.next_id(), 0, route, ["front"], b"", body[route], b"an id", "caller",
                    ForwardedKey("page", None, scope),
                ),
            )
            for route in body
        ]  # fmt: skip
        peers.close()
        return [answer.status for answer in answers]

    asked = {scope: asyncio.run(ask_as(scope)) for scope in ("admin", None, "serve", "list", "report", "later")}
    assert asked == {
        "admin": [200, 200, 200], None: [200, 200, 200], "serve": [403, 200, 200], "list": [403, 200, 403],
        "report": [403, 403, 403], "later": [403, 403, 403],
    }  # fmt: skip


def test_versions_only_expand() -> None:
    for version in VERSIONS:
        assert not re.search(r"\b(DROP|RENAME|TRUNCATE|ALTER COLUMN)\b", version.script, re.IGNORECASE)


def test_clocks_ten_minutes_off(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    early, late = start(4), start(4)
    for server, ahead in ((early, "-600"), (late, "600")):
        monkeypatch.setenv("SERVER_CLOCK_AHEAD", ahead)
        server.start()
    names = [f"ranking-{n}" for n in range(4)]
    for name in names:
        early.create(name, 4, 2, click_window=3.0)
    for name in names:
        for maker, teller in ((early, late), (late, early)):
            made = asked(maker, "POST", f"/v1/rankings/{name}/lists", {"token": True})
            shown = asked(teller, "GET", f"/v1/impressions/{made['impression']}")
            off = datetime.fromisoformat(shown["made"]) - datetime.now(UTC)
            assert abs(off.total_seconds()) < PATIENCE  # of the database's clock, which is right
            assert shown["state"] == "open"
            assert report_by_token(teller, made["token"])["counted"]
    until = time.monotonic() + PATIENCE
    while [learned(early, name) for name in names] != [2] * 4:  # windows end after three seconds, whoever owns them
        assert time.monotonic() < until
        time.sleep(0.1)
