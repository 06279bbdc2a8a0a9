"""The dashboard at `/`: its Content-Security-Policy, what it loads, and its requests."""

from __future__ import annotations

import re
from pathlib import Path

from asking import LocalService

from toplist.service.http.assets import Assets
from toplist.service.http.page import load_page
from toplist.service.http.routes import ROUTES
from toplist.service.http.routing import Router

BODY, HEADERS = load_page(Assets(), "page.html")
TEXT = BODY.decode()
SOURCE = Path(__file__).parents[3] / "frontend" / "src" / "dashboard"


def test_the_security_policy_allows_scripts_and_styles_of_this_server_only() -> None:
    policy = HEADERS["content-security-policy"]
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'"} <= set(policy.split("; "))
    assert "unsafe" not in policy
    pages = [path.read_text() for path in SOURCE.parent.rglob("*.html")]
    assert len(pages) == 2
    for text in pages:
        assert not re.search(r"\son\w+=|\sstyle=|<style|javascript:|<script>", text)  # which the policy would block
    sources = [path.read_text() for path in SOURCE.parent.rglob("*.ts")]
    assert len(sources) > 20
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", "".join(sources))


def source() -> str:
    return "".join(path.read_text() for path in SOURCE.glob("*.ts"))


def test_it_loads_files_by_their_hashes(service: LocalService) -> None:
    page = service.ask("GET", "/")
    assert (page.status_code, page.content) == (200, BODY)
    loaded = re.findall(r'(?:src|href)="(assets/[^"]+)"', TEXT)
    assert sorted(re.sub(r"\.[0-9a-f]{12}\.", ".", path) for path in loaded) == [
        "assets/dashboard.css", "assets/dashboard.js"
    ]  # fmt: skip
    for path in loaded:
        reply = service.ask("GET", f"/{path}")
        assert reply.status_code == 200
        assert "immutable" in reply.headers["cache-control"]
        assert "access-control-allow-origin" not in reply.headers  # for this page alone
        assert not re.search(rb"""(?:src|href|url)\s*[=(]\s*["']?(?:https?:)?//""", reply.content)


def test_its_requests_have_routes() -> None:
    find = Router(ROUTES).find
    for path in re.findall(r'href="((?!assets|data|#)[^"]*)"', TEXT):
        assert find("GET", f"/{path}".encode())
    written = source()
    assert find("GET", b"/v1/rankings")
    ends = re.findall(r"rankingPath\([^)]*\)+\}(/[a-z]+)", written)
    assert {"/live", "/items", "/events"} <= set(ends)
    for end in ends:
        assert find("GET", f"/v1/rankings/a{end}".encode())
    for method, path in (("POST", "/v1/rankings"), ("PATCH", "/v1/rankings/a"), ("DELETE", "/v1/rankings/a/items/b")):
        assert find(method, path.encode())


def test_the_key_is_kept_in_memory_alone() -> None:
    assert not re.search(r"localStorage|sessionStorage|cookie|indexedDB", source())
