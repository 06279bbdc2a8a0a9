"""Every route: its responses and its problems."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from asking import LocalService, Make, problem
from double import DoublePages
from prometheus_client.exposition import generate_latest

from toplist.service.errors import NotFound, StoreUnavailable
from toplist.service.http import metrics
from toplist.service.http.routes import ROUTES
from toplist.service.settings import Limits
from toplist.service.wire import Event, Impression, ListReply, ListRequest, Ranking

UNKNOWN = "019a8b5e-7c1f-7d3a-9b42-ffffffffffff"


def a_list(service: LocalService, **request: Any) -> ListReply:
    reply = service.ask("POST", "/v1/rankings/front-page/lists", json=request)
    assert reply.status_code == 200, reply.text
    return msgspec.json.decode(reply.content, type=ListReply)


def test_rankings_are_created_read_changed_and_deleted(service: LocalService) -> None:
    made = service.ask("POST", "/v1/rankings", json={"name": "side-bar", "positions": 5, "seed": 3})
    assert made.status_code == 201
    assert made.headers["location"] == "/v1/rankings/side-bar"
    read = service.ask("GET", "/v1/rankings/side-bar")
    assert read.json() == made.json()
    assert msgspec.json.decode(read.content, type=Ranking).seed == 3
    changed = service.ask("PATCH", "/v1/rankings/side-bar", json={"click_window": 60, "policy": "cascade-kl-ucb"})
    assert changed.json() == made.json() | {"click_window": 60.0, "policy": "cascade-kl-ucb"}
    names = [each["name"] for each in service.ask("GET", "/v1/rankings").json()["rankings"]]
    assert names == ["front-page", "side-bar"]
    gone = service.ask("DELETE", "/v1/rankings/side-bar")
    assert (gone.status_code, gone.content) == (204, b"")
    problem(service.ask("GET", "/v1/rankings/side-bar"), 404)


def test_a_ranking_cannot_be_made_twice(service: LocalService) -> None:
    body = problem(service.ask("POST", "/v1/rankings", json={"name": "front-page", "positions": 2}), 409)
    assert body["errors"][0]["pointer"] == "/name"


def test_items_are_put_read_paged_hidden_and_removed(service: LocalService) -> None:
    path = "/v1/rankings/front-page/items"
    assert service.ask("PUT", f"{path}/tea", json={"hidden": True}).json() == {"added": 0, "changed": 1, "unchanged": 0}
    assert service.ask("GET", f"{path}/tea").json() == {"id": "tea", "features": None, "hidden": True, "prior": None}
    first = service.ask("GET", path, params={"limit": 2}).json()
    assert [item["id"] for item in first["items"]] == ["cocoa", "coffee"]
    second = service.ask("GET", path, params={"limit": 2, "after": first["next"]}).json()
    assert ([item["id"] for item in second["items"]], second["next"]) == (["tea"], None)
    assert service.ask("POST", f"{path}/remove", json={"ids": ["tea", "nothing"]}).json() == {"removed": 1}
    assert service.ask("DELETE", f"{path}/coffee").status_code == 204
    problem(service.ask("DELETE", f"{path}/coffee"), 404)
    problem(service.ask("GET", f"{path}/coffee"), 404)


@pytest.mark.parametrize("item", ["a/b", "remove", "ä ö", "100%", "?", "..", "a;b=c"])
def test_item_ids_may_have_any_printable_characters(service: LocalService, item: str) -> None:
    path = f"/v1/rankings/front-page/items/{quote(item, safe='').replace('.', '%2E')}"
    assert service.ask("PUT", path, json={}).json()["added"] == 1
    assert service.ask("GET", path).json()["id"] == item
    assert service.ask("DELETE", path).status_code == 204


def test_errors_point_at_the_wrong_item(service: LocalService) -> None:
    path = "/v1/rankings/front-page/items"
    bulk = service.ask("PUT", path, json={"items": [{"id": "tea"}, {"id": "rum", "features": [1.0]}]})
    assert problem(bulk, 422)["errors"][0]["pointer"] == "/items/1/features"
    alone = service.ask("PUT", f"{path}/rum", json={"features": [1.0]})
    assert problem(alone, 422)["errors"][0]["pointer"] == "/features"


@pytest.mark.parametrize("what", ["estimates", "explanation"])
def test_features_of_the_visitor_have_a_largest_size(what: str, service: LocalService) -> None:
    refused = problem(service.ask("GET", f"/v1/rankings/front-page/{what}", params={"person": "0.5,1e7"}), 422)
    assert refused["errors"][0]["parameter"] == "person"
    assert "scale them" in refused["detail"]


def test_a_busy_service_answers_health_and_metrics(make_service: Make) -> None:
    service = make_service(stocked=True, limits=Limits(in_flight=1))
    service.app.handlers.metrics.working = 1  # as if another request were in flight all the time
    assert problem(service.ask("GET", "/v1/rankings"), 503)["type"].endswith(":busy")
    for path in ("/healthz", "/readyz", "/metrics"):
        assert service.ask("GET", path).status_code == 200, path


def test_more_items_than_the_batch_limit_are_refused(make_service: Make) -> None:
    service = make_service(limits=Limits(batch=2))
    for path, body in (
        ("items", {"items": [{"id": str(i)} for i in range(3)]}),
        ("items/remove", {"ids": list("abc")}),
    ):
        method = "PUT" if path == "items" else "POST"
        assert "more than 2" in problem(service.ask(method, f"/v1/rankings/a/{path}", json=body), 422)["detail"]


def test_a_list_is_made_reported_explained_and_learned(service: LocalService) -> None:
    made = a_list(service, exclude=["cocoa"], segment="query: tea")
    assert (made.items, made.segment) == (["coffee", "tea"], "query: tea")
    path = f"/v1/impressions/{made.impression}"
    assert service.ask("PUT", f"{path}/clicks", json={"clicks": [1]}).json() == {
        "impression": made.impression,
        "counted": True,
    }
    assert service.ask("PUT", f"{path}/clicks", json={"clicks": ["tea"], "final": True}).json()["counted"] is True
    shown = msgspec.json.decode(service.ask("GET", path).content, type=Impression)
    assert (shown.clicks, shown.state) == ([1, 2], "learned")
    late = service.ask("PUT", f"{path}/clicks", json={"clicks": [1, 2], "final": True})
    assert late.json()["counted"] is True
    reasons = service.ask("GET", f"{path}/explanation").json()["positions"]
    assert [reason["item"] for reason in reasons] == ["coffee", "tea"]
    found = service.ask("GET", "/v1/rankings/front-page/segments").json()
    assert found == {"segments": ["query: tea"], "next": None}


def test_key_is_an_alias_of_segment(service: LocalService) -> None:
    path = "/v1/rankings/front-page"
    for given in ({"key": "a"}, {"segment": "a"}, {"segment": "a", "key": "a"}, {"segment": "a", "key": None}):
        reply = service.ask("POST", f"{path}/lists", json=given | {"request_id": "r"}).json()
        assert (reply["segment"], reply["key"]) == ("a", "a")
        shown = service.ask("GET", f"/v1/impressions/{reply['impression']}").json()
        assert (shown["segment"], shown["key"]) == ("a", "a")
    assert len(service.double.lists) == 1  # the same request under both names
    for query in ("key=a", "segment=a", "segment=a&key=a"):
        for about in ("estimates", "explanation"):
            reply = service.ask("GET", f"{path}/{about}?{query}").json()
            assert (reply["segment"], reply["key"]) == ("a", "a")
    lines = [msgspec.json.decode(line) for line in service.ask("GET", f"{path}/events").content.splitlines()]
    assert {(line["segment"], line["key"]) for line in lines} == {(None, None), ("a", "a")}
    assert service.ask("GET", f"{path}/keys").json() == {"keys": ["a"], "next": None}
    plain = service.ask("POST", f"{path}/lists", json={}).json()
    assert (plain["segment"], plain["key"]) == (None, None)
    for name in ("keys", "segments"):
        assert service.ask("POST", f"{path}/lists", json={"segment": "query: a/b"}).status_code == 200
        assert service.ask("DELETE", f"{path}/{name}/query:%20a%2Fb").status_code == 204
        assert service.ask("GET", f"{path}/segments").json()["segments"] == ["a"]
        problem(service.ask("DELETE", f"{path}/{name}/query:%20a%2Fb"), 404)


def test_two_different_segments_are_refused(service: LocalService) -> None:
    sentence = "segment is 'a' and key, its former name, is 'b', but both name the segment; leave key out."
    body = {"segment": "a", "key": "b"}
    assert problem(service.ask("POST", "/v1/rankings/front-page/lists", json=body), 422)["detail"] == sentence
    for about in ("estimates", "explanation"):
        reply = service.ask("GET", f"/v1/rankings/front-page/{about}?key=b&segment=a")
        assert problem(reply, 422)["detail"] == sentence


@pytest.mark.parametrize("secret", ["", "x" * 40])
def test_no_new_segment_has_a_name_that_clients_resolve_in_paths(make_service: Make, secret: str) -> None:
    """Of `DELETE .../segments/..`, httpx makes the deletion of the ranking."""
    service = make_service(stocked=True, segment_secret=secret)
    for field in ("segment", "key"):
        for name, status in ((".", 422), ("..", 422), ("...", 200), ("../a", 200)):
            reply = service.ask("POST", "/v1/rankings/front-page/lists", json={field: name})
            assert reply.status_code == status
            body = {"ranker": "UEsDBC0AAAAAAA==", field: name}
            imported = service.ask("PUT", "/v1/rankings/front-page/learner", json=body)
            assert ("one or two dots" in imported.text) == (status == 422)
    assert service.ask("GET", "/v1/rankings/front-page/estimates?segment=..").status_code != 422  # one of before


def test_integer_ids_are_others_than_text(service: LocalService) -> None:
    path = "/v1/rankings/front-page/items"
    assert service.ask("PUT", path, json={"items": [{"id": 7}, {"id": "7"}]}).json()["added"] == 2
    assert service.ask("GET", f"{path}/7").json()["id"] == "7"
    assert service.ask("GET", f"{path}/%097").json()["id"] == 7
    assert service.ask("PUT", f"{path}/%098", json={}).json()["added"] == 1
    assert service.ask("PUT", f"{path}/%098", json={"hidden": True}).json()["changed"] == 1
    first = service.ask("GET", f"{path}?limit=1").json()
    assert (first["items"][0]["id"], first["next"]) == (7, "\t7")
    assert service.ask("GET", path, params={"after": first["next"], "limit": 1}).json()["items"][0]["id"] == 8
    assert service.ask("DELETE", f"{path}/%097").status_code == 204
    problem(service.ask("GET", f"{path}/%097"), 404)
    assert service.ask("GET", f"{path}/7").json()["id"] == "7"
    assert service.ask("POST", f"{path}/remove", json={"ids": [7, "7", 8]}).json() == {"removed": 2}


INTEGERS = "a whole number of at most 9007199254740991 in size, which every reader of JSON keeps exactly"


@pytest.mark.parametrize(
    ("body", "detail", "pointer"),
    [
        ({"among": [True]}, "among[0] is True, but must be text or a whole number; write it as text.", "/among/0"),
        ({"exclude": [7.0]}, "exclude[0] is 7.0, but must be text or a whole number; write it as text.", "/exclude/0"),
        ({"pins": {"1": None}}, "pins['1'] must be text or a whole number; write it as text.", "/pins/1"),
        (
            {"among": [2**53]},
            f"among[0] is 9007199254740992, but must be {INTEGERS}; give a smaller one, or write the id of an item as "
            f"text.",
            "/among/0",
        ),
    ],
)
def test_what_is_no_id_is_refused_in_words(
    service: LocalService, body: dict[str, Any], detail: str, pointer: str
) -> None:
    found = problem(service.ask("POST", "/v1/rankings/front-page/lists", json=body), 422)
    assert (found["detail"], found["errors"][0]["pointer"]) == (detail, pointer)


def test_an_integer_in_a_path_has_one_spelling(service: LocalService) -> None:
    for text in ("%0907", "%09-0", "%09+7", "%09", "%097.0", "%09seven"):
        found = problem(service.ask("GET", f"/v1/rankings/front-page/items/{text}"), 422)
        assert "or a tab and a whole number" in found["detail"]
    found = problem(service.ask("GET", "/v1/rankings/front-page/items/%099007199254740992"), 422)
    assert found["errors"][0]["parameter"] == "item"
    assert "write a larger one as text, without the tab" in found["detail"]


def test_a_late_report_is_not_counted(service: LocalService) -> None:
    path = f"/v1/impressions/{a_list(service).impression}/clicks"
    service.ask("PUT", path, json={"final": True})
    reply = service.ask("PUT", path, json={"clicks": [1]})
    assert reply.status_code == 200
    assert (reply.json()["counted"], reply.json()["why"]) == (False, "late")


def test_a_report_of_an_unknown_list_is_not_counted(service: LocalService) -> None:
    body = problem(service.ask("PUT", f"/v1/impressions/{UNKNOWN}/clicks", json={"clicks": [1]}), 404)
    assert (body["counted"], body["why"]) == (False, "unknown")


def test_errors_point_at_a_click_outside_the_list(service: LocalService) -> None:
    reply = service.ask("PUT", f"/v1/impressions/{a_list(service).impression}/clicks", json={"clicks": [1, 7]})
    body = problem(reply, 422)
    assert (body["counted"], body["errors"][0]["pointer"]) == (False, "/clicks/1")


def test_the_same_request_id_gets_the_same_list(service: LocalService) -> None:
    first, again = a_list(service, request_id="r1"), a_list(service, request_id="r1")
    assert first == again
    reply = service.ask("POST", "/v1/rankings/front-page/lists", json={"request_id": "r1", "positions": 1})
    assert problem(reply, 409)["errors"][0]["pointer"] == "/request_id"


def test_a_deferred_list_is_activated(service: LocalService) -> None:
    made = a_list(service, deferred=True)
    assert made.deferred
    path = f"/v1/impressions/{made.impression}"
    assert service.ask("GET", path).json()["state"] == "deferred"
    assert service.ask("PUT", f"{path}/activation").json()["counted"] is True
    assert service.ask("GET", path).json()["state"] == "open"


def test_estimates(service: LocalService) -> None:
    reply = service.ask("GET", "/v1/rankings/front-page/estimates", params={"limit": 2})
    assert [row["item"] for row in reply.json()["items"]] == ["cocoa", "coffee"]
    problem(service.ask("GET", "/v1/rankings/front-page/estimates?segment=nobody"), 404)
    wrong = service.ask("GET", "/v1/rankings/front-page/estimates?person=1,x")
    assert problem(wrong, 422)["errors"][0]["parameter"] == "person"
    problem(service.ask("GET", "/v1/rankings/front-page/estimates?person=1,2"), 422)


def test_the_event_log_is_sent_as_lines(service: LocalService) -> None:
    for _ in range(1200):
        service.run(service.double.make_list("front-page", ListRequest()))
    reply = service.ask("GET", "/v1/rankings/front-page/events?after=2")
    assert reply.headers["content-type"] == "application/x-ndjson"
    events = msgspec.json.Decoder(Event).decode_lines(reply.content)
    assert [event.seq for event in events] == list(range(3, 1203))
    few = service.ask("GET", "/v1/rankings/front-page/events?limit=2")
    assert len(few.content.splitlines()) == 2
    problem(service.ask("GET", "/v1/rankings/nothing/events"), 404)
    assert service.ask("HEAD", "/v1/rankings/front-page/events").content == b""


@pytest.mark.parametrize("field", ["steps", "new_per_list", "seed"])
def test_numbers_above_2_to_the_53_are_refused(field: str, service: LocalService) -> None:
    spec = {"name": "other", "positions": 1, field: 10**18}
    refused = problem(service.ask("POST", "/v1/rankings", json=spec), 422)
    assert refused["errors"][0]["pointer"] == f"/{field}"
    assert str(2**53 - 1) in refused["detail"]
    problem(service.ask("POST", "/v1/rankings", json=spec | {field: 10**30}), 422)
    problem(service.ask("PATCH", "/v1/rankings/front-page", json={field: 10**30}), 422)


def test_history_counts_learned_lists(service: LocalService) -> None:
    for number in range(25):
        service.double.as_if_learned("front-page", [1] if number % 5 else [])
    history = service.ask("GET", "/v1/rankings/front-page/history").json()
    assert (history["lists"], history["clicked"], history["clicks"], history["complete"]) == (25, 20, 20, True)
    assert [point["lists"] for point in history["points"]] == [10, 10, 5]
    for _ in range(4000):
        service.double.as_if_learned("front-page", [1, 2])
    history = service.ask("GET", "/v1/rankings/front-page/history").json()
    assert (history["lists"], history["clicks"]) == (4025, 8020)
    assert len(history["points"]) <= 201
    assert sum(point["lists"] for point in history["points"]) == 4025


def test_health_and_readiness(service: LocalService) -> None:
    assert service.ask("GET", "/healthz").json()["status"] == "ok"
    assert service.ask("GET", "/readyz").json()["status"] == "ready"
    service.app.handlers.stopping = True
    assert problem(service.ask("GET", "/readyz"), 503)["detail"]
    assert service.ask("GET", "/healthz").status_code == 200


def test_the_page_is_self_contained(service: LocalService) -> None:
    reply = service.ask("GET", "/")
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    assert "http://" not in reply.text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in reply.text
    assert "innerHTML" not in reply.text
    policy = reply.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_metrics_are_written_in_another_thread(service: LocalService, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of lines take milliseconds, in which lists would wait."""
    threads: list[str] = []

    def noted(registry: Any) -> bytes:
        threads.append(threading.current_thread().name)
        return generate_latest(registry)

    monkeypatch.setattr(metrics, "generate_latest", noted)
    assert "toplist_hot_learners" in service.ask("GET", "/metrics").text
    assert len(threads) == 1
    assert threads[0].startswith("asyncio_")


