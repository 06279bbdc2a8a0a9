"""The page at `/`: what it may do, and that its script is at least one that can be read."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from pathlib import Path

from toplist.service.http.page import page
from toplist.service.http.routes import ROUTES
from toplist.service.http.routing import Router

BODY, HEADERS = page()
TEXT = BODY.decode()


def test_the_policy_names_exactly_what_is_in_it() -> None:
    for tag in ("script", "style"):
        (inside,) = re.findall(rf"<{tag}>(.*?)</{tag}>", TEXT, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in HEADERS["content-security-policy"]
    assert not re.search(r"\son\w+=|\sstyle=|<script |javascript:", TEXT)  # which the policy would not let run


def test_what_it_asks_for_is_there() -> None:
    find = Router(ROUTES).find
    assert find("GET", b"/v1/rankings")
    for end in re.findall(r'path \+ "(/\w+)', TEXT):
        assert find("GET", f"/v1/rankings/a{end}".encode())
    for linked in re.findall(r'href="(/[^"]*)"', TEXT):
        assert find("GET", linked.encode())


def test_its_script_can_be_read(tmp_path: Path) -> None:
    (script,) = re.findall(r"<script>(.*?)</script>", TEXT, flags=re.DOTALL)
    assert script.count("{") == script.count("}")
    if node := shutil.which("node"):
        (tmp_path / "page.js").write_text(script)
        subprocess.run([node, "--check", str(tmp_path / "page.js")], check=True)
