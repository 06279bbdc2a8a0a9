"""`toplist serve` on a machine whose clock is wrong, and with a fault if one is planted: the checks must notice it.

`python -m tests.service.promises.altered CLOCK FAULT serve ...`: the wall clock is CLOCK seconds off, and FAULT is one
of `FAULTS`, LATER for a later release with more tables, or "none".
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Callable, Sequence

import psycopg
from odd_server import use_later_tables

from toplist.cli import main as toplist
from toplist.service.clock import BelievedClock, boot_time
from toplist.service.cluster.owners import DatabaseClock
from toplist.service.store.group_commit import GroupCommit
from toplist.service.store.postgres import database
from toplist.service.store.row_kinds import Row

NOBODY_FENCES = "no fence"
REPLY_FIRST = "a reply before the commit"
SAME_EPOCH = "an epoch that is not raised"
OWN_CLOCK = "a clock that is believed"
FAULTS = (NOBODY_FENCES, REPLY_FIRST, SAME_EPOCH, OWN_CLOCK)
NO_FAULT, LATER = "none", "a later release"
PROGRAM = "tests.service.promises.altered"
_FENCES = (
    "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'fence' AND pronamespace = 'toplist'::regnamespace"
)


def weaken_database(address: str, fault: str) -> None:
    """Plant what of a fault lies in the database.

    The store has three guards, one behind the other: the epoch, the last number, and the key of the events. A fault of
    one is noticed only where the others are gone as well.
    """
    if fault not in (NOBODY_FENCES, SAME_EPOCH):
        return
    kept = "part = of_part AND epoch = of_epoch" if fault == SAME_EPOCH else "part = of_part"
    with psycopg.connect(address, autocommit=True) as connection:
        changed = 0
        for (source,) in connection.execute(_FENCES).fetchall():
            weaker, times = re.subn(r"WHERE part = of_part AND [^;]*", f"WHERE {kept}", source)
            connection.execute(weaker.replace("last_seq = next", "last_seq = greatest(last_seq, next)"))
            changed += times
        assert changed, "the fence has another form now"
        connection.execute("ALTER TABLE toplist.events DROP CONSTRAINT events_pkey")
        connection.execute("CREATE INDEX ON toplist.events (part, seq)")


def _reply_first() -> None:
    write = GroupCommit.write

    def reply(self: GroupCommit, rows: Sequence[Row]) -> asyncio.Future[None]:
        write(self, rows).add_done_callback(lambda written: written.exception())
        replied: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        replied.set_result(None)
        return replied

    GroupCommit.write = reply  # type: ignore[method-assign]


def _same_epoch() -> None:
    take = vars(database)["_TAKE"]
    assert "epoch = epoch + 1" in take
    setattr(database, "_TAKE", take.replace("epoch = epoch + 1", "epoch = epoch"))  # noqa: B010  # of another module


def _own_clock() -> None:
    follow = DatabaseClock.follow

    def believe(self: DatabaseClock, *_: int) -> None:
        moment = boot_time()
        follow(self, time.time_ns(), moment, moment)

    DatabaseClock.follow = believe  # type: ignore[assignment]


_PLANTED: dict[str, Callable[[], None]] = {
    REPLY_FIRST: _reply_first, SAME_EPOCH: _same_epoch, OWN_CLOCK: _own_clock, LATER: use_later_tables,
}  # fmt: skip


def _set_clock(seconds: float) -> None:
    """Let the wall clock be wrong in this process."""
    right, right_ns = time.time, time.time_ns
    time.time = lambda: right() + seconds
    time.time_ns = lambda: right_ns() + round(seconds * 1e9)
    BelievedClock.__init__.__defaults__ = (time.time_ns, boot_time)


def main(arguments: list[str]) -> int:
    """Serve, altered."""
    clock, fault, *others = arguments
    _set_clock(float(clock))
    _PLANTED.get(fault, lambda: None)()
    return toplist(others)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
