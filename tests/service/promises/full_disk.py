"""Promise 7, the disk: when it is full, there is a 503, nothing acknowledged is lost, and it recovers."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.load import Line
from benchmarks.server import PATIENCE, Broken, Server, serving

from .beliefs import states
from .callers import Caller, Visitor
from .journal import Journal, Log, audit, wait_until_closed

RANKING, ITEMS, POSITIONS, SEGMENTS = "full", 30, 5, 3
CONNECTIONS = 8
WINDOW = 1.0
ROOM = 64 << 20  # bytes of the small disk
BYTES = 1 << 14  # that a file may have where files are limited


class Disk(NamedTuple):
    """A place for the store that can be made full, and empty again."""

    name: str
    folder: Path
    fill: Callable[[Server], None]
    clear: Callable[[Server], None]


def check(folder: Path, times: int, seed: int = 8, loaded: float = 0.5) -> str:
    """Fill the disk so many times, a real one where one may be mounted, `loaded` seconds apart; what was found."""
    told = []
    for disk in disks(folder):
        with disk as place:
            told.append(_on(place, times, seed, loaded))
    return "; ".join(told)


def _on(disk: Disk, times: int, seed: int, loaded: float) -> str:
    journal = Journal()
    with serving(disk.folder / "full.db") as server:
        server.create(RANKING, ITEMS, POSITIONS, click_window=WINDOW)
        refused = asyncio.run(_filled_under_load(server, disk, journal, times, seed, loaded))
        wait_until_closed(server.store)
        log = Log.of(server.store)
        audit(journal, log)
        server.end()
        states(server.store)
    return (
        f"{disk.name}, {times} times full: {refused} requests refused with 503 and all served after it recovered, "
        f"{len(journal.lists)} acknowledged impressions, none lost, {log.closed} learned, none twice"
    )


async def _filled_under_load(server: Server, disk: Disk, journal: Journal, times: int, seed: int, loaded: float) -> int:
    """Fill the disk and clear it again while visitors come; how many requests were refused."""
    over = asyncio.Event()
    visitors = [
        Visitor(Caller(server.port), journal, RANKING, f"visitor-{n}", seed, SEGMENTS) for n in range(CONNECTIONS)
    ]

    async def come_again(visitor: Visitor) -> None:
        while not over.is_set():
            await visitor.visit()

    load = asyncio.gather(*(come_again(visitor) for visitor in visitors))
    refused = 0
    for _ in range(times):
        await asyncio.wait([load], timeout=loaded)
        disk.fill(server)
        await _until_refused(server)
        await asyncio.wait([load], timeout=loaded)
        disk.clear(server)
        await _until_served(server)
        refused = sum(visitor.caller.unavailable for visitor in visitors)
        if load.done():
            break
    over.set()
    await load
    for visitor in visitors:
        visitor.caller.close()
        if visitor.caller.unanswered:
            raise Broken(f"{visitor.caller.unanswered} requests were not answered at all")
    return refused


async def _until_refused(server: Server) -> None:
    """Until a list is refused, as it should be: with a problem, and when to come back."""
    line = await Line.to(server.port)
    until = asyncio.get_running_loop().time() + PATIENCE
    while True:
        answer = await line.ask("POST", f"/v1/rankings/{RANKING}/lists", b'{"deferred": true}')
        if answer.status == 503:
            break
        if asyncio.get_running_loop().time() > until:
            raise Broken("the disk is full, but lists are made")
        await asyncio.sleep(0.01)
    if b"application/problem+json" not in answer.head or json.loads(answer.body)["status"] != 503:
        raise Broken(f"the refusal is no problem+json: {answer}")
    if (health := await line.ask("GET", "/healthz")).status != 200:
        raise Broken(f"with a full disk, GET /healthz is answered with {health}")
    line.close()


async def _until_served(server: Server) -> None:
    caller = Caller(server.port)
    await caller.ask("POST", f"/v1/rankings/{RANKING}/lists", {"deferred": True})
    caller.close()


def disks(folder: Path) -> Iterator[AbstractContextManager[Disk]]:
    """Ways to have a full disk: a limit on the size of files, and a small file system where one may be mounted."""
    yield limited(folder)
    if may_mount(folder):
        yield mounted(folder)


@contextmanager
def limited(folder: Path) -> Iterator[Disk]:
    """Nothing may be written behind the first bytes of a file; the system refuses that as it refuses a full disk."""
    place = folder / "limited"
    place.mkdir()

    def fill(server: Server) -> None:
        _, hard = resource.prlimit(server.running.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.running.pid, resource.RLIMIT_FSIZE, (BYTES, hard))

    def clear(server: Server) -> None:
        _, hard = resource.prlimit(server.running.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.running.pid, resource.RLIMIT_FSIZE, (hard, hard))

    yield Disk("a limit on the size of files", place, fill, clear)


def may_mount(folder: Path) -> bool:
    """Whether this user may mount a file system."""
    try:
        with mounted(folder, "trial"):
            return True
    except (subprocess.CalledProcessError, FileNotFoundError):
        return False


@contextmanager
def mounted(folder: Path, name: str = "mounted") -> Iterator[Disk]:
    """A small file system in memory, filled by a file of its own."""
    place = folder / name
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(place)], check=True, capture_output=True)
    ballast = place / "ballast"

    def fill(_: Server) -> None:
        with ballast.open("wb", buffering=0) as opened:
            for size in (1 << 20, 1 << 12, 1):
                try:
                    while opened.write(b"\0" * size):
                        pass
                except OSError:
                    continue

    def clear(_: Server) -> None:
        ballast.unlink()

    try:
        yield Disk("a file system without room", place, fill, clear)
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True, capture_output=True)
