"""`toplist store check` names every flipped bit of a store that changes a row or fails SQLite's own check."""

from __future__ import annotations

import asyncio
import io
import random
from collections import Counter
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import apsw
from running import Clock, at_work, front, shown, told

from toplist.cli import Exit, main
from toplist.service.wire import RankingSpec

from .broken import Broken

SEGMENTS = ("a", "b", None)


async def _write(path: Path, lists: int) -> None:
    """A store with something in every table."""
    clock = Clock()
    async with at_work(path, clock) as service:
        await front(service, retention=50.0)
        await service.rankings.create(RankingSpec(name="side", positions=2, policy="cascade-kl-ucb"))
        for number in range(lists):
            clock.pass_(1.0)
            reply = await shown(service, segment=SEGMENTS[number % 3], request_id=f"view-{number}")
            if number % 4:
                await told(service, reply, 1 + number % 3, final=number % 2 == 0)
        await service.impressions.close_due()
        await service.retention.forget_old()
        await service.rankings.delete("side")


def _rows(path: Path) -> Any:
    """All rows of all tables, or the error of reading them, and what SQLite's check says."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        try:
            checked = connection.execute("PRAGMA integrity_check").fetchall()
            master = connection.execute("SELECT * FROM sqlite_master ORDER BY name").fetchall()
            tables = [row[1] for row in master if row[0] == "table"]
            return checked, master, [connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables]
        except (apsw.Error, UnicodeDecodeError) as problem:
            return type(problem)


def _checked(path: Path) -> tuple[int, str]:
    """The exit code of a check, and what it printed."""
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        code = main(["store", "check", "--store", str(path)])
    return int(code), said.getvalue()


def check(folder: Path, flips: int, lists: int = 60, seed: int = 9) -> str:
    """Flip single bits, each in a new copy of a store, and check it."""
    path, copy = folder / "db", folder / "copy"
    asyncio.run(_write(path, lists))
    content, whole = path.read_bytes(), _rows(path)
    if (found := _checked(path))[0] != Exit.FINE:
        raise Broken(f"the store is damaged before a bit is flipped: {found[1]}")
    chance, counts = random.Random(seed), Counter[str]()
    for _ in range(flips):
        at, bit = chance.randrange(len(content)), chance.randrange(8)
        damaged = bytearray(content)
        damaged[at] ^= 1 << bit
        copy.write_bytes(damaged)
        same = _rows(copy) == whole
        code, said = _checked(copy)
        if code == Exit.BUG or "Traceback" in said:
            raise Broken(f"the check of bit {bit} of byte {at} ends with an error: {said}")
        if not same and code == Exit.FINE:
            raise Broken(f"bit {bit} of byte {at} changes the store, and the check says nothing")
        counts["unused" if same and code == Exit.FINE else "named"] += 1
    return (
        f"of {flips} flipped bits of {len(content):,} bytes, {counts['named']} change the store and are named, and "
        f"{counts['unused']} are in unused space; none ends the check with an error"
    )
