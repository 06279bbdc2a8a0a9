"""API keys over HTTP: scopes, rankings, expiry and rotation."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asking import ADMIN, LocalService, Make, problem

from toplist.service.api_keys import ApiKeySetting
from toplist.service.http.auth import ApiKeys, hash_api_key
from toplist.service.http.openapi import document
from toplist.service.http.problems import HttpProblem
from toplist.service.http.routes import ROUTES

EDITOR = ApiKeySetting(name="editor", scope="admin", sha256=hash_api_key(ADMIN))
ABSENT = "019a8b5e-7c1f-7d3a-9b42-ffffffffffff"


def key(name: str, scope: str, secret: str | None = None, **more: Any) -> ApiKeySetting:
    """A key whose text is its name, unless given."""
    return ApiKeySetting(name=name, scope=scope, sha256=hash_api_key(secret or name), **more)


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


@pytest.mark.parametrize("scope", ["list", "report", "read", "list+report", "report+read", "serve", "admin"])
def test_a_key_reaches_the_routes_of_its_scopes_alone(make_service: Make, scope: str) -> None:
    service = make_service(keys=[key("k", scope)])
    allowed = key("k", scope).scopes
    for route in ROUTES:
        path = route.path.format(name="a", item="b", impression=ABSENT, segment="d", key="d", file="f")
        reply = service.ask(route.method, path, headers=bearer("k"))
        if route.scope is None or route.scope in allowed:
            assert reply.status_code not in {401, 403}, route.name
        else:
            assert problem(reply, 403)["detail"] == f"The key 'k' has the scope {scope}, but this needs {route.scope}."
            assert f'scope="{route.scope}"' in reply.headers["www-authenticate"]


def test_lists_reports_and_reading_have_scopes_of_their_own() -> None:
    by_scope: dict[str, set[str]] = {}
    for route in ROUTES:
        by_scope.setdefault(str(route.scope), set()).add(route.name)
    assert by_scope["list"] == {"make_list"}
    assert by_scope["report"] == {"report", "activate"}
    assert all(route.method == "GET" for route in ROUTES if route.scope == "read")
    assert by_scope["None"] == {"health", "readiness", "describe", "page", "playground", "report_by_token", "asset"}


def test_the_document_names_the_scope_and_both_refusals_of_each_route() -> None:
    described = document(with_keys=True)
    for route in ROUTES:
        operation = described["paths"][route.path][route.method.lower()]
        if route.scope is None:
            assert "security" not in operation
        else:
            assert operation["security"] == [{"key": [route.scope]}]
            assert {"401", "403"} <= set(operation["responses"])


@pytest.fixture
def bound(make_service: Make) -> LocalService:
    """A service with two rankings of two items each, and an admin key that is for one of them."""
    service = make_service(keys=[EDITOR, key("own", "admin", rankings=["own", "more"])])
    for name in ("own", "other"):
        ask(service, "POST", "/v1/rankings", ADMIN, json={"name": name, "positions": 2})
        items = [{"id": item} for item in ("b", "tea")]
        ask(service, "PUT", f"/v1/rankings/{name}/items", ADMIN, json={"items": items})
    return service


def ask(service: LocalService, method: str, path: str, secret: str = "own", status: int = 0, **more: Any) -> Any:
    reply = service.ask(method, path, headers=bearer(secret), **more)
    assert reply.status_code == (status or reply.status_code)
    assert status or reply.is_success, reply.text
    return reply.json() if reply.content else None


def made_list(service: LocalService, name: str) -> str:
    made: str = ask(service, "POST", f"/v1/rankings/{name}/lists", ADMIN, json={"segment": "d"})["impression"]
    return made


def test_a_key_for_some_rankings_gets_403_for_everything_else(bound: LocalService) -> None:
    own, other = made_list(bound, "own"), made_list(bound, "other")
    events = len(bound.double.log)
    for route in ROUTES:
        if route.scope is None or route.name in {"list_rankings", "live_overview"}:  # these name its rankings alone
            continue
        path = route.path.format(name="other", item="b", impression=other, segment="d", key="d", file="f")
        more = {} if route.request is None else {"json": route.request_example}
        detail = problem(bound.ask(route.method, path, headers=bearer("own"), **more), 403)["detail"]
        assert detail.startswith("The key 'own' is for the rankings more, own alone, but this "), route.name
    assert len(bound.double.log) == events  # nothing had an effect
    for route in sorted(ROUTES, key=lambda route: route.method == "DELETE"):
        if route.names and route.scope is not None:
            path = route.path.format(name="own", item="b", impression=own, segment="d", key="d", file="f")
            more = {} if route.request is None else {"json": route.request_example}
            reply = bound.ask(route.method, path, headers=bearer("own"), **more)
            assert reply.status_code not in {401, 403}, route.name


def test_a_key_for_some_rankings_sees_and_creates_these_alone(bound: LocalService) -> None:
    assert [each["name"] for each in ask(bound, "GET", "/v1/rankings")["rankings"]] == ["own"]
    assert [each["name"] for each in ask(bound, "GET", "/v1/rankings", ADMIN)["rankings"]] == ["other", "own"]
    overview = bound.ask("GET", "/v1/live", headers=bearer("own")).text
    assert '"name":"own"' in overview
    assert '"other"' not in overview
    ask(bound, "POST", "/v1/rankings", json={"name": "more", "positions": 1})
    ask(bound, "POST", "/v1/rankings", json={"name": "third", "positions": 1}, status=403)
    assert ask(bound, "GET", "/v1/rankings/third", ADMIN, status=404)


def test_a_body_for_another_ranking_is_not_read(bound: LocalService) -> None:
    headers = bearer("own") | {"content-type": "application/json"}
    problem(bound.ask("PUT", "/v1/rankings/other/items", headers=headers, content=b"no JSON"), 403)


def test_no_other_ranking_is_suggested_to_a_key_for_some(bound: LocalService) -> None:
    """A missing ranking of its own is answered without the nearest name."""
    assert "other" in ask(bound, "GET", "/v1/rankings/more", ADMIN, status=404)["detail"]
    for method, path in (("GET", ""), ("POST", "/lists"), ("DELETE", "")):
        reply = ask(bound, method, f"/v1/rankings/more{path}", status=404, json={})
        assert reply["detail"] == "There is no ranking 'more'."


def test_a_report_on_an_unknown_impression_is_answered_alike_for_all_keys(bound: LocalService) -> None:
    path, report = f"/v1/impressions/{ABSENT}/clicks", {"clicks": [1]}
    mine = ask(bound, "PUT", path, status=404, json=report)
    assert mine == ask(bound, "PUT", path, ADMIN, status=404, json=report)
    assert mine["counted"] is False


def test_an_expired_key_is_told_so_and_nobody_else_is(make_service: Make) -> None:
    then = datetime.now(UTC) - timedelta(hours=1)
    later = then + timedelta(hours=2)
    keys = [key("old", "read", expires=then), key("new", "read", expires=later), EDITOR]
    service = make_service(keys=keys)
    assert service.ask("GET", "/v1/rankings", headers=bearer("new")).status_code == 200
    for _ in range(2):
        reply = service.ask("GET", "/v1/rankings", headers=bearer("old"), client=("10.0.0.9", 1))
        body = problem(reply, 401)
        assert body["type"] == "urn:toplist:problem:key-expired"
        assert body["detail"].startswith("The key 'old' expired at 2")
    for wrong in ("oldx", "ol", "OLD"):
        body = problem(service.ask("GET", "/v1/rankings", headers=bearer(wrong)), 401)
        assert (body["type"], "expired" in body["detail"]) == ("urn:toplist:problem:unauthorized", False)
    lines = [json.loads(line) for line in service.lines()]
    assert [line["key"] for line in lines if line["event"] == "key expired"] == ["old"]  # the first time
    refused = [(line["caller"], line["address"]) for line in lines if line.get("status") == 401]
    assert refused == [("old", "10.0.0.9")] * 2 + [("127.0.0.1", "127.0.0.1")] * 3


def test_a_key_expires_at_its_time() -> None:
    expires = datetime(2027, 1, 31, 12, tzinfo=UTC)
    now = [expires.timestamp() - 0.001]
    keys = ApiKeys([key("k", "read", expires=expires)], lambda: now[0])
    assert keys.admit(b"Bearer k", "read").name == "k"
    now[0] += 0.001
    with pytest.raises(HttpProblem, match="The key 'k' expired at 2027-01-31T12:00:00Z; send a new one"):
        keys.admit(b"Bearer k", "read")


def test_an_expired_key_counts_as_no_key_for_the_rate(make_service: Make) -> None:
    service = make_service(keys=[key("old", "read", expires=datetime(2020, 1, 1, tzinfo=UTC))])
    statuses = [service.ask("GET", "/v1/rankings", headers=bearer("old")).status_code for _ in range(150)]
    assert set(statuses) == {401, 429}


def test_two_keys_of_one_name_are_valid_at_once(make_service: Make) -> None:
    service = make_service(keys=[key("page", "read", "first"), key("page", "read", "second")])
    for secret in ("first", "second"):
        assert service.ask("GET", "/v1/rankings", headers=bearer(secret)).status_code == 200
    assert [json.loads(line)["caller"] for line in service.lines()] == ["page", "page"]
