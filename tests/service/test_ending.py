"""SIGTERM while a policy is compiled, which cannot be interrupted: requests get 503, and the process exits at once."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import httpx
from running import at_work, check, events, front, run, shown

from toplist.cli import Exit

SOON = 5.0  # seconds; an idle process takes about one, more on a busy machine, and the compiler takes ten


@contextmanager
def serving(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`toplist serve` with an empty cache of compiled code, and its URL."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TOPLIST_")}
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-m", "toplist", "serve", "--port", "0", "--set", "logs.requests=failed"],
        cwd=folder, env=clean | {"TOPLIST_CACHE_DIR": str(folder / "compiled")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        first = process.stdout.readline()
        found = re.fullmatch(r"toplist serves toplist.db at (http://127.0.0.1:\d+)\n", first)
        assert found, (first, process.communicate(timeout=30))
        yield process, found[1]
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=30)


def stop(process: subprocess.Popen[str]) -> str:
    """Stop a process, which must be quick; its log."""
    before = monotonic()
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=30)
    assert monotonic() - before < SOON
    assert process.returncode == Exit.FINE, log
    assert '"event":"ended"' in log.splitlines()[-1].replace(" ", ""), log
    return log


def in_flight(url: str, count: int) -> None:
    while f"toplist_requests_in_flight {count + 1}.0" not in httpx.get(f"{url}/metrics", timeout=30).text:
        sleep(0.02)


def check_unavailable(pending: Future[httpx.Response]) -> None:
    reply = pending.result(timeout=30)
    assert reply.status_code == 503
    assert "retry-after" in reply.headers
    assert "The service stops before the policy is compiled" in reply.json()["detail"]


def test_stop_during_compilation_for_a_new_ranking(tmp_path: Path) -> None:
    with serving(tmp_path) as (process, url), ThreadPoolExecutor(1) as pool:
        spec = {"name": "front", "positions": 3, "policy": "dcm-kl-ucb"}
        pending = pool.submit(httpx.post, f"{url}/v1/rankings", json=spec, timeout=60)
        in_flight(url, 1)
        stop(process)
        check_unavailable(pending)

    async def look() -> None:
        async with at_work(tmp_path / "toplist.db") as service:
            assert await service.queries.rankings() == []  # the request got a 503, and no ranking was created

    run(look())


def test_stop_during_compilation_at_the_start(tmp_path: Path) -> None:
    async def before() -> None:
        async with at_work(tmp_path / "toplist.db") as service:
            await front(service, "dcm-kl-ucb")
            await shown(service)

    run(before())
    for _ in range(2):  # an incomplete cache of the first does not disturb the second
        with serving(tmp_path) as (process, url), ThreadPoolExecutor(2) as pool:
            pending = [
                pool.submit(httpx.post, f"{url}/v1/rankings/front/lists", json={}, timeout=60),
                pool.submit(httpx.get, f"{url}/v1/rankings/front/estimates", timeout=60),
            ]
            in_flight(url, 2)
            assert httpx.get(f"{url}/v1/rankings/front").status_code == 200
            stop(process)
            for each in pending:
                check_unavailable(each)
    assert check(tmp_path / "toplist.db") == []

    async def after() -> None:
        async with at_work(tmp_path / "toplist.db") as service:
            assert len([event for event in await events(service) if event.kind == "list"]) == 1

    run(after())
