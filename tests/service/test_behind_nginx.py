"""The settings for nginx in docs/service.md, in a real nginx before a real service."""

from __future__ import annotations

import json
import re
import shutil
import ssl
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from benchmarks.server import Server, free_port
from certificates import Authority
from forking import ForkedProcess

from toplist.service.http.auth import hash_api_key

DOCUMENT = Path(__file__).parents[2] / "docs" / "service.md"
KEY = "toplist_behind-nginx"
KEYED = {"keys": f"boss:admin:{hash_api_key(KEY)}", "proxies": "127.0.0.1"}
LEAST = "server {{ listen 127.0.0.1:{port} ssl; {pair} location / {{ proxy_pass http://127.0.0.1:{service}; }} }}"
PATIENCE = 30.0  # seconds
LISTS = 30


class Proxied:
    """A service behind nginx."""

    def __init__(self, service: Server, port: int, trusted: ssl.SSLContext) -> None:
        self.service, self.trusted = service, trusted
        self.url = f"https://localhost:{port}"

    def client(self, source: str = "127.0.0.1", **headers: str) -> httpx.Client:
        transport = httpx.HTTPTransport(verify=self.trusted, local_address=source)
        return httpx.Client(base_url=self.url, transport=transport, headers=headers, timeout=PATIENCE)


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Authority:
    monkeypatch.setattr(Server, "popen", ForkedProcess)
    return Authority(tmp_path)


@contextmanager
def behind_nginx(
    folder: Path, authority: Authority, settings: dict[str, str], least: bool = False
) -> Iterator[Proxied]:
    """A service behind nginx with the settings of the document, or with the least that nginx needs."""
    service, port = Server(folder / "toplist.db", settings=settings, api_key=KEY), free_port()
    files = authority.issue("localhost")
    if least:
        pair = f"ssl_certificate {files.certificate}; ssl_certificate_key {files.key};"
        text = LEAST.format(port=port, pair=pair, service=service.port)
    else:
        (text,) = re.findall(r"```nginx\n(.*?)```", DOCUMENT.read_text(), flags=re.DOTALL)
        for given, here in (
            ("127.0.0.1:8600", f"127.0.0.1:{service.port}"),
            ("listen 443 ", f"listen 127.0.0.1:{port} "),
            ("/etc/ssl/ranking.example.pem", files.certificate),
            ("/etc/ssl/private/ranking.example.key", files.key),
        ):
            assert given in text, given
            text = text.replace(given, here)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in kinds)
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{ access_log off;\n{paths}{text}\n}}\n"
    )
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    service.start()
    nginx = subprocess.Popen([program, "-p", str(folder), "-c", str(folder / "nginx.conf")], stderr=subprocess.DEVNULL)
    try:
        made = Proxied(service, port, authority.context())
        wait_for(made, nginx, folder / "error.log")
        yield made
    finally:
        nginx.terminate()
        nginx.wait(PATIENCE)
        if service.running.poll() is None:
            service.kill()


def wait_for(made: Proxied, nginx: subprocess.Popen[bytes], errors: Path) -> None:
    """Wait until nginx answers."""
    until = time.monotonic() + PATIENCE
    while True:
        assert nginx.poll() is None, errors.read_text()
        try:
            httpx.get(f"{made.url}/healthz", verify=made.trusted)
            return
        except httpx.TransportError:
            assert time.monotonic() < until
            time.sleep(0.02)


def test_nginx_ends_tls_reuses_connections_and_tells_callers_apart(tmp_path: Path, authority: Authority) -> None:
    with behind_nginx(tmp_path, authority, KEYED) as made:
        with made.client(authorization=f"Bearer {KEY}") as client:
            assert client.get("/healthz").headers["strict-transport-security"] == "max-age=31536000"
            client.post("/v1/rankings", json={"name": "shop", "positions": 2}).raise_for_status()
            client.put("/v1/rankings/shop/items", json={"items": [{"id": each} for each in "abcde"]}).raise_for_status()
            for _ in range(LISTS):
                shown = client.post("/v1/rankings/shop/lists", json={}).raise_for_status().json()
                reported = {"clicks": [1], "final": True}
                assert client.put(f"/v1/impressions/{shown['impression']}/clicks", json=reported).json()["counted"]
            assert len(client.get("/v1/rankings/shop/events").raise_for_status().text.splitlines()) > 2 * LISTS
            connections = re.findall(r"^toplist_connections (\d+)", client.get("/metrics").text, flags=re.MULTILINE)
            assert int(connections[0]) < 10
        statuses: Counter[tuple[str, int]] = Counter()
        for source, times in (("127.0.0.1", 150), ("127.0.0.2", 1)):
            with made.client(source) as stranger:
                for number in range(times):
                    made_up = {"x-forwarded-for": f"192.0.2.{number}"}
                    statuses[source, stranger.get("/v1/rankings", headers=made_up).status_code] += 1
        assert statuses["127.0.0.1", 429] > 0  # made-up addresses do not evade the limit
        assert statuses["127.0.0.2", 401] == 1  # the limit is not that of the proxy
        made.service.end()  # lines wait for others before they are written
        lines = [json.loads(line) for line in made.service.output.read_text().splitlines() if '"status":401' in line]
        assert (lines[-1]["caller"], lines[-1]["address"]) == ("127.0.0.2", "127.0.0.2")


@pytest.mark.parametrize("least", [False, True], ids=["settings of the document", "least settings"])
def test_without_keys_a_service_behind_nginx_is_not_public(tmp_path: Path, authority: Authority, least: bool) -> None:
    with behind_nginx(tmp_path, authority, {}, least) as made, made.client() as client:
        assert client.get("/v1/rankings").status_code == 421
