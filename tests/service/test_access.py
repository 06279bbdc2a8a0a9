"""Who may call: keys, scopes, names of this machine, rates; and what the log says of it."""

from __future__ import annotations

import io
import json
import logging
from typing import Literal

import pytest
from asking import ADMIN, KEYS, SERVE, Make, Service, problem

from toplist.service.config import KeySetting, Limits, Logs
from toplist.service.http.auth import Keys, hashed, new_key, setting
from toplist.service.http.logs import Handler, Log
from toplist.service.http.openapi import document
from toplist.service.http.rate_limit import REMEMBERED, Buckets
from toplist.service.http.routes import ROUTES


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_every_route_asks_for_the_key_of_its_scope(keyed: Service) -> None:
    for route in ROUTES:
        path = route.path.format(name="a", item="b", impression="c")
        for key, scope in ((None, None), ("toplist_wrong", None), (SERVE, "serve"), (ADMIN, "admin")):
            reply = keyed.ask(route.method, path, headers={} if key is None else bearer(key))
            if route.scope is None or scope in {route.scope, "admin"}:
                assert reply.status_code not in {401, 403}, (route.name, scope)
            elif scope is None:
                problem(reply, 401)
                assert reply.headers["www-authenticate"].startswith("Bearer")
            else:
                assert "needs admin" in problem(reply, 403)["detail"]


@pytest.mark.parametrize("header", [SERVE, f"Basic {SERVE}", f"Bearer {SERVE}x", "Bearer", "Bearer ", "Bearer é"])
def test_a_header_without_a_known_key(keyed: Service, header: str) -> None:
    problem(keyed.ask("GET", "/v1/rankings", headers={"authorization": header.encode("latin-1")}), 401)


def test_a_header_may_be_written_as_one_likes(keyed: Service) -> None:
    assert keyed.ask("GET", "/v1/rankings", headers={"authorization": f"bearer  {SERVE} "}).status_code == 200


def test_with_keys_a_request_may_be_addressed_to_any_name(keyed: Service) -> None:
    assert keyed.ask("GET", "/v1/rankings", headers=bearer(SERVE) | {"host": "ranking.example"}).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8600", "[::1]:8600", "LOCALHOST:1"])
