"""The nginx settings of docs/service.md in front of a service: `python -m tests.service.behind_nginx` (needs nginx)."""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from benchmarks.server import free_port

from toplist.service.http.auth import hash_api_key

DOCUMENT = Path(__file__).parents[2] / "docs" / "service.md"
KEY = "toplist_behind-nginx"
PATIENCE = 30.0  # seconds
LISTS = 300
LEAST = "server {{ listen 127.0.0.1:{port} ssl; {pair} location / {{ proxy_pass http://127.0.0.1:{service}; }} }}"


@contextmanager
def process(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process, until the end of the block."""
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield started
    finally:
        started.terminate()
        started.wait(PATIENCE)


@contextmanager
def service(folder: Path, port: int, *settings: str) -> Iterator[None]:
    """A service on a port of loopback."""
    flags = [part for each in settings for part in ("--set", each)]
    store = str(folder / "toplist.db")
    with process(sys.executable, "-m", "toplist", "serve", "--store", store, "--port", str(port), *flags):
        wait_for(f"http://127.0.0.1:{port}/readyz")
        yield


@contextmanager
def nginx(folder: Path, text: str) -> Iterator[None]:
    """nginx with a part of the block `http`."""
    folder.mkdir(exist_ok=True)
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log;\n"
        f"events {{}}\nhttp {{ access_log off;\n{paths}{text}\n}}\n"
    )
    with process("nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")):
        yield


def wait_for(url: str) -> None:
    """Wait until a server answers."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            httpx.get(url, verify=False)
            return
        except httpx.TransportError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def check(folder: Path) -> str:
    """Put the settings to the test; what was found."""
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(certificate)],
        check=True, capture_output=True,
    )  # fmt: skip
    pair = f"ssl_certificate {certificate}; ssl_certificate_key {key};"
    port, behind = free_port(), free_port()
    url = f"https://localhost:{port}"
    (text,) = re.findall(r"```nginx\n(.*?)```", DOCUMENT.read_text(), flags=re.DOTALL)
    for given, here in (
        ("127.0.0.1:8600", f"127.0.0.1:{behind}"),
        ("listen 443 ", f"listen 127.0.0.1:{port} "),
        ("/etc/ssl/ranking.example.pem", str(certificate)),
        ("/etc/ssl/private/ranking.example.key", str(key)),
    ):
        assert given in text, given
        text = text.replace(given, here)
    trusted = ssl.create_default_context(cafile=str(certificate))
    keys = f"keys=boss:admin:{hash_api_key(KEY)}"
    with service(folder, behind, keys, "proxies=127.0.0.1"), nginx(folder / "whole", text):
        wait_for(f"{url}/healthz")
        with httpx.Client(
            base_url=url, headers={"authorization": f"Bearer {KEY}"}, verify=trusted, timeout=60
        ) as client:
            assert client.get("/healthz").headers["strict-transport-security"] == "max-age=31536000"
            client.post("/v1/rankings", json={"name": "shop", "positions": 2}).raise_for_status()
            client.put("/v1/rankings/shop/items", json={"items": [{"id": each} for each in "abcde"]}).raise_for_status()
            for _ in range(LISTS):
                made = client.post("/v1/rankings/shop/lists", json={}).raise_for_status().json()
                report = client.put(f"/v1/impressions/{made['impression']}/clicks", json={"clicks": [1], "final": True})
                assert report.json()["counted"]
            exported = client.get("/v1/rankings/shop/events").raise_for_status().text.splitlines()
            assert len(exported) > 2 * LISTS
            opened = client.get("/metrics").text
            assert int(re.findall(r"^toplist_connections (\d+)", opened, flags=re.MULTILINE)[0]) < 10
        statuses: dict[str, list[int]] = {}
        for source in ("127.0.0.1", "127.0.0.2"):
            with httpx.Client(transport=httpx.HTTPTransport(verify=trusted, local_address=source)) as stranger:
                statuses[source] = [
                    stranger.get(f"{url}/v1/rankings", headers={"x-forwarded-for": f"192.0.2.{n}"}).status_code
                    for n in range(200 if source == "127.0.0.1" else 1)
                ]
        assert 429 in statuses["127.0.0.1"], "made-up addresses evade the limit"
        assert statuses["127.0.0.2"] == [401], "all callers of the proxy share a limit"
    refused = 0
    for name, proxied in (("keyless", text), ("least", LEAST.format(port=port, pair=pair, service=behind))):
        with service(folder, behind), nginx(folder / name, proxied):
            wait_for(f"{url}/healthz")
            answer = httpx.get(f"{url}/v1/rankings", verify=trusted)
            assert answer.status_code == 421, answer.text
            refused += 1
    return (
        f"{2 * LISTS} requests and {len(exported)} exported events by TLS; callers are told apart, and one who makes "
        f"up addresses is refused after {statuses['127.0.0.1'].index(429)}; "
        f"without keys, {refused} ways to proxy are refused"
    )


if __name__ == "__main__":
    if shutil.which("nginx") is None:
        sys.exit("nginx is missing; install it, for example with: apt-get install nginx")
    with tempfile.TemporaryDirectory() as temporary:
        print(f"nginx: {check(Path(temporary))}")