def test_metrics_count_requests_lists_and_reports(service: LocalService) -> None:
    path = f"/v1/impressions/{a_list(service).impression}/clicks"
    service.ask("PUT", path, json={"clicks": [1], "final": True})
    service.ask("PUT", path, json={"clicks": [2]})
    service.ask("GET", "/somewhere/else")
    text = service.ask("GET", "/metrics").text
    for line in (
        'toplist_requests_total{method="POST",route="/v1/rankings/{name}/lists",status="200"} 1.0',
        'toplist_requests_total{method="",route="(none)",status="404"} 1.0',
        "toplist_lists_total 1.0",
        "toplist_hot_learners 3.0",
        "toplist_commits_total 4.0",
        "toplist_committed_total 8.0",
        "toplist_commit_seconds_total 0.5",
        "toplist_open_impressions 7.0",
        'toplist_learned_total{reason="window"} 1.0',
        'toplist_reports_total{outcome="counted"} 1.0',
        'toplist_reports_total{outcome="late"} 1.0',
        'toplist_request_seconds_count{method="POST",route="/v1/rankings/{name}/lists"} 1.0',
    ):
        assert line in text


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"name": "a"}, "/positions"),
        ({"name": "a", "positions": 0}, "/positions"),
        ({"name": "a", "positions": "3"}, "/positions"),
        ({"name": "a b", "positions": 3}, "/name"),
        ({"name": "a\n", "positions": 3}, "/name"),
        ({"name": "a", "positions": 3, "reference": 1.5}, "/reference"),
        ({"name": "a", "positions": 3, "position": 3}, "/position"),
        ({"name": "a", "positions": 3, "a/b~c": 3}, "/a~1b~0c"),
        ({"name": "a", "positions": 3, "policy": "nothing"}, "/policy"),
        ([], ""),
    ],
)
def test_errors_point_at_the_wrong_field(service: LocalService, body: Any, pointer: str) -> None:
    assert problem(service.ask("POST", "/v1/rankings", json=body), 422)["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"pins": {str(i): "a" for i in range(1, 900)} | {"900": 5.5}}, "/pins/900"),
        ({"pins": {"1": "a", "2": ""}, "exclude": []}, "/pins/2"),
        ({"features": {"a": [1.0], "b": [1.0, "x"], "c": [2]}}, "/features/b/1"),
        ({"features": {"a": [1.0], "": [1.0], "c": [2]}}, "/features/"),
        ({"exclude": ["a", "b", ""]}, "/exclude/2"),
    ],
)
def test_errors_point_at_the_key_of_a_mapping(service: LocalService, body: Any, pointer: str) -> None:
    reply = service.ask("POST", "/v1/rankings/front-page/lists", json=body)
    assert problem(reply, 422)["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    "raw", [b'{"pins": {"1": 5.5}, ', b'{"pins": {"1": ' + b"[" * 100_000, b'{"pins": {"1": 5.5, "1": "a"}}']
)
def test_a_key_that_cannot_be_found_is_left_out_of_the_pointer(service: LocalService, raw: bytes) -> None:
    headers = {"content-type": "application/json"}
    reply = service.ask("POST", "/v1/rankings/front-page/lists", content=raw, headers=headers)
    assert problem(reply, 422)["errors"][0]["pointer"] == "/pins"


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"\xff", b'{"name": "\xff"}', b'{"name": "a", "positions": 2} {}', b'{"name": "\\ud800"}', b"nan"],
)
def test_invalid_json_is_malformed(service: LocalService, raw: bytes) -> None:
    reply = service.ask("POST", "/v1/rankings", content=raw, headers={"content-type": "application/json"})
    assert problem(reply, 400)["type"].endswith(":malformed")


