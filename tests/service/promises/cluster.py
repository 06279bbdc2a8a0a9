"""Promise 11: several servers at once on one PostgreSQL database, each with its share, whatever happens to them."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from contextlib import closing
from math import ceil, inf
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import psycopg
from postgres_server import PostgresServer

from toplist.service.store.copy import Target, copy_store
from toplist.service.store.postgres import PostgresReader
from toplist.service.store.sqlite import SQLiteReader, SQLiteStore

from .altered import NO_FAULT, weaken_database
from .beliefs import states
from .broken import Broken
from .cluster_drama import KINDS, Drama
from .cluster_load import DIVIDED, DIVISIONS, ITEMS, POSITIONS, RANKINGS, Load, play
from .cluster_servers import PARTITIONS, SERVERS, Cluster
from .followers import Follower
from .history import History
from .journal import Journal, Log, audit
from .proxy import TROUBLES
from .stalls import Stalls, within
from .takeovers import PATIENCE, end_in_order

WINDOW = 5.0  # seconds
RECOVERY = 5.0  # seconds after the database is back
CLOSED = 60.0  # seconds after which all windows must be closed
_NUMBERED = """SELECT part, last_seq, count(seq), count(DISTINCT seq), coalesce(max(seq), 0)
    FROM toplist.parts LEFT JOIN toplist.events USING (part) GROUP BY 1, 2 ORDER BY 1"""


class Played(NamedTuple):
    """What was seen while things happened."""

    unanswered: int  # requests
    waits: dict[str, list[float]]  # the longest of each episode, in seconds
    counted: Counter[str]  # by the servers that ran at the end
    fenced: int  # episodes in which a commit of a stopped owner was fenced
    followed: int  # events that were read by a cursor meanwhile
    questions: int  # number of pieces that they came in
    stalls: Stalls


def check(
    folder: Path, episodes: int, seed: int = 9, last: float = 1.0, kinds: tuple[str, ...] = KINDS, pause: float = 0.3,
    fault: str = "none", closed: float = CLOSED, troubles: tuple[str, ...] = TROUBLES, by_library: bool = False,
    fenced: float = 0.0, median_gap: float = inf,
) -> str:  # fmt: skip
    """So many episodes under load, and `last` seconds of load after them; what was found.

    A fault is planted where one is named, and all must be closed within so many seconds. Callers may retry only as
    often as the client library does. In this share of the episodes, a commit must have been fenced, or they showed
    nothing, and the median of the longest gaps of the episodes of a kind must be below so many seconds.
    """
    database = PostgresServer()
    try:
        database.run("CREATE DATABASE shop")
        cluster = Cluster(folder, database, fault)
        journal, history = Journal(), History(window=WINDOW)
        drama = Drama(cluster, random.Random(seed), kinds, troubles)
        export = folder / "events.ndjson"
        load = Load([server.port for server in cluster.servers], journal, history, seed, by_library)
        played = asyncio.run(_all(cluster, drama, load, episodes, seed, last, pause, fault, closed, export))
        history.check()
        audit(journal, Log.of_export(export))
        _check_numbers(cluster.address)
        log, learners = _logs(folder, cluster.address)
        audit(journal, log)
    finally:
        database.remove()
    clicks = sum(map(len, journal.counted.values()))
    seen = ", ".join(f"{count} x {what}" for what, count in sorted((drama.seen + drama.details).items()))
    longest = "; ".join(
        f"{what} {median(times):.2f} s in the median, {max(times):.2f} s at most"
        for what, times in sorted(played.waits.items())
    )
    check_figures(played, ceil(fenced * episodes), median_gap)
    longest += _about_longest(drama, history, played)
    if back := history.until_all_answer(drama.database_away):
        if max(back) > RECOVERY:
            raise Broken(f"a ranking was not answered within {RECOVERY:.0f} s of the database, but {max(back):.2f} s")
        longest += (
            f"; after the database was back, all rankings answer in {median(back):.2f} s, {max(back):.2f} s at most"
        )
    counted = ", ".join(f"{how} {count}" for how, count in sorted(played.counted.items()))
    return (
        f"{episodes} episodes under load ({seen}): {len(journal.lists)} acknowledged impressions and {clicks} clicks, "
        f"none lost; {log.closed} learned, none twice; {played.unanswered} requests without an answer, all resolved "
        f"on retry; {len(history.calls)} requests as a sequential model would answer; {played.followed} events in "
        f"{played.questions} pieces by a cursor meanwhile, none skipped; longest gap of a ranking per "
        f"episode: {longest}; partitions and requests of the servers at the end: {counted}; snapshots of {learners} "
        f"learners equal to a rebuild from {log.events} events, numbered without gaps"
    )


def check_figures(played: Played, fenced: int, median_gap: float) -> None:
    """Raise `Broken` unless so many episodes met a fence, and the median wait of each kind is below so many seconds."""
    for what, times in played.waits.items():
        if median(times) >= median_gap:
            raise Broken(f"the median longest gap of {what} is {median(times):.2f} s, not under {median_gap:.0f} s")
    if played.fenced < fenced:
        raise Broken(f"{played.fenced} episodes met a fence, not {fenced}, so they show too little")


def _about_longest(drama: Drama, history: History, played: Played) -> str:
    """What the longest wait was for, as far as it is seen from here."""
    longest = max(history.calls, key=lambda call: call.ended - call.begun)
    times = longest.begun, longest.ended
    told = f"; in the longest wait, {longest.ended - longest.begun:.2f} s, the machine kept this process waiting for "
    told += (
        f"{within(played.stalls.of_process, *times):.2f} s, and took {within(played.stalls.of_database, *times):.2f} s "
    )
    told += "for commits of one row"
    if not drama.kills.away:
        return told
    back = [until - since for _, since, until in drama.kills.away]
    return (
        f"{told}, {drama.kills.within(*times)} servers were killed, and none was ready for "
        f"{drama.kills.time_without_server(*times):.2f} s; a server was back or killed again {median(back):.2f} s "
        f"after a kill in the median, {max(back):.2f} s at most"
    )


async def _all(
    cluster: Cluster, drama: Drama, load: Load, episodes: int, seed: int, last: float, pause: float, fault: str,
    closed: float, export: Path,
) -> Played:  # fmt: skip
    await cluster.connect()
    try:
        first, *others = cluster.servers
        first.launch()
        await asyncio.to_thread(first.wait_until_ready)
        await asyncio.to_thread(weaken_database, cluster.address, fault)
        for number in range(RANKINGS):  # while no partition moves: what is refused here is not asked again
            # Where a fence is missing, the first change of a divided ranking fails, before anything is to be noticed.
            is_divided = number < DIVIDED and fault == NO_FAULT
            more: dict[str, Any] = {"divisions": DIVISIONS} if is_divided else {}
            await asyncio.to_thread(first.create, f"ranking-{number}", ITEMS, POSITIONS, click_window=WINDOW, **more)
        for server in others:
            server.launch()
        for server in others:
            await asyncio.to_thread(server.wait_until_ready)
        load.start()
        follower = Follower(cluster.servers, RANKINGS)
        follower.start()
        stalls = Stalls(cluster.address)
        stalls.start()
        waits = await play(load, drama, episodes, pause, random.Random(seed + 1))
        await load.another_list()
        await load.pause(last)
        await load.stop()
        await follower.stop()
        await stalls.stop()
        await asyncio.to_thread(_wait_until_closed, cluster.address, closed)
        for server in cluster.servers:
            await asyncio.to_thread(server.wait_until_ready)
        counted = await asyncio.to_thread(cluster.counted)
        follower.check(await asyncio.to_thread(_export, cluster, export))
        await asyncio.gather(*(asyncio.to_thread(end_in_order, server) for server in cluster.servers))
        followed = sum(map(len, follower.followed))
        unanswered = sum(caller.unanswered for caller in load.callers)
        return Played(unanswered, waits, counted, drama.fenced, followed, follower.questions, stalls)
    finally:
        cluster.kill()
        cluster.disconnect()


def _export(cluster: Cluster, export: Path) -> list[bytes]:
    """Write all events to a file, as servers that were asked say them; those of each ranking."""
    found = []
    for number in range(RANKINGS):
        path, until = f"/v1/rankings/ranking-{number}/events", time.monotonic() + PATIENCE
        status, events = cluster.servers[number % SERVERS].ask_raw("GET", path)
        while status == 503 and time.monotonic() < until:  # it moves
            time.sleep(0.1)
            status, events = cluster.servers[number % SERVERS].ask_raw("GET", path)
        if status != 200:
            raise Broken(f"GET {path} was answered with {status}: {events[:300].decode(errors='replace')}")
        found.append(events)
    export.write_bytes(b"".join(found))
    return found


def _wait_until_closed(address: str, patience: float) -> None:
    """Until every impression was learned or dropped."""
    until = time.monotonic() + patience
    for part in range(PARTITIONS):
        with closing(PostgresReader(address, part)) as reader:
            while left := reader.open_impressions():
                if time.monotonic() > until:
                    raise Broken(f"{left} impressions of partition {part} are still open after {patience:.0f} s")
                time.sleep(0.1)


def _check_numbers(address: str) -> None:
    """Events of each partition are numbered from 1, without gaps."""
    with psycopg.connect(address, autocommit=True) as connection:
        for part, last, count, distinct, highest in connection.execute(_NUMBERED).fetchall():
            if not last == count == distinct == highest:
                raise Broken(
                    f"partition {part} says that its last event is {last}, but has {count} events with {distinct} "
                    f"numbers up to {highest}"
                )


def _logs(folder: Path, address: str) -> tuple[Log, int]:
    """The logs of all partitions, copied to files, and how many learners they lead to."""
    all_logs, learners = Log(), 0
    for part in range(PARTITIONS):
        copy = folder / f"copy-{part}.db"
        with closing(PostgresReader(address, part)) as source, closing(SQLiteStore(copy)) as target:
            with closing(SQLiteReader(copy)) as written:
                copy_store([source], [Target(target, written)], lambda _: None)
            for found in source.find_damage():
                raise Broken(f"partition {part} is damaged: {found.text}")
        log = Log.of(copy)
        for impression in log.lists.keys() & all_logs.lists.keys():
            raise Broken(f"{impression} is in two partitions")
        all_logs.lists |= log.lists
        all_logs.due |= log.due
        all_logs.learned |= log.learned
        all_logs.dropped |= log.dropped
        all_logs.reported |= log.reported
        all_logs.events += log.events
        learners += len(states(copy))
    return all_logs, learners
