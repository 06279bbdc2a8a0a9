"""Every request of docs/service.md gets the documented response from a real service."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
from test_whole import serving

from toplist.service.http.routes import ROUTES
from toplist.service.http.routing import Router

TEXT = (Path(__file__).parent.parent.parent / "docs" / "service.md").read_text()
BLOCKS = re.findall(r"^```none\n(.*?)^```$", TEXT, flags=re.DOTALL | re.MULTILINE)
ANY = "…"


def read(text: str) -> Any:
    """JSON in which `...` matches anything."""
    text = re.sub(r",\s*\.\.\.\s*}", f', "{ANY}": "{ANY}"}}', text)
    text = re.sub(r'"\.\.\."', f'"{ANY}"', text)
    return json.loads(re.sub(r"\.\.\.", f'"{ANY}"', text))


def matches(expected: Any, found: Any) -> bool:
    if expected in (ANY, [ANY]):
        return True
    if isinstance(expected, dict) and isinstance(found, dict):
        names = set(expected) - {ANY}
        return (names <= set(found) if ANY in expected else names == set(found)) and all(
            matches(expected[name], found[name]) for name in names
        )
    if isinstance(expected, list) and isinstance(found, list):
        return len(expected) == len(found) and all(map(matches, expected, found))
    return bool(expected == found)


def test_requests_get_the_documented_responses(tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        impression = ""
        for block in BLOCKS:
            request, _, response = block.replace("{impression}", impression).partition("\n\n")
            line, _, body = request.partition("\n")
            method, path = line.split()
            status, _, expected = response.partition("\n")
            more = {"json": json.loads(body)} if body else {}
            reply = httpx.request(method, url + path, timeout=120, **more)
            assert reply.status_code == int(status), (line, reply.text)
            if expected.strip():
                assert matches(read(expected), reply.json()), (line, expected, reply.text)
                impression = reply.json().get("impression") or impression
            else:
                assert not reply.content
        (program,) = re.findall(r"^```{code-block} python\n(.*?)^```$", TEXT, flags=re.DOTALL | re.MULTILINE)
        exec(program.replace("http://127.0.0.1:8600", url), {})


def test_every_route_is_documented() -> None:
    find = Router(ROUTES).find
    documented = set()
    for block in BLOCKS:
        method, path = block.split("\n")[0].split()
        route = find(method, path.partition("?")[0].encode())[0].route
        documented.add(route.name)
    documented |= {route.name for route in ROUTES if f"`{route.method} {route.path}`" in TEXT}
    assert documented == {route.name for route in ROUTES}


def test_every_status_is_documented() -> None:
    table = TEXT[TEXT.index("| status |") :]
    documented = set(map(int, re.findall(r"\b[45]\d\d\b", table[: table.index("\n\n")])))
    assert documented >= {400, 401, 403, 404, 405, 406, 408, 409, 413, 415, 421, 422, 429, 431, 503}


def test_dots_match_anything() -> None:
    assert matches(read('{"a": [..., "..."], ...}'), {"a": [1, "x"], "b": 2})
    assert matches(read('{"a": [...]}'), {"a": [1, 2, 3]})
    assert not matches(read('{"a": [..., 2]}'), {"a": [1, 3]})
    assert not matches(read('{"a": 1}'), {"a": 1, "b": 2})
