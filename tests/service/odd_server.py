"""`toplist serve` with a wrong wall clock or with the tables of a later release, as the environment says."""

import os
import sys
import time

AHEAD = float(os.environ.get("SERVER_CLOCK_AHEAD", "0"))  # seconds
if AHEAD:  # before anything else keeps the right one
    right, right_ns = time.time, time.time_ns
    time.time = lambda: right() + AHEAD
    time.time_ns = lambda: right_ns() + round(AHEAD * 1e9)

from toplist.cli import main  # noqa: E402
from toplist.service.store.postgres import schema  # noqa: E402

NEXT = schema.Version(
    """
    ALTER TABLE toplist.events ADD COLUMN added_later text;
    ALTER TABLE toplist.parts ADD COLUMN added_later bigint NOT NULL DEFAULT 0;
    ALTER TABLE toplist.servers ADD COLUMN added_later text;
    CREATE TABLE toplist.added_later (a integer);
    """,
    works_with=len(schema.VERSIONS),
)

LATER_VERSIONS = (*schema.VERSIONS, NEXT)


def use_later_tables() -> None:
    """Be a later release in this process."""
    schema.migrate.__defaults__ = (LATER_VERSIONS,)


if __name__ == "__main__":
    if os.environ.get("SERVER_LATER_TABLES"):
        use_later_tables()
    sys.exit(main(sys.argv[1:]))
