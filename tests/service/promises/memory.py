"""Promise 7, the memory: under a steady load for minutes, the process does not grow."""

from __future__ import annotations

import asyncio
import json
import random
import time
from pathlib import Path
from statistics import median

from benchmarks.load import Line
from benchmarks.server import Broken, Server, serving

from .callers import CLICKS, LISTS

RANKING, ITEMS, POSITIONS, SEGMENTS = "steady", 1000, 10, 50
CONNECTIONS = 16
WINDOW = 5.0  # seconds
FINAL = 0.7  # the share of lists with a final report; the others are closed by their window
GROWTH = 0.05


def check(folder: Path, seconds: float, warm_up: float, per_second: float, seed: int = 8) -> str:
    """A load of so many lists per second for so long; how much the memory grew after the warm-up."""
    with serving(folder / "steady.db") as server:
        server.create(RANKING, ITEMS, POSITIONS, click_window=WINDOW)
        samples, lists = asyncio.run(_steady(server, seconds, per_second, random.Random(seed)))
        server.end()
    kept = [(at, size) for at, size in samples if at >= warm_up]
    tenth = max(1, len(kept) // 10)
    before = median(size for _, size in kept[:tenth])
    after = median(size for _, size in kept[-tenth:])
    grown = after / before - 1.0
    told = (
        f"{seconds:.0f} s at {lists / seconds:.0f} lists/s with their reports: resident memory {before / 2**20:.0f} MB "
        f"after {warm_up:.0f} s, {after / 2**20:.0f} MB at the end, {grown:+.1%} (at most {GROWTH:.0%})"
    )
    if grown > GROWTH:
        raise Broken(told)
    return told


async def _steady(
    server: Server, seconds: float, per_second: float, chance: random.Random
) -> tuple[list[tuple[float, int]], int]:
    """Visits at a fixed rate; the memory over time, and how many lists there were."""
    begun = time.monotonic()
    lists = 0

    async def visitor(number: int) -> None:
        nonlocal lists
        line = await Line.to(server.port)
        turn = 0
        while True:
            due = begun + (number + turn * CONNECTIONS) / per_second
            turn += 1
            if due > begun + seconds:
                break
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            body = {"segment": f"segment-{chance.randrange(SEGMENTS)}", "request_id": f"{number}-{turn}"}
            answer = await line.ask("POST", LISTS.format(ranking=RANKING), json.dumps(body).encode())
            if answer.status != 200:
                raise Broken(f"a list was answered with {answer}")
            lists += 1
            path = CLICKS.format(impression=json.loads(answer.body)["impression"])
            report = {"clicks": [chance.randint(1, POSITIONS)], "final": chance.random() < FINAL}
            answer = await line.ask("PUT", path, json.dumps(report).encode())
            if answer.status != 200:
                raise Broken(f"a report was answered with {answer}")
        line.close()

    samples: list[tuple[float, int]] = []

    async def watch() -> None:
        while True:
            samples.append((time.monotonic() - begun, server.memory()["VmRSS"]))
            await asyncio.sleep(min(1.0, seconds / 100.0))

    watching = asyncio.create_task(watch())
    try:
        await asyncio.gather(*(visitor(number) for number in range(CONNECTIONS)))
    finally:
        watching.cancel()
    return samples, lists
