"""The playground over HTTP: who may simulate, what is refused, and that lists are served meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from asking import ADMIN, SERVE, Make, problem
from test_serving import Running, running

from toplist.cli import Exit
from toplist.service.playground_settings import PlaygroundSettings

PATH = "/v1/playground/simulations"
SHORT = {"policies": ["cascade-ucb1", "random"], "items": 6, "positions": 2, "steps": 100, "runs": 2}
LONG = {"policies": ["cascade-ucb1"], "steps": 1_000_000, "runs": 100}
PATIENCE = 60.0  # seconds


def events(text: str) -> list[dict[str, Any]]:
    found = []
    for part in text.split("\n\n"):
        if part.startswith("event: "):
            kind, _, data = part.partition("\ndata: ")
            found.append({"event": kind.removeprefix("event: ")} | json.loads(data))
    return found


def test_only_an_admin_key_may_simulate(make_service: Make) -> None:
    service = make_service(keyed=True)
    serve, admin = ({"authorization": f"Bearer {key}"} for key in (SERVE, ADMIN))
    for method, path in (("GET", "/v1/playground"), ("POST", PATH)):
        problem(service.ask(method, path, json=SHORT if method == "POST" else None), 401)
        problem(service.ask(method, path, headers=serve, json=SHORT if method == "POST" else None), 403)
    assert service.ask("GET", "/v1/playground", headers=admin).json()["limits"]["at_once"] == 1
    assert service.ask("GET", "/playground").status_code == 200  # the page itself has no secrets


def test_a_simulation_is_a_stream_of_events(make_service: Make) -> None:
    service = make_service()
    reply = service.ask("POST", PATH, json=SHORT, timeout=PATIENCE)
    assert reply.status_code == 200, reply.text
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    told = events(reply.text)
    assert told[0]["policies"] == SHORT["policies"]
    assert len([each for each in told if each["event"] == "point"]) == 100
    assert told[-1] == {"event": "done"}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"policies": ["nowhere"]}, "/policies/0"),
        ({"policies": ["random"], "steps": 10**9}, "/steps"),
        ({"policies": ["random"], "path": "/etc/passwd"}, "/path"),
        ({"policies": ["random"], "items": 3}, "/positions"),
    ],
)
def test_settings_are_refused_before_a_process_starts(
    make_service: Make, body: dict[str, Any], pointer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = make_service()
    monkeypatch.setattr("toplist.service.playground.playground.Playground.begin", None)  # is not called
    found = problem(service.ask("POST", PATH, json=body), 422)
    assert found["errors"][0]["pointer"] == pointer


def test_a_model_comes_with_the_request(make_service: Make) -> None:
    body = {"policies": ["random"], "positions": 2, "steps": 10, "runs": 2, "query": "shoes", "model": {"format": "x"}}
    told = events(make_service().ask("POST", PATH, json=body, timeout=PATIENCE).text)
    assert [each["event"] for each in told] == ["started", "refused"]
    assert "The format of the model is 'x'" in told[-1]["detail"]


def test_a_model_has_a_largest_size(make_service: Make) -> None:
    body = json.dumps(SHORT | {"model": {"x": "y" * (4 << 20)}})
    problem(make_service().ask("POST", PATH, content=body, headers={"content-type": "application/json"}), 413)


def test_it_can_be_turned_off(make_service: Make) -> None:
    service = make_service(playground=PlaygroundSettings(enabled=False))
    for method, path in (("GET", "/v1/playground"), ("POST", PATH)):
        found = problem(service.ask(method, path, json=SHORT if method == "POST" else None), 404)
        assert "playground.enabled" in found["detail"]


# In a real process ----------------------------------------------------------------------------------------------------


def eventually(ask: Callable[[], Any]) -> Any:
    until = time.monotonic() + PATIENCE
    while not (found := ask()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return found


def simulating(service: Running) -> list[int]:
    """Ids of the processes that simulate for a service."""
    command = ["ps", "-ww", "-o", "pid=,args=", "--ppid", str(service.process.pid)]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return [int(line.split()[0]) for line in found.splitlines() if "simulate_apart" in line]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Running]:
    with running(tmp_path, "--set", "playground.seconds=600") as service:
        yield service


def test_lists_are_served_while_it_runs_and_a_closed_connection_ends_it(service: Running) -> None:
    with httpx.Client(base_url=service.url, timeout=PATIENCE) as client:
        client.post("/v1/rankings", json={"name": "shop", "positions": 2}).raise_for_status()
        client.put("/v1/rankings/shop/items", json={"items": [{"id": "a"}, {"id": "b"}]}).raise_for_status()
        with client.stream("POST", PATH, json=LONG) as stream:
            lines = stream.iter_lines()  # kept: without it, the connection would be closed
            assert next(lines) == "event: started"
            (pid,) = eventually(lambda: simulating(service))
            eventually(lambda: os.getpriority(os.PRIO_PROCESS, pid) >= os.getpriority(os.PRIO_PROCESS, 0) + 10)
            made = httpx.post(f"{service.url}/v1/rankings/shop/lists", json={}, timeout=PATIENCE)
            assert len(made.json()["items"]) == 2
            assert simulating(service) == [pid]  # still at it
            del lines
        eventually(lambda: not simulating(service))
        assert client.get("/readyz").status_code == 200


def test_sigterm_of_the_service_ends_it(service: Running) -> None:
    with httpx.stream("POST", f"{service.url}{PATH}", json=LONG, timeout=PATIENCE) as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: started"
        (pid,) = eventually(lambda: simulating(service))
        code, _ = service.end()
        assert "The service stops." in "".join(lines)
    assert code == Exit.FINE
    eventually(lambda: not Path(f"/proc/{pid}").exists())


def test_a_killed_service_leaves_no_process(service: Running) -> None:
    with httpx.stream("POST", f"{service.url}{PATH}", json=LONG, timeout=PATIENCE) as stream:
        lines = stream.iter_lines()
        assert next(lines) == "event: started"
        (pid,) = eventually(lambda: simulating(service))
        service.process.kill()
        del lines
    eventually(lambda: not Path(f"/proc/{pid}").exists())