@pytest.mark.parametrize("media", [None, "text/plain", "application/jsonx", "application/json; charset=latin-1"])
def test_the_content_type_must_be_json(service: LocalService, media: str | None) -> None:
    headers = {} if media is None else {"content-type": media}
    reply = service.ask("POST", "/v1/rankings", content=b"{}", headers=headers)
    assert problem(reply, 415)["errors"][0]["header"] == "Content-Type"


@pytest.mark.parametrize(
    "media", ["application/json; charset=utf-8", "Application/JSON", 'application/json;charset="UTF-8"']
)
def test_the_content_type_may_name_utf_8(service: LocalService, media: str) -> None:
    content = b'{"name": "other", "positions": 2}'
    assert service.ask("POST", "/v1/rankings", content=content, headers={"content-type": media}).status_code == 201


@pytest.mark.parametrize("accept", ["text/html", "application/json;q=0", "application/*;q=0, */*;q=0", "nonsense"])
def test_accept_headers_without_json_are_refused(service: LocalService, accept: str) -> None:
    problem(service.ask("GET", "/v1/rankings", headers={"accept": accept}), 406)


@pytest.mark.parametrize(
    "accept", ["application/json", "text/html, */*;q=0.1", "application/*", "text/html,application/json"]
)
def test_accept_headers_with_json_are_accepted(service: LocalService, accept: str) -> None:
    assert service.ask("GET", "/v1/rankings", headers={"accept": accept}).status_code == 200


