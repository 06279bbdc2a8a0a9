"""Errors of requests that name what was given, what is accepted and what to do, in words of JSON."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from asking import LocalService, problem

from toplist.service.http.accepted import current_fields
from toplist.service.http.problems import LARGEST_SEARCHED, undecodable
from toplist.service.wire import ListRequest, RankingSpec

NEW = {"name": "side-bar", "positions": 2}


SIZE = "a whole number between 1 and 1000"
SWITCH = "true or false"
YEAR = "31536000"


@pytest.mark.parametrize(
    ("body", "pointer", "detail"),
    [
        ({"positions": "5"}, "/positions", f"positions is '5', but must be {SIZE}; write 5 without quotes."),
        ({"positions": "all"}, "/positions", f"positions is 'all', but must be {SIZE}; send a whole number."),
        ({"positions": 2.5}, "/positions", f"positions is 2.5, but must be {SIZE}; round it."),
        ({"positions": 0}, "/positions", f"positions is 0, but must be {SIZE}; give a larger one."),
        ({"positions": 7000}, "/positions", f"positions is 7000, but must be {SIZE}; give a smaller one."),
        (
            {"click_window": 0}, "/click_window",
            f"click_window is 0, but must be a number above 0 and at most {YEAR}; give a larger one.",
        ),
        ({"steps": 0}, "/steps", "steps is 0, but must be a whole number of at least 1 or null; give a larger one."),
        ({"name": 5}, "/name", 'name is 5, but must be text; write it in quotes, "5".'),
        (
            {"propensities": "true"}, "/propensities",
            f"propensities is 'true', but must be {SWITCH}; write true without quotes.",
        ),
        ({"propensities": 1}, "/propensities", f"propensities is 1, but must be {SWITCH}; send {SWITCH}."),
        ({"propensities": None}, "/propensities", f"propensities is null, but must be {SWITCH}; send {SWITCH}."),
        ({"pool": "usual"}, "/pool", "pool is 'usual', but must be 'none' or 'prior'; choose one of these."),
        ({"pool": "Prior"}, "/pool", "pool is 'Prior', but must be 'none' or 'prior'; perhaps you mean 'prior'."),
        ({"pool": 4}, "/pool", "pool is 4, but must be 'none' or 'prior'; choose one of these."),
        ({"pins": ["tea"]}, "/pins", 'pins is ["tea"], but must be an object; send an object.'),
        ({"baseline": "tea"}, "/baseline", "baseline is 'tea', but must be a list or null; send [\"tea\"]."),
        ({"stop_if": {"metrc": 1}}, "/stop_if/metrc", "There is no field 'metrc'; perhaps you mean 'metric'."),
        ({"polcy": "random"}, "/polcy", "There is no field 'polcy'; perhaps you mean 'policy'."),
    ],
    ids=str,
)  # fmt: skip
def test_a_wrong_setting_is_explained(service: LocalService, body: dict[str, Any], pointer: str, detail: str) -> None:
    found = problem(service.ask("POST", "/v1/rankings", json=NEW | body), 422)
    assert found["detail"] == found["errors"][0]["detail"] == detail
    assert found["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({"name": "side-bar"}, f"positions is missing, but must be {SIZE}; add it."),
        ([{"name": "a"}], 'The body is [{"name": "a"}], but must be an object; send {"name": ...}.'),
    ],
)
def test_a_body_of_a_wrong_form_is_explained(service: LocalService, body: Any, detail: str) -> None:
    assert problem(service.ask("POST", "/v1/rankings", json=body), 422)["detail"] == detail


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        ("lists", {"segmnt": "a"}, "There is no field 'segmnt'; perhaps you mean 'segment'."),
        ("lists", {"kye": "a"}, (
            f"There is no field 'kye'; known are {', '.join(current_fields(ListRequest))}."
        )),
        ("lists", {"among": "tea"}, "among is 'tea', but must be a list or null; send [\"tea\"]."),
        ("lists", {"segment": 7}, "segment is 7, but must be text or null; write it in quotes, \"7\"."),
        ("lists", {"person": [0.5, "1"]}, "person[1] is '1', but must be a number; write 1 without quotes."),
        ("lists", {"features": {"tea": [None]}}, "features['tea'][0] is null, but must be a number; send a number."),
        ("items", {"items": {"id": "tea"}}, "items is {\"id\": \"tea\"}, but must be a list; put it in brackets."),
        ("items", {"items": ["tea"]}, "items[0] is 'tea', but must be an object; send {\"id\": ...}."),
        ("items", {"items": [{"ids": "tea"}]}, "There is no field 'ids'; perhaps you mean 'id'."),
        ("items", {"items": [{"hidden": True}]}, "id is missing, but must be text or a whole number; add it."),
        ("items", {"items": [{"id": "tea", "features": [0] * 10_001}]}, (
            "features has 10001 entries, but must have at most 10000; send fewer."
        )),
    ],
    ids=lambda given: str(given)[:40],
)  # fmt: skip
def test_a_wrong_field_is_explained(service: LocalService, path: str, body: Any, detail: str) -> None:
    method = "PUT" if path == "items" else "POST"
    assert problem(service.ask(method, f"/v1/rankings/front-page/{path}", json=body), 422)["detail"] == detail


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("items?limit=x", "limit is 'x', but must be a whole number between 1 and 10000; send a whole number."),
        ("items?limit=0", "limit is '0', but must be a whole number between 1 and 10000; give a larger one."),
    ],
)
def test_a_wrong_parameter_is_explained(service: LocalService, query: str, detail: str) -> None:
    assert problem(service.ask("GET", f"/v1/rankings/front-page/{query}"), 422)["detail"] == detail


def test_a_value_that_is_not_searched_is_not_quoted() -> None:
    raw = msgspec.json.encode({"among": ["x" * 100] * (LARGEST_SEARCHED // 100), "positions": "5"})
    decode = msgspec.json.Decoder(ListRequest).decode
    with pytest.raises(msgspec.ValidationError) as caught:
        decode(raw)
    detail = undecodable(caught.value, raw, decode).body.detail
    assert detail == "positions is text, but must be a whole number between 1 and 1000 or null; send a whole number."


def test_former_names_are_not_suggested() -> None:
    assert "key" not in current_fields(ListRequest)
    assert current_fields(RankingSpec)[:2] == ["name", "positions"]
