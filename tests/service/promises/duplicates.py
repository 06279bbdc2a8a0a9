"""Promise 2: whatever is sent ten times, in any order, from anywhere, counts once and is answered alike each time."""

from __future__ import annotations

import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.load import Answer, Line
from benchmarks.server import Broken, Server, serving

from .beliefs import compare_beliefs
from .callers import CLICKS, LISTS
from .journal import Journal, Log, audit, wait_until_closed

RANKING, ITEMS, POSITIONS, SEGMENTS = "repeated", 20, 6, 4
TIMES, CONNECTIONS = 10, 8


class Sent(NamedTuple):
    """A request that is sent over and over."""

    method: str
    path: str
    body: bytes


def check(folder: Path, impressions: int, window: float, seed: int = 8) -> str:
    """So many impressions with one to three reports each, of which some come after the window; what was found."""
    chance = random.Random(seed)
    journal = Journal()
    with serving(folder / "repeated.db") as server:
        server.create(RANKING, ITEMS, POSITIONS, click_window=window)
        asked = [_list_request(n, chance) for n in range(impressions)]
        for sent, answers in asyncio.run(_shuffled(server, asked, chance)).items():
            journal.listed(_same(sent, answers), json.loads(sent.body)["request_id"])
        reports = [report for impression in journal.lists for report in _reports(impression, chance)]
        for sent in reports:
            journal.reporting(_impression(sent), json.loads(sent.body)["clicks"])
        for sent, answers in asyncio.run(_shuffled(server, reports, chance)).items():
            journal.reported(_same(sent, answers), json.loads(sent.body)["clicks"])
        wait_until_closed(server.store)
        log = Log.of(server.store)
        audit(journal, log)
        for impression in journal.lists:
            if log.learned[impression][0].clicks != journal.counted[impression]:
                raise Broken(f"{impression} was learned with other clicks than those that were counted")
        compare_beliefs(server, RANKING)
    not_counted = sum(1 for clicks in journal.refused.values() if clicks)
    return (
        f"{len(asked)} list requests and {len(reports)} reports, each {TIMES} times from {CONNECTIONS} connections: "
        f"identical replies to all; {log.closed} impressions learned, none twice; "
        f"{not_counted} impressions have reports that did not count"
    )


def _list_request(number: int, chance: random.Random) -> Sent:
    body = {"request_id": f"request-{number}", "segment": f"segment-{chance.randrange(SEGMENTS)}"}
    return Sent("POST", LISTS.format(ranking=RANKING), json.dumps(body).encode())


def _reports(impression: str, chance: random.Random) -> list[Sent]:
    """One to three different reports, of which some are final: whatever comes first decides."""
    path, bodies = CLICKS.format(impression=impression), set()
    for _ in range(chance.randint(1, 3)):
        clicks = sorted(chance.sample(range(1, POSITIONS + 1), chance.randrange(4)))
        bodies.add(json.dumps({"clicks": clicks, "final": chance.random() < 0.4}).encode())
    return [Sent("PUT", path, body) for body in sorted(bodies)]


def _impression(sent: Sent) -> str:
    return sent.path.split("/")[3]


async def _shuffled(server: Server, requests: Sequence[Sent], chance: random.Random) -> dict[Sent, list[Answer]]:
    """Every request so many times, in random order over all connections; its answers."""
    copies = [sent for sent in requests for _ in range(TIMES)]
    chance.shuffle(copies)
    answers: dict[Sent, list[Answer]] = defaultdict(list)

    async def send(some: Sequence[Sent]) -> None:
        line = await Line.to(server.port)
        for sent in some:
            answers[sent].append(await line.ask(*sent))
        line.close()

    await asyncio.gather(*(send(copies[n::CONNECTIONS]) for n in range(CONNECTIONS)))
    return answers


def _same(sent: Sent, answers: Sequence[Answer]) -> dict[str, Any]:
    """The one answer to all copies of a request."""
    if len(answers) != TIMES or len({(answer.status, answer.body) for answer in answers}) > 1:
        raise Broken(f"{sent} has different answers: {[answer[:2] for answer in answers]}")
    if answers[0].status != 200:
        raise Broken(f"{sent} is answered with {answers[0]}")
    told: dict[str, Any] = json.loads(answers[0].body)
    return told
