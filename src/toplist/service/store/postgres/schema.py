"""The tables in PostgreSQL, version by version; versions only add, so that older servers can run beside newer ones."""

from __future__ import annotations

from typing import NamedTuple

import psycopg

from toplist.core.problem import InvalidInput
from toplist.service.errors import StoreUnavailable
from toplist.service.store.digests import TABLES
from toplist.service.store.postgres.session import FENCED, MOVED, ONE_LIST, SCHEMA, Session

ATTEMPTS = 10  # to bring the tables to the latest version while other servers use them
OLDEST = 13  # version of PostgreSQL
LOCK = 0x746F706C  # of the transaction that brings the tables to the latest version
_TOTALS, _VERSIONS = f"{SCHEMA}.totals", f"{SCHEMA}.versions"


class Version(NamedTuple):
    """A step of the tables."""

    script: str
    works_with: int  # the oldest release, by its own latest version, that can run with these tables


def _subtract(table: str, owner: str, *, on: str) -> str:
    """Statements that take the digests of deleted or replaced rows from the totals, once per statement."""
    return f"""
    CREATE FUNCTION {SCHEMA}.{table}_{on}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO {_TOTALS} AS kept SELECT part, {owner}, -count(*), -sum(row_digest) FROM old_rows GROUP BY 1, 2
            ON CONFLICT (part, owner) DO UPDATE SET row_count = kept.row_count + excluded.row_count,
                digest_sum = kept.digest_sum + excluded.digest_sum;
        RETURN NULL;
    END $$;
    CREATE TRIGGER {table}_{on} AFTER {"DELETE" if on == "deleted" else "UPDATE"} ON {SCHEMA}.{table}
        REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION {SCHEMA}.{table}_{on}();
    """


_REPLACED = ("requests", "snapshots", "rankings", "items", "gone", "gone_learners")
_FIRST = [table for table in TABLES.values() if table.name != "tallies"]  # later tables come with their own version
_TRIGGERS = "".join(_subtract(table.name, table.owner, on="deleted") for table in _FIRST) + "".join(
    _subtract(table.name, table.owner, on="replaced") for table in _FIRST if table.name in _REPLACED
)

