"""Several real servers on one database: requests to any of them, hand-overs, a kill, and the view of the cluster."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from benchmarks.server import Server, item_names
from forking import ForkedProcess
from postgres_server import database
from two_servers import two_servers, wait_for_owners

from toplist.service.cluster.cluster import ClusterCounts
from toplist.service.http.metrics import cluster_metrics

LEASE = 1.0
PATIENCE = 60.0  # seconds
PARTITIONS = 16  # with few, one of two servers owns all of them by chance
RANKINGS = [f"ranking-{n}" for n in range(6)]


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Server]]:
    monkeypatch.setattr(Server, "popen", ForkedProcess)
    with two_servers(tmp_path, database(tmp_path / "db"), PARTITIONS, LEASE) as made:
        yield made


def asked(server: Server, method: str, path: str, body: Any = None) -> Any:
    """Ask again while a partition moves, as clients do; a ranking may be there by then."""
    for attempt in range(100):
        status, answer = server.ask(method, path, body)
        if status != 503:
            assert status < 400 or (status == 409 and attempt > 0), answer
            return answer
        time.sleep(0.1)
    raise AssertionError(answer)


def create(server: Server, name: str) -> None:
    asked(server, "POST", "/v1/rankings", {"name": name, "positions": 3, "click_window": 60.0})
    asked(server, "PUT", f"/v1/rankings/{name}/items", {"items": [{"id": item} for item in item_names(8)]})


@pytest.mark.slow
def test_any_server_answers_and_partitions_move(servers: list[Server]) -> None:
    first, second = servers
    wait_for_owners(first, 2)
    for n, name in enumerate(RANKINGS):
        create(servers[n % 2], name)
    assert [each["name"] for each in asked(second, "GET", "/v1/rankings")["rankings"]] == RANKINGS
    lists = {}
    for name in RANKINGS:
        made = lists[name] = asked(first, "POST", f"/v1/rankings/{name}/lists", {"request_id": "q"})
        assert asked(second, "POST", f"/v1/rankings/{name}/lists", {"request_id": "q"}) == made
        path = f"/v1/impressions/{made['impression']}/clicks"
        assert asked(second, "PUT", path, {"clicks": [2], "final": True})["counted"]
        assert asked(first, "PUT", path, {"clicks": [2], "final": True})["counted"]
        assert not asked(first, "PUT", path, {"clicks": [1, 2], "final": True})["counted"]
    wrong = lists[RANKINGS[0]]["impression"][:-3] + "fff"
    assert first.ask("GET", f"/v1/impressions/{wrong}")[0] == 404
    assert first.ask("GET", "/v1/rankings/unknown")[0] == second.ask("GET", "/v1/rankings/unknown")[0] == 404
    assert first.ask("POST", f"/v1/rankings/{RANKINGS[1]}/lists", {"nothing": 1})[0] == 422
    events = [server.ask_raw("GET", f"/v1/rankings/{RANKINGS[0]}/events") for server in servers]
    assert events[0] == events[1]
    assert events[0][1].count(b"\n") == 5  # the ranking, its items, its learner, the list and what was learned
    live = [server.ask_raw("GET", "/v1/live")[1] for server in servers]
    assert all(each.count(b'"lists":1,') == len(RANKINGS) for each in live)
    counted = [server.ask_raw("GET", "/metrics")[1].decode() for server in servers]
    assert all('toplist_cluster_requests_total{how="forwarded"} 0.0' not in each for each in counted)
    assert all('toplist_partition_moves_total{how="taken"} 0.0' not in each for each in counted)

    first.end()  # hands its partitions over
    wait_for_owners(second, 1)
    before = {name: asked(second, "GET", f"/v1/rankings/{name}/estimates")["items"] for name in RANKINGS}
    for name in RANKINGS:
        assert asked(second, "POST", f"/v1/rankings/{name}/lists", {"request_id": "q"}) == lists[name]
    first.launch()
    first.wait_until_ready()
    wait_for_owners(first, 2)
    for name in RANKINGS:
        assert asked(first, "GET", f"/v1/rankings/{name}/estimates")["items"] == before[name]

    second.kill()  # its lease ends, and the other one takes its partitions
    for name in RANKINGS:
        assert asked(first, "POST", f"/v1/rankings/{name}/lists", {"request_id": "q"}) == lists[name]
    wait_for_owners(first, 1)
    first.end()


def metric(server: Server, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", server.ask_raw("GET", "/metrics")[1].decode(), re.MULTILINE)
    assert found, name
    return float(found[1])


def test_a_server_without_partitions_says_nothing_of_leases() -> None:
    said = {each.name: each.samples for each in cluster_metrics(ClusterCounts(0, None, 0, {}, {}))}
    assert said["toplist_lease_seconds"] == []  # at 0, an alarm would go off
    assert said["toplist_partitions"][0].value == 0


@pytest.mark.slow
def test_the_view_and_the_metrics_of_a_cluster(servers: list[Server]) -> None:
    first, second = servers
    wait_for_owners(first, 2)
    for name in RANKINGS:
        create(first, name)
    view = first.must("GET", "/v1/cluster")
    assert 0.0 <= view["age"] < PATIENCE
    names = {server["name"]: server for server in view["servers"]}
    assert [server["here"] for server in names.values()].count(True) == 1
    assert len({server["address"] for server in names.values()}) == 2
    assert all(0.0 <= server["seen"] < PATIENCE and not server["leaving"] for server in names.values())
    assert [partition["partition"] for partition in view["partitions"]] == list(range(PARTITIONS))
    assert all(partition["epoch"] >= 1 and partition["owner"] in names for partition in view["partitions"])
    assert all(partition["lease"] <= LEASE for partition in view["partitions"])
    assert all(0.0 <= partition["lag"] < PATIENCE for partition in view["partitions"])
    until = time.monotonic() + PATIENCE
    while not sum(partition["last"] for partition in view["partitions"]) >= 2 * len(RANKINGS):  # it is some moments old
        assert time.monotonic() < until, view
        view = first.must("GET", "/v1/cluster")
    assert sum(metric(server, "toplist_partitions") for server in servers) == PARTITIONS
    assert all(0.0 <= metric(server, "toplist_lease_seconds") <= LEASE for server in servers)
    assert all(metric(server, 'toplist_partition_moves_total{how="taken"}') > 0 for server in servers)
    assert all(metric(server, "toplist_commits_fenced_total") == 0 for server in servers)
    second.end()
    wait_for_owners(first, 1)
    assert metric(first, "toplist_partitions") == PARTITIONS
