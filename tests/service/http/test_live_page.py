"""The page at `/`: its Content-Security-Policy, its requests, and the syntax of its script."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from pathlib import Path

from toplist.service.http.page import load_page
from toplist.service.http.routes import ROUTES
from toplist.service.http.routing import Router

BODY, HEADERS = load_page()
TEXT = BODY.decode()


def test_the_security_policy_allows_its_script_and_style_only() -> None:
    for tag in ("script", "style"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", TEXT, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in HEADERS["content-security-policy"]
    assert not re.search(r"\son\w+=|\sstyle=|<script |javascript:", TEXT)  # which the policy would block


def test_its_requests_have_routes() -> None:
    find = Router(ROUTES).find
    assert find("GET", b"/v1/rankings")
    for end in re.findall(r'path \+ "(/\w+)', TEXT):
        assert find("GET", f"/v1/rankings/a{end}".encode())
    for linked in re.findall(r'href="(/[^"]*)"', TEXT):
        assert find("GET", linked.encode())


def test_its_script_parses(tmp_path: Path) -> None:
    (script,) = re.findall(r"<script>(.*?)</script>", TEXT, flags=re.DOTALL)
    assert script.count("{") == script.count("}")
    if node := shutil.which("node"):
        (tmp_path / "page.js").write_text(script)
        subprocess.run([node, "--check", str(tmp_path / "page.js")], check=True)


def test_a_fragment_that_cannot_be_decoded_does_not_stop_its_script(tmp_path: Path) -> None:
    (script,) = re.findall(r"<script>(.*?)</script>", TEXT, flags=re.DOTALL)
    (guarded,) = re.findall(r"^.*decodeURIComponent.*$", script, flags=re.MULTILINE)
    assert re.fullmatch(r"try \{ .* \} catch \{ .* \}", guarded)
    if node := shutil.which("node"):
        (tmp_path / "page.js").write_text(f'let selected = "", location = {{ hash: "#%" }};\n{guarded}')
        subprocess.run([node, str(tmp_path / "page.js")], check=True)
