"""Lists from memory by a cluster whose database is away: at the owner, also for requests that are forwarded to it."""

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from benchmarks.server import UNLIMITED, Server, free_port, item_names
from forking import ForkedProcess
from postgres_server import database
from postgres_server import server as shared_server
from promises.proxy import CUT, OPEN
from proxied import proxied

from toplist.service.cluster.placing import partition_of
from toplist.service.store.postgres import check_address

SECRET = "the secret of all servers of a test"
LEASE, UNRECORDED = 2.0, 8.0  # seconds; lists come from memory for longer than a lease
PARTITIONS = 16  # one of two servers owns them all by chance once in 2^15 times
PATIENCE = 60.0  # seconds
REMOVED = "item-3"


class Two(NamedTuple):
    """Two servers, and what sets the mode of their ways to the database."""

    servers: list[Server]
    set_modes: list[Callable[[str], None]]

    def set_mode(self, mode: str) -> None:
        for set_mode in self.set_modes:
            set_mode(mode)


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Two]:
    monkeypatch.setattr(Server, "popen", ForkedProcess)
    name = check_address(database(tmp_path / "db"))["dbname"]
    with ExitStack() as ending:
        made = Two([], [])
        for number in range(2):
            folder = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="toplist-proxy-")))
            made.set_modes.append(ending.enter_context(proxied(folder, lambda: shared_server().folder)))
            settings = {
                **UNLIMITED, "lease": str(LEASE), "cluster.secret": SECRET, "cluster.partitions": str(PARTITIONS),
                "cluster.port": str(free_port()), "limits.unrecorded": str(UNRECORDED),
            }  # fmt: skip
            address = f"postgresql://toplist@/{name}?host={folder}"
            server = Server(tmp_path / f"{number}.db", settings=settings, database=address)
            ending.callback(server.kill)
            made.servers.append(server.launch())
        for server in made.servers:
            server.wait_until_ready()
        yield made


def until(is_so: Callable[[], Any]) -> Any:
    """Ask again and again until something is so."""
    end = time.monotonic() + PATIENCE
    while not (found := is_so()):
        assert time.monotonic() < end
        time.sleep(0.02)
    return found


def has_status(server: Server, path: str, status: int) -> bool:
    """Whether a list of this path is answered so."""
    found: int = server.ask("POST", path, {})[0]
    return found == status


def asked(server: Server, method: str, path: str, body: Any = None) -> Any:
    """Ask again while a partition moves, as clients do."""
    answers = []

    def is_answered() -> bool:
        status, answer = server.ask(method, path, body)
        assert status < 400 or status == 503, answer
        answers.append(answer)
        return status < 400

    until(is_answered)
    return answers[-1]


def recorded(server: Server, path: str, body: Any) -> Any:
    """A list that is recorded: after a commit of more than a second, as on a busy machine, one comes from memory."""

    def ask() -> Any:
        made = asked(server, "POST", path, body)
        return made if made["impression"] else None

    return until(ask)


def ranking_of_each(two: Two) -> list[str]:
    """A ranking of each server, which owns its partition."""
    first = two.servers[0]

    def owners() -> list[str] | None:
        found = [row["owner"] for row in first.must("GET", "/v1/cluster")["partitions"]]
        return found if None not in found and len(set(found)) == 2 else None

    by_partition = until(owners)
    here = next(server["name"] for server in first.must("GET", "/v1/cluster")["servers"] if server["here"])
    names: dict[bool, str] = {}
    for number in range(100):
        is_here = by_partition[partition_of(f"ranking-{number}", PARTITIONS)] == here
        names.setdefault(is_here, f"ranking-{number}")
    return [names[True], names[False]]


def forwarded(server: Server) -> float:
    """Requests that a server has forwarded."""
    found = re.search(r'^toplist_cluster_requests_total\{how="forwarded"\} (\S+)$',
                      server.ask_raw("GET", "/metrics")[1].decode(), re.MULTILINE)  # fmt: skip
    assert found
    return float(found[1])


@pytest.mark.slow
def test_the_owner_goes_on_from_memory_for_whoever_asks_any_server(two: Two) -> None:
    names = ranking_of_each(two)
    for name, other in zip(names, two.servers[::-1], strict=True):
        given = {"name": name, "positions": 7, "click_window": 60.0, "when_unavailable": "serve"}
        asked(other, "POST", "/v1/rankings", given)
        asked(other, "PUT", f"/v1/rankings/{name}/items", {"items": [{"id": item} for item in item_names(8)]})
        for _ in range(3):
            made = recorded(other, f"/v1/rankings/{name}/lists", {})
            path = f"/v1/impressions/{made['impression']}/clicks"
            assert asked(other, "PUT", path, {"clicks": [1], "final": True})["counted"]
        asked(other, "POST", f"/v1/rankings/{name}/items/remove", {"ids": [REMOVED]})
    strict = f"{names[0]}-strict"
    asked(two.servers[0], "POST", "/v1/rankings", {"name": strict, "positions": 2})
    asked(two.servers[0], "PUT", f"/v1/rankings/{strict}/items", {"items": [{"id": "x"}, {"id": "y"}]})
    every = [(server, f"/v1/rankings/{name}/lists") for name in names for server in two.servers]

    before = list(map(forwarded, two.servers))
    two.set_mode(CUT)
    end = time.monotonic() + 2 * LEASE
    from_memory = 0
    while time.monotonic() < end:
        for server, path in every:
            status, made = server.ask("POST", path, {"request_id": "away"})
            assert status == 200, made
            assert (made["recorded"], made["impression"]) == (False, "")
            assert len(made["items"]) == 7
            assert REMOVED not in made["items"]
            from_memory += 1
        assert two.servers[0].ask("POST", f"/v1/rankings/{strict}/lists", {})[0] == 503
    assert from_memory >= len(every)
    assert all(forwarded(server) > count for server, count in zip(two.servers, before, strict=True))
    for server, path in every:  # after the seconds of the settings
        until(partial(has_status, server, path, 503))

    two.set_mode(OPEN)
    for server, path in every:
        until(partial(has_status, server, path, 200))
        made = recorded(server, path, {"request_id": "away"})  # what was shown for it is not remembered
        assert "recorded" not in made
        assert REMOVED not in made["items"]
        assert recorded(server, path, {"request_id": "away"}) == made
    for name in names:
        assert asked(two.servers[0], "GET", f"/v1/rankings/{name}/estimates")["learned"] == 3
