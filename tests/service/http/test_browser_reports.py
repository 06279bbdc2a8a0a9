"""Reports of browsers: signed impression tokens, named origins, CORS on one route, and rate limits."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from asking import ADMIN, KEYS, LocalService, Make, problem, stock

from toplist.core.problem import InvalidInput
from toplist.service.browser_settings import BrowserSettings, TokenSecret, token_secrets
from toplist.service.http.impression_tokens import ImpressionTokens
from toplist.service.http.problems import HttpProblem
from toplist.service.read_settings import read_settings
from toplist.service.settings import Limits

OLD, NEW = "2026a:" + "o" * 40, "2026b:" + "n" * 40
SHOP = "https://shop.example"
MADE = 1_763_290_000.0  # seconds; when tokens are signed
IMPRESSION = "019a8b5e-7c1f-7d3a-9b42-5f0e6c1d2a33"
LISTS = "/v1/rankings/front-page/lists"


def tokens(*secrets: str, at: float = MADE) -> ImpressionTokens:
    return ImpressionTokens(token_secrets(BrowserSettings(secrets=list(secrets))), clock=lambda: at)


@pytest.fixture
def shop(make_service: Make) -> LocalService:
    """A service with the pages of a shop, whose clock stands."""
    service = make_service(stocked=True, browser=BrowserSettings(secrets=[OLD], origins=[SHOP]))
    service.app.handlers.tokens = tokens(OLD)
    return service


def listed(service: LocalService, **more: Any) -> dict[str, Any]:
    reply = service.ask("POST", LISTS, json={"token": True, **more})
    assert reply.status_code == 200, reply.text
    made: dict[str, Any] = reply.json()
    return made


def send(service: LocalService, body: Any, **headers: str) -> httpx.Response:
    """Send a report as a browser does."""
    text = body if isinstance(body, str) else json.dumps(body)
    given = {"origin": SHOP, "content-type": "text/plain;charset=UTF-8"} | headers
    return service.ask("POST", "/v1/reports", content=text, headers={k: v for k, v in given.items() if v})


def test_a_page_reports_on_its_own_list(shop: LocalService) -> None:
    mine, other = listed(shop), listed(shop)
    reply = send(shop, {"token": mine["token"], "clicks": [{"position": 1}], "seen": [{"position": 1}], "final": True})
    assert (reply.status_code, reply.json()) == (200, {"impression": mine["impression"], "counted": True})
    assert shop.ask("GET", f"/v1/impressions/{mine['impression']}").json()["clicks"] == [1]
    assert shop.ask("GET", f"/v1/impressions/{other['impression']}").json()["clicks"] == []


def test_a_list_has_a_token_only_if_asked_and_a_repeated_request_gets_one_too(shop: LocalService) -> None:
    assert "token" not in shop.ask("POST", LISTS, json={}).json()
    first, second = listed(shop, request_id="r"), listed(shop, request_id="r")
    assert first == second
    assert first["token"].startswith("1.2026a.")
    assert first["impression"].replace("-", "") in first["token"]


def test_without_secrets_a_token_is_refused_before_a_list_is_made(service: LocalService) -> None:
    refused = problem(service.ask("POST", LISTS, json={"token": True}), 422)
    assert refused["errors"][0]["pointer"] == "/token"
    assert service.double.lists == {}


def test_a_token_is_valid_from_when_it_is_signed_whatever_the_time_of_its_list() -> None:
    """After a restart and hours without events, the clock of the lists may be hours late."""
    late = tokens(OLD, at=MADE + 1_000_000.0)
    assert late.impression(late.sign(IMPRESSION, 1800.0)) == IMPRESSION


def test_a_token_expires_with_the_click_window(shop: LocalService) -> None:
    one, deferred = listed(shop), listed(shop, deferred=True)
    for after, statuses in ((1799.0, (200, 200)), (1801.0, (403, 200)), (3601.0, (403, 403))):
        shop.app.handlers.tokens = tokens(OLD, at=MADE + after)
        found = [send(shop, {"token": each["token"]}) for each in (one, deferred)]
        assert tuple(reply.status_code for reply in found) == statuses
        for reply in found:
            if reply.status_code == 403:
                assert problem(reply, 403)["type"] == "urn:toplist:problem:token-expired"


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token[:-1] + ("A" if token[-1] != "A" else "B"),
        lambda token: token.replace("019a8b5e", "019a8b5f"),  # another impression
        lambda token: token.replace(".17", ".18", 1),  # a later end
        lambda token: token.replace("2026a", "2026b"),
        lambda token: token + "A",
        lambda token: f"2{token[1:]}",
        lambda _: "x",
        lambda _: "1.2026a.1.é.x",
    ],
)
def test_a_changed_token_is_refused(shop: LocalService, change: Any) -> None:
    made = listed(shop)
    changed = change(made["token"])
    assert changed != made["token"]
    problem(send(shop, {"token": changed, "clicks": [1]}), 403)
    assert shop.ask("GET", f"/v1/impressions/{made['impression']}").json()["clicks"] == []


def test_secrets_are_replaced_without_a_pause() -> None:
    """Servers take the new secret one after the other: first behind the old one, then before it."""
    stages = [tokens(OLD), tokens(OLD, NEW), tokens(NEW, OLD), tokens(NEW)]
    signed = [stage.sign(IMPRESSION, 60.0) for stage in stages]
    for at in range(3):
        for token in signed[at : at + 2]:  # a server and those that are one stage ahead
            assert stages[at + 1].impression(token) == IMPRESSION
    assert stages[2].impression(signed[0]) == IMPRESSION
    with pytest.raises(HttpProblem, match="its secret was removed from the settings"):
        stages[3].impression(signed[0])


def test_equal_ids_with_other_secrets_do_not_verify() -> None:
    forged = ImpressionTokens([TokenSecret("2026a", b"guessed")], clock=lambda: MADE).sign(IMPRESSION, 60.0)
    with pytest.raises(HttpProblem, match="signature"):
        tokens(OLD).impression(forged)


def test_signatures_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return one == other

    signed = tokens(OLD).sign(IMPRESSION, 60.0)
    monkeypatch.setattr("hmac.compare_digest", compare)
    assert tokens(OLD).impression(signed) == IMPRESSION
    assert compared == [(signed.encode(), signed.encode())]


def test_pages_of_named_origins_may_read_replies_of_this_route_alone(shop: LocalService) -> None:
    made = listed(shop)
    for body, status in (({"token": made["token"]}, 200), ({"token": "x"}, 403), ({}, 422), ("{", 400)):
        reply = send(shop, body)
        assert reply.status_code == status
        assert reply.headers["access-control-allow-origin"] == SHOP
        assert reply.headers["vary"] == "Origin"
        assert reply.headers.get_list("cross-origin-resource-policy") == ["cross-origin"]
        assert "access-control-allow-credentials" not in reply.headers
    for path in ("/v1/rankings", LISTS, "/"):
        assert "access-control-allow-origin" not in shop.ask("GET", path, headers={"origin": SHOP}).headers


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://evil.example", 403),
        ("https://shop.example.evil.example", 403),
        ("http://shop.example", 403),
        ("https://shop.example:8443", 403),
        ("null", 403),
        ("", 422),
        ("http://localhost:8600", 200),  # the service's own
        (SHOP, 200),
    ],
)
def test_the_origin_is_checked(shop: LocalService, origin: str, status: int) -> None:
    reply = send(shop, {"token": listed(shop)["token"]}, origin=origin)
    assert reply.status_code == status
    assert ("access-control-allow-origin" in reply.headers) == (status == 200)


@pytest.mark.parametrize("media", ["application/json", "text/plain;charset=latin-1", "text/html", ""])
def test_a_report_is_plain_text(shop: LocalService, media: str) -> None:
    refused = problem(send(shop, {"token": listed(shop)["token"]}, **{"content-type": media}), 415)
    assert refused["detail"].endswith("Content-Type: text/plain.")


def test_a_report_is_small(shop: LocalService) -> None:
    token = listed(shop)["token"]
    assert send(shop, {"token": token} | {"clicks": [1] * 2000}).status_code == 200
    problem(send(shop, json.dumps({"token": token}) + " " * 64_000), 413)


def test_reports_of_an_impression_are_limited(make_service: Make) -> None:
    browser = BrowserSettings(secrets=[OLD], origins=[SHOP], impression_rate=0.001, impression_burst=2)
    service = make_service(stocked=True, browser=browser)
    service.app.handlers.tokens = tokens(OLD)
    one, other = listed(service), listed(service)
    statuses = [send(service, {"token": each["token"]}).status_code for each in (one, one, one, other)]
    assert statuses == [200, 200, 429, 200]
    service.app.reload(service.settings)
    service.app.handlers.tokens = tokens(OLD)
    assert send(service, {"token": one["token"]}).status_code == 429  # a reload gives no new ones


def test_reports_of_an_address_are_limited_apart_from_strangers(make_service: Make) -> None:
    browser = BrowserSettings(secrets=[OLD], origins=[SHOP], rate=0.001, burst=2)
    service = make_service(keys=KEYS, browser=browser, limits=Limits(stranger_rate=0.001, stranger_burst=1))
    replies = [send(service, {"token": "x"}) for _ in range(3)]
    assert [reply.status_code for reply in replies] == [403, 403, 429]
    assert replies[-1].headers["access-control-allow-origin"] == SHOP  # so that the page knows to wait
    assert send(service, {"token": "x"}, origin="https://evil.example").status_code == 429
    assert service.ask("GET", "/openapi.json").status_code == 200


def test_with_keys_a_report_needs_none_and_everything_else_does(make_service: Make) -> None:
    service = make_service(keyed=True, browser=BrowserSettings(secrets=[OLD], origins=[SHOP]))
    service.app.handlers.tokens = tokens(OLD)
    admin = {"authorization": f"Bearer {ADMIN}"}
    service.ask("POST", "/v1/rankings", json={"name": "front-page", "positions": 2}, headers=admin)
    service.ask("PUT", "/v1/rankings/front-page/items", json={"items": [{"id": "tea"}]}, headers=admin)
    made = service.ask("POST", LISTS, json={"token": True}, headers=admin).json()
    assert send(service, {"token": made["token"], "clicks": [1]}).status_code == 200
    bearer = {"authorization": f"Bearer {made['token']}"}
    problem(service.ask("GET", f"/v1/impressions/{made['impression']}", headers=bearer), 401)


def test_visitors_are_not_in_the_log_unless_they_are_refused(shop: LocalService) -> None:
    token = listed(shop)["token"]
    before = len(shop.lines())
    send(shop, {"token": token})
    shop.ask("GET", "/assets/tracker.js")
    shop.ask("GET", "/assets/no-such-file.js")
    send(shop, {"token": "x"})
    *fine, refused = [json.loads(line) for line in shop.lines()[before:]]
    assert [line["route"] for line in fine] == ["/v1/reports", "/assets/{file}", "/assets/{file}"]
    assert {(line.get("caller", ""), line.get("address", "")) for line in fine} == {("", "")}
    assert (refused["status"], refused["address"]) == (403, "127.0.0.1")
    assert token not in shop.logged.getvalue()


def test_secrets_and_origins_are_reloaded(shop: LocalService) -> None:
    settings = read_settings(environment={"TOPLIST_BROWSER_SECRETS": f"{NEW}, {OLD}"})
    assert [each.id for each in token_secrets(settings.browser)] == ["2026b", "2026a"]
    shop.app.reload(settings)
    assert listed(shop)["token"].startswith("1.2026b.")
    assert send(shop, {"token": "x"}).headers.get("access-control-allow-origin") is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("secrets", "x" * 40, "Secret 1 of browser.secrets must have an id of 1 to 20 letters"),
        ("secrets", "a b:" + "x" * 40, "Secret 1 of browser.secrets must have an id"),
        ("secrets", "a:short", "Secret 1 of browser.secrets has 5 characters, but must have at least 32"),
        ("secrets", f"{OLD},{OLD}", "Two secrets of browser.secrets have the id '2026a'"),
        ("origins", "shop.example", "One of browser.origins is 'shop.example', but must be a scheme and a host"),
        ("origins", "https://shop.example/", "One of browser.origins is 'https://shop.example/'"),
        ("origins", "*", "One of browser.origins is"),
        ("origins", "ftp://shop.example", "One of browser.origins is"),
        ("origins", "https://a:x", "One of browser.origins is"),
    ],
)
def test_faulty_settings_are_refused_and_secrets_are_not_quoted(name: str, value: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as refused:
        read_settings(environment={}, flags={f"browser.{name}": value})
    assert "xxxx" not in str(refused.value)
    assert "short" not in str(refused.value)


def test_the_same_origin_is_written_in_several_ways(make_service: Make) -> None:
    browser = BrowserSettings(secrets=[OLD], origins=["HTTPS://Shop.Example:443", "http://[::1]:8601"])
    service = make_service(browser=browser)
    stock(service)
    for origin in (SHOP, "http://[::1]:8601"):
        assert send(service, {"token": "x"}, origin=origin).headers["access-control-allow-origin"] == origin