@pytest.mark.parametrize("query", ["?a=1", "?limit=0", "?limit=x", "?limit=1&limit=2", "?after=", "?limt=3", "?limit"])
def test_invalid_queries_are_refused(service: LocalService, query: str) -> None:
    body = problem(service.ask("GET", f"/v1/rankings/front-page/items{query}"), 422)
    assert body["errors"][0]["parameter"]


def test_an_unknown_parameter_gets_the_nearest_suggested(service: LocalService) -> None:
    body = problem(service.ask("GET", "/v1/rankings/front-page/items?limt=3"), 422)
    assert body["detail"].endswith("perhaps you mean 'limit'.")
    detail = problem(service.ask("GET", "/v1/rankings?key=1"), 422)["detail"]
    assert detail == "Unknown parameter 'key': this path accepts none; leave it out."
    problem(service.ask("GET", "/healthz?x=1"), 422)
    detail = problem(service.ask("GET", "/v1/rankings/front-page/estimates?kye=a"), 422)["detail"]
    assert detail == "Unknown parameter 'kye': this path accepts segment, limit and person; leave it out."
    assert service.ask("GET", "/v1/rankings/front-page/estimates?key=a").status_code == 404  # there is no such segment


def test_unknown_paths_and_methods(service: LocalService) -> None:
    problem(service.ask("GET", "/v2"), 404)
    problem(service.ask("GET", "/v1/rankings/"), 404)
    problem(service.ask("GET", "/v1/rankings/front-page/items/%ff"), 400)
    body = service.ask("DELETE", "/v1/rankings")
    problem(body, 405)
    assert body.headers["allow"] == "GET, POST, HEAD"
    for method in ("OPTIONS", "TRACE", "BREW"):
        problem(service.ask(method, "/v1/rankings/front-page/lists"), 405)


