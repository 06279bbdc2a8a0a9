"""A server in a process of its own, as a user starts it: to be asked, killed, ended, filled and looked into."""

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
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from benchmarks.load import HOST

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 60.0  # seconds for whatever should take one or two; the machine may be busy with something else
POLL = 0.01


class Broken(AssertionError):
    """Something that the service promises, and did not keep."""


class Server:
    """`toplist serve`, or a program that takes the same flags, on a store and a port, started as often as one likes."""

    def __init__(self, store: Path, program: Sequence[str] = ("toplist", "serve"), core: int | None = None) -> None:
        self.store = store
        self.port = free_port()
        self.told = store.with_suffix(".log")  # what it says on stdout and stderr
        self.process: subprocess.Popen[bytes] | None = None
        self._program = program
        self._core = core  # the only one that it may use

    def launch(self) -> Self:
        """Start the process, and do not wait for it."""
        flags = ["--store", str(self.store), "--port", str(self.port), "--set", "logs.requests=failed"]
        others = {name: value for name, value in os.environ.items() if not name.startswith("TOPLIST_")}
        places = [str(ROOT), os.environ.get("PYTHONPATH", "")]
        with self.told.open("ab") as told:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *self._program, *flags],
                stdout=told,
                stderr=told,
                cwd=self.store.parent,
                env=others | {"PYTHONPATH": os.pathsep.join(filter(None, places))},
                start_new_session=True,
            )
        if self._core is not None:  # it is still busy with its imports, and threads to come inherit it
            os.sched_setaffinity(self.process.pid, {self._core})
        return self

    def start(self) -> Self:
        """Start the process, and wait until it takes requests."""
        self.launch()
        self.wait_until_ready()
        return self

    def wait_until_ready(self) -> None:
        """Until /readyz says so."""
        until = time.monotonic() + PATIENCE
        while not self.is_ready():
            if self.running.poll() is not None or time.monotonic() > until:
                raise Broken(f"the server did not get ready:\n{self.last_words()}")
            time.sleep(POLL)

    def is_ready(self) -> bool:
        """Whether it takes requests at this moment."""
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
        """Kill -9: nothing is said, flushed or closed."""
        self.running.kill()
        self.running.wait(PATIENCE)

    def end(self) -> None:
        """SIGTERM, and wait for a clean end."""
        self.running.send_signal(signal.SIGTERM)
        self.wait_for_the_end()

    def wait_for_the_end(self) -> None:
        """Until the process is gone, of its own accord and without complaint."""
        try:
            code = self.running.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Broken(f"the server did not end within {PATIENCE:.0f} s of SIGTERM:\n{self.last_words()}") from None
        if code != 0:
            raise Broken(f"the server ended with code {code}:\n{self.last_words()}")

    def last_words(self) -> str:
        """The end of what it said."""
        return self.told.read_text(errors="replace")[-3000:] if self.told.exists() else ""

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """The status and the body, read as JSON, of one request on a connection of its own."""
        status, text = self.ask_raw(method, path, body)
        return status, json.loads(text) if text else None

    def ask_raw(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        """The same with the body as it came."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE)
        try:
            if body is None:
                connection.request(method, path)
            else:
                connection.request(method, path, json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def must(self, method: str, path: str, body: Any = None) -> Any:
        """The body of an answer that has to be a good one."""
        status, answer = self.ask(method, path, body)
        if status >= 400:
            raise Broken(f"{method} {path} was answered with {status}: {answer}\n{self.last_words()}")
        return answer

    def create(self, name: str, items: int, positions: int, rows: list[list[float]] | None = None, **more: Any) -> None:
        """A ranking with items of which one knows no more than their number, or a row of features each."""
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
        """What the process holds of the machine's memory, in bytes: RssAnon is its own, VmRSS also what files lend."""
        text = Path(f"/proc/{self.running.pid}/status").read_text()
        return {name: int(size) * 1024 for name, size in re.findall(r"(VmRSS|RssAnon|VmHWM):\s+(\d+) kB", text)}

    def cpu(self) -> float:
        """The CPU seconds that all threads of the process have taken so far."""
        threads = Path(f"/proc/{self.running.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def item_names(items: int) -> list[str]:
    """The names of items that need none."""
    return [f"item-{n}" for n in range(items)]


@contextmanager
def serving(store: Path, program: Sequence[str] = ("toplist", "serve"), core: int | None = None) -> Iterator[Server]:
    """A server that is ready, and gone at the end whatever happens."""
    server = Server(store, program, core)
    try:
        yield server.start()
    finally:
        if server.process is not None and server.process.poll() is None:
            server.kill()


def free_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
