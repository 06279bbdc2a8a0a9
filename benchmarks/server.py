"""A server in its own process, as a user starts it, to be queried, killed, stopped, filled and inspected."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Self

from benchmarks.load import HOST
from toplist.core.compiling import LIBRARY_VARIABLES

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 60.0  # seconds for operations that should take one or two; the machine may be busy
POLL = 0.01
PORTS = range(10_000, 20_000)  # no system takes these for connections by itself
UNLIMITED = {"limits.rate": "0"}  # one caller is all of the load

_ports_tried = count(101 * os.getpid())  # each process begins elsewhere


class Broken(AssertionError):
    """A guarantee of the service that was broken."""


class NoAnswer(Broken):
    """An answer that did not come in time: the service may be broken, or the machine too busy to tell."""


class Server:
    """`toplist serve`, or a program with the same flags, on a store and a port; can be started again and again."""

    popen: ClassVar[Any] = subprocess.Popen  # tests replace it by something quicker with the same methods

    def __init__(
        self, store: Path, program: Sequence[str] = ("toplist", "serve"), core: int | None = None,
        settings: Mapping[str, str] = UNLIMITED, api_key: str | None = None, database: str | None = None,
        checkout: Path = ROOT,
    ) -> None:  # fmt: skip
        self._checkout = checkout  # whose source is served
        self.store = store  # or where its output lies, if the store is a database
        self._address = database or str(store)
        self.port = free_port()
        self.output = store.with_suffix(".log")  # its stdout and stderr
        self.process: subprocess.Popen[bytes] | None = None
        self.program = program  # from the next start on
        self._core = core  # the only core it may use
        self._settings = settings
        self._authorization = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}

    def launch(self) -> Self:
        """Start the process without waiting for it."""
        flags = ["--store", self._address, "--port", str(self.port), "--set", "logs.requests=failed"]
        flags += [part for name, value in self._settings.items() for part in ("--set", f"{name}={value}")]
        others = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("TOPLIST_") or name in LIBRARY_VARIABLES  # the latter are no settings of the service
        }
        folders = [str(self._checkout), str(self._checkout / "src"), os.environ.get("PYTHONPATH", "")]
        with self.output.open("ab") as output:
            self.process = self.popen(
                [sys.executable, "-m", *self.program, *flags],
                stdout=output,
                stderr=output,
                cwd=self.store.parent,
                env=others | {"PYTHONPATH": os.pathsep.join(filter(None, folders))},
                start_new_session=True,
            )
        if self._core is not None:  # it still imports, and later threads inherit the affinity
            os.sched_setaffinity(self.process.pid, {self._core})
        return self

    def start(self) -> Self:
        """Start the process and wait until it accepts requests."""
        self.launch()
        self.wait_until_ready()
        return self

    def wait_until_ready(self) -> None:
        """Wait until /readyz reports ready."""
        until = time.monotonic() + PATIENCE
        while not self.is_ready():
            if self.running.poll() is not None or time.monotonic() > until:
                raise NoAnswer(f"the server did not get ready:\n{self.last_words()}")
            time.sleep(POLL)

    def is_ready(self) -> bool:
        """Whether it accepts requests now."""
        try:
            return self.ask("GET", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    @property
    def running(self) -> subprocess.Popen[bytes]:
        """The process."""
        assert self.process is not None, "the server was never started"
        return self.process

    def kill(self) -> None:
        """Kill -9: nothing is flushed or closed."""
        self.running.kill()
        self.running.wait(PATIENCE)

    def end(self) -> None:
        """Send SIGTERM and wait for a clean exit."""
        self.running.send_signal(signal.SIGTERM)
        self.wait_for_the_end()

    def wait_for_the_end(self) -> None:
        """Wait until the process exits with code 0."""
        try:
            code = self.running.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise NoAnswer(f"the server did not end within {PATIENCE:.0f} s of SIGTERM:\n{self.last_words()}") from None
        if code != 0:
            raise Broken(f"the server ended with code {code}:\n{self.last_words()}")

    def last_words(self) -> str:
        """End of its output."""
        return self.output.read_text(errors="replace")[-3000:] if self.output.exists() else ""

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and JSON body of one request on a new connection."""
        status, text = self.ask_raw(method, path, body)
        return status, json.loads(text) if text else None

    def ask_raw(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """Status and raw body of one request on a new connection."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE)
        try:
            if body is None:
                connection.request(method, path, headers=self._authorization)
            else:
                headers = {"Content-Type": "application/json", **self._authorization}
                connection.request(method, path, json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def must(self, method: str, path: str, body: Any = None) -> Any:
        """Body of an answer that must succeed."""
        status, answer = self.ask(method, path, body)
        if status >= 400:
            raise Broken(f"{method} {path} was answered with {status}: {answer}\n{self.last_words()}")
        return answer

    def create(self, name: str, items: int, positions: int, rows: list[list[float]] | None = None, **more: Any) -> None:
        """Create a ranking with numbered items, with or without a row of features each."""
        width = {} if rows is None else {"features": len(rows[0])}
        self.must("POST", "/v1/rankings", {"name": name, "positions": positions, **width, **more})
        names = item_names(items)
        for first in range(0, items, 10_000):
            some = [
                {"id": item} if rows is None else {"id": item, "features": rows[first + n]}
                for n, item in enumerate(names[first : first + 10_000])
            ]
            self.must("PUT", f"/v1/rankings/{name}/items", {"items": some})

    def memory(self) -> Mapping[str, int]:
        """Memory of the process in bytes: RssAnon is its own, VmRSS includes mapped files."""
        text = Path(f"/proc/{self.running.pid}/status").read_text()
        return {name: int(size) * 1024 for name, size in re.findall(r"(VmRSS|RssAnon|VmHWM):\s+(\d+) kB", text)}

    def cpu(self) -> float:
        """CPU seconds of all threads of the process so far."""
        threads = Path(f"/proc/{self.running.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def item_names(items: int) -> list[str]:
    """Names of numbered items."""
    return [f"item-{n}" for n in range(items)]


@contextmanager
def serving(
    store: Path, program: Sequence[str] = ("toplist", "serve"), core: int | None = None,
    settings: Mapping[str, str] = UNLIMITED, api_key: str | None = None, checkout: Path = ROOT,
) -> Iterator[Server]:  # fmt: skip
    """A ready server, which is always stopped at the end."""
    server = Server(store, program, core, settings, api_key, checkout=checkout)
    try:
        yield server.start()
    finally:
        if server.process is not None and server.process.poll() is None:
            server.kill()


def free_port() -> int:
    """A free port, of those that no connection gets by itself: a server that starts again finds it still free."""
    while True:
        port = PORTS.start + next(_ports_tried) % len(PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind((HOST, port))
            return port