@pytest.mark.parametrize("path", ["/v1/rankings/a%20b", "/v1/impressions/17", f"/v1/impressions/{UNKNOWN.upper()}"])
def test_parameters_of_the_path_are_validated(service: LocalService, path: str) -> None:
    assert problem(service.ask("GET", path), 422)["errors"][0]["parameter"] in {"name", "impression"}


def test_head_is_get_without_the_body(service: LocalService) -> None:
    for path in ("/v1/rankings", "/healthz", "/openapi.json", "/", "/metrics", "/v1/rankings/front-page"):
        got, head = service.ask("GET", path), service.ask("HEAD", path)
        assert head.status_code == 200
        assert head.content == b""
        if path != "/metrics":
            assert head.headers["content-length"] == got.headers["content-length"]
    missing = service.ask("HEAD", "/v1/rankings/nothing")
    assert (missing.status_code, missing.content) == (404, b"")


def test_a_large_body_is_refused_before_it_is_read(make_service: Make) -> None:
    service = make_service(limits=Limits(list_bytes=2000))
    refused = service.ask("POST", "/v1/rankings", content=b"x" * 2001, headers={"content-type": "application/json"})
    problem(refused, 413)
    sent = 0

    async def endless() -> Any:
        nonlocal sent
        while True:
            sent += 1
            yield b" " * 500

    reply = service.ask("POST", "/v1/rankings", content=endless(), headers={"content-type": "application/json"})
    problem(reply, 413)
    assert sent <= 6


