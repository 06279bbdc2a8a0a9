"""A real Chromium in front of a real service: the browser, a site with tracked lists, and a proxy with faults."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx
from forking import ForkedProcess
from playwright.sync_api import Browser, Page, sync_playwright

from toplist.cli import Exit

T = TypeVar("T")
PATIENCE = 30.0  # seconds
SECRET = "tests:" + "s" * 40
FAULTS = ("slow", "refusing", "unavailable", "lost reply", "twice")
# In the order of preference; `make test` installs Debian's.
BROWSERS = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")


def browser_path() -> str:
    """The Chromium of this machine."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert found is not None, "there is no Chromium; `make test` installs it, or: apt-get install chromium"
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    """A Chromium with its back-forward cache, which Playwright turns off by default."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path(),
            ignore_default_args=["--disable-back-forward-cache"],
            args=["--no-sandbox"],
        )
        yield browser
        browser.close()


def eventually(ask: Callable[[], T], right: Callable[[T], bool], page: Page | None = None) -> T:
    """Ask until the answer is right; a page works meanwhile."""
    until = time.monotonic() + PATIENCE
    while not right(found := ask()):
        assert time.monotonic() < until, f"still {found!r}"
        if page is None:
            time.sleep(0.05)
        else:
            page.wait_for_timeout(50)
    return found


class Server:
    """`toplist serve` on a store, which can be stopped and started again."""

    def __init__(self, folder: Path, origins: Sequence[str] = (), **settings: str) -> None:
        self._folder, self._settings = folder, {"browser.origins": ",".join(origins), **settings}
        self._process: ForkedProcess | None = None
        self.url = ""

    def start(self, port: str = "0") -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TOPLIST_")}
        flags = [part for name, value in self._settings.items() for part in ("--set", f"{name}={value}")]
        self._process = ForkedProcess(
            [sys.executable, "-m", "toplist", "serve", "--port", port, *flags],
            cwd=self._folder, env=clean | {"TOPLIST_BROWSER_SECRETS": SECRET}, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().split()[-1]
        # Nothing here needs TLS, and to load certificates takes longer than most requests.
        self._http = httpx.Client(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), timeout=PATIENCE)

    def stop(self) -> None:
        if self._process is None:
            return
        self._http.close()
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate(timeout=PATIENCE)
        assert self._process.returncode == Exit.FINE
        self._process = None

    def ask_lines(self, path: str) -> list[Any]:
        return [json.loads(line) for line in self._http.get(self.url + path).text.splitlines()]

    def ask_none(self, method: str, path: str) -> None:
        assert self._http.request(method, self.url + path).status_code == 204

    def ask(self, method: str, path: str, **more: Any) -> Any:
        reply = self._http.request(method, self.url + path, **more)
        reply.raise_for_status()
        return reply.json()


class _Threaded:
    """An HTTP server in threads of its own."""

    def __init__(self) -> None:
        answer = self.answer

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                answer(self)

            def do_POST(self) -> None:
                answer(self)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        raise NotImplementedError

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def reply(request: BaseHTTPRequestHandler, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    """Send a whole response."""
    try:
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("content-length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)
    except OSError:  # the page is gone
        request.close_connection = True


class FaultyProxy(_Threaded):
    """Stands between browser and service, and does to reports what `fault` says."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.fault = ""
        self.reports: list[str] = []  # bodies that browsers sent
        super().__init__()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("content-length", "0")))
        fault = self.fault if request.command == "POST" else ""
        if request.command == "POST":
            self.reports.append(body.decode())
        if fault == "slow":
            time.sleep(1.0)
        elif fault == "refusing":
            request.close_connection = True
            return
        elif fault == "unavailable":
            origin = str(request.headers.get("origin", "*"))
            reply(request, 503, b"", {"access-control-allow-origin": origin})
            return
        for _ in range(2 if fault == "twice" else 1):
            found = self._forward(request, body)
        if fault == "lost reply" or found is None:
            request.close_connection = True
            return
        status, content, headers = found
        reply(request, status, content, headers)

    def _forward(self, request: BaseHTTPRequestHandler, body: bytes) -> tuple[int, bytes, dict[str, str]] | None:
        target = urlsplit(self.server.url)
        kept = {name: value for name, value in request.headers.items() if name.lower() not in ("host", "connection")}
        connection = http.client.HTTPConnection(str(target.hostname), target.port, timeout=PATIENCE)
        try:
            connection.request(request.command, request.path, body or None, kept)
            found = connection.getresponse()
            content = found.read()
        except (OSError, http.client.HTTPException):
            return None  # the service is away
        finally:
            connection.close()
        dropped = ("content-length", "connection", "transfer-encoding")
        return found.status, content, {k: v for k, v in found.getheaders() if k.lower() not in dropped}


WATCH = """
window.shown = [];
addEventListener("pageshow", (event) => window.shown.push(event.persisted));
"""
STYLE = """
li { height: 80px; } .tall li { height: 5000px; } .gap { height: 4000px; } a { display: inline-block; padding: 8px; }
"""


class Site(_Threaded):
    """A site whose pages have one list each: /list?token=T&n=3&gap=1; /empty has none, but the tracker."""

    def __init__(self, tracker: Callable[[], str]) -> None:
        self._tracker = tracker
        super().__init__()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        address = urlsplit(request.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        if address.path == "/watch.js":
            reply(request, 200, WATCH.encode(), {"content-type": "text/javascript"})
            return
        if address.path == "/style.css":
            reply(request, 200, STYLE.encode(), {"content-type": "text/css"})
            return
        service = self._tracker()
        lists = ""
        if "token" in query:
            rows = "".join(
                f'<li><a id="a{n}" href="{escape(query.get("to", f"#{n}"))}">item {n}</a> <button type="button" '
                f'id="b{n}">like</button> <span id="s{n}">text</span></li>'
                for n in range(1, int(query.get("n", "3")) + 1)
            )
            lists = f'<ol data-toplist="{escape(query["token"])}" {query.get("more", "")}>{rows}</ol>'
            if "tall" in query:
                lists = f'<div class="tall">{lists}</div>'
        gap = '<div class="gap"></div>' if "gap" in query else ""
        text = (
            '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>site</title><link rel="icon" '
            'href="data:,"><link rel="stylesheet" href="/style.css"><script src="/watch.js"></script></head>'
            f'<body>{gap}{lists}<script type="module" src="{service}/assets/tracker.js"></script></body></html>'
        )
        policy = (
            f"default-src 'none'; script-src 'self' {service}; connect-src {service}; style-src 'self'; img-src data:"
        )
        headers = {"content-type": "text/html", "content-security-policy": policy, "cache-control": "no-cache"}
        reply(request, 200, text.encode(), headers)


def clear(page: Page) -> None:
    """Leave an empty page for the next test: no document, no routes, nothing stored."""
    page.unroute_all()
    if page.url != "about:blank":
        page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    page.context.clear_cookies()
    page.mouse.move(0, 0)
    page.goto("about:blank")


class Watched:
    """The console of a page: what went wrong."""

    def __init__(self, page: Page) -> None:
        self.errors: list[str] = []
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
