"""The servers of a database and the parts that it is divided into, as the database has them."""

from __future__ import annotations

from time import monotonic
from typing import NamedTuple

from toplist.core.problem import InvalidInput
from toplist.service.store.postgres.database import Database
from toplist.service.store.postgres.round_trip import Statement
from toplist.service.store.postgres.schema import DIVIDED, LOCK
from toplist.service.store.postgres.session import SCHEMA, Session

DEFAULT_PARTS = 16  # of a new database
KEPT_LEASES = 100  # leases after which the row of a server that was not seen is deleted

_SEEN = """INSERT INTO servers VALUES (%s, %s, %s, clock_timestamp()) ON CONFLICT (name) DO UPDATE
    SET address = excluded.address, is_leaving = excluded.is_leaving, seen_at = excluded.seen_at"""
_CLEAR = """DELETE FROM servers WHERE name IN (SELECT name FROM servers
    WHERE seen_at < clock_timestamp() - make_interval(secs => %s) FOR UPDATE SKIP LOCKED)"""
_SERVERS = """SELECT name, address, is_leaving, extract(epoch FROM clock_timestamp() - seen_at)::float8 FROM servers
    WHERE seen_at > clock_timestamp() - make_interval(secs => %s) ORDER BY name"""
_PARTS = """SELECT part, epoch, last_seq, owner, owner IS NULL OR lease_until < clock_timestamp(),
    extract(epoch FROM lease_until - clock_timestamp())::float8 FROM parts ORDER BY part"""
# One look into an index for each part; windows are closed by this clock.
_LAGS = """SELECT part, greatest(0, extract(epoch FROM clock_timestamp()) - coalesce((
        SELECT min(due) FROM impressions WHERE impressions.part = parts.part AND state < 2
    ), 'infinity'::float8) / 1000)::float8 FROM parts"""
_OWNED = "SELECT 1 FROM parts WHERE owner IS NOT NULL AND lease_until > clock_timestamp()"
_NOW = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint"


class ServerRow(NamedTuple):
    """A server that was seen within a lease."""

    name: str
    address: str  # of its listener for other servers
    is_leaving: bool
    age: float  # seconds since it was seen


class PartRow(NamedTuple):
    """A part with its owner."""

    part: int
    epoch: int
    last_seq: int
    owner: str | None  # name of a server
    is_free: bool  # released, or its lease is over
    lease_left: float | None  # seconds


class ClusterRows(NamedTuple):
    """What the database says about its servers at one moment."""

    servers: list[ServerRow]
    parts: list[PartRow]
    now: int  # nanoseconds since the epoch, by the clock of the database
    asked: float  # when it was asked, on the monotonic clock of this server


def divide(database: Database, parts: int | None = None) -> int:
    """The number of parts of a database; a new one is divided into as many as are asked for.

    A database that was served by one server at a time has one part.
    """
    with database.transaction() as connection:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        known = connection.execute("SELECT parts FROM cluster").fetchone()
        if known is None:
            used = connection.execute("SELECT 1 FROM parts WHERE last_seq > 0").fetchone()
            count = 1 if used else parts or DEFAULT_PARTS
            if count > 1 and connection.execute(_OWNED).fetchone():
                raise InvalidInput(
                    "A server without cluster settings serves the database, which cannot be divided meanwhile; stop "
                    "that server, or give it cluster.secret and cluster.port, and start this one again."
                )
            connection.execute("INSERT INTO cluster VALUES (1, %s)", (count,))
            connection.execute(
                "INSERT INTO parts SELECT n, 0, 0, NULL, NULL FROM generate_series(0, %s) AS n ON CONFLICT DO NOTHING",
                (count - 1,),
            )
            if count > 1:
                connection.execute("UPDATE versions SET works_with = %s WHERE version >= %s", (DIVIDED, DIVIDED))
        else:
            count = int(known[0])
    if parts is not None and parts != count:
        raise InvalidInput(
            f"The settings divide the database into {parts} partitions, but it has {count}, a number that is fixed "
            f"when servers first use a database; write cluster.partitions = {count}, or name a new database."
        )
    database.parts = count
    return count


def copied_until(database: Database) -> int:
    """Impressions made up to this moment, in milliseconds, may have ids that do not tell their part."""
    rows = database.run([Statement("SELECT copied_until FROM cluster")])[0]
    return int(rows[0][0]) if rows else 0


def look_up(session: Session, parts: int, impression: bytes) -> int | None:
    """The part that has an impression; None if there is none."""
    query = "SELECT part FROM impressions WHERE part = ANY (%s::smallint[]) AND id = %s"
    rows = session.run([Statement(query, (list(range(parts)), impression))], read_only=True)[0]
    return int(rows[0][0]) if rows else None


def part_count(database: Database) -> int:
    """The number of parts of a database, 1 before it is divided."""
    rows = database.run([Statement("SELECT parts FROM cluster")])[0]
    return int(rows[0][0]) if rows else 1


def parts_of(address: str) -> int:
    """The number of parts of a database that nobody may be serving; 1 in one of an older release."""
    session = Session(address)
    try:
        if not session.run([Statement("SELECT to_regclass(%s)::text", (f"{SCHEMA}.cluster",))])[0][0][0]:
            return 1
        rows = session.run([Statement("SELECT parts FROM cluster")])[0]
        return int(rows[0][0]) if rows else 1
    finally:
        session.close()


def check_undivided(database: Database) -> None:
    """Refuse to serve a database of several parts as if it had one, and make the row of that one."""
    count = part_count(database)
    if count > 1:
        raise InvalidInput(
            f"The database is divided into {count} partitions, which several servers share, but the settings say "
            f"nothing about a cluster; add cluster.secret and cluster.port as the other servers have them."
        )
    database.run([Statement("INSERT INTO parts VALUES (0, 0, 0, NULL, NULL) ON CONFLICT DO NOTHING")])


def be_seen(database: Database, address: str, is_leaving: bool, grace: float = 0.0) -> ClusterRows:
    """Say that this server lives, and read all servers and parts; in one round trip.

    A server counts as alive if it was seen within a lease plus `grace` seconds: while the database was away, none was.
    """
    asked = monotonic()
    *_, servers, parts, now = database.run([
        Statement(_SEEN, (database.name, address, is_leaving)),
        Statement(_CLEAR, (KEPT_LEASES * database.lease,)),
        Statement(_SERVERS, (database.lease + grace,)),
        Statement(_PARTS),
        Statement(_NOW),
    ])  # fmt: skip
    return ClusterRows(list(map(ServerRow._make, servers)), list(map(PartRow._make, parts)), now[0][0], asked)


def lags(session: Session) -> dict[int, float]:
    """For each part, how many seconds ago the first click window ended that is still open; 0 if none did."""
    return dict(session.run([Statement(_LAGS)], read_only=True)[0])


def be_gone(database: Database) -> None:
    """Say that this server has ended."""
    database.run([Statement("DELETE FROM servers WHERE name = %s", (database.name,))])
