"""Promise 4: clicks of any age, in any order, are classified; lists without clicks are closed soon after."""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from collections import Counter
from pathlib import Path
from statistics import median

from benchmarks.load import Line
from benchmarks.server import Broken, Server, serving

from .callers import CLICKS, LISTS
from .journal import Journal, Log, audit, wait_until_closed

RANKING, ITEMS, POSITIONS = "aged", 20, 6
CONNECTIONS = 8
SILENT = 0.3  # the share of impressions of which nobody reports anything
SOON = 5.0  # seconds within which a window closes behind its time; a tenth of one is usual


def check(folder: Path, impressions: int, window: float, seed: int = 8) -> str:
    """So many impressions within a window, with clicks at ages up to twice the window; what was found."""
    journal, chance = Journal(), random.Random(seed)
    with serving(folder / "aged.db") as server:
        server.create(RANKING, ITEMS, POSITIONS, click_window=window)
        verdicts, unknown = asyncio.run(_visits(server, journal, impressions, window, chance))
        wait_until_closed(server.store)
        log = Log.of(server.store)
    audit(journal, log)
    for impression in journal.lists:
        (learned,) = log.learned[impression]
        if learned.clicks != journal.counted[impression]:
            raise Broken(f"{impression} was learned with {learned}, but {journal.counted[impression]} was counted")
        if learned.reason != "window":
            raise Broken(f"{impression} was learned before its window closed: {learned}")
    delays = [(log.learned[impression][0].at - log.due[impression]) / 1000.0 for impression in journal.lists]
    if min(delays) < 0.0 or max(delays) > SOON:
        raise Broken(f"windows closed {min(delays)} to {max(delays)} s behind their time")
    if verdicts["late"] == 0 or verdicts["counted"] == 0:
        raise Broken(f"not all kinds of age were met: {verdicts}")
    silent = sum(1 for impression in journal.lists if not journal.sent[impression])
    return (
        f"{sum(verdicts.values())} clicks at ages from 0 to {2 * window:g} s, all classified: {verdicts['counted']} "
        f"counted and learned, {verdicts['late']} late and not learned; {unknown} of unknown impressions said to be; "
        f"{len(journal.lists)} impressions, {silent} of them without reports, closed {median(delays):.2f} s after "
        f"their window in the median and {max(delays):.2f} s at most"
    )


async def _visits(
    server: Server, journal: Journal, impressions: int, window: float, chance: random.Random
) -> tuple[Counter[str], int]:
    """Lists all through a window, and each click at an age of its own; how they were classified."""
    verdicts: Counter[str] = Counter()
    lines = asyncio.Queue[Line]()
    for _ in range(CONNECTIONS):
        lines.put_nowait(await Line.to(server.port))
    unknown = 0

    async def ask(method: str, path: str, body: object) -> tuple[int, dict[str, object]]:
        line = await lines.get()
        try:
            answer = await line.ask(method, path, json.dumps(body).encode())
        finally:
            lines.put_nowait(line)
        return answer.status, json.loads(answer.body)

    async def click(impression: str, place: int, age: float) -> None:
        await asyncio.sleep(age)
        journal.reporting(impression, [place])
        status, answer = await ask("PUT", CLICKS.format(impression=impression), {"clicks": [place]})
        if status != 200 or (not answer["counted"] and not answer.get("detail")):
            raise Broken(f"a click was answered with {status}: {answer}")
        verdict = "counted" if answer["counted"] else str(answer["why"])
        verdicts[verdict] += 1
        if age > window + SOON and verdict != "late":
            raise Broken(f"a click of {age:.2f} s was {verdict}")
        journal.reported(answer, [place])

    async def visit(at: float, clicks: dict[int, float], stranger: str | None) -> None:
        nonlocal unknown
        await asyncio.sleep(at)
        status, listed = await ask("POST", LISTS.format(ranking=RANKING), {})
        if status != 200:
            raise Broken(f"a list was answered with {status}: {listed}")
        journal.listed(listed, None)
        if stranger is not None:
            status, answer = await ask("PUT", CLICKS.format(impression=stranger), {"clicks": [1]})
            if (status, answer.get("counted")) != (404, False):
                raise Broken(f"a click on an unknown impression was answered with {status}: {answer}")
            unknown += 1
        await asyncio.gather(*(click(str(listed["impression"]), place, age) for place, age in clicks.items()))

    visits = []
    for _ in range(impressions):
        places = chance.sample(range(1, POSITIONS + 1), 0 if chance.random() < SILENT else chance.randint(1, 4))
        clicks = {place: chance.uniform(0.0, 2.0 * window) for place in places}
        stranger = str(uuid.UUID(int=chance.getrandbits(128), version=4)) if chance.random() < 0.05 else None
        visits.append(visit(chance.uniform(0.0, window), clicks, stranger))
    await asyncio.gather(*visits)
    while not lines.empty():
        lines.get_nowait().close()
    return verdicts, unknown