# Never changed once released: a change is another version, which only adds.
VERSIONS = (
    Version(
        f"""
    CREATE TABLE {SCHEMA}.parts (
        part smallint PRIMARY KEY, epoch bigint NOT NULL, last_seq bigint NOT NULL, owner text, lease_until timestamptz
    );
    CREATE TABLE {SCHEMA}.events (
        part smallint NOT NULL, seq bigint NOT NULL, at bigint NOT NULL, ranking bigint NOT NULL,
        learner bigint NOT NULL, kind text NOT NULL, impression bytea, body bytea NOT NULL,
        row_digest bigint NOT NULL, PRIMARY KEY (part, seq)
    );
    CREATE INDEX events_of_learner ON {SCHEMA}.events (part, learner, seq) WHERE learner > 0;
    CREATE INDEX events_of_ranking ON {SCHEMA}.events (part, ranking, seq) WHERE learner = 0;
    CREATE TABLE {SCHEMA}.impressions (
        part smallint NOT NULL, id bytea NOT NULL, seq bigint NOT NULL, ranking bigint NOT NULL,
        learner bigint NOT NULL, state smallint NOT NULL, due bigint NOT NULL, report bytea NOT NULL,
        row_digest bigint NOT NULL, PRIMARY KEY (part, id)
    );
    CREATE INDEX impressions_due ON {SCHEMA}.impressions (part, due) WHERE state < 2;
    CREATE TABLE {SCHEMA}.requests (
        part smallint NOT NULL, ranking bigint NOT NULL, request text COLLATE "C" NOT NULL, digest bytea NOT NULL,
        impression bytea NOT NULL, at bigint NOT NULL, row_digest bigint NOT NULL, PRIMARY KEY (part, ranking, request)
    );
    CREATE INDEX requests_of_impression ON {SCHEMA}.requests (part, impression);
    CREATE TABLE {SCHEMA}.learners (
        part smallint NOT NULL, id bigint NOT NULL, ranking bigint NOT NULL, key text COLLATE "C",
        row_digest bigint NOT NULL, PRIMARY KEY (part, id)
    );
    CREATE UNIQUE INDEX learners_by_key ON {SCHEMA}.learners (part, ranking, key);
    CREATE UNIQUE INDEX learners_without_key ON {SCHEMA}.learners (part, ranking) WHERE key IS NULL;
    CREATE TABLE {SCHEMA}.snapshots (
        part smallint NOT NULL, learner bigint NOT NULL, base smallint NOT NULL, seq bigint NOT NULL,
        policy bigint NOT NULL, body bytea NOT NULL, row_digest bigint NOT NULL, PRIMARY KEY (part, learner, base)
    );
    CREATE TABLE {SCHEMA}.rankings (
        part smallint NOT NULL, id bigint NOT NULL, name text COLLATE "C" NOT NULL, created bigint NOT NULL,
        policy bigint NOT NULL, spec bytea NOT NULL, row_digest bigint NOT NULL, PRIMARY KEY (part, id),
        UNIQUE (part, name)
    );
    CREATE TABLE {SCHEMA}.items (
        part smallint NOT NULL, ranking bigint NOT NULL, id text COLLATE "C" NOT NULL, place bigint NOT NULL,
        features bytea, hidden smallint NOT NULL, prior bytea, row_digest bigint NOT NULL,
        PRIMARY KEY (part, ranking, id)
    );
    CREATE TABLE {SCHEMA}.gone (
        part smallint NOT NULL, ranking bigint NOT NULL, seq bigint NOT NULL, last bigint NOT NULL,
        row_digest bigint NOT NULL, PRIMARY KEY (part, ranking)
    );
    CREATE TABLE {SCHEMA}.gone_learners (
        part smallint NOT NULL, learner bigint NOT NULL, ranking bigint NOT NULL, row_digest bigint NOT NULL,
        PRIMARY KEY (part, learner)
    );
    CREATE TABLE {SCHEMA}.totals (
        part smallint NOT NULL, owner bigint NOT NULL, row_count bigint NOT NULL, digest_sum bigint NOT NULL,
        PRIMARY KEY (part, owner)
    );
    {_TRIGGERS}
    CREATE FUNCTION {SCHEMA}.impressions_changed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        UPDATE {_TOTALS} AS kept SET digest_sum = kept.digest_sum + changed.difference FROM (
            SELECT part, learner, sum(difference) AS difference FROM (
                SELECT part, learner, row_digest AS difference FROM new_rows
                UNION ALL SELECT part, learner, -row_digest FROM old_rows) AS each GROUP BY part, learner
        ) AS changed WHERE kept.part = changed.part AND kept.owner = changed.learner;
        RETURN NULL;
    END $$;
    CREATE TRIGGER impressions_changed AFTER UPDATE ON {SCHEMA}.impressions
        REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
        FOR EACH STATEMENT EXECUTE FUNCTION {SCHEMA}.impressions_changed();
    CREATE FUNCTION {SCHEMA}.fence(of_part integer, of_epoch bigint, known bigint, next bigint, seconds float8)
        RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        UPDATE {SCHEMA}.parts SET last_seq = next, lease_until = clock_timestamp() + make_interval(secs => seconds)
            WHERE part = of_part AND epoch = of_epoch AND last_seq = known;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the epoch % of part % is over', of_epoch, of_part USING ERRCODE = '{FENCED}';
        END IF;
    END $$;
    """,
        works_with=1,
    ),
    # Sums of the uplift. An older server could not read the settings of a ranking with a holdout.
    Version(
        f"""
    CREATE TABLE {SCHEMA}.tallies (
        part smallint NOT NULL, ranking bigint NOT NULL, measured bigint NOT NULL, slice text COLLATE "C" NOT NULL,
        visitor bytea NOT NULL, body bytea NOT NULL, row_digest bigint NOT NULL,
        PRIMARY KEY (part, ranking, slice, visitor, measured)
    );
    {_subtract("tallies", "ranking", on="deleted")}
    {_subtract("tallies", "ranking", on="replaced")}
    """,
        works_with=2,
    ),
    # Several servers at once. A database that is divided says in `versions` that older releases cannot use it. The
    # fence names the owner: in a database that was restored to an earlier moment, two servers may get the same epoch.
    Version(
        f"""
    CREATE TABLE {SCHEMA}.cluster (id smallint PRIMARY KEY CHECK (id = 1), parts smallint NOT NULL);
    CREATE TABLE {SCHEMA}.servers (
        name text COLLATE "C" PRIMARY KEY, address text NOT NULL, is_leaving boolean NOT NULL,
        seen_at timestamptz NOT NULL
    );
    CREATE FUNCTION {SCHEMA}.fence(
        of_part integer, of_owner text, of_epoch bigint, known bigint, next bigint, seconds float8
    ) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        UPDATE {SCHEMA}.parts SET last_seq = next, lease_until = clock_timestamp() + make_interval(secs => seconds)
            WHERE part = of_part AND owner = of_owner AND epoch = of_epoch AND last_seq = known;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'the epoch % of part % is over', of_epoch, of_part USING ERRCODE = '{FENCED}';
        END IF;
    END $$;
    """,
        works_with=2,
    ),
    # Ids of impressions up to this moment may tell no partition: they were copied from a store divided in another way.
    Version(
        f"ALTER TABLE {SCHEMA}.cluster ADD COLUMN copied_until bigint NOT NULL DEFAULT 0",
        works_with=3,
    ),
    # Divided rankings. Their owner also writes to parts of other servers, and moves their numbers on: a commit of such
    # an owner fails otherwise than one of an owner that was fenced. Of the requests of a divided ranking, `scope` names
    # it in all parts. Once there is such a ranking, `versions` says that older releases cannot use the database.
    Version(
        f"""
    ALTER TABLE {SCHEMA}.requests ADD COLUMN scope bigint;
    CREATE UNIQUE INDEX {ONE_LIST} ON {SCHEMA}.requests (scope, request) WHERE scope IS NOT NULL;
    CREATE OR REPLACE FUNCTION {SCHEMA}.fence(
        of_part integer, of_owner text, of_epoch bigint, known bigint, next bigint, seconds float8
    ) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        UPDATE {SCHEMA}.parts SET last_seq = next, lease_until = clock_timestamp() + make_interval(secs => seconds)
            WHERE part = of_part AND owner = of_owner AND epoch = of_epoch AND last_seq = known;
        IF NOT FOUND THEN
            PERFORM 1 FROM {SCHEMA}.parts AS kept
                WHERE kept.part = of_part AND kept.owner = of_owner AND kept.epoch = of_epoch AND kept.last_seq > known;
            IF FOUND THEN
                RAISE EXCEPTION 'the log of part % has moved', of_part USING ERRCODE = '{MOVED}';
            END IF;
            RAISE EXCEPTION 'the epoch % of part % is over', of_epoch, of_part USING ERRCODE = '{FENCED}';
        END IF;
    END $$;
    """,
        works_with=3,
    ),
)
DIVIDED = 3  # the version from which on a database can be divided
DIVIDED_RANKINGS = 5  # and rankings