def test_an_unavailable_store_gives_503_and_retry_after(service: LocalService) -> None:
    service.double.full = True
    reply = service.ask("POST", "/v1/rankings/front-page/lists", json={})
    assert "disk is full" in problem(reply, 503)["detail"]
    assert reply.headers["retry-after"] == "2"
    service.double.full = False
    a_list(service)


def test_an_unexpected_error_reveals_nothing(service: LocalService, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Any:
        raise RuntimeError("a secret")

    monkeypatch.setattr(service.double, "rankings", fail)
    reply = service.ask("GET", "/v1/rankings", headers={"x-request-id": "seen-1"})
    assert "secret" not in problem(reply, 500)["detail"]
    (line,) = [msgspec.json.decode(line) for line in service.lines() if "unforeseen" in line]
    assert (line["error"], line["request_id"], line["route"]) == ("RuntimeError", "seen-1", "/v1/rankings")


def test_more_requests_in_flight_than_allowed_get_503(make_service: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    service = make_service(limits=Limits(in_flight=2))
    going = asyncio.Event()

    async def slow(*_: Any) -> Any:
        await going.wait()
        raise StoreUnavailable("later")

    monkeypatch.setattr(service.double, "create_ranking", slow)

    async def three() -> list[int]:
        body = {"name": "a", "positions": 1}
        waiting = [asyncio.create_task(service.ask_async("POST", "/v1/rankings", json=body)) for _ in range(2)]
        await asyncio.sleep(0.05)
        third = await service.ask_async("GET", "/v1/rankings")
        going.set()
        return [
            third.status_code,
            *[(await each).status_code for each in waiting],
            service.app.handlers.metrics.in_flight,
        ]

    assert service.run(three()) == [503, 503, 503, 0]


def test_a_client_that_disconnects_before_the_body_gets_no_response(service: LocalService) -> None:
    messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])
    sent: list[Any] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    scope: dict[str, Any] = {
        "type": "http", "method": "POST", "path": "/v1/rankings", "raw_path": b"/v1/rankings", "query_string": b"",
        "headers": [(b"content-type", b"application/json")], "client": None,
    }  # fmt: skip
    service.run(service.app(scope, receive, send))
    assert sent == []
    assert service.app.handlers.metrics.in_flight == 0


