"""A process of its own: it starts, refuses invalid settings, and stops without losing a response."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from time import sleep
from typing import Any

import httpx
import pytest
from benchmarks.server import free_port
from forking import ForkedProcess

from toplist.cli import Exit, main
from toplist.core.problem import InvalidInput
from toplist.service.client import Client, Retries
from toplist.service.http.server import listening
from toplist.service.run import SWITCH_EVERY, serve
from toplist.service.settings import Settings
from toplist.service.store.sqlite import SQLiteStore
from toplist.service.wire import RankingSpec

HERE = Path(__file__).parent


class Running:
    """A running service."""

    def __init__(self, process: ForkedProcess, url: str) -> None:
        self.process, self.url = process, url

    def reload(self) -> dict[str, Any]:
        """Send SIGHUP, and return the line of the log about it."""
        self.process.send_signal(signal.SIGHUP)
        assert self.process.stderr is not None
        while True:
            line: dict[str, Any] = json.loads(self.process.stderr.readline())
            if line["event"].startswith("reload"):
                return line

    def end(self, number: int = signal.SIGTERM) -> tuple[int, list[dict[str, object]]]:
        self.process.send_signal(number)
        _, log = self.process.communicate(timeout=30)
        return self.process.wait(), [json.loads(line) for line in log.splitlines()]


@contextmanager
def running(folder: Path, *flags: str, stdin: int | None = None) -> Iterator[Running]:
    command = [sys.executable, "-W", "error", str(HERE / "process.py"), "--port", "0", *flags]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TOPLIST_")}
    process = ForkedProcess(
        command, cwd=folder, env=clean, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        found = re.fullmatch(r"toplist serves toplist.db at (https?://127.0.0.1:\d+)\n", first)
        assert found, (first, process.communicate(timeout=30))
        yield Running(process, found[1])
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=30)


def test_a_process_from_start_to_end(tmp_path: Path) -> None:
    with running(tmp_path) as service, Client(service.url) as client:
        assert httpx.get(f"{service.url}/readyz").json()["status"] == "ready"
        client.create_ranking(RankingSpec(name="shop", positions=2))
        client.put_items("shop", ["a", "b", "c"])
        made = client.make_list("shop")
        assert client.report(made.impression, [1], final=True).counted
        assert client.item("shop", "a").id == "a"
        raw = httpx.get(f"{service.url}/v1/rankings/shop/items/a%2Fb")
        assert raw.status_code == 404
        assert "a/b" in raw.json()["detail"]
        chunked = httpx.post(
            f"{service.url}/v1/rankings/shop/lists",
            content=iter([b"{", b"}"]),
            headers={"content-type": "application/json"},
        )
        assert chunked.status_code == 200
        assert len(httpx.get(f"{service.url}/v1/rankings/shop/events").text.splitlines()) >= 4
        code, lines = service.end()
    assert code == Exit.FINE
    assert (tmp_path / "stopped").read_text() == "2 lists"
    events = [line["event"] for line in lines]
    assert events[0] == "ready"
    assert events[-2:] == ["ending", "ended"]
    assert events.count("request") == 9


def test_invalid_http_is_a_problem_and_ctrl_c_a_clean_stop(tmp_path: Path) -> None:
    with running(tmp_path) as service:
        host, port = service.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as raw:
            raw.sendall(b"GET / HTTP/1.1\r\nX-Request-Id: a\x00b\r\n\r\n")
            response = b""
            while piece := raw.recv(4096):
                response += piece
        code, _ = service.end(signal.SIGINT)
    assert code == Exit.FINE
    assert (tmp_path / "stopped").exists()
    assert response.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/problem+json" in response
    assert json.loads(response.partition(b"\r\n\r\n")[2])["status"] == 400


@contextmanager
def connected(service: Running) -> Iterator[socket.socket]:
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as raw:
        yield raw


def read_problem(raw: socket.socket) -> tuple[int, dict[str, object]]:
    """The problem that is sent before the connection is closed."""
    response = b""
    try:
        while piece := raw.recv(4096):
            response += piece
    except ConnectionResetError:  # the rest of our request was not read
        pass
    head, _, body = response.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    assert b"x-request-id: " in head
    return int(head.split()[1]), json.loads(body)


def test_the_size_of_a_head_is_limited_complete_or_not(tmp_path: Path) -> None:
    line = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    many = b"".join(b"x-%d: %s\r\n" % (n, b"a" * 1000) for n in range(70))
    with running(tmp_path) as service:
        for sent in (
            line + many + b"\r\n",
            line + b"x: " + b"a" * 70_000 + b"\r\n\r\n",
            b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
        ):
            with connected(service) as raw:
                raw.sendall(sent)
                status, body = read_problem(raw)
                assert (status, body["type"]) == (431, "urn:toplist:problem:head-too-large")
        counted = httpx.get(f"{service.url}/metrics").text
        assert 'toplist_requests_total{method="",route="(none)",status="431"} 3.0' in counted
        for begin, more in ((line, many), (line + b"x: ", b"a" * 70_000), (b"", b"\r\n" * 30_000)):
            with connected(service) as raw:
                raw.sendall(begin)
                sent_bytes = 0
                with suppress(BrokenPipeError, ConnectionResetError):
                    while sent_bytes < 100_000_000:
                        raw.sendall(more)
                        sent_bytes += len(more)
                assert sent_bytes < 20_000_000  # most of it is in socket buffers
        just_so = {f"x-{n}": "a" * 1000 for n in range(60)}
        with httpx.Client() as client:  # one connection: each head is counted on its own, and bodies are not counted
            for _ in range(3):
                assert client.get(f"{service.url}/healthz", headers=just_so).status_code == 200
                large = {"name": "a" * 500_000, "positions": 1}
                assert client.post(f"{service.url}/v1/rankings", json=large).status_code == 422


def test_an_incomplete_request_times_out(tmp_path: Path) -> None:
    with running(tmp_path, "--set", "limits.seconds=0.5", "--set", "limits.idle=0.5") as service:
        for half in (b"GET /healthz HTTP/1.1\r\nHost: loc", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /"):
            with connected(service) as raw:
                raw.sendall(half)
                if half.endswith(b"GET /"):
                    assert raw.recv(4096).startswith(b"HTTP/1.1 200 ")
                status, body = read_problem(raw)
                assert (status, body["type"]) == (408, "urn:toplist:problem:too-slow")
        with connected(service) as raw:
            assert raw.recv(4096) == b""
        with connected(service) as raw:
            head = b"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
            raw.sendall(b"POST /v1/rankings HTTP/1.1\r\n" + head)
            assert read_problem(raw)[0] == 408
        (tmp_path / "wait").touch()
        with Client(service.url) as client, ThreadPoolExecutor(1) as pool:
            client.create_ranking(RankingSpec(name="shop", positions=2))
            client.put_items("shop", ["a", "b"])
            pending = pool.submit(client.make_list, "shop")
            sleep(1.0)  # the limit is on reading a request, not on answering it
            (tmp_path / "wait").unlink()
            assert pending.result().items


def test_health_checks_are_answered_while_all_connections_are_taken(tmp_path: Path) -> None:
    port = free_port()
    flags = [part for each in (f"health.port={port}", "limits.connections=1") for part in ("--set", each)]
    with running(tmp_path, *flags) as service, connected(service) as taken:
        taken.sendall(b"GET /healthz HTTP/1.1\r\n")
        health = f"http://127.0.0.1:{port}"
        while "toplist_connections 1.0" not in httpx.get(f"{health}/metrics").text:
            sleep(0.02)
        with connected(service) as refused:
            assert read_problem(refused)[0] == 503
        for path in ("/healthz", "/readyz"):
            assert httpx.get(health + path, headers={"host": "10.1.2.3"}).status_code == 200
        assert httpx.get(f"{health}/metrics", headers={"host": "10.1.2.3"}).status_code == 421
        assert httpx.get(f"{health}/v1/rankings").status_code == 404
        assert 'toplist_connections_refused_total{limit="total"} 1.0' in httpx.get(f"{health}/metrics").text
        assert service.end()[0] == Exit.FINE


def test_requests_in_flight_are_answered_before_the_stop(tmp_path: Path) -> None:
    with running(tmp_path) as service, ThreadPoolExecutor(8) as pool, Client(service.url) as client:
        client.create_ranking(RankingSpec(name="shop", positions=2))
        client.put_items("shop", ["a", "b", "c"])
        (tmp_path / "wait").touch()
        pending = [
            pool.submit(httpx.post, f"{service.url}/v1/rankings/shop/lists", json={}, timeout=60) for _ in range(8)
        ]
        while "toplist_requests_in_flight 9.0" not in httpx.get(f"{service.url}/metrics").text:
            sleep(0.02)
        service.process.terminate()
        while listens(service.url):
            sleep(0.02)
        (tmp_path / "wait").unlink()
        assert [each.result().status_code for each in pending] == [200] * 8
        assert service.process.wait(timeout=30) == Exit.FINE
    assert (tmp_path / "stopped").read_text() == "8 lists"


def listens(url: str) -> bool:
    host, port = url.removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port))).close()
    except OSError:
        return False
    return True


def test_other_threads_give_way_to_requests(tmp_path: Path) -> None:
    usual, while_serving = sys.getswitchinterval(), []

    def stop(_: str) -> None:
        while_serving.append(sys.getswitchinterval())
        os.kill(os.getpid(), signal.SIGTERM)

    serve(Settings(store=str(tmp_path / "db"), port=0), on_ready=stop)
    assert while_serving == [pytest.approx(SWITCH_EVERY)]
    assert sys.getswitchinterval() == usual


def test_a_store_has_one_process(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "toplist.db")
    assert main(["serve", "--store", str(tmp_path / "toplist.db"), "--port", "0"]) == Exit.INPUT
    assert f"Another process serves {tmp_path / 'toplist.db'}; stop it first" in capsys.readouterr().err
    store.close()


def test_a_port_in_use(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        assert main(["serve", "--port", str(port), "--store", str(tmp_path / "a.db")]) == Exit.INPUT
    error = capsys.readouterr().err
    assert f"The port is {port}, but must be free; another process listens there; end it, or name another with" in error


def test_an_address_of_another_machine() -> None:
    with pytest.raises(InvalidInput, match=r"The host is '192\.0\.2\.1', but must be an address of this machine"):
        listening("192.0.2.1", 0).__enter__()
    with pytest.raises(InvalidInput, match=r"The host is 'no.such.host.invalid', but must be an address"):
        listening("no.such.host.invalid", 0).__enter__()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--host", "0.0.0.0"], "which other machines can reach, but no keys are configured"),
        (["--store", "/missing/toplist.db"], "create the folder '/missing' first"),
        (["--set", "limits.rat=1"], "Unknown setting limits.rat in a flag; perhaps you mean 'limits.rate'"),
        (["--set", "limits.rate"], "--set is 'limits.rate', but must be NAME=VALUE; write it like limits.rate=100"),
        (["--port", "many"], "port is 'many', but must be int"),
        (["--config", "nothing.toml"], "The settings file is 'nothing.toml', but must be a file that exists"),
    ],
)
def test_invalid_settings(
    flags: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["serve", *flags]) in {Exit.INPUT, Exit.SYSTEM}
    assert message in capsys.readouterr().err


PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
NEEDED = [re.split(r"[<>=]", each)[0].replace("-", "_") for each in PROJECT["optional-dependencies"]["serve"]]


@pytest.mark.parametrize(
    ("words", "module"),
    [
        (["keys", "new", "--scope", "serve"], "msgspec"),
        *((words, module) for words in (["serve"], ["demo"], ["store", "check"]) for module in NEEDED),
    ],
)
def test_a_missing_extra_says_what_to_install(
    words: list[str], module: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert main(words) == Exit.SYSTEM
    assert capsys.readouterr().err == (
        f'toplist: this needs {module}, which cannot be imported; install it with: pip install "toplist[serve]"\n'
    )


def test_a_new_api_key_is_printed_with_its_settings(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["keys", "new", "--scope", "serve", "--name", "page"]) == Exit.FINE
    printed = capsys.readouterr().out
    (api_key,) = re.findall(r"^toplist_\S+$", printed, flags=re.MULTILINE)
    (tmp_path / "toplist.toml").write_text(printed[printed.index("[[keys]]") :])
    with running(tmp_path) as service:
        assert httpx.get(f"{service.url}/v1/rankings").status_code == 401
        with Client(service.url, api_key, retries=Retries(0)) as client:
            assert client.rankings().rankings == []
        _, lines = service.end()
    assert api_key not in json.dumps(lines)
    (variable,) = re.findall(r"^TOPLIST_KEYS=(\S+)$", printed, flags=re.MULTILINE)
    (tmp_path / "toplist.toml").unlink()
    with running(tmp_path, "--set", f"keys={variable}") as service:
        assert httpx.get(f"{service.url}/v1/rankings").status_code == 401
        with Client(service.url, api_key, retries=Retries(0)) as client:
            assert client.rankings().rankings == []
    assert main(["keys", "new", "--scope", "serve", "--name", "a b"]) == Exit.INPUT
    assert "The new key must have a name that is 1 to 50 letters" in capsys.readouterr().err