def migrate(session: Session, versions: tuple[Version, ...] = VERSIONS) -> None:
    """Bring the tables to the latest version; of several servers that start at once, one does it."""
    for left in reversed(range(ATTEMPTS)):
        try:
            _migrate(session, versions)
            return
        except StoreUnavailable as problem:  # reads of other servers lock tables in any order
            if not left or not isinstance(problem.__cause__, psycopg.errors.DeadlockDetected):
                raise


def _migrate(session: Session, versions: tuple[Version, ...]) -> None:
    with session.transaction() as connection:
        server = connection.info.server_version // 10_000
        if server < OLDEST:
            raise InvalidInput(
                f"The database is PostgreSQL {server}, but the store needs version {OLDEST} or newer; upgrade the "
                f"database, or name another one."
            )
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (LOCK,))
        if connection.execute("SELECT to_regclass(%s)", (_VERSIONS,)).fetchone() == (None,):
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            connection.execute(
                f"""CREATE TABLE {_VERSIONS} (
                    version integer PRIMARY KEY, works_with integer NOT NULL, at timestamptz NOT NULL DEFAULT now())"""
            )
        latest = connection.execute(f"SELECT version, works_with FROM {_VERSIONS} ORDER BY version DESC LIMIT 1")
        version, works_with = latest.fetchone() or (0, 0)
        if works_with > len(versions):
            raise InvalidInput(
                f"The database has version {version} of the tables, which only a toplist that knows version "
                f"{works_with} can use, but this one knows versions up to {len(versions)}; use a later release."
            )
        if 0 < version < len(versions):  # commits of other servers lock this table first, too
            connection.execute(f"LOCK TABLE {SCHEMA}.parts IN EXCLUSIVE MODE")
        for number, step in enumerate(versions[version:], version + 1):
            connection.execute(step.script)
            connection.execute(f"INSERT INTO {_VERSIONS} VALUES (%s, %s)", (number, step.works_with))
