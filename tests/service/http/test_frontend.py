"""The files for browsers: built from `frontend/` byte for byte, small, typed, packable, and served with a hash."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from asking import LocalService, problem

import toplist
from toplist.service.http.assets import Assets

ROOT = Path(__file__).parents[3]
FRONTEND = ROOT / "frontend"
BUILT = ROOT / "src" / "toplist" / "service" / "http" / "assets"
LARGEST_TRACKER = 3000  # bytes, minified and gzipped


def node(*command: str, cwd: Path = FRONTEND) -> str:
    """Run a program of Node.js."""
    missing = "the packages of frontend/ are missing; `make test` installs them, or: npm ci --prefix frontend"
    assert (FRONTEND / "node_modules" / "esbuild").is_dir(), missing
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_is_committed_is_what_is_built(tmp_path: Path) -> None:
    """And its types are right, else nothing is built."""
    node("node", "build.mjs", str(tmp_path))
    made = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()}
    assert {path.name for path in made} >= {"tracker.js", "tracker.d.ts"}
    for path in made:
        assert (tmp_path / path).read_bytes() == (ROOT / path).read_bytes(), f"run `make frontend`: {path} differs"
    committed = {path.relative_to(ROOT) for path in BUILT.iterdir()}
    assert committed == {path for path in made if path.parts[0] == "src"}


@pytest.mark.parametrize("path", [BUILT / "tracker.js", FRONTEND / "package" / "tracker.js"])
def test_the_tracker_is_small_and_needs_nothing(path: Path) -> None:
    text = path.read_bytes()
    assert len(gzip.compress(text, 9)) < LARGEST_TRACKER
    for word in (b"import ", b"import(", b"require(", b"eval(", b"new Function", b"innerHTML"):
        assert word not in text, word


def test_npm_packs_the_tracker(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(FRONTEND / "package", tmp_path / "package"))
    (packed,) = json.loads(node("npm", "pack", "--json", "--offline", cwd=folder))
    assert {each["path"] for each in packed["files"]} == {
        "LICENSE", "README.md", "package.json", "tracker.d.ts", "tracker.js"
    }  # fmt: skip
    described: dict[str, Any] = json.loads((folder / "package.json").read_text())
    assert described["version"] == toplist.__version__
    assert not described.keys() & {"dependencies", "peerDependencies", "scripts"}
    for path in described["exports"]["."].values():
        assert (folder / path).is_file()
    assert (folder / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_the_tracker_is_served_to_all_pages_and_for_ever_by_its_hash(service: LocalService) -> None:
    body = (BUILT / "tracker.js").read_bytes()
    hashed = f"tracker.{hashlib.sha256(body).hexdigest()[:12]}.js"
    assert Assets().hashed["tracker.js"] == hashed
    for name, cached in (("tracker.js", "public, max-age=300"), (hashed, "public, max-age=31536000, immutable")):
        reply = service.ask("GET", f"/assets/{name}", headers={"origin": "https://anywhere.example"})
        assert (reply.status_code, reply.content) == (200, body)
        assert reply.headers["content-type"] == "text/javascript; charset=utf-8"
        assert reply.headers.get_list("cache-control") == [cached]
        assert reply.headers["access-control-allow-origin"] == "*"
        assert reply.headers.get_list("cross-origin-resource-policy") == ["cross-origin"]
        assert reply.headers["x-content-type-options"] == "nosniff"
    for unknown in ("tracker.000000000000.js", "..%2Fpage.html", "page.html", "%2e%2e"):
        problem(service.ask("GET", f"/assets/{unknown}"), 404)