def test_without_keys_it_must_be_addressed_to_this_machine(service: Service, host: str) -> None:
    assert service.ask("GET", "/v1/rankings", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8600", "localhost.evil.example", "", "[::1", "127.0.0.1.x"]
)
def test_a_page_that_points_its_own_name_here_is_refused(service: Service, host: str) -> None:
    problem(service.ask("GET", "/v1/rankings", headers={"host": host}), 421)


def test_a_name_of_the_settings_will_do(make_service: Make) -> None:
    service = make_service(hosts=["Ranking.internal"])
    assert service.ask("GET", "/healthz", headers={"host": "ranking.internal:80"}).status_code == 200


def test_no_page_from_elsewhere_may_read_answers(service: Service) -> None:
    headers = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    for reply in (
        service.ask("GET", "/v1/rankings", headers=headers),
        service.ask("OPTIONS", "/v1/rankings", headers=headers),
    ):
        assert not [name for name in reply.headers if name.startswith("access-control")]


def test_a_new_key_fits_the_lines_that_are_printed_for_it() -> None:
    key = new_key()
    assert len(key) > 40
    assert new_key() != key
    lines = setting(key, "page", "serve")
    assert key not in lines
    kept = KeySetting(name="page", scope="serve", sha256=lines.split('"')[-2])
    assert Keys([kept]).caller(f"Bearer {key}".encode()) == kept


def test_all_keys_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the time it takes does not tell which key is close, or first."""
    compared: list[bytes] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append(one)
        return one == other

    monkeypatch.setattr("hmac.compare_digest", compare)
    known = [KeySetting(name=name, scope="serve", sha256=hashed(name)) for name in "abc"]
    for given in "abcd":
        compared.clear()
        Keys(known).caller(f"Bearer {given}".encode())
        assert len(compared) == 3


@pytest.mark.parametrize("keyed", [False, True])
def test_paths_that_there_are_not_are_limited_too(make_service: Make, keyed: bool) -> None:
    service = make_service(keys=KEYS if keyed else [], limits=Limits(rate=0.001, burst=2))
    assert [service.ask("GET", "/nothing").status_code, service.ask("PUT", "/healthz", json={}).status_code] == [
        404,
        405,
    ]
    problem(service.ask("GET", "/nothing"), 429)
    problem(service.ask("PUT", "/healthz", json={}), 429)
    assert service.ask("GET", "/healthz").status_code == 200


def test_paths_that_there_are_not_are_of_this_host_too(make_service: Make) -> None:
    service = make_service()
    problem(service.ask("GET", "/nothing", headers={"host": "evil.example"}), 421)
    problem(service.ask("PUT", "/healthz", headers={"host": "evil.example"}), 421)


def test_who_asks_too_often_hears_when_to_come_back(make_service: Make) -> None:
    service = make_service(limits=Limits(rate=0.5, burst=3))
    assert [service.ask("GET", "/v1/rankings").status_code for _ in range(3)] == [200] * 3
    late = service.ask("GET", "/v1/rankings")
    problem(late, 429)
    assert late.headers["retry-after"] == "2"
    assert service.ask("GET", "/v1/rankings", client=("10.0.0.7", 5)).status_code == 200
    assert service.ask("GET", "/healthz").status_code == 200


def test_keys_have_their_own_buckets_and_guessing_is_slowed_down(make_service: Make) -> None:
    keys = [KeySetting(name=name, scope="admin", sha256=hashed(name)) for name in "ab"]
    service = make_service(limits=Limits(rate=0.1, burst=2), keys=keys)
    asked = [service.ask("GET", "/v1/rankings", headers=bearer(key)).status_code for key in "aaab"]
    assert asked == [200, 200, 429, 200]
    guessed = [service.ask("GET", "/v1/rankings", headers=bearer(f"guess {i}")).status_code for i in range(3)]
    assert guessed == [401, 401, 429]


def test_buckets_fill_up_again_and_do_not_pile_up() -> None:
    now = [0.0]
    buckets = Buckets(rate=2.0, burst=2, clock=lambda: now[0])
    assert [buckets.wait("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    now[0] = 0.5
    assert [buckets.wait("a") for _ in range(2)] == [0.0, 0.5]
    now[0] = 100.0
    assert [buckets.wait("a") for _ in range(3)] == [0.0, 0.0, 0.5]
    for caller in range(REMEMBERED + 10):
        buckets.wait(str(caller))
    assert len(buckets._buckets) == REMEMBERED


def test_a_line_per_request_with_its_id_and_no_secret(keyed: Service) -> None:
    body = {"name": "private-name", "positions": 2}
    reply = keyed.ask("POST", "/v1/rankings", headers=bearer(ADMIN) | {"x-request-id": "page.view-7"}, json=body)
    assert reply.headers["x-request-id"] == "page.view-7"
    keyed.ask("GET", "/v1/rankings/private-name/estimates?key=private-query", headers=bearer("toplist_wrong-guess"))
    keyed.ask("GET", f"/v1/rankings/{ADMIN}", headers=bearer(SERVE))
    lines = keyed.lines()
    first = json.loads(lines[0])
    assert first.pop("at").endswith("Z")
    assert first.pop("ms") > 0
    assert first == {
        "event": "request", "request_id": "page.view-7", "method": "POST", "route": "/v1/rankings", "status": 201,
        "caller": "editor", "bytes": len(reply.content),
    }  # fmt: skip
    assert json.loads(lines[1])["status"] == 401
    assert len(lines) == 3
    for secret in (ADMIN, SERVE, "wrong-guess", "private"):
        assert secret not in "\n".join(lines)


@pytest.mark.parametrize("strange", ["a b", "x" * 200, 'a"b', "", "é"])
def test_a_strange_request_id_is_replaced(service: Service, strange: str) -> None:
    given = service.ask("GET", "/healthz", headers={"x-request-id": strange.encode()}).headers["x-request-id"]
    assert given != strange
    assert given != service.ask("GET", "/healthz").headers["x-request-id"]


@pytest.mark.parametrize(("which", "statuses"), [("all", [200, 404]), ("failed", [404]), ("none", [])])
def test_which_requests_are_logged_is_a_setting(
    make_service: Make, which: Literal["all", "failed", "none"], statuses: list[int]
) -> None:
    service = make_service(logs=Logs(requests=which))
    service.ask("GET", "/healthz")
    service.ask("GET", "/nothing")
    assert [json.loads(line)["status"] for line in service.lines()] == statuses


def test_what_others_log_becomes_json_too() -> None:
    stream = io.StringIO()
    logger = logging.Logger("uvicorn.error")
    logger.addHandler(Handler(Log(stream=stream)))
    logger.warning("hello %s", "you")
    try:
        raise ValueError("x")
    except ValueError:
        logger.exception("oh")
    first, second = map(json.loads, stream.getvalue().splitlines())
    assert (first["level"], first["name"], first["message"]) == ("warning", "uvicorn.error", "hello you")
    assert second["error"] == "ValueError"


def test_a_log_that_nobody_reads_stops_nothing() -> None:
    stream = io.StringIO()
    log = Log(stream=stream)
    stream.close()
    log.tell("started")


def test_the_description_says_who_needs_a_key() -> None:
    described = document(with_keys=True)
    for route in ROUTES:
        operation = described["paths"][route.path][route.method.lower()]
        assert operation.get("security") == (None if route.scope is None else [{"key": [route.scope]}])
    assert "securitySchemes" not in document(with_keys=False)["components"]