def test_a_client_that_disconnects_stops_its_export(service: LocalService) -> None:
    for _ in range(5000):
        service.double.as_if_learned("front-page", [])
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    path = "/v1/rankings/front-page/events"
    scope: dict[str, Any] = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": [],
        "client": None,
    }  # fmt: skip
    service.run(service.app(scope, receive, send))
    assert len(sent) <= 3


@pytest.mark.parametrize("error", [RuntimeError("a secret"), StoreUnavailable("the disk is gone"), NotFound("no more")])
def test_an_export_that_fails_halfway_is_broken_off_and_logged(
    service: LocalService, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    class BrokenPages(DoublePages):
        async def __anext__(self) -> Any:
            if self.after:
                raise error
            return await super().__anext__()

    async def broken_pages(name: str, after: int, cursor: str | None) -> DoublePages:
        assert cursor is None
        return BrokenPages([event for event in service.double.log if event.ranking == name], after)

    monkeypatch.setattr(service.double, "event_pages", broken_pages)
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    path = "/v1/rankings/front-page/events"
    scope: dict[str, Any] = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"", "headers": [],
        "client": None,
    }  # fmt: skip
    service.run(service.app(scope, receive, send))
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert sent[-1]["more_body"]  # never completed, so that the server closes the connection
    lines = [msgspec.json.decode(line) for line in service.lines()]
    (broken,) = [line for line in lines if line["event"] == "response broken off"]
    assert (broken["error"], broken["route"]) == (type(error).__name__, "/v1/rankings/{name}/events")
    assert broken.get("detail") == ("the disk is gone" if isinstance(error, StoreUnavailable) else None)
    assert (lines[-1]["status"], lines[-1]["bytes"]) == (500, len(sent[-1]["body"]))


NAME_RULE = (
    "but must be letters, digits, dots, dashes and underscores, at most 100, beginning with a letter or digit; "
    "choose another name."
)
ITEM_RULE = (
    "but must be one line of 1 to 200 characters, without control characters, or a tab and a whole number; write the "
    "id as text, or an integer after a tab."
)
TEXT_RULE = "but must be one line of 1 to 200 characters, without control characters; change it."


@pytest.mark.parametrize(
    ("method", "path", "body", "detail"),
    [
        ("POST", "", {"name": "a b", "positions": 3}, f"name is 'a b', {NAME_RULE}"),
        ("POST", "", {"name": "x" * 101, "positions": 3}, f"name is '{'x' * 76}..., {NAME_RULE}"),
        ("GET", "/a%20b", None, f"name is 'a b', {NAME_RULE}"),
        ("PUT", "/front-page/items", {"items": [{"id": "a"}, {"id": "b\n"}]}, f"id is 'b\\n', {TEXT_RULE}"),
        ("PUT", "/front-page/items", {"items": [{"id": ""}]}, f"id is '', {TEXT_RULE}"),
        ("PUT", "/front-page/items", {"items": [{"id": "x" * 201}]}, f"id is '{'x' * 76}..., {TEXT_RULE}"),
        ("PUT", "/front-page/items/b%0A", {}, f"item is 'b\\n', {ITEM_RULE}"),
        ("GET", "/front-page/items?after=", None, f"after is '', {TEXT_RULE}"),
        ("POST", "/front-page/lists", {"among": ["a", ""]}, f"among[1] is '', {TEXT_RULE}"),
        ("POST", "/front-page/lists", {"pins": {"1": "a", "2": ""}}, f"pins['2'] is '', {TEXT_RULE}"),
        ("POST", "/front-page/lists", {"features": {"": [1.0]}}, f"A key of features is '', {TEXT_RULE}"),
    ],
)
def test_a_bad_name_is_explained_in_words(
    service: LocalService, method: str, path: str, body: Any, detail: str
) -> None:
    more = {} if body is None else {"json": body}
    found = problem(service.ask(method, f"/v1/rankings{path}", **more), 422)
    assert found["detail"] == found["errors"][0]["detail"] == detail


