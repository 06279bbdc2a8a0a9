"""Promise 7, the end: SIGTERM under load loses no reply in flight, and nothing that took effect is without one."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from pathlib import Path

from benchmarks.server import Broken, Server, serving

from .callers import CLICKS, LISTS, Caller
from .journal import Log

RANKING, ITEMS, POSITIONS = "ended", 100, 5
CONNECTIONS = 32
WINDOW = 600.0  # seconds: nothing closes by itself
AT_WORK = 0.3  # seconds after the first list in which the signal comes


def check(folder: Path, ends: int, seed: int = 8) -> str:
    """So many SIGTERMs under load; what was found."""
    chance = random.Random(seed)
    answered, refused = 0, 0
    with serving(folder / "ended.db") as server:
        server.create(RANKING, ITEMS, POSITIONS, click_window=WINDOW)
        for number in range(ends):
            if number:
                server.start()
            some, others = asyncio.run(_ended_under_load(server, number, chance.uniform(0.0, AT_WORK)))
            answered, refused = answered + some, refused + others
    return (
        f"{ends} SIGTERMs under load of {CONNECTIONS} connections: all exits clean; {answered} requests took effect, "
        f"every one with its reply; {refused} came too late, were not answered and had no effect"
    )


async def _ended_under_load(server: Server, number: int, after: float) -> tuple[int, int]:
    """End a server while it is asked; how many requests were answered, and how many had neither answer nor effect."""
    lists: dict[str, str | None] = {}  # request ids to impressions; None: no answer
    reports: dict[str, bool] = {}  # impressions to whether their report was answered

    async def come_again(name: str) -> None:
        caller = Caller(server.port)
        visits = 0
        try:
            while True:
                visits += 1
                request_id = f"{number}-{name}-{visits}"
                lists[request_id] = None
                answer = await caller.once("POST", LISTS.format(ranking=RANKING), {"request_id": request_id})
                if answer.status != 200:
                    del lists[request_id]
                    if answer.status != 503:
                        raise Broken(f"a list was answered with {answer}")
                    return
                impression: str = json.loads(answer.body)["impression"]
                lists[request_id] = impression
                if b"connection: close" in answer.head:
                    return
                reports[impression] = False
                report = {"clicks": [1 + visits % POSITIONS], "final": visits % 2 == 0}
                answer = await caller.once("PUT", CLICKS.format(impression=impression), report)
                if answer.status != 200:
                    del reports[impression]
                    if answer.status != 503:
                        raise Broken(f"a report was answered with {answer}")
                    return
                reports[impression] = True
                if b"connection: close" in answer.head:
                    return
        except ConnectionError:
            return
        finally:
            caller.close()

    load = asyncio.gather(*(come_again(f"visitor-{n}") for n in range(CONNECTIONS)))
    while not any(reports.values()) and not load.done():
        await asyncio.sleep(0.005)
    await asyncio.wait([load], timeout=after)
    server.running.send_signal(signal.SIGTERM)
    await load
    await asyncio.to_thread(server.wait_for_the_end)
    log = Log.of(server.store)
    taken = {listed.request_id for listed in log.lists.values()}
    lost = [request_id for request_id, impression in lists.items() if impression is None and request_id in taken]
    lost += [impression for impression, told in reports.items() if not told and impression in log.reported]
    if lost:
        raise Broken(f"{len(lost)} requests took effect without a reply, as {lost[0]}")
    missing = [impression for impression in lists.values() if impression is not None and impression not in log.lists]
    missing += [impression for impression, told in reports.items() if told and impression not in log.reported]
    if missing:
        raise Broken(f"{len(missing)} acknowledged requests are not in the log, as {missing[0]}")
    answered = sum(1 for impression in lists.values() if impression is not None) + sum(reports.values())
    return answered, len(lists) + len(reports) - answered
