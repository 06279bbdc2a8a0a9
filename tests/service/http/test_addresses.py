"""Addresses of callers, behind proxies and without keys."""

from __future__ import annotations

import json

import pytest
from asking import KEYS, SERVE, LocalService, Make, problem

from toplist.service.http.addresses import TrustedProxies
from toplist.service.settings import Limits


@pytest.mark.parametrize(
    ("proxies", "peer", "headers", "caller"),
    [
        ([], "10.0.0.1", ["192.0.2.7"], "10.0.0.1"),
        (["10.0.0.0/8"], "192.0.2.1", ["192.0.2.7"], "192.0.2.1"),  # not a proxy
        (["10.0.0.0/8"], "10.0.0.1", [], "10.0.0.1"),
        (["10.0.0.0/8"], "10.0.0.1", ["192.0.2.7"], "192.0.2.7"),
        (["10.0.0.0/8"], "10.0.0.1", ["198.51.100.9, 192.0.2.7", "10.0.0.2"], "192.0.2.7"),  # the first is made up
        (["10.0.0.0/8"], "10.0.0.1", ["192.0.2.7, key shop"], "10.0.0.1"),
        (["10.0.0.0/8"], "10.0.0.1", ["key shop, 10.0.0.3"], "10.0.0.3"),
        (["10.0.0.0/8"], "10.0.0.1", ["10.0.0.2, 10.0.0.3"], "10.0.0.2"),
        (["10.0.0.0/8"], "::ffff:10.0.0.1", ["[2001:db8::1]:80"], "2001:db8::1"),
        (["10.0.0.0/8"], "10.0.0.1", ["192.0.2.7:5000"], "192.0.2.7"),
        (["*"], "192.0.2.1", ["198.51.100.9, 192.0.2.7"], "192.0.2.7"),  # the first is made up
        (["*"], "192.0.2.1", ["key shop"], "192.0.2.1"),
        (["*"], "192.0.2.1", ["1" * 10_000], "192.0.2.1"),
        (["*"], "192.0.2.1", [""], "192.0.2.1"),
    ],
)
def test_the_caller_behind_proxies(proxies: list[str], peer: str, headers: list[str], caller: str) -> None:
    assert TrustedProxies(proxies).caller(peer, [each.encode() for each in headers]) == caller


def test_a_header_cannot_name_the_bucket_of_a_key_and_made_up_addresses_share_one(make_service: Make) -> None:
    limits = Limits(rate=0.001, burst=3, stranger_rate=0.001, stranger_burst=3)
    service = make_service(keys=KEYS, proxies=["*"], limits=limits)
    for forwarded in ("key page", "key page", "key page", "1.2.3.4, key page"):
        service.ask("GET", "/v1/rankings", headers={"x-forwarded-for": forwarded})
    bearer = {"authorization": f"Bearer {SERVE}"}
    assert service.ask("GET", "/v1/rankings", headers=bearer).status_code == 200
    guesses = [
        service.ask("GET", "/v1/rankings", headers={"x-forwarded-for": f"198.51.100.{n}, 192.0.2.7"}).status_code
        for n in range(4)
    ]
    assert guesses == [401, 401, 401, 429]


def test_refused_requests_are_logged_with_the_address_behind_the_proxy(make_service: Make) -> None:
    limits = Limits(stranger_rate=0.001, stranger_burst=4)
    keyed = make_service(keys=KEYS, proxies=["127.0.0.1"], limits=limits)
    keyless = make_service(proxies=["127.0.0.1"])
    serve = {"authorization": f"Bearer {SERVE}"}
    asked: list[tuple[LocalService, int, str, str, dict[str, str]]] = [
        (keyed, 401, "GET", "/v1/rankings", {}),
        (keyed, 401, "GET", "/v1/rankings", {"authorization": "Bearer toplist_wrong"}),
        (keyed, 403, "DELETE", "/v1/rankings/a", serve),
        (keyed, 403, "POST", "/v1/reports", {"origin": "http://evil.example"}),
        (keyed, 404, "GET", "/unknown", {}),
        (keyed, 429, "GET", "/unknown", {}),
        (keyless, 421, "GET", "/v1/rankings", {}),
    ]
    for service, status, method, path, more in asked:
        assert service.ask(method, path, headers={"x-forwarded-for": "203.0.113.9", **more}).status_code == status
        line = json.loads(service.lines()[-1])
        caller = "page" if more is serve else "203.0.113.9"
        assert (line["caller"], line.get("address", "203.0.113.9")) == (caller, "203.0.113.9")


def test_addresses_of_one_network_of_ipv6_share_a_limit(make_service: Make) -> None:
    service = make_service(keys=KEYS, limits=Limits(stranger_rate=0.001, stranger_burst=3))
    guesses = [service.ask("GET", "/v1/rankings", client=(f"2001:db8::{n}", 1)).status_code for n in range(4)]
    assert guesses == [401, 401, 401, 429]
    assert service.ask("GET", "/v1/rankings", client=("2001:db8:0:1::1", 1)).status_code == 401


@pytest.mark.parametrize(
    "header",
    [
        "Via", "Forwarded", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Anything", "X-Client-IP",
        "X-Cluster-Client-IP", "X-Original-Forwarded-For", "X-Envoy-External-Address", "CF-Connecting-IP",
        "True-Client-IP", "CDN-Loop",
    ],
)  # fmt: skip
def test_without_keys_a_request_through_a_proxy_is_refused(make_service: Make, header: str) -> None:
    refused = problem(make_service().ask("GET", "/v1/rankings", headers={header: "1.1 nginx"}), 421)
    assert refused["errors"][0]["header"] == header.lower()
    keyed = make_service(keys=KEYS)
    bearer = {"authorization": f"Bearer {SERVE}"}
    assert keyed.ask("GET", "/v1/rankings", headers={header: "1.1 nginx", **bearer}).status_code == 200