@pytest.mark.parametrize("position", ["", "0", "01", "x", "1.0"])
@pytest.mark.parametrize(
    ("method", "path", "body"), [("POST", "", {"name": "page", "positions": 3}), ("PATCH", "/front-page", {})]
)
def test_a_pin_of_a_ranking_is_at_a_position(
    service: LocalService, method: str, path: str, body: Any, position: str
) -> None:
    pinned = body | {"pins": {"1": "tea", position: "milk"}}
    found = problem(service.ask(method, f"/v1/rankings{path}", json=pinned), 422)
    assert found["detail"].startswith(f"A pinned position is {position!r}, but positions are whole numbers from 1")


def test_a_bad_impression_is_explained_in_words(service: LocalService) -> None:
    found = problem(service.ask("GET", "/v1/impressions/17"), 422)
    assert found["detail"] == (
        "impression is '17', but must be the id of an impression; use the impression that was sent with the list."
    )


@pytest.mark.parametrize(
    ("raw", "detail"),
    [
        (b'{"key": "a\\n", "key": "b"}', f"key {TEXT_RULE.removeprefix('but ')}"),
        (b'{"key": "", ', f"key {TEXT_RULE.removeprefix('but ')}"),
        (b'{"pins": {"1": "", "1": "a"}}', f"A value of pins {TEXT_RULE.removeprefix('but ')}"),
        (b'{"features": {"": [1.0], ', f"A key of features {TEXT_RULE.removeprefix('but ')}"),
    ],
)
def test_a_bad_text_that_cannot_be_found_is_not_quoted(service: LocalService, raw: bytes, detail: str) -> None:
    headers = {"content-type": "application/json"}
    reply = service.ask("POST", "/v1/rankings/front-page/lists", content=raw, headers=headers)
    assert problem(reply, 422)["detail"] == detail


@pytest.mark.parametrize(
    ("method", "path", "least"),
    [
        ("POST", "/v1/rankings/front-page/lists", "{}"),
        ("PUT", f"/v1/impressions/{UNKNOWN}/clicks", "{}"),
        ("POST", "/v1/rankings", '{"name": ...}'),
        ("PUT", "/v1/rankings/front-page/items", '{"items": ...}'),
    ],
)
@pytest.mark.parametrize("raw", [b"", b" \n"])
def test_an_empty_body_gets_the_least_body_suggested(
    service: LocalService, method: str, path: str, least: str, raw: bytes
) -> None:
    reply = service.ask(method, path, content=raw, headers={"content-type": "application/json"})
    assert problem(reply, 400)["detail"] == f"The body is empty, but must be a JSON object; send {least}."
    untyped = problem(service.ask(method, path, content=raw), 415)["detail"]
    assert untyped == "The body must be JSON, at least {}; send it with Content-Type: application/json."


def test_lifespan_and_websocket(service: LocalService) -> None:
    messages = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    sent: list[Any] = []

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    service.run(service.app({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    service.run(service.app({"type": "websocket"}, receive, send))
    assert sent[-1] == "websocket.close"


def routes_with_parameters() -> Iterator[tuple[str, str]]:
    for route in ROUTES:
        if route.names:
            yield route.method, route.path


@pytest.mark.parametrize(("method", "path"), list(routes_with_parameters()))
def test_every_route_gives_404_for_unknown_names(service: LocalService, method: str, path: str) -> None:
    bodies: dict[str, Any] = {"PATCH": {}, "POST": {"ids": []} if path.endswith("remove") else {}, "PUT": {}}
    bodies |= {"/items": {"items": []}, "/learner": {"ranker": "UEsD"}}
    body = bodies.get(path[path.rindex("/") :], bodies.get(method))
    path = path.format(
        name="nothing", item="nothing", impression=UNKNOWN, segment="nothing", key="nothing", file="nothing"
    )
    more = {} if body is None or path.endswith("activation") else {"json": body}
    problem(service.ask(method, path, **more), 404)
