"""/openapi.json is valid, its examples are valid, and the service does as it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from asking import LocalService

from toplist.service.http.openapi import document, problem_statuses
from toplist.service.http.routes import IMPRESSION, ROUTES
from toplist.service.http.routing import Route
from toplist.service.wire import PATTERN_RULES, PROBLEM_STATUSES, PROBLEM_TYPE_PREFIX, ProblemBody

NAMED = [pytest.param(route, id=route.name) for route in ROUTES]
DOCUMENT = document()


def check(schema: Any, value: Any) -> None:
    """Validate a value against a schema of the document."""
    whole = {"allOf": [schema], "components": DOCUMENT["components"]}  # targets of its references
    jsonschema_rs.Draft202012Validator(msgspec.to_builtins(whole)).validate(value)


def operation(route: Route) -> Any:
    return DOCUMENT["paths"][route.path][route.method.lower()]


def example_json(example: Any) -> bytes:
    """The body of an example: JSON, or text that is JSON."""
    return example.encode() if isinstance(example, str) else msgspec.json.encode(example)


def test_the_document_is_openapi() -> None:
    from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR  # noqa: PLC0415 - it takes a second

    OPENAPI_31_VALIDATOR.validate(DOCUMENT)
    for schema in DOCUMENT["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema)


def test_the_service_serves_the_document(service: LocalService) -> None:
    assert service.ask("GET", "/openapi.json").json() == msgspec.to_builtins(document(with_keys=False))


def test_every_reference_resolves() -> None:
    text = msgspec.json.encode(DOCUMENT).decode()
    for name in {part.partition('"')[0] for part in text.split('"$ref":"#/')[1:]}:
        found = DOCUMENT
        for step in name.split("/"):
            found = found[step]


def patterns(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        yield from [part["pattern"]] if isinstance(part.get("pattern"), str) else []
        part = list(part.values())
    for inner in part if isinstance(part, list) else []:
        yield from patterns(inner)


def test_errors_have_words_for_every_pattern() -> None:
    assert set(patterns(msgspec.to_builtins(DOCUMENT))) == set(PATTERN_RULES)


def test_former_names_are_deprecated() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    for name in ("ListRequest", "ListReply", "Impression", "Estimates", "Explanation", "NextList", "Event"):
        fields = schemas[name]["properties"]
        assert (fields["key"].get("deprecated"), fields["segment"].get("deprecated")) == (True, None)
    for path in ("/v1/rankings/{name}/estimates", "/v1/rankings/{name}/explanation"):
        found = {each["name"]: each.get("deprecated") for each in DOCUMENT["paths"][path]["get"]["parameters"]}
        assert (found["key"], found["segment"]) == (True, None)
    deprecated = {route.name for route in ROUTES if operation(route).get("deprecated")}
    assert deprecated == {"list_keys", "delete_key"}


def test_every_link_names_an_operation() -> None:
    names = {route.name: route for route in ROUTES}
    assert len(names) == len(ROUTES)
    for route in ROUTES:
        for link in route.links:
            assert set(link.parameters) == set(names[link.operation].names)


@pytest.mark.parametrize("route", NAMED)
def test_examples_of_requests_and_responses_are_valid(route: Route) -> None:
    described = operation(route)
    if route.request is not None:
        content = described["requestBody"]["content"][route.request_media]
        check(content["schema"], content["example"])
        assert msgspec.json.decode(example_json(content["example"]), type=route.request)
    if route.reply_example is not None:
        content = described["responses"][str(route.status)]["content"][route.media]
        check(content["schema"], content["example"])
        assert msgspec.to_builtins(msgspec.convert(content["example"], route.reply)) == content["example"]


@pytest.mark.parametrize("status", sorted({int(name[7:]) for name in DOCUMENT["components"]["responses"]}))
def test_examples_of_problems_are_valid(status: int) -> None:
    content = DOCUMENT["components"]["responses"][f"Problem{status}"]["content"]["application/problem+json"]
    check(content["schema"], content["example"])
    example = msgspec.convert(content["example"], ProblemBody)
    assert example.status == status
    assert PROBLEM_STATUSES[example.type.removeprefix(PROBLEM_TYPE_PREFIX)] == status


def test_the_service_sends_problems_of_the_described_types(service: LocalService) -> None:
    for status, reply in {
        400: service.ask("POST", "/v1/rankings", content=b"{", headers={"content-type": "application/json"}),
        404: service.ask("GET", "/v1/rankings/nothing"),
        415: service.ask("POST", "/v1/rankings", content=b"{}"),
        421: service.ask("GET", "/v1/rankings", headers={"host": "evil.example"}),
        422: service.ask("POST", "/v1/rankings", json={}),
    }.items():
        content = DOCUMENT["components"]["responses"][f"Problem{status}"]["content"]["application/problem+json"]
        assert (reply.status_code, reply.json()["type"]) == (status, content["example"]["type"])


def test_every_problem_of_a_route_is_described() -> None:
    for route in ROUTES:
        for keys in (True, False):
            for status in problem_statuses(route, keys):
                assert f"Problem{status}" in DOCUMENT["components"]["responses"]


def test_examples_work_in_order(service: LocalService) -> None:
    """With a service that has the ranking of the examples."""
    for segment in ("query", "other"):
        service.ask("POST", "/v1/rankings/front-page/lists", json={"segment": segment})
    made = service.ask("POST", "/v1/rankings/front-page/lists", json={}).json()["impression"]
    for route in ROUTES:
        if route.name in {"create_ranking", "delete_ranking"} or route.for_browsers:  # it needs a token
            continue
        path = route.path.format(
            name="front-page", item="coffee", impression=made, segment="query", key="other", file="tracker.js"
        )
        more = {} if route.request is None else {"json": route.request_example}
        reply = service.ask(route.method, path, **more)
        assert reply.status_code == route.status, (route.name, reply.text)
        assert reply.headers.get("content-type", "").split(";")[0] == (route.media if route.reply else "").split(";")[0]
        if route.reply is not None and route.media == "application/json":
            check(operation(route)["responses"][str(route.status)]["content"][route.media]["schema"], reply.json())
    assert made != IMPRESSION
